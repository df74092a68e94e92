"""Makes docs/images/report.png: python -m tools.docs.report_picture. Run it when the report looks different.

It runs the corpus example on the text of this Python's own library, writes `fray.report` of it and has Chromium take
the picture. The package has to be installed, with plotly.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import fray

from tools.check_docs import ROOT

PICTURE = ROOT / "docs" / "images" / "report.png"
_SIZE = "1240,1215"


def run_corpus(folder: Path) -> None:
    """Run the example, in this process's context, which then knows its tasks."""
    sys.path.insert(0, str(ROOT / "examples"))
    import corpus

    if corpus.main([sysconfig.get_path("stdlib"), "--out", str(folder), "--seed", "7"]) != 0:
        raise RuntimeError("the corpus example failed")


def take_picture(page: Path, picture: Path, profile: Path, size: str = _SIZE) -> None:
    """Have Chromium show a page and write what it shows."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise FileNotFoundError("there is no chromium to take the picture; install the Debian package chromium")
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
        f"--window-size={size}",
        "--virtual-time-budget=8000",
        f"--screenshot={picture}",
        page.as_uri(),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="fray-picture-") as folder:
        run_corpus(Path(folder) / "corpus")
        page = Path(folder) / "report.html"
        print(f"{fray.report(page)} tasks")
        PICTURE.parent.mkdir(exist_ok=True)
        take_picture(page, PICTURE, Path(folder) / "profile")
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1000} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
