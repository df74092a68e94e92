"""The common part of `fray.timeline` and `fray.report`: a file about tasks, written at once or after a block."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from fray.job.context import JobContext
from fray.job.current import existing_job_context

__all__ = ["RanTasks", "Recording"]


class RanTasks(NamedTuple):
    """The tasks that ran in a context, as its engine reports them."""

    events: list[Mapping[str, Any]]
    failures: list[tuple[str, int, str]]

    @property
    def last_end(self) -> float:
        """When the last task ended, by the clock of the events."""
        return max((_end(event) for event in self.events if "ts" in event), default=float("-inf"))

    def after(self, end: float, failures: int) -> RanTasks:
        """Return the tasks that ended after `end`, without the first `failures` failures, which were known before."""
        ran = [event for event in self.events if "ts" not in event or _end(event) > end]
        places = {event.get("pid") for event in ran if "ts" in event}
        named = [event for event in ran if "ts" in event or event.get("pid") in places]
        return RanTasks(named, self.failures[failures:])


class Recording(int):
    """How many tasks or events were written to a file.

    As a context manager it writes the file anew at the end of the block, also when the block raises, with the tasks
    that have ended inside; the context of the tasks must not be closed by then. An exception of the block is
    raised on; where the file cannot be written, it gets a note that says so.
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
        """Pickle as a plain number: only the process of the block writes the file."""
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
