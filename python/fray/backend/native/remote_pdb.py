"""Python's debugger, talking over a socket. Imported only when a task stops."""

from __future__ import annotations

import pdb
import socket
from collections.abc import Callable
from typing import Any, TextIO, cast

__all__ = ["RemotePdb"]


class RemotePdb(pdb.Pdb):
    """A debugger for one stop; it ends when the task ends or continues without break points, or the terminal goes."""

    def __init__(self, connection: socket.socket, ended: Callable[[], None]) -> None:
        self._connection = connection
        self._ended = ended
        self._in = connection.makefile("r", encoding="utf-8", errors="replace")
        self._out = cast("TextIO", connection.makefile("w", encoding="utf-8", errors="backslashreplace"))
        super().__init__(skip=["fray", "fray.*"], stdin=self._in, stdout=self._out, nosigint=True, readrc=False)

    def set_continue(self) -> None:
        """Continue the task; give the terminal back where no break point is left."""
        super().set_continue()
        if not self.breaks:
            self.finish()

    def set_quit(self) -> None:
        """End the task."""
        super().set_quit()
        self.finish()

    def do_EOF(self, arg: str) -> bool:
        """Go on when the terminal is gone."""
        self.clear_all_breaks()
        self.set_continue()
        return True

    def finish(self) -> None:
        """Close the connection; again where an earlier attempt was interrupted."""
        for file in (self._out, self._in):
            try:
                file.close()
            except OSError:  # the terminal is gone
                continue
        self._connection.close()
        self._ended()

    def print_stack_entry(self, *args: Any, **kwargs: Any) -> None:
        """Print where the task is; ignore a terminal that has gone, which the next read notices."""
        try:
            super().print_stack_entry(*args, **kwargs)
        except OSError:
            return
