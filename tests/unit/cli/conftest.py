"""The program `fray` as somebody types it, and programs under a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Program = Callable[..., subprocess.CompletedProcess[str]]


def program_path() -> str:
    """Return the `fray` of the environment that the tests run in."""
    beside = Path(sys.executable).parent / "fray"
    found = str(beside) if beside.exists() else shutil.which("fray")
    assert found, "the program fray is not installed"
    return found


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty FRAY_HOME with a short path."""
    folder = Path(tempfile.mkdtemp(prefix="fray-cli-"))
    monkeypatch.setenv("FRAY_HOME", str(folder))
    monkeypatch.delenv("FRAY_CLUSTER_SPEC", raising=False)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def fray_program(home: Path) -> Program:
    """Run `fray` with words; returns what it ended with."""

    def run(*words: object, within: float = 60, **options: object) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **options.pop("env", {})}  # type: ignore[dict-item]
        command = [program_path(), *map(str, words)]
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            command, capture_output=True, text=True, timeout=within, env=environment, **{"cwd": home, **options}
        )

    return run


PATIENCE = 30.0


class TerminalProgram:
    """A program whose standard streams are a terminal that the test types at."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str], **streams: int) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
            start_new_session=True,
            **{"stdin": slave, "stdout": slave, "stderr": slave, **streams},
        )
        os.close(slave)
        self.shown = ""

    def expect(self, pattern: str) -> str:
        """Read until the pattern is shown; return all that was shown up to it, and forget that."""
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.shown)):
            ready = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))[0]
            assert ready, f"{pattern!r} was not shown within {PATIENCE} s:\n{self.shown}"
            try:
                got = os.read(self._master, 65536)
            except OSError:  # the program has ended
                got = b""
            assert got, f"the program ended without {pattern!r}:\n{self.shown}"
            self.shown += got.decode(errors="replace").replace("\r\n", "\n")
        before, self.shown = self.shown[: found.end()], self.shown[found.end() :]
        return before

    def type(self, line: str) -> None:
        os.write(self._master, line.encode() + b"\n")

    def end(self) -> int:
        """Wait for the program's end and return its exit code."""
        code = self.process.wait(PATIENCE)
        os.close(self._master)
        return code

    def abandon(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


Start = Callable[..., TerminalProgram]


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Start a program under a terminal: a driver's source, or a command."""
    started: list[TerminalProgram] = []

    def make(source: str | list[str], env: dict[str, str] | None = None, **streams: int) -> TerminalProgram:
        command = source
        if isinstance(source, str):
            path = home / "driver.py"
            path.write_text(textwrap.dedent(source))
            command = [sys.executable, str(path)]
        started.append(TerminalProgram(command, home, env or {"NO_COLOR": "1"}, **streams))  # type: ignore[arg-type]
        return started[-1]

    yield make
    for program in started:
        program.abandon()
