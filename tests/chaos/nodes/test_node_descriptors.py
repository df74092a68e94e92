"""A started node whose descriptors are used up: it waits for some without work, and goes on."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE, cpu_seconds, eventually
from tests.chaos.started import PROGRAM, command
from tests.chaos.tasks import add

pytestmark = pytest.mark.usefixtures("started_nodes")
LIMIT = 64


@pytest.fixture
def node() -> dict[str, Any]:
    """A node that may have few descriptors."""
    script = f'ulimit -n {LIMIT} && exec "$0" start --json --cpus 1'
    done = subprocess.run(["sh", "-c", script, PROGRAM], capture_output=True, text=True, timeout=PATIENCE, check=True)
    return json.loads(done.stdout)


def descriptors_of(node: dict[str, Any]) -> int:
    return len(os.listdir(f"/proc/{node['pid']}/fd"))


@pytest.fixture
def crowd(node: dict[str, Any], kind: str) -> Iterator[ExitStack]:
    """So many connections that say nothing that the node has no descriptor left."""
    with ExitStack() as open_sockets:
        for _ in range(LIMIT + 8):
            if kind == "unix":
                one = open_sockets.enter_context(socket.socket(socket.AF_UNIX))
                address: Any = node["socket"]
            else:
                one = open_sockets.enter_context(socket.socket())
                address = ("127.0.0.1", int(node["url"].rsplit(":", 1)[1]))
            one.connect(address)  # waits while the node has had no time to take the others
        eventually(lambda: descriptors_of(node) >= LIMIT - 2, what="a node without descriptors")
        yield open_sockets


def load_of(node: dict[str, Any]) -> float:
    """Return the share of a CPU that the node takes; the time is what is measured."""
    before, start = cpu_seconds(node["pid"]), time.monotonic()
    time.sleep(1)
    return (cpu_seconds(node["pid"]) - before) / (time.monotonic() - start)


@pytest.mark.parametrize("kind", ["unix", "http"])
def test_a_node_without_descriptors_is_idle_and_can_be_stopped(node: dict[str, Any], crowd: ExitStack) -> None:
    assert load_of(node) < 0.2
    command("stop").ok()


@pytest.mark.parametrize("kind", ["unix", "http"])
def test_a_node_answers_as_soon_as_it_has_descriptors_again(node: dict[str, Any], crowd: ExitStack) -> None:
    asked = subprocess.Popen([PROGRAM, "status", "--json"], stdout=subprocess.PIPE, text=True)
    crowd.close()
    assert json.loads(asked.communicate(timeout=PATIENCE)[0])["node"]["pid"] == node["pid"]
    ctx = NativeJobContext(address="auto")
    assert ctx.get(ctx.run(add, 2, 3), timeout=PATIENCE) == 5
    ctx.close()
    assert load_of(node) < 0.2
