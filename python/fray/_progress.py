"""`fray.progress`: how far a list of tasks has come, on a terminal, in a file or in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from fray._progress_views import LineView, NotebookView, ProgressView, TerminalView
from fray.job.current import get_job_context
from fray.job.refs import ObjectRef

if TYPE_CHECKING:
    from fray.job.context import JobContext

__all__ = ["progress"]

T = TypeVar("T")

REFRESH_SECONDS = 0.1


def progress(
    refs: Iterable[ObjectRef[T]],
    total: int | None = None,
    label: str = "tasks",
    *,
    context: JobContext | None = None,
    stream: TextIO | None = None,
) -> list[ObjectRef[T]]:
    """Wait until all `refs` are ready, showing how many are, and return them in their order.

    A terminal gets one line that changes, a notebook a bar, a file a few plain lines. Failed tasks count as ready; what
    they raised comes from `get`: ``results = ctx.get(fray.progress(refs))``.

    Args:
        refs: may be a generator that submits the tasks.
        total: how many there will be, where `refs` has no length.
        label: what is counted.
        context: the context of the refs; by default the current one.
        stream: where the text goes; standard error by default.
    """
    chosen = context or get_job_context()
    view = _view(stream or sys.stderr, label)
    started = time.monotonic()
    expected = total if total is not None else _length(refs)
    known: list[ObjectRef[T]] = []
    pending: list[ObjectRef[T]] = []
    try:
        for ref in refs:
            known.append(ref)
            pending.append(ref)
            if view.due():
                pending = _still_pending(chosen, pending)
                view.show(len(known) - len(pending), expected, time.monotonic() - started)
        expected = len(known)
        while pending:
            _, pending = chosen.wait(pending, len(pending), REFRESH_SECONDS)
            if pending and view.due():
                view.show(len(known) - len(pending), expected, time.monotonic() - started)
    finally:
        done = len(known) - len(pending)
        view.close(done, expected, time.monotonic() - started)
    return known


def _still_pending(context: JobContext, pending: list[ObjectRef[T]]) -> list[ObjectRef[T]]:
    return context.wait(pending, len(pending), 0)[1]


def _length(refs: Any) -> int | None:
    try:
        return len(refs)
    except TypeError:
        return None


def _view(stream: TextIO, label: str) -> ProgressView:
    if stream is sys.stderr and NotebookView.available():
        return NotebookView(label)
    if stream.isatty():
        return TerminalView(stream, label)
    return LineView(stream, label)
