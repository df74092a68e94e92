"""How a caller and an actor's host show each other, over HTTP, that both know the secret of their root job.

::

    GET /fray/actor            Fray-Nonce: C
    401 Unauthorized           WWW-Authenticate: Fray nonce="S", proof="HMAC(secret, host, C, S, actor)"
    GET /fray/actor            Authorization: Fray HMAC(secret, caller, C, S, actor), Upgrade: fray-actor
    101 Switching Protocols    frames from here on

The secret itself is never sent, so neither an eavesdropper nor a foreign program that has registered the name of an
actor learns it. Nothing that the other side sends is unpickled before its proof was checked.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import socket
from collections.abc import Callable, Mapping
from typing import NamedTuple

__all__ = ["HandshakeError", "Request", "accept", "connect", "read_head"]

PATH = "/fray/actor"
PROTOCOL = "fray-actor"
_SECONDS = 10.0
_MOST_HEAD_BYTES = 8 << 10
_REASONS = {101: "Switching Protocols", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found"}


class HandshakeError(OSError):
    """The other side is not a host, or not a caller, of this root job; users see an ActorDiedError that says so."""


class Request(NamedTuple):
    """The head of an HTTP message.

    Args:
        line: the first line.
        headers: the headers, with names in lower case.
        rest: the bytes that were read behind the headers.
    """

    line: str
    headers: Mapping[str, str]
    rest: bytes


async def connect(address: str, actor: str, secret: bytes) -> socket.socket:
    """Return a socket that is connected to the host of `actor` and takes frames.

    Raises:
        OSError: no process listens at the address.
        HandshakeError: the other side does not know the secret, or did not accept the proof of this process.
    """
    host, port = _host_and_port(address)
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(_SECONDS):
        family, kind, number, _, place = (await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))[0]
        sock = socket.socket(family, kind, number)
        sock.setblocking(False)
        try:
            await loop.sock_connect(sock, place)
            await _introduce(sock, f"{host}:{port}", actor, secret)
        except BaseException:
            sock.close()
            raise
    return sock


async def _introduce(sock: socket.socket, host: str, actor: str, secret: bytes) -> None:
    ours = secrets.token_hex(16)
    await _send(sock, f"GET {PATH} HTTP/1.1", {"Host": host, "Fray-Nonce": ours})
    line, headers, _ = await _read_head(sock)
    found = re.fullmatch(r'Fray nonce="(\w+)", proof="(\w+)"', headers.get("www-authenticate", ""))
    if not found or not hmac.compare_digest(found[2], _proof(secret, "host", ours, found[1], actor)):
        raise HandshakeError(f"{host} is no host of the actor {actor}, or does not know its job's secret ({line})")
    proof = _proof(secret, "caller", ours, found[1], actor)
    upgrade = {"Authorization": f"Fray {proof}", "Connection": "Upgrade", "Upgrade": PROTOCOL}
    await _send(sock, f"GET {PATH} HTTP/1.1", {"Host": host, "Fray-Nonce": ours, **upgrade})
    line, *_ = await _read_head(sock)
    if " 101 " not in line:
        raise HandshakeError(f"{host}, the host of the actor {actor}, refused this caller ({line})")


def _nothing_else(request: Request) -> bool:
    return False


async def accept(
    sock: socket.socket, actor: str, secret: bytes, is_other: Callable[[Request], bool] = _nothing_else
) -> bool | Request:
    """Answer requests on a connection until its other side has shown that it knows the secret.

    Returns whether it has shown that, or the first request for which `is_other` is true. Any other request, and one
    with a wrong proof, gets an error, and the connection is closed.
    """
    theirs, ours = "", secrets.token_hex(16)
    try:
        async with asyncio.timeout(_SECONDS):
            while True:
                line, headers, _ = request = await _read_head(sock)
                if is_other(request):
                    return request
                if not re.fullmatch(rf"GET {PATH} HTTP/1\.[01]", line):
                    return await _refuse(sock, 404, f"this is the host of an actor, which serves {PATH} to its own job")
                if not theirs:
                    theirs = headers.get("fray-nonce", "")
                given = headers.get("authorization")
                if given is None and theirs.isalnum():
                    proof = _proof(secret, "host", theirs, ours, actor)
                    told = f'Fray nonce="{ours}", proof="{proof}"'
                    await _send(sock, _status(401), {"WWW-Authenticate": told, "Content-Length": "0"})
                    continue
                expected = "Fray " + _proof(secret, "caller", theirs, ours, actor)
                if given is None or not theirs or not hmac.compare_digest(given.encode(), expected.encode()):
                    return await _refuse(sock, 403, "only tasks of this actor's root job may call it")
                await _send(sock, _status(101), {"Connection": "Upgrade", "Upgrade": PROTOCOL})
                return True
    except (OSError, TimeoutError, HandshakeError):
        return _closed(sock)


async def _refuse(sock: socket.socket, status: int, text: str) -> bool:
    body = text + "\n"
    headers = {"Content-Type": "text/plain", "Content-Length": str(len(body)), "Connection": "close"}
    await _send(sock, _status(status), headers, body)
    return _closed(sock)


def _closed(sock: socket.socket) -> bool:
    sock.close()
    return False


def _status(number: int) -> str:
    return f"HTTP/1.1 {number} {_REASONS[number]}"


def _proof(secret: bytes, role: str, caller_nonce: str, host_nonce: str, actor: str) -> str:
    said = "\0".join((role, caller_nonce, host_nonce, actor))
    return hmac.new(secret, said.encode(), "sha256").hexdigest()


async def _send(sock: socket.socket, line: str, headers: Mapping[str, str], body: str = "") -> None:
    text = "".join([line, "\r\n", *(f"{name}: {value}\r\n" for name, value in headers.items()), "\r\n", body])
    await asyncio.get_running_loop().sock_sendall(sock, text.encode())


async def _read_head(sock: socket.socket) -> Request:
    """Return the head of a message.

    No message of a successful handshake has a body, and neither side sends before it has got its answer.
    """
    data = b""
    while b"\r\n\r\n" not in data:
        more = await asyncio.get_running_loop().sock_recv(sock, _MOST_HEAD_BYTES)
        data += more
        if not more or len(data) > _MOST_HEAD_BYTES:
            raise HandshakeError(f"the other side sent {len(data)} bytes that are no message of HTTP, and no more")
    head, _, rest = data.partition(b"\r\n\r\n")
    return read_head(head, rest)


def read_head(head: bytes, rest: bytes = b"") -> Request:
    """Return the request whose head these bytes are."""
    line, *lines = head.decode("latin-1").split("\r\n")
    fields = (each.partition(":") for each in lines)
    return Request(line, {name.strip().lower(): value.strip() for name, _, value in fields}, rest)


def _host_and_port(address: str) -> tuple[str, int]:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or port is None:
        raise HandshakeError(f"{address!r} is not the address of an actor's host, which is http://HOST:PORT")
    return host, port
