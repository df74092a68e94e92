"""Writes text for people to a stream, and ignores errors of the stream: they must not end the program."""

from __future__ import annotations

from typing import Any

__all__ = ["QuietStream"]


class QuietStream:
    """Writes to a stream until a write fails; nothing is written to a stream that is missing, closed or broken.

    Characters that the encoding of the stream lacks are written as "?".
    """

    def __init__(self, stream: Any) -> None:
        self._stream: Any = stream  # None where a program has no standard error

    def write(self, text: str) -> None:
        """Write the text and flush it."""
        if self._stream is None:
            return
        try:
            try:
                self._stream.write(text)
            except UnicodeEncodeError as error:
                self._stream.write(text.encode(error.encoding, "replace").decode(error.encoding))
            self._stream.flush()
        except (OSError, ValueError):  # ValueError: closed
            self._stream = None

    def is_terminal(self) -> bool:
        """Return whether the stream is a terminal, where a line can be overwritten."""
        try:
            return bool(self._stream.isatty())
        except (AttributeError, ValueError):
            return False

    def fileno(self) -> int:
        """Return the descriptor of the stream; OSError or ValueError where there is none."""
        try:
            return self._stream.fileno()
        except AttributeError:
            raise ValueError("the stream has no descriptor") from None
