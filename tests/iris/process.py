"""`TaskProcess`: an attempt as a process of this machine: its folder, its environment, its output, its end."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tests.iris.bundles import BundleStore
from tests.iris.logs import LogStore
from tests.iris.output import Output


@dataclass
class TaskProcess:
    """Threading: start() and kill() by any thread; threads of its own read the output and wait for the end.

    Attributes:
        setup: shell lines that run before the command, as in a container; without them the command runs at once.
        log_batch: seconds for which lines are gathered before they are sent.
    """

    key: str
    argv: Sequence[str]
    environment: dict[str, str]
    folder: Path
    files: dict[str, bytes]
    bundle_id: str
    setup: Sequence[str]
    bundles: BundleStore
    logs: LogStore
    log_batch: float
    _process: subprocess.Popen[bytes] | None = None
    _silent: bool = False
    _is_killed: bool = False
    _output: Output | None = None
    _thread: threading.Thread = field(default_factory=threading.Thread)

    def start(self, ended: Callable[[int, str], None]) -> None:
        self._thread = threading.Thread(target=self._run, args=(ended,), daemon=True)
        self._thread.start()

    def kill(self, silently: bool = False) -> None:
        self._silent = self._silent or silently
        self._is_killed = True
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def join(self) -> None:
        self._thread.join()
        if self._output is not None:
            self._output.join()

    def _run(self, ended: Callable[[int, str], None]) -> None:
        try:
            self._prepare()
            command = list(self.argv)
            if self.setup:
                lines = ["set -e", 'cd "$IRIS_WORKDIR"', *self.setup, "exec " + shlex.join(command)]
                command = ["bash", "-c", "\n".join(lines)]
            self._process = subprocess.Popen(
                command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError, IndexError) as error:
            self.logs.add(self.key, [("error", str(error), int(time.time() * 1000))])
            ended(1, f"Exit code: 1. stderr: {type(error).__name__}: {error}")
            return
        if self._is_killed:  # while it was being started
            self.kill()
        assert self._process.stdout is not None and self._process.stderr is not None
        self._output = Output(self.key, self.logs, self.log_batch, lambda: not self._silent, self.kill)
        self._output.start({"stdout": self._process.stdout, "stderr": self._process.stderr})
        code = self._process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._silent:
            return
        self._output.wait_until_read()
        if self._output.failure:
            ended(1, self._output.failure)
            return
        last = f". stderr: {self._output.last_error_line}" if self._output.last_error_line else ""
        ended(code, f"Exit code: {code}{last}" if code else "")

    def _prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.bundle_id:
            self.bundles.unpack(self.bundle_id, self.folder)
        for name, content in self.files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise ValueError(f"Invalid workdir file path: {name}")
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(content)
