"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Generator[str]:
    """Give the path of a file to write; at the end it takes the place of `path`, and after an error it is gone."""
    target = os.fspath(path)
    partial = f"{target}.{os.getpid()}.part"
    try:
        yield partial
        os.replace(partial, target)
    except BaseException:
        if os.path.exists(partial):
            os.unlink(partial)
        raise
