"""Makes the pictures of the examples' guides: python -m tools.docs.example_pictures. Run it when an example changes.

It runs the examples as a reader would, draws what they have written and has Chromium take the pictures. What they
print is printed too, for the guides. The package has to be installed, with JAX and plotly.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.check_docs import ROOT
from tools.docs.report_picture import PICTURE, take_picture

_SIZE = "900,480"
_LAYOUT = {"template": "plotly_white", "width": 880, "height": 460, "margin": {"l": 60, "r": 20, "t": 30, "b": 50}}


def run(example: str, *options: object) -> None:
    command = [sys.executable, str(ROOT / "examples" / example), *map(str, options)]
    print("$ python examples/" + " ".join([example, *map(str, options)]), flush=True)
    subprocess.run(command, check=True)


def rows_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def draw_training(out: Path, page: Path) -> None:
    import plotly.graph_objects as go

    rows = rows_of(out / "metrics.jsonl")
    steps = [row["step"] for row in rows]
    figure = go.Figure(layout=_LAYOUT)
    figure.add_scatter(x=steps, y=[row["loss"] for row in rows], name="training", mode="lines+markers")
    figure.add_scatter(x=steps, y=[row["eval_loss"] for row in rows], name="evaluation", mode="lines+markers")
    figure.update_layout(xaxis_title="step", yaxis_title="loss, nats a byte")
    figure.write_html(page)


def main() -> int:
    folder = PICTURE.parent
    with tempfile.TemporaryDirectory(prefix="fray-pictures-") as name:
        work = Path(name)
        run("train_lm.py", "--out", work / "lm")
        draw_training(work / "lm", work / "lm.html")
        take_picture(work / "lm.html", folder / "train-lm.png", work / "profile", _SIZE)
        run("rl.py", "--out", work / "rl", "--plot", work / "rl.html")
        take_picture(work / "rl.html", folder / "rl.png", work / "profile", _SIZE)
        run("inference.py", "--out", work / "scores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
