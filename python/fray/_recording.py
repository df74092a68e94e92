"""What `fray.timeline` and `fray.report` share: a file about tasks, written at once or at the end of a block."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from fray.job.context import JobContext
from fray.job.current import existing_job_context

__all__ = ["RanTasks", "Recording"]


class RanTasks(NamedTuple):
    """What ran in a context, as it tells it."""

    events: list[Mapping[str, Any]]
    failures: list[tuple[str, int, str]]

    @property
    def last_end(self) -> float:
        """When the last task ended, by the clock of the events."""
        return max((_end(event) for event in self.events if "ts" in event), default=float("-inf"))

    def after(self, end: float, failures: int) -> RanTasks:
        """Return what ended after that; `failures` were known then."""
        ran = [event for event in self.events if "ts" not in event or _end(event) > end]
        places = {event.get("pid") for event in ran if "ts" in event}
        named = [event for event in ran if "ts" in event or event.get("pid") in places]
        return RanTasks(named, self.failures[failures:])


class Recording(int):
    """How many tasks or events were written to a file.

    As a context manager it writes the file anew at the end of the block, also when the block raises, with the tasks
    that have ended inside; the context of the tasks must not be closed by then. What the block raises goes on, also
    where the file cannot be written, of which it has a note then.
    """

    def __new__(
        cls,
        write: Callable[[str, RanTasks], int],
        path: str | os.PathLike[str],
        context: JobContext | None,
    ) -> Self:
        if not os.fspath(path):
            raise ValueError("the path of the file to write is empty")
        place = os.path.abspath(os.fsdecode(path))  # the block may change the current folder
        chosen = context or existing_job_context()
        ran = _ran_in(chosen)
        recording = super().__new__(cls, write(place, ran))
        recording._begin(write, place, context, chosen, ran)
        return recording

    def _begin(
        self,
        write: Callable[[str, RanTasks], int],
        path: str,
        context: JobContext | None,
        chosen: JobContext | None,
        before: RanTasks,
    ) -> None:
        self._write, self._path, self._context, self._chosen = write, path, context, chosen
        self._before = before.last_end, len(before.failures)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        try:
            chosen = self._context or existing_job_context()
            ran = _ran_in(chosen)
            self._write(self._path, ran.after(*self._before) if chosen is self._chosen else ran)
        except Exception as failure:
            if error is None:
                raise
            error.add_note(f"{self._path} was not written: {type(failure).__name__}: {failure}")

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        """Travel as the plain number: the file is written where the block is."""
        return int, (int(self),)


def _end(event: Mapping[str, Any]) -> float:
    return event["ts"] + event.get("dur", 0)


def _ran_in(context: JobContext | None) -> RanTasks:
    if context is None:
        return RanTasks([], [])
    if not isinstance(context, JobContext):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"context must be a JobContext, got {context!r}")
    engine = context.begun_engine
    return RanTasks([], []) if engine is None else RanTasks(list(engine.timeline_events()), list(engine.failures()))
