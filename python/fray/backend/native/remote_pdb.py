"""Python's debugger, talking over a socket. Imported only when a task stops."""

from __future__ import annotations

import pdb
import socket
from collections.abc import Callable
from typing import Any, TextIO, cast

__all__ = ["RemotePdb"]


class RemotePdb(pdb.Pdb):
    """One conversation; it lasts until the task ends, goes on without further stops, or the terminal is gone."""

    def __init__(self, connection: socket.socket, ended: Callable[[], None]) -> None:
        self._connection = connection
        self._ended = ended
        self._finished = False
        self._in = connection.makefile("r", encoding="utf-8", errors="replace")
        self._out = cast("TextIO", connection.makefile("w", encoding="utf-8", errors="backslashreplace"))
        super().__init__(skip=["fray", "fray.*"], stdin=self._in, stdout=self._out, nosigint=True, readrc=False)

    def set_continue(self) -> None:
        """Go on; without any break point left the terminal is not needed any more."""
        super().set_continue()
        if not self.breaks:
            self.finish()

    def set_quit(self) -> None:
        """End the task."""
        super().set_quit()
        self.finish()

    def do_EOF(self, arg: str) -> bool:
        """Go on when the terminal is gone."""
        del arg
        self.clear_all_breaks()
        self.set_continue()
        return True

    def finish(self) -> None:
        """Hang up."""
        if self._finished:
            return
        self._finished = True
        for file in (self._out, self._in):
            try:
                file.close()
            except OSError:  # nobody is there to hear the rest
                continue
        self._connection.close()
        self._ended()

    def print_stack_entry(self, *args: Any, **kwargs: Any) -> None:
        """Say where the task is; a terminal that has gone is noticed at the next question."""
        try:
            super().print_stack_entry(*args, **kwargs)
        except OSError:
            return
