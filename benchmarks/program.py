"""`Program`: a program of this package, running, that answers line by line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any


class Program:
    """``python -m benchmarks.programs.NAME ARGS``; it ends when its input does.

    Args:
        name: of the module.
        args: its arguments.
        environment: all of it; None for this process's.
    """

    def __init__(self, name: str, *args: str, environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"benchmarks.programs.{name}", *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def answer(self) -> str:
        """Return the next line.

        Raises:
            RuntimeError: the program has ended instead.
        """
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} ended with code {self.process.wait()}")
        return line.rstrip("\n")

    def ask(self) -> None:
        """Send an empty line."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def close(self) -> None:
        """End the input and wait for the program."""
        self.process.communicate()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
