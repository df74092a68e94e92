"""Files that are written completely or not at all; a pipe or a device, which is no file, is written to as it is."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Generator[str]:
    """Yield the path of a file to write; after the block it replaces `path`, after an error it is removed.

    Where `path` is a link, the file that it leads to is replaced. A device, a pipe and an open file, such as
    ``/dev/stdout``, is never replaced: its own path is yielded.

    Raises:
        OSError: its folder does not exist or cannot be written to, or `path` is a folder; the error names `path`.
    """
    target = os.fspath(path)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if _is_open_file(target) or (os.path.exists(target) and not os.path.isfile(target)):
        yield target
        return
    whole = os.path.realpath(target)
    partial = f"{whole}.{os.getpid()}.part"
    try:
        yield partial
        os.replace(partial, whole)
    except BaseException as error:
        if os.path.exists(partial):
            os.unlink(partial)
        if isinstance(error, OSError) and error.filename == partial:  # the user knows the file by its final name
            raise type(error)(error.errno, error.strerror, target) from None
        raise


def _is_open_file(path: str) -> bool:
    """Return whether a path means a descriptor of a process, whatever it leads to."""
    path = os.path.abspath(path)
    return path.startswith(("/proc/", "/dev/fd/")) or path in ("/dev/stdin", "/dev/stdout", "/dev/stderr")
