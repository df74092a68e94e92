"""`LogStore`: lines under the keys of attempts, in the order in which they came."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import Any, Protocol

from tests.iris import messages
from tests.iris.messages import enum

_MOST_LINES = 1000
_SCOPE = enum("MatchScope")


@dataclass(frozen=True)
class Line:
    seq: int
    key: str
    source: str
    data: str
    epoch_ms: int


class Output(Protocol):
    def send_if_due(self) -> None:
        """Add the lines whose time has come."""
        ...


class LogStore:
    """Threading: any thread."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._outputs: list[Output] = []
        self._lock = threading.Lock()
        self._readers = threading.Semaphore(4)

    def add(self, key: str, lines: list[tuple[str, str, int]]) -> None:
        """Take lines of an attempt, each with its source and time."""
        with self._lock:
            for source, data, epoch_ms in lines:
                self._lines.append(Line(len(self._lines) + 1, key, source, data, epoch_ms))

    def add_output(self, output: Output) -> None:
        with self._lock:
            self._outputs.append(output)

    def drop_output(self, output: Output) -> None:
        with self._lock:
            self._outputs.remove(output)

    def fetch(self, request: Any) -> Any:
        """Answer FetchLogs."""
        with self._lock:
            outputs = list(self._outputs)
        for output in outputs:
            output.send_if_due()
        with self._readers:
            with self._lock:
                newer = self._lines[max(request.cursor, 0) :]
            exact = request.match_scope == _SCOPE["EXACT"]
            found = [line for line in newer if self._fits(line, request)]
            most = request.max_lines or _MOST_LINES
            found = found[-most:] if request.tail else found[:most]
            return messages.FetchLogsResponse(
                entries=[self._entry(line, with_key=not exact) for line in found],
                cursor=found[-1].seq if found else request.cursor,
            )

    def _fits(self, line: Line, request: Any) -> bool:
        if request.match_scope == _SCOPE["EXACT"]:
            named = line.key == request.source
        elif request.match_scope == _SCOPE["REGEX"]:
            named = re.search(request.source, line.key) is not None
        else:
            named = line.key.startswith(request.source)
        return named and line.epoch_ms >= request.since_ms and request.substring in line.data

    def _entry(self, line: Line, with_key: bool) -> Any:
        attempt = line.key.rpartition(":")[2]
        return messages.LogEntry(
            timestamp=messages.Timestamp(epoch_ms=line.epoch_ms),
            source=line.source,
            data=line.data,
            attempt_id=int(attempt) if attempt.isdigit() else 0,
            key=line.key if with_key else "",
        )
