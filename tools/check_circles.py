"""Proves that no module of the Python package imports itself by way of others.

Every import counts: also those inside functions, and those for type checkers alone. Ruff reads them, which knows that
an extension with a stub (`fray._native`) is a module of its own; `graphlib` finds the circles.
"""

from __future__ import annotations

import json
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def imports(root: Path, *folders: str) -> dict[str, set[str]]:
    """Each file of the folders, with the files of them that it imports; paths from the root."""
    ruff = [sys.executable, "-m", "ruff", "analyze", "graph", "--quiet", "--type-checking-imports"]
    command = [*ruff, "--direction", "dependencies", *folders]
    result = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    graph: dict[str, list[str]] = json.loads(result.stdout)
    return {name: {other for other in found if other in graph} for name, found in graph.items()}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Circles of imports, each from a file to itself; without one import of each there would be none."""
    left = {name: set(found) for name, found in graph.items()}
    circles: list[list[str]] = []
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            circle: list[str] = error.args[1][::-1]  # a file after what it is imported by
            circles.append(circle)
            left[circle[0]].discard(circle[1])
        else:
            return circles


def check_circles(root: Path) -> list[str]:
    return ["a circle of imports: " + " imports ".join(circle) for circle in circles(imports(root, "python/fray"))]


def main() -> int:
    problems = check_circles(ROOT)
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
