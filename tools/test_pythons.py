"""Runs the Python suites on each Python that is found, against the wheel that its users get.

    test_pythons.py [3.12 ...]      on these versions, or on all from 3.11 on

Each has a virtual environment of its own, build/pythons/3.x. Exit code 1 when a test failed on any.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pythons import ROOT, Interpreter, Trouble, find, prepare
from wheels import build


def _install(python: Interpreter, wheel: Path) -> None:
    command = [str(python.own_program), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    step = [str(ROOT / "tools" / "step"), f"install the wheel for Python {python.version}"]
    done = subprocess.run([*step, *command, "--force-reinstall", str(wheel)], cwd=ROOT, check=False)
    if done.returncode != 0:
        raise Trouble(f"{wheel.name} cannot be installed; `make clean` removes it, and the next run builds it anew")


def _passes(python: Interpreter) -> bool:
    print(f"\n==== Python {python.full_version}", flush=True)
    command = [str(python.own_program), str(ROOT / "tools" / "run_tests.py"), "--python-suites"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main() -> int:
    try:
        pythons = find(sys.argv[1:])
        for python in pythons:
            wheel = build(python)
            prepare(python, "wheels", "test")
            _install(python, wheel)
        failed = [python.version for python in pythons if not _passes(python)]
    except (Trouble, OSError) as trouble:
        print(trouble, file=sys.stderr)
        return 1
    print()
    for python in pythons:
        print(f"Python {python.full_version} {'failed' if python.version in failed else 'passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
