"""The command `fray`, as tests of started nodes use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import fray

from tests.chaos.harness import PATIENCE, Finished, Process, current_marker, look_at, marked_processes

PROGRAM = str(Path(fray.__file__).parent / "_bin" / "fray")


def command(*arguments: str, env: dict[str, str] | None = None, within: float = 60.0) -> Finished:
    """Run ``fray ARGUMENTS`` to its end."""
    done = subprocess.run(
        [PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=within,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def start(*arguments: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """Start the node of the home in the environment and return what it says of itself."""
    return json.loads(command("start", "--json", *arguments, env=env).ok())


def stop(*arguments: str, env: dict[str, str] | None = None) -> None:
    command("stop", *arguments, env=env).ok()


def report(env: dict[str, str] | None = None) -> dict[str, Any]:
    return json.loads(command("status", "--json", env=env, within=PATIENCE).ok())


def process_of(node: dict[str, Any]) -> Process:
    found = look_at(node["pid"])
    assert found is not None, node
    return found


def files_in(folder: str) -> list[str]:
    """Return the files of all kinds below a folder, by their paths in it."""
    root = Path(folder)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


def end_all() -> None:
    """End the node of the home, whatever a test that failed has left, and the supervisors that wait for a node."""
    fray.shutdown()
    command("stop", "--force")
    for process in marked_processes(current_marker()):
        if "fray-supervisor" in process.command:
            process.signal(signal.SIGHUP)
