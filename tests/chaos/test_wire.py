"""Peers that break the format, never read, or flood: only they are the worse for it."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import fray
import pytest
from fray.backend.native import NativeJobContext

from tests.chaos.harness import (
    HELLO,
    OBSERVER_ROLE,
    SHUTDOWN,
    STATUS_REQUEST,
    Driver,
    RawClient,
    eventually,
    frame,
    hello,
    node_socket,
    resident_bytes,
    the_node,
    wait_for_workers,
)
from tests.chaos.tasks import echo, sleep_forever

GREETED = hello(OBSERVER_ROLE)
BAD_STARTS = {
    "nothing but noise": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "another wire version": frame(HELLO, b"", version=0xF102),
    "no version": frame(HELLO, b"", version=0),
    "oversized": frame(HELLO, b"x" * 100, length=0xFFFFFFFF),
    "just over the limit": frame(HELLO, b"x" * 100, length=(2 << 30) + 1),
    "hello without body": frame(HELLO, b""),
    "hello with a huge count": frame(HELLO, b"\0" * 9 + b"\xff\xff\xff\xff"),
    "hello with more after it": frame(HELLO, hello()[16:] + b"more"),
    "no hello first": frame(STATUS_REQUEST),
    "descriptors promised and missing": frame(HELLO, hello()[16:], fds=4),
    "more descriptors than allowed": frame(HELLO, hello()[16:], fds=200),
    "hello of another release": hello(release="9.9.9"),
    "hello of an empty release": hello(release=""),
    "unknown role": frame(HELLO, bytes([77]) + hello()[17:]),
    "posing as a worker": hello(1),
    "unknown type": GREETED + frame(200, b"abc"),
    "a message of the node's own": GREETED + frame(64, b"abc"),
    "second hello": GREETED + GREETED,
    "truncated body": GREETED + frame(3, b"\x01\x00"),
    "body too long": GREETED + frame(11, (1).to_bytes(4, "little") + b"\0" * 999),
    "endless count": GREETED + frame(11, b"\xff\xff\xff\xff" + b"\0" * 64),
    "lease that nobody has": GREETED + frame(4),
}


def assert_works(ctx: NativeJobContext) -> None:
    assert ctx.get([ctx.run(echo, number) for number in range(50)], timeout=20) == list(range(50))


@pytest.mark.parametrize("name", BAD_STARTS)
def test_only_the_connection_that_breaks_the_format_is_closed(ctx: NativeJobContext, name: str) -> None:
    kept = ctx.put([1, 2, 3])
    with RawClient(node_socket()) as client:
        client.send(BAD_STARTS[name])
        client.socket.shutdown(socket.SHUT_WR)
        assert client.is_closed_by_node()
    assert_works(ctx)
    assert ctx.get(kept) == [1, 2, 3]


@pytest.mark.parametrize("name", ["another wire version", "oversized", "nothing but noise", "hello without body"])
def test_a_broken_frame_is_enough_to_be_closed(ctx: NativeJobContext, name: str) -> None:
    """The node does not wait for the rest, nor for the other side to end."""
    with RawClient(node_socket()) as client:
        client.send(BAD_STARTS[name])
        assert client.is_closed_by_node()
    assert_works(ctx)


def test_a_client_of_another_release_is_told_both_releases(ctx: NativeJobContext) -> None:
    with RawClient(node_socket()) as client:
        client.send(hello(release="9.9.9"))
        said = b""
        while got := client.socket.recv(65536):
            said += got
    assert b"9.9.9" in said
    assert fray.__version__.encode() in said
    assert_works(ctx)


def test_truncated_frames_followed_by_an_end_close_their_connection_only(ctx: NativeJobContext) -> None:
    whole = GREETED + frame(STATUS_REQUEST)
    for cut in range(len(whole)):
        with RawClient(node_socket()) as client:
            client.send(whole[:cut])
            client.socket.shutdown(socket.SHUT_WR)
            assert client.is_closed_by_node()
    assert_works(ctx)


def test_a_half_sent_frame_holds_up_nobody(ctx: NativeJobContext) -> None:
    with RawClient(node_socket()) as client:
        client.send(GREETED + frame(9, b"\0" * 100, length=1 << 20))
        assert_works(ctx)
    assert_works(ctx)


def test_random_bytes_after_a_proper_hello_never_stop_the_node(ctx: NativeJobContext) -> None:
    chance = random.Random(11)
    kinds = [*(kind for kind in range(24) if kind != SHUTDOWN), 64, 128, 255]
    node = the_node()
    path = node_socket()
    for _ in range(300):
        kind, size = chance.choice(kinds), chance.choice([0, 1, 4, 8, 24, 60])
        with RawClient(path) as client:
            client.send(GREETED + frame(kind, chance.randbytes(size)) + chance.randbytes(chance.choice([0, 5, 40])))
            client.socket.shutdown(socket.SHUT_WR)
            assert client.is_closed_by_node()
    assert node.is_alive()
    assert_works(ctx)


def test_descriptors_that_nobody_expects_are_closed(ctx: NativeJobContext) -> None:
    import array

    node = the_node()
    wait_for_workers(ctx, 2)
    before = count_descriptors(node.pid)
    for _ in range(50):
        with RawClient(node_socket()) as client:
            reader, writer = os.pipe()
            rights = array.array("i", [reader, writer])
            client.socket.sendmsg([GREETED], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            client.send(frame(200))
            os.close(reader)
            os.close(writer)
            client.socket.shutdown(socket.SHUT_WR)
            assert client.is_closed_by_node()
    eventually(lambda: count_descriptors(node.pid) <= before, what="the node closed what it was sent")
    assert_works(ctx)


def test_connections_that_come_and_go_leave_nothing_in_the_node(ctx: NativeJobContext) -> None:
    node = the_node()
    wait_for_workers(ctx, 2)
    before = count_descriptors(node.pid)
    path = node_socket()
    for _ in range(500):
        RawClient(path).socket.close()
    eventually(lambda: count_descriptors(node.pid) <= before)
    assert_works(ctx)


def count_descriptors(pid: int) -> int:
    """Return how many there are, without those of processes: a worker may say hello before its fork server names it."""
    count = 0
    for number in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # closed since
            count += not os.readlink(f"/proc/{pid}/fd/{number}").endswith("[pidfd]")
    return count


@pytest.mark.not_under_asan("keeps freed memory and has shadows of it")
def test_a_client_that_never_reads_is_cut_off_or_held_back_and_costs_little_memory(ctx: NativeJobContext) -> None:
    node = the_node()
    assert_works(ctx)
    before = resident_bytes(node.pid)
    with RawClient(node_socket()) as client:
        client.send(GREETED)
        client.socket.setblocking(False)
        requests = frame(STATUS_REQUEST) * 1000
        end = time.monotonic() + 2
        sent = 0
        while sent < 16_000_000 and time.monotonic() < end:
            try:
                sent += client.socket.send(requests)
            except BlockingIOError:
                time.sleep(0.001)
            except (BrokenPipeError, ConnectionResetError):
                break
        assert_works(ctx)
        assert resident_bytes(node.pid) - before < 160 << 20, "far more than the 64 MiB that may wait for one client"


FLOOD = """
    ctx = NativeJobContext(address=sys.argv[1])
    print("flooding", flush=True)
    try:
        while True:
            ctx.get([ctx.run(pow, number, 2) for number in range(20_000)])
    except fray.FrayError:
        pass
"""
HOG = """
    ctx = NativeJobContext(address=sys.argv[1])
    refs = [ctx.run(time.sleep, 0.005) for number in range(100_000)]
    print("flooding", flush=True)
    ctx.get(refs)
"""


@pytest.mark.parametrize("source", [FLOOD, HOG], ids=["many small calls", "a long queue"])
def test_one_client_that_floods_does_not_starve_another(ctx: NativeJobContext, source: str) -> None:
    """Both get cores. The figure is generous: a fair share of a task is milliseconds."""
    assert_works(ctx)
    with Driver(source, node_socket()) as flooder:
        assert flooder.line() == "flooding"
        slowest = 0.0
        for number in range(20):
            start = time.monotonic()
            assert ctx.get(ctx.run(echo, number), timeout=20) == number
            slowest = max(slowest, time.monotonic() - start)
        assert slowest < 5.0


def test_a_driver_of_another_version_is_refused_with_both_versions(ctx: NativeJobContext) -> None:
    with RawClient(node_socket()) as client:
        client.send(hello(release="9.9.9"))
        said = client.read_to_end().decode(errors="replace")
    assert "9.9.9" in said
    assert fray.__version__ in said


def test_the_folder_of_the_socket_is_for_its_user_alone(ctx: NativeJobContext) -> None:
    folder = Path(node_socket()).parent
    assert (folder.stat().st_mode & 0o777, folder.stat().st_uid) == (0o700, os.getuid())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_another_user_is_refused_before_a_byte_is_read(ctx: NativeJobContext) -> None:
    """Even when the folder was opened to all."""
    path = Path(node_socket())
    for folder in (path, *path.parents[:-1]):
        if str(folder).startswith("/tmp/fray-test-"):
            folder.chmod(0o777)
    script = (
        "import os, socket, sys\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "client = socket.socket(socket.AF_UNIX); client.settimeout(60)\n"
        "client.connect(sys.argv[1])\n"
        "try:\n"
        "    client.send(bytes.fromhex(sys.argv[2]))\n"
        "    got = client.recv(1000)\n"
        "except (BrokenPipeError, ConnectionResetError):\n"
        "    got = b''\n"
        "print(len(got))\n"
    )
    command = [sys.executable, "-c", script, str(path), GREETED.hex()]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert answer.stdout == "0\n", answer
    assert_works(ctx)


def test_two_engines_of_one_user_do_not_meet(engine: Callable[..., NativeJobContext]) -> None:
    first, second = engine(), engine()
    hanging = first.run(sleep_forever)
    assert second.get(second.run(echo, 2), timeout=20) == 2
    first.close()
    assert second.get(second.run(echo, 3), timeout=20) == 3
    del hanging
