"""`NodeHttp`: asks the HTTP API of the node whose folder is known."""

from __future__ import annotations

import http.client
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fray.errors import NodeDiedError, UnsupportedError

__all__ = ["NodeHttp"]


class NodeHttp:
    """The node that lives in a folder now. Its address and token change with a restart, and are read for each question.

    Args:
        folder: with the node's socket; for a started node its home.
        patience: seconds for each question.
    """

    def __init__(self, folder: str | os.PathLike[str], patience: float = 10.0) -> None:
        self.folder = Path(folder)
        self._patience = patience

    def address(self) -> str:
        """Return where it answers.

        Raises:
            UnsupportedError: it has no HTTP API.
        """
        return self._read("http.url")

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Return the document that it answers with.

        Raises:
            UnsupportedError: it has no HTTP API.
            NodeDiedError: it does not answer, or refuses; the message says why.
        """
        address = urlsplit(self.address())
        headers = {"Authorization": f"Bearer {self._read('http.token')}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=self._patience)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            document: dict[str, Any] = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NodeDiedError(f"the node at {address.geturl()} does not answer: {error}") from None
        finally:
            connection.close()
        if answer.status != 200:
            raise NodeDiedError(f"the node at {address.geturl()} refuses: {document['error']['message']}")
        return document

    def _read(self, name: str) -> str:
        try:
            return (self.folder / name).read_text().strip()
        except FileNotFoundError:
            raise UnsupportedError(
                f"the node in {os.fspath(self.folder)} has no dashboard; start it with fray.init(dashboard=True), or "
                "use one that `fray start` has started"
            ) from None
