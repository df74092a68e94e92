"""Frames between machines, names of actors, and how both sides show that they know the secret."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Callable
from typing import Any

import pytest
from fray.backend.iris.channel import Channel
from fray.backend.iris.handshake import HandshakeError, accept, connect
from fray.backend.iris.names import ActorName, actor_of
from fray.backend.iris.values import pack, unpack
from hypothesis import given
from hypothesis import strategies as st

Frame = tuple[int, int, bytes, list[bytes]]


async def exchange(frames: list[Frame]) -> tuple[list[Frame], list[int]]:
    """Return what arrives of the frames, and which memory was asked for."""
    loop = asyncio.get_running_loop()
    came: list[Frame] = []
    asked: list[int] = []
    ended = asyncio.Event()

    def take(kind: int, call: int, body: Any, buffers: list[Any]) -> None:
        came.append((kind, call, bytes(body), [bytes(part) for part in buffers]))
        if len(came) == len(frames):
            ended.set()

    def allocate(size: int) -> bytearray:
        asked.append(size)
        return bytearray(size)

    ours, theirs = connected()
    reader = Channel(theirs, loop, take, ended.set, allocate)
    writer = Channel(ours, loop, take, lambda: None, bytearray)
    for kind, call, body, buffers in frames:
        writer.send(kind, call, body, [memoryview(part) for part in buffers])
        writer.flush()
    if frames:
        await asyncio.wait_for(ended.wait(), 30)
    writer.close()
    reader.close()
    return came, asked


def connected() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        return ours, server.accept()[0]


def test_frames_of_all_sizes_arrive_whole_and_in_order() -> None:
    sizes = [0, 1, 18, 19, 20, 65_535, 65_536, 65_537, 262_143, 262_144, 300_000, 5 << 20]
    rng = random.Random(7)
    frames: list[Frame] = []
    for number in range(150):
        buffers = [rng.randbytes(rng.choice(sizes)) for _ in range(rng.choice((0, 0, 1, 3)))]
        frames.append((rng.randrange(256), number, rng.randbytes(rng.choice(sizes[:-1])), buffers))
    came, asked = asyncio.run(exchange(frames))
    assert came == frames
    assert asked
    assert min(asked) >= 65_536


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 2**64 - 1), st.binary(), st.lists(st.binary()))))
def test_any_small_frames_arrive(frames: list[Frame]) -> None:
    assert asyncio.run(exchange(frames))[0] == frames


def test_other_sides_end_is_told_once() -> None:
    async def run() -> int:
        ours, theirs = connected()
        ends: list[int] = []
        gone = asyncio.Event()

        def end() -> None:
            ends.append(1)
            gone.set()

        channel = Channel(theirs, asyncio.get_running_loop(), lambda *_: None, end, bytearray)
        ours.sendall(b"\x01\x00")
        ours.close()
        await asyncio.wait_for(gone.wait(), 30)
        channel.close()
        channel.send(1, 1, b"to nobody")
        channel.flush()
        return len(ends)

    assert asyncio.run(run()) == 1


def test_values_lie_beside_their_pickle() -> None:
    numpy = pytest.importorskip("numpy")
    value = {"large": numpy.arange(10_000), "small": numpy.arange(3), "local": lambda: 5, "many": [b"x"] * 3}
    body, buffers = pack(value)
    assert [part.nbytes for part in buffers] == [80_000]
    back = unpack(body, [bytearray(part) for part in buffers])
    assert numpy.array_equal(back["large"], value["large"])
    assert back["local"]() == 5


# ---- names


@given(st.text(min_size=1), st.text(min_size=1), st.integers(0, 10**6))
def test_job_names_say_which_actor_it_is(namespace: str, name: str, number: int) -> None:
    try:
        job_name = ActorName(namespace, name, number).job_name()
    except UnicodeEncodeError:
        return  # no name of an actor either
    assert "/" not in job_name
    assert actor_of(f"/me/train/{job_name}") == (namespace, name, number)


@pytest.mark.parametrize("job", ["/me/train", "/me/train/eval", "/me/train/fray-actor", "/me/train/fray-actor.a.b.c"])
def test_other_jobs_host_no_actor(job: str) -> None:
    assert actor_of(job) is None


# ---- the handshake


async def meet(caller: Callable[[str], Any], host_secret: bytes, actor: str = "/me/train/actor") -> tuple[Any, bool]:
    """Return what became of the caller, and whether the host let it in."""
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)

        async def welcome() -> bool:
            sock, _ = await loop.sock_accept(server)
            sock.setblocking(False)
            let_in = await accept(sock, actor, host_secret)
            sock.close()
            return let_in

        welcoming = loop.create_task(welcome())
        try:
            outcome: Any = await caller(f"http://127.0.0.1:{server.getsockname()[1]}")
        except HandshakeError as error:
            outcome = error
        else:
            outcome.close()
        return outcome, await welcoming


def test_both_sides_with_the_secret_meet() -> None:
    outcome, let_in = asyncio.run(meet(lambda at: connect(at, "/me/train/actor", b"secret"), b"secret"))
    assert isinstance(outcome, socket.socket)
    assert let_in


@pytest.mark.parametrize(("secret", "actor"), [(b"other", "/me/train/actor"), (b"secret", "/me/train/another")])
def test_strangers_and_other_actors_do_not_meet(secret: bytes, actor: str) -> None:
    outcome, let_in = asyncio.run(meet(lambda at: connect(at, actor, secret), b"secret"))
    assert isinstance(outcome, HandshakeError)
    assert not let_in
    assert "secret" not in str(outcome).replace("its job's secret", "")


@pytest.mark.parametrize("address", ["", "http://", "http://host", "nonsense", "http://host:0x"])
def test_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(HandshakeError):
        asyncio.run(connect(address, "/me/train/actor", b"secret"))
