"""The Ray that lives through a run: started once, idle while others are measured."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from benchmarks.peer_process import ROOT

_START_SECONDS = 120.0
_END_SECONDS = 30.0


class SharedRay:
    """Ray's daemons in a process group of their own; `address` is where drivers connect.

    Raises:
        RuntimeError: Ray does not start.
    """

    def __init__(self, log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.programs.ray_head"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
            )
        self.pid = self._process.pid
        assert self._process.stdout is not None
        readable = select.select([self._process.stdout], [], [], _START_SECONDS)[0]
        self.address = self._process.stdout.readline().decode().strip() if readable else ""
        if not self.address:
            self.close()
            raise RuntimeError(f"Ray does not start; see {log}")

    def close(self) -> None:
        """End the daemons."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
