"""`NodeHttp`: requests to the HTTP API of the node of a folder."""

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
    """Requests to the node of a folder. Its address and token change with a restart, so each request reads them.

    Args:
        folder: the folder with the node's socket; for a started node its home.
        patience: timeout of each request, in seconds.
    """

    def __init__(self, folder: str | os.PathLike[str], patience: float = 10.0) -> None:
        self.folder = Path(folder)
        self._patience = patience

    def address(self) -> str:
        """Return the address of the HTTP API.

        Raises:
            UnsupportedError: the node has no HTTP API.
        """
        return self._read("http.url")

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request and return the document of the answer.

        Raises:
            UnsupportedError: the node has no HTTP API.
            NodeDiedError: the node does not answer, or refuses the request; the message says why.
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
