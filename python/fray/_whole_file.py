"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Generator[str]:
    """Yield the path of a file to write; after the block it replaces `path`, after an error it is removed.

    Raises:
        OSError: its folder does not exist or cannot be written to, or `path` is a folder; the error names `path`.
    """
    target = os.fspath(path)
    partial = f"{target}.{os.getpid()}.part"
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    try:
        yield partial
        os.replace(partial, target)
    except BaseException as error:
        if os.path.exists(partial):
            os.unlink(partial)
        if isinstance(error, OSError) and error.filename == partial:  # the user knows the file by its final name
            raise type(error)(error.errno, error.strerror, target) from None
        raise
