"""`fray.timeline`: when each task ran, as a file that opens in Perfetto and in chrome://tracing."""

from __future__ import annotations

import json
import os

from fray._recording import RanTasks, Recording
from fray._whole_file import whole_file
from fray.job.context import JobContext

__all__ = ["timeline"]


def timeline(path: str | os.PathLike[str], *, context: JobContext | None = None) -> Recording:
    """Write the tasks that ran so far to `path` and return the number of events.

    The file is Chrome's trace JSON, gzipped where the name ends in ``.gz``. Only the latest tasks are remembered.
    ``with fray.timeline(path):`` writes it anew at the end of the block, with the tasks that ended inside.

    Args:
        path: file to write; an existing one is replaced as a whole.
        context: the context of the tasks; by default the current one. No context is started for a timeline.

    Raises:
        UnsupportedError: the context does not remember its tasks.
    """
    return Recording(_write, path, context)


def _write(path: str, ran: RanTasks) -> int:
    with whole_file(path) as partial, _open(partial, path.endswith(".gz")) as file:
        file.write(b'{"displayTimeUnit": "ms", "traceEvents": [\n')
        for number, event in enumerate(ran.events):
            file.write((b",\n" if number else b"") + json.dumps(event).encode())
        file.write(b"\n]}\n")
    return len(ran.events)


def _open(path: str, zipped: bool):
    if zipped:
        import gzip

        return gzip.open(path, "wb", compresslevel=5)
    return open(path, "wb")
