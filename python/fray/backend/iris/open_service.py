"""Iris's own actor protocol (``iris.actor.ActorService``), so that its clients can call an actor that is hosted here.

Only with ``FRAY_IRIS_OPEN_ACTORS=1`` in the environment of the host, because the protocol is insecure: a client proves
nothing, and what it sends is unpickled.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import pickle
import re
import socket
from collections.abc import Callable
from typing import Any

from fray import _by_value, _iris_jobs
from fray.backend.iris.handshake import Request, read_head

__all__ = ["SERVICE", "OpenService", "is_for_service", "is_open", "known_names", "open_name"]

OPEN_VARIABLE = "FRAY_IRIS_OPEN_ACTORS"
SERVICE = "/iris.actor.ActorService/"
_LINE = re.compile(rf"POST {SERVICE}(\w+) HTTP/1\.1")
_MOST_BYTES = 1 << 32
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 500: "Internal Server Error", 501: "Not Implemented"}


def is_open() -> bool:
    """Return whether this process takes part in Iris's own actor protocol."""
    return os.environ.get(OPEN_VARIABLE) == "1"


def open_name(root: str, name: str) -> str:
    """Return the name of the endpoint under which Iris's clients find the actor of that name in the tree of `root`."""
    return f"{root}/{name}"


def known_names(endpoint: str) -> tuple[str, str]:
    """Return the names by which calls may name the actor: the name of its endpoint, with and without the root job."""
    return endpoint, endpoint.split("/", 3)[-1]


def is_for_service(request: Request) -> bool:
    """Return whether a request is one of this protocol."""
    return is_open() and _LINE.fullmatch(request.line) is not None


class OpenService:
    """Answers requests of one connection after the other's.

    Args:
        actor: the endpoint's name, which callers may give, whole or without the root job, or leave out.
        methods: of the actor.
        call: calls a method and returns its value, in a thread that may wait.
    """

    def __init__(self, actor: str, methods: list[str], call: Callable[[str, Any, Any], Any]) -> None:
        self._actor, self._methods, self._call = actor, methods, call
        self._names = ("", *known_names(actor))

    async def serve(self, sock: socket.socket, request: Request) -> None:
        """Answer the requests of a connection, of which the first has begun to come."""
        reader, writer = await asyncio.open_connection(sock=sock)
        try:
            while True:
                body = await _body(reader, request)
                status, kind, answer = await self._answer(request, body)
                lines = [
                    f"HTTP/1.1 {status} {_REASONS[status]}",
                    f"Content-Type: {kind}",
                    f"Content-Length: {len(answer)}",
                ]
                writer.write("\r\n".join([*lines, "", ""]).encode() + answer)
                await writer.drain()
                request = await _next(reader)
        except (OSError, ValueError, EOFError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the request is not HTTP, or the connection has ended
        finally:
            writer.close()

    async def _answer(self, request: Request, body: bytes) -> tuple[int, str, bytes]:
        found = _LINE.fullmatch(request.line)
        if found is None or request.headers.get("content-type", "").partition(";")[0] != "application/proto":
            return _refusal(
                400, "invalid_argument", "only POST of application/proto to an actor's methods is served here"
            )
        if found[1] == "HealthCheck":
            return 200, "application/proto", _iris_jobs.healthy()
        if found[1] == "ListMethods":
            return 200, "application/proto", _iris_jobs.actor_methods([(name, "", "") for name in self._methods])
        if found[1] != "Call":
            return _refusal(
                501, "unimplemented", f"{found[1]} is not served here; Call, ListMethods and HealthCheck are"
            )
        try:
            method, actor, args, kwargs = _iris_jobs.read_actor_call(body)
            if actor not in self._names:
                return _missing(f"Actor {actor!r} not found")
            if method not in self._methods:
                return _missing(f"Method {method!r} not found on {self._actor!r}")
            given: tuple[Any, Any] = (pickle.loads(args) if args else (), pickle.loads(kwargs) if kwargs else {})
        except Exception as error:
            return _refusal(500, "unknown", str(error))
        return 200, "application/proto", await asyncio.to_thread(self._called, method, *given)

    def _called(self, method: str, args: Any, kwargs: Any) -> bytes:
        try:
            return _iris_jobs.actor_value(_by_value.dumps(self._call(method, args, kwargs)))
        except Exception as error:
            try:
                packed = _by_value.dumps(error)
            except Exception:
                packed = b""
            return _iris_jobs.actor_error(type(error).__name__, str(error), packed)


def _missing(what: str) -> tuple[int, str, bytes]:
    return 200, "application/proto", _iris_jobs.actor_error("NotFound", what, b"")


def _refusal(status: int, code: str, message: str) -> tuple[int, str, bytes]:
    return status, "application/json", json.dumps({"code": code, "message": message}).encode()


async def _next(reader: asyncio.StreamReader) -> Request:
    head = await reader.readuntil(b"\r\n\r\n")
    return read_head(head[:-4])


async def _body(reader: asyncio.StreamReader, request: Request) -> bytes:
    size = int(request.headers.get("content-length", "0"))
    if not 0 <= size < _MOST_BYTES or len(request.rest) > size:
        raise ValueError("not the length of a body")
    body = request.rest + await reader.readexactly(size - len(request.rest))
    return gzip.decompress(body) if request.headers.get("content-encoding") == "gzip" else body
