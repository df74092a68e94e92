"""`PeerProcess`: the parent's side of one peer's child process, with a deadline for every answer."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.measurement import Measurement

ROOT = Path(__file__).resolve().parent.parent
_ENDING_SECONDS = 15.0
# A process that a dead child left behind may hold the pipe open, so look at the child itself now and then.
_LOOK_SECONDS = 0.5
_LOG_TAIL_LINES = 3


class PeerFailedError(Exception):
    """The child process reported an error, ended, or took too long."""


class PeerProcess:
    """Starts the child; wait with `ready` until it is set up, then ask for rounds with `measure`.

    Args:
        row: name of the row.
        peer: name of the peer.
        timeout_seconds: for the set-up and for each round.
        log: file for what the child and its workers print.
        ray_address: of the Ray that lives through the run; None where there is none.
    """

    def __init__(self, row: str, peer: str, timeout_seconds: float, log: Path, ray_address: str | None) -> None:
        self._timeout_seconds = timeout_seconds
        self._log = log
        self._answers, result_fd = os.pipe()
        self._buffer = b""
        command = [sys.executable, "-m", "benchmarks.child", row, peer, str(result_fd)]
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command if ray_address is None else [*command, ray_address],
                cwd=ROOT,
                env=_environment(),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=[result_fd],
                start_new_session=True,
            )
        os.close(result_fd)

    def ready(self) -> None:
        """Wait for the set-up.

        Raises:
            PeerFailedError: it failed or took too long.
        """
        self._answer("set-up")

    def measure(self) -> Measurement:
        """Run one round.

        Raises:
            PeerFailedError: it failed or took too long.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._ended("round") from None
        answer = self._answer("round")
        return Measurement(answer["value"], answer["more"], answer["result"])

    def close(self) -> None:
        """End the child, and whatever of it does not end by itself."""
        try:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(_ENDING_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            pass
        finally:
            self.kill()
            os.close(self._answers)

    def kill(self) -> None:
        """Kill the child's whole session; no effect when nothing of it lives."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _answer(self, step: str) -> dict[str, Any]:
        deadline = time.monotonic() + self._timeout_seconds
        while b"\n" not in self._buffer:
            ended = self._process.poll() is not None
            left = deadline - time.monotonic()
            data = self._read(0.0 if ended else max(0.0, min(left, _LOOK_SECONDS)))
            if data == b"" or (data is None and ended):
                raise self._ended(step)
            if data is None and left <= 0:
                self.kill()
                raise PeerFailedError(f"{step} took longer than {self._timeout_seconds:g} s{self._log_tail()}")
            self._buffer += data or b""
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerFailedError(f"{step}: {answer['error']}")
        return answer

    def _read(self, seconds: float) -> bytes | None:
        """Return what came within so many seconds: None for nothing, b"" when no process can answer any more."""
        readable = select.select([self._answers], [], [], seconds)[0]
        return os.read(self._answers, 65536) if readable else None

    def _ended(self, step: str) -> PeerFailedError:
        self.kill()
        return PeerFailedError(f"{step}: ended with code {self._process.returncode}{self._log_tail()}")

    def _log_tail(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
        return "; it printed: " + " | ".join(lines) if lines else ""


def _environment() -> dict[str, str]:
    """Return this process's environment, with this package on the module path of the child and all it starts."""
    path = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{ROOT}" if path else str(ROOT)}
