"""Requests to the queues of a node over HTTP, each sent until it is answered.

A request has the name of its session and a number, and keeps both when it is sent again: whether the first one arrived
or only its answer was lost makes no difference to the queue. A session asks one thing at a time, over a connection that
is kept.
"""

from __future__ import annotations

import errno
import http.client
import json
import os
import socket
import ssl
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fray.errors import FrayError, NodeDiedError, QueueNotFoundError

__all__ = ["Link", "check_url"]

_CONNECT_LIMIT = 5.0  # seconds
_ANSWER_LIMIT = 60.0  # in addition to the time that the node is asked to wait
_FIRST_REST, _LONGEST_REST = 0.05, 2.0
_BEGUN_IN_VAIN = (408, 429, 502, 503, 504)
"""Statuses by which the node, or a proxy before it, says that it cannot answer now; the request is right."""


class _AwayError(Exception):
    """The node did not answer, or not as a node does; its text says how."""


@dataclass
class _Session:
    """A connection, and the name and number by which the node recognises a repeated request."""

    client: str
    sequence: int = 0
    connection: http.client.HTTPConnection | None = None
    prefix: str = ""  # of the node's paths
    token: str = ""

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.connection = None


class Link:
    """Sends requests to the queues of one node, from any number of threads; a forked process gets its own sessions.

    Args:
        url: of the node, or "auto" for the started node of this home.
        token_file: file with its token; None for that of the started node of this home, if `url` is its address.
        patience: seconds for which a request is sent again while the node is away.
    """

    def __init__(self, url: str, token_file: str | None, patience: float) -> None:
        self._url = url
        self._token_file = token_file
        self._patience = patience
        self._resting: list[_Session] = []  # without a lock: a forked process could inherit it locked
        self._pid = os.getpid()

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None, *, wait: float = 0.0) -> dict[str, Any]:
        """Send a request until it is answered; return the answer's document.

        Args:
            method: HTTP method.
            path: path of the request.
            body: document of the request; None for a request that only reads.
            wait: seconds that the node may wait before it answers.

        Raises:
            QueueNotFoundError: the node has no such queue.
            ValueError: the node refuses the request as invalid.
            PermissionError: the token is not the node's, or cannot be read.
            NodeDiedError: the node did not answer within the patience.
            OSError: the node's disk is full.
            FrayError: the node has failed.
        """
        session = self._take()
        try:
            answer = self._ask(session, method, path, body, wait)
        except BaseException:
            session.close()  # its answer may still arrive
            raise
        self._resting.append(session)
        return answer

    def _ask(
        self, session: _Session, method: str, path: str, body: dict[str, Any] | None, wait: float
    ) -> dict[str, Any]:
        data = None
        if body is not None:
            session.sequence += 1
            data = json.dumps({**body, "client": session.client, "sequence": session.sequence}).encode()
        rest, end, refused = 0.0, 0.0, ""  # the node may have closed an idle connection: retry once at once
        while True:
            try:
                status, document = self._exchange(session, method, path, data, wait)
                if status in (401, 403) and refused != session.token:
                    refused = session.token  # a restarted node has another token
                    session.close()
                    continue
                return self._judge(status, document)
            except _AwayError as error:
                session.close()
                now = time.monotonic()
                end = end or now + self._patience
                if now + rest > end:
                    raise NodeDiedError(
                        f"the queues at {self._url} have not answered for {self._patience:g} s ({error}); is the node "
                        "running, and is this its address? `fray start` starts one, and `http.url` beside its socket "
                        "has the address"
                    ) from None
            time.sleep(rest)
            rest = min(max(rest * 2, _FIRST_REST), _LONGEST_REST)

    def _exchange(
        self, session: _Session, method: str, path: str, data: bytes | None, wait: float
    ) -> tuple[int, dict[str, Any]]:
        """Return the status and the document of one answer.

        Raises:
            _AwayError: there was none.
        """
        connection = session.connection or self._connect(session)
        headers = {"Content-Type": "application/json"} if data is not None else {}
        headers["Authorization"] = f"Bearer {session.token}"
        try:
            connection.sock.settimeout(_ANSWER_LIMIT + wait)
            connection.request(method, session.prefix + path, body=data, headers=headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise _AwayError(_in_words(error)) from None
        if answer.will_close:
            session.close()
        if answer.status in _BEGUN_IN_VAIN:
            raise _AwayError(f"it answered {answer.status} {answer.reason}")
        return answer.status, _document(self._url, answer, text)

    def _connect(self, session: _Session) -> http.client.HTTPConnection:
        url, session.token = self._place()
        parts = urlsplit(url)
        session.prefix = parts.path.rstrip("/")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_CONNECT_LIMIT)
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            raise FrayError(f"the certificate of {self._url} is not trusted: {error.verify_message}") from None
        except OSError as error:
            raise _AwayError(_in_words(error)) from None
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        session.connection = connection
        return connection

    def _place(self) -> tuple[str, str]:
        """Return the address and the token as they are now: the node may have been restarted.

        Raises:
            _AwayError: no node is where one should be.
            PermissionError: there is no token.
        """
        if self._url != "auto" and self._token_file is not None:
            return self._url, _token_in(self._token_file)
        folder = _folder_of_started_node()
        if folder is not None:
            try:
                url = (folder / "http.url").read_text().strip()
            except OSError:
                url = ""
            if self._url in ("auto", url) and url:
                return url, _token_in(self._token_file or str(folder / "http.token"))
        if self._url == "auto":
            raise _AwayError("no node of this home is started")
        raise PermissionError(
            f"the queues at {self._url} want a token, and that is not the started node of this home; give token_file=, "
            "the file that `fray start --json` names (token_file)"
        )

    def _judge(self, status: int, document: dict[str, Any]) -> dict[str, Any]:
        if status == 200:
            return document
        message = str(document.get("error", {}).get("message", document))
        if status == 404:
            raise QueueNotFoundError(f"{message} (asked at {self._url})")
        if status in (401, 403):
            where = self._token_file or "http.token of the started node of this home"
            raise PermissionError(f"the node at {self._url} refuses the token in {where}: {message}")
        if status in (400, 413):
            raise ValueError(message)
        if status == 507:
            raise OSError(errno.ENOSPC, f"the node at {self._url} cannot keep what was asked: {message}")
        raise FrayError(f"the node at {self._url} answered {status}: {message}")

    def _take(self) -> _Session:
        if self._pid != os.getpid():  # a forked process: the connections belong to its parent
            self._close()
            self._pid = os.getpid()
        try:
            return self._resting.pop()
        except IndexError:
            return _Session(uuid.uuid4().hex)

    def _close(self) -> None:
        while self._resting:
            self._resting.pop().close()

    def __del__(self) -> None:
        """Close the idle connections; the thread that uses another one closes it."""
        if "_resting" in self.__dict__:
            self._close()


def check_url(url: object) -> str:
    """Return an address of a node without a slash at its end, or "auto".

    Raises:
        TypeError: `url` is not text.
        ValueError: `url` is not an address.
    """
    if not isinstance(url, str):
        raise TypeError(f"url must be a text such as http://127.0.0.1:40113, got {url!r}")
    if url == "auto":
        return url
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        parts, good = None, False
    if parts is None or not good or parts.query or parts.fragment or not url.isprintable() or " " in url:
        raise ValueError(
            f"url must be the address of a node, such as http://127.0.0.1:40113, or 'auto' for that of this home, "
            f"got {url!r}"
        )
    if "@" in parts.netloc:
        raise ValueError("url must not hold a name or a password; the token belongs into a file (token_file)")
    return url.rstrip("/")


def _folder_of_started_node() -> Path | None:
    from fray.backend.native.address import find_socket

    try:
        return Path(find_socket("auto")).parent
    except NodeDiedError:
        return None


def _token_in(file: str) -> str:
    try:
        token = Path(file).read_text().strip()
    except (OSError, ValueError) as error:
        raise _token_error(file, error) from None
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise PermissionError(f"the token file {file} holds no token: one line without blanks")
    return token


def _token_error(file: str, error: Exception) -> Exception:
    if isinstance(error, FileNotFoundError):
        return _AwayError(f"the token file {file} is not there")  # a node has it while it runs
    return PermissionError(f"the token file {file} cannot be read: {error}")


def _document(url: str, answer: http.client.HTTPResponse, text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if isinstance(document, dict):
        return document  # pyright: ignore[reportUnknownVariableType]
    kind = answer.headers.get_content_type()
    raise FrayError(f"{url} answered {answer.status} with {kind}, which no node of Fray does; is the address right?")


def _in_words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, http.client.RemoteDisconnected):
        return "it closed the connection without an answer"
    return str(getattr(error, "strerror", None) or error or type(error).__name__)
