"""The actors of the benchmarks, and how each peer's handles are called. Workers import this module too."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any


class Server:
    """Answers at once. Ray's own benchmark calls it ``Actor``."""

    def small_value(self) -> bytes:
        return b"ok"

    def small_value_arg(self, value: Any) -> bytes:
        del value
        return b"ok"

    def pid(self) -> int:
        return os.getpid()


class AsyncServer:
    """The same with ``async def`` methods."""

    async def small_value(self) -> bytes:
        return b"ok"

    async def small_value_arg(self, value: Any) -> bytes:
        del value
        return b"ok"


class Client:
    """Calls actors from a process of its own.

    Args:
        peer: whose handles it is given.
    """

    def __init__(self, peer: str) -> None:
        self.peer = peer

    def call(self, servers: Sequence[Any], count: int) -> None:
        """Call each server so often, and get everything."""
        call_in_turn(self.peer, servers, count * len(servers))

    def call_with_ref(self, server: Any, count: int) -> None:
        """Put a value, and call the server so often with its ref."""
        get, put = get_and_put(self.peer)
        ref, call = put(0), method(self.peer, server, "small_value_arg")
        get([call(ref) for _ in range(count)])


def call_in_turn(peer: str, servers: Sequence[Any], count: int) -> None:
    """Make so many calls, in turn over the servers, and get everything. A task of its own in the n:n rows."""
    calls = [method(peer, server, "small_value") for server in servers]
    get, _ = get_and_put(peer)
    get([calls[number % len(calls)]() for number in range(count)])


def method(peer: str, handle: Any, name: str) -> Callable[..., Any]:
    """Return what calls a method of an actor and returns a ref."""
    bound = getattr(handle, name)
    return bound.remote if peer == "ray" else bound


def get_and_put(peer: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return a peer's get and put, in whatever process this is."""
    if peer == "ray":
        import ray

        return ray.get, ray.put
    import fray

    context = fray.get_job_context()
    return context.get, context.put
