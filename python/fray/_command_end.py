"""How the Python programs behind the command `fray` print, and with which exit code they end."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["command_end", "show", "show_json"]

# The table of src/base/exit_codes.h.
_FAILED, _DISK, _INTERRUPTED = 1, 74, 130


class _OutputError(BaseException):
    """Standard output takes no more; the cause says why. No handler of other failures is meant for it."""


def show(text: str) -> None:
    """Print a text and a newline at once, and nothing where standard output is closed.

    Characters that the encoding of standard output lacks are shown by their numbers, as in ``\\xe9``.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        return
    try:
        try:
            print(text)
        except UnicodeEncodeError as error:
            print(text.encode(error.encoding, "backslashreplace").decode(error.encoding))
        sys.stdout.flush()
    except OSError as error:
        raise _OutputError from error


def show_json(value: object, **options: Any) -> None:
    """Print a value as JSON, with the options of `json.dumps`; NaN and infinities, which JSON lacks, are refused."""
    encoding: str | None = getattr(sys.stdout, "encoding", None)
    escaped = encoding is not None and encoding.lower() not in ("utf-8", "utf8")
    text = json.dumps(value, ensure_ascii=escaped, allow_nan=False, **options)
    show(text.encode(errors="backslashreplace").decode())  # as in the name of a file that is no UTF-8


def command_end(name: str, main: Callable[[], int], interrupted: str = "interrupted") -> int:
    """Return the exit code of `main`, the program of the command `fray NAME`.

    Ctrl-C and an output that cannot be written are told in a sentence; a reader that has closed the pipe needs none.
    """
    try:
        return main()
    except KeyboardInterrupt:
        print(f"fray {name}: {interrupted}", file=sys.stderr)
        return _INTERRUPTED
    except _OutputError as error:
        cause = error.__cause__
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python must not fail again at its exit
        if not isinstance(cause, OSError) or isinstance(cause, BrokenPipeError):
            return _FAILED
        print(f"fray {name}: its output cannot be written: {cause.strerror}", file=sys.stderr)
        return _DISK if cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG) else _FAILED
