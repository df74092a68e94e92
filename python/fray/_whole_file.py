"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Generator[str]:
    """Give the path of a file to write; at the end it takes the place of `path`, and after an error it is gone.

    Raises:
        OSError: with `path`, whose folder is not there or cannot be written to, or that is a folder itself.
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
        if isinstance(error, OSError) and error.filename == partial:  # people know the file by another name
            raise type(error)(error.errno, error.strerror, target) from None
        raise
