"""`fray.timeline`: when each task ran, as a file that opens in Perfetto and in chrome://tracing."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from fray._whole_file import whole_file
from fray.job.current import get_job_context

if TYPE_CHECKING:
    from fray.job.context import JobContext

__all__ = ["timeline"]


def timeline(path: str | os.PathLike[str], *, context: JobContext | None = None) -> int:
    """Write the tasks that ran so far to `path` and return the number of events.

    The file is Chrome's trace JSON, gzipped where the name ends in ``.gz``. Only the latest tasks are remembered.

    Args:
        path: file to write; an existing one is replaced as a whole.
        context: whose tasks; by default those of the current context.

    Raises:
        UnsupportedError: the context does not remember its tasks.
    """
    events = list((context or get_job_context())._timeline_events())  # pyright: ignore[reportPrivateUsage]
    zipped = os.fspath(path).endswith(".gz")
    with whole_file(path) as partial, _open(partial, zipped) as file:
        file.write(b'{"displayTimeUnit": "ms", "traceEvents": [\n')
        for number, event in enumerate(events):
            file.write((b",\n" if number else b"") + json.dumps(event).encode())
        file.write(b"\n]}\n")
    return len(events)


def _open(path: str, zipped: bool):
    if zipped:
        import gzip

        return gzip.open(path, "wb", compresslevel=5)
    return open(path, "wb")
