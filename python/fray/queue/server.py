"""A node that a program starts for its queues."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from fray.backend.native.programs import fray_program
from fray.errors import NodeDiedError
from fray.queue.http import HttpQueue

__all__ = ["HttpQueueServer"]

_END_LIMIT = 20.0  # seconds


class HttpQueueServer:
    """A node that keeps queues while a ``with`` statement lasts.

        with HttpQueueServer() as server:
            queue = server.new_queue("pages")

    It ends with the program, even if that is killed. With a node that runs already, `HttpQueue` needs no server.

    Args:
        folder: where items and leases are kept for later servers with the same folder; None for a folder that is
            removed at the end. Only one server at a time can use a folder.
        port: port on 127.0.0.1; 0 for any free port.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, port: int = 0) -> None:
        self._folder = None if folder is None else Path(folder).expanduser().absolute()
        if isinstance(port, bool) or not isinstance(port, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"port must be a whole number, got {port!r}")
        if not 0 <= port <= 65535:
            raise ValueError(f"port must be from 0 to 65535, got {port}")
        self._port = port
        self._process: subprocess.Popen[str] | None = None
        self._told: dict[str, Any] = {}
        self._closing = contextlib.ExitStack()

    def __enter__(self) -> HttpQueueServer:
        """Start the node.

        Raises:
            NodeDiedError: the node cannot start: the port or the folder is in use, or its files cannot be read.
        """
        if self._process is not None:
            raise RuntimeError("this HttpQueueServer runs already; make another one")
        with contextlib.ExitStack() as undone:
            self._start(undone)
            self._closing = undone.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._process = None
        self._told = {}
        self._closing.close()

    @property
    def url(self) -> str:
        """The URL of the node."""
        return str(self._running()["url"])

    @property
    def token_file(self) -> str:
        """The file with the token that every request needs; only this user can read it."""
        return str(self._running()["token_file"])

    def new_queue(self, name: str) -> HttpQueue[Any]:
        """Create a queue, or find the one that an earlier server with this folder created.

        Raises:
            ValueError: `name` is not a valid name of a queue.
        """
        return HttpQueue(self.url, name, self.token_file, create=True)

    def _running(self) -> dict[str, Any]:
        if self._process is None:
            raise RuntimeError("this HttpQueueServer does not run; use it as `with HttpQueueServer() as server:`")
        return self._told

    def _start(self, undone: contextlib.ExitStack) -> None:
        folder = self._folder
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="fray-queues-"))
            undone.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise NodeDiedError(f"the folder {folder} for queues cannot be made: {error.strerror}") from None
        environment = {name: value for name, value in os.environ.items() if name != "FRAY_NODE"}
        environment["FRAY_HOME"] = str(folder)
        messages = undone.enter_context((folder / "server.log").open("w+"))
        command = [fray_program(), "start", "--foreground", "--until-eof", "--json", "--http-port", str(self._port)]
        # Only this process holds the other end of the node's standard input: the node ends when this process does.
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            env=environment,
            text=True,
            start_new_session=True,
        )
        undone.callback(_end, process)
        self._told = _document(process)
        if not self._told:
            _end(process)
            messages.seek(0)
            said = " ".join(messages.read().split()) or f"it ended with code {process.returncode}"
            raise NodeDiedError(f"the node for queues in {folder} cannot start: {said}")
        self._process = process


def _document(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the document that the node prints when it runs; an empty one where it ends first."""
    text = ""
    for line in process.stdout or ():
        text += line
        if line == "}\n":
            return json.loads(text)
    return {}


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    try:
        process.wait(_END_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
