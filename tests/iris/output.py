"""`Output`: carries what a process writes to the store of logs, some time later, as a worker does.

Whoever reads the store finds all lines whose time has come, also when the thread that sends them is late.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import IO

from tests.iris.logs import LogStore


class Output:
    """Threading: one thread for each pipe and one that sends.

    Attributes:
        last_error_line: of standard error, so far.
        failure: why no more is read, which ends the process: bytes that are no UTF-8.
    """

    def __init__(
        self, key: str, logs: LogStore, batch: float, is_wanted: Callable[[], bool], give_up: Callable[[], None]
    ) -> None:
        self.last_error_line = ""
        self.failure = ""
        self._give_up = give_up
        self._key = key
        self._logs = logs
        self._batch = batch
        self._is_wanted = is_wanted
        self._gathered: list[tuple[str, str, int]] = []
        self._due = 0.0
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._read = threading.Event()
        self._readers: list[threading.Thread] = []
        self._sender = threading.Thread(target=self._send_for_ever, daemon=True)

    def start(self, pipes: dict[str, IO[bytes]]) -> None:
        self._due = time.monotonic() + self._batch
        self._logs.add_output(self)
        for source, pipe in pipes.items():
            reader = threading.Thread(target=self._gather, args=(source, pipe), daemon=True)
            self._readers.append(reader)
            reader.start()
        self._sender.start()

    def wait_until_read(self) -> None:
        """Until the process has written its last; sending that takes longer."""
        for reader in self._readers:
            reader.join()
        self._due = time.monotonic() + self._batch  # the last lines come late as well
        self._read.set()

    def join(self) -> None:
        self.wait_until_read()
        self._sender.join()

    def _gather(self, source: str, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                try:
                    text = line.decode().rstrip()
                except UnicodeDecodeError as error:
                    self.failure = self.failure or str(error)
                    self._give_up()
                    return
                if source == "stderr" and text:
                    self.last_error_line = text
                with self._lock:
                    self._gathered.append((source, text, int(time.time() * 1000)))

    def _send_for_ever(self) -> None:
        while not self._read.wait(self._batch):
            self._send()
        time.sleep(self._batch)
        self._send()
        self._logs.drop_output(self)

    def send_if_due(self) -> None:
        if time.monotonic() >= self._due:
            self._send()

    def _send(self) -> None:
        with self._sending:
            with self._lock:
                lines, self._gathered = self._gathered, []
            if self._is_wanted():
                self._logs.add(self._key, lines)
            self._due = time.monotonic() + self._batch
