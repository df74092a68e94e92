"""`Place` and `Program`: an example as a user runs it, on each of the clusters."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SECONDS = 100


@dataclass(frozen=True)
class Place:
    """Where the jobs of an example run: what the variables say is all that differs."""

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)


class Program:
    """A running example; its output is read as it comes."""

    def __init__(self, place: Place, *words: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            env={**os.environ, **place.variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    @property
    def output(self) -> str:
        with self._changed:
            return "".join(self._lines)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until the output has something of that form; return its first occurrence."""
        deadline = time.monotonic() + SECONDS
        with self._changed:
            while (found := re.search(pattern, "".join(self._lines), re.MULTILINE)) is None:
                text = "".join(self._lines)
                assert not self._ended, f"it ended without {pattern!r}:\n{text}"
                assert self._changed.wait(deadline - time.monotonic()), f"no {pattern!r} in time:\n{text}"
        return found

    def result(self) -> str:
        """Wait for the end, which must be a good one; return the whole output."""
        code = self.code()
        assert code == 0, f"exit code {code}:\n{self.output}"
        return self.output

    def code(self) -> int:
        deadline = time.monotonic() + SECONDS
        with self._changed:
            assert self._changed.wait_for(lambda: self._ended, SECONDS), f"still running:\n{''.join(self._lines)}"
        return self._process.wait(max(1.0, deadline - time.monotonic()))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def running(place: Place, example: str, *options: object) -> Iterator[Program]:
    program = Program(place, EXAMPLES / example, *options)
    try:
        yield program
    finally:
        program.close()


def run(place: Place, example: str, *options: object) -> str:
    """Run an example to its good end and return what it has printed."""
    with running(place, example, *options) as program:
        return program.result()
