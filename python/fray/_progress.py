"""`fray.progress`: how far tasks or a loop have come, on a terminal, in a file or in a notebook."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, TypeVar, overload

from fray._progress_views import LineView, NotebookView, ProgressView, TerminalView
from fray._quiet_stream import QuietStream
from fray.job.context import JobContext
from fray.job.current import get_job_context
from fray.job.refs import ObjectRef

__all__ = ["progress"]

T = TypeVar("T")

REFRESH_SECONDS = 0.1


@overload
def progress(
    items: Iterable[ObjectRef[T]],
    total: int | None = None,
    label: str | None = None,
    *,
    context: JobContext | None = None,
    stream: TextIO | None = None,
) -> list[ObjectRef[T]]: ...
@overload
def progress(
    items: Iterable[T],
    total: int | None = None,
    label: str | None = None,
    *,
    context: JobContext | None = None,
    stream: TextIO | None = None,
) -> Iterable[T]: ...
def progress(
    items: Iterable[Any],
    total: int | None = None,
    label: str | None = None,
    *,
    context: JobContext | None = None,
    stream: TextIO | None = None,
) -> Any:
    """Show the progress of tasks, or of a loop over anything.

    For refs, wait until all are ready, show how many are, and return them as a list in their order. Failed tasks count
    as ready; `get` raises their exceptions: ``results = ctx.get(fray.progress(refs))``.

    For any other items, return an iterator of the same items that shows how many the loop has finished:
    ``for result in fray.progress(ctx.map(fn, items), total=len(items))``. The first item decides which of the two is
    done; it is taken from a generator at once.

    A terminal gets one line that changes, a notebook a bar, a file a few plain lines.

    Args:
        items: refs, also from a generator that submits their tasks, or any other iterable.
        total: how many there will be, where `items` has no length.
        label: what is counted; ``"tasks"`` for refs, ``"items"`` for others.
        context: the context of the refs; by default the current one.
        stream: where the text goes; standard error by default.
    """
    _check(total, label)
    expected = total if total is not None else _length(items)
    source = iter(items)
    first = list(itertools.islice(source, 1))
    out = stream if stream is not None else sys.stderr
    if not first:  # there is no item
        _view(out, label or "tasks").close(0, expected, 0.0)
        return []
    them = _with_first(first, source)
    if isinstance(first[0], ObjectRef):
        return _wait_for(them, expected, _view(out, label or "tasks"), context or get_job_context())
    return _counted(them, expected, _view(out, label or "items"))


def _check(total: object, label: object) -> None:
    if total is not None:
        if isinstance(total, bool) or not isinstance(total, int):
            raise TypeError(f"progress: total must be None or a whole number, got {total!r}")
        if total < 0:
            raise ValueError(f"progress: total must be at least 0, got {total}")
    if label is not None and not isinstance(label, str):
        raise TypeError(f"progress: label must be a text, got {label!r}")


def _with_first(first: list[T], others: Iterator[T]) -> Iterator[T]:
    yield first.pop()
    yield from others


def _counted(items: Iterator[T], expected: int | None, view: ProgressView) -> Iterator[T]:
    started = time.monotonic()
    done = 0
    try:
        while True:
            try:
                yield next(items)  # not kept in a variable, so that the item is freed when the loop drops it
            except StopIteration:
                return
            done += 1
            if view.due():
                view.show(done, expected, time.monotonic() - started)
    finally:
        view.close(done, expected, time.monotonic() - started)


def _wait_for(
    refs: Iterator[ObjectRef[T]], expected: int | None, view: ProgressView, context: JobContext
) -> list[ObjectRef[T]]:
    started = time.monotonic()
    known: list[ObjectRef[T]] = []
    distinct: set[ObjectRef[T]] = set()
    pending: list[ObjectRef[T]] = []
    try:
        for ref in refs:
            known.append(ref)
            if ref not in distinct:
                distinct.add(ref)
                pending.append(ref)
            if view.due():
                pending = _still_pending(context, pending)
                view.show(len(known) - len(pending), expected, time.monotonic() - started)
        expected = len(known)
        while pending:
            _, pending = context.wait(pending, len(pending), REFRESH_SECONDS)
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


def _view(stream: TextIO | None, label: str) -> ProgressView:
    if stream is sys.stderr and NotebookView.available():
        return NotebookView(label)
    quiet = QuietStream(stream)
    return TerminalView(quiet, label) if quiet.is_terminal() else LineView(quiet, label)
