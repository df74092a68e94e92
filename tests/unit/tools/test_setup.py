"""`tools/setup.sh` on a machine that lacks packages; a script in place of apt-get notes what it is asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="this is no Debian system")


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def set_up(checkout: Path, apt_code: int) -> subprocess.CompletedProcess[str]:
    """Run the set-up of a checkout whose list has a package that dpkg has never heard of."""
    (checkout / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "setup.sh", checkout / "tools")
    (checkout / "tools" / "debian-packages.txt").write_text("[build]\nbash\nfray-no-such-package\n")
    programs = checkout / "programs"
    programs.mkdir()
    script(programs / "apt-get", f'echo "$@" >> "{checkout}/asked"; exit {apt_code}')
    for python in ("python3", *(f"python3.{minor}" for minor in range(11, 15))):
        script(programs / python, "exit 1")  # so that Python is to come with the packages
    return subprocess.run(
        ["bash", checkout / "tools" / "setup.sh", "build"],
        capture_output=True,
        text=True,
        env={"PATH": f"{programs}:{os.environ['PATH']}"},
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root installs packages")
def test_what_is_missing_is_installed_and_nothing_else(tmp_path: Path) -> None:
    set_up(tmp_path, 0)
    update, install = (tmp_path / "asked").read_text().splitlines()
    assert update.endswith("update")
    assert install.split()[-1] == "fray-no-such-package"
    assert "bash" not in install.split()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root installs packages")
def test_lists_that_cannot_be_fetched_are_told_in_one_sentence(tmp_path: Path) -> None:
    done = set_up(tmp_path, 1)
    assert done.returncode == 3
    assert done.stdout == (
        "fray: The lists of Debian packages could not be fetched; check the network (apt-get update), "
        "then run make again.\n"
    )
