"""Queues of a node whose disk is full or fails: what was acknowledged stays, what was refused is not there."""

from __future__ import annotations

import errno

import pytest
from fray import FrayError
from fray.queue import HttpQueue

from tests.chaos.started import command, process_of, start, stop

pytestmark = pytest.mark.usefixtures("started_nodes")


def test_full_disk_refuses_what_it_cannot_keep_and_nothing_else_is_lost() -> None:
    start("--cpus", "1", env={"FRAY_FAULT": "records_full:3-4"})
    queue: HttpQueue[str] = HttpQueue("auto", "pages", create=True)
    queue.push_many("ab")
    for refused in (lambda: queue.push("c"), lambda: queue.push("d")):
        with pytest.raises(OSError, match="cannot keep what was asked: the disk is full") as raised:
            refused()
        assert raised.value.errno == errno.ENOSPC
    queue.push("e")
    assert [lease.item for lease in queue.pop_many(10)] == ["a", "b", "e"]


def test_full_disk_leaves_leases_as_they_were() -> None:
    start("--cpus", "1", env={"FRAY_FAULT": "records_full:3-4"})
    queue: HttpQueue[str] = HttpQueue("auto", "pages", create=True)
    queue.push_many("ab")
    with pytest.raises(OSError, match="the disk is full"):
        queue.pop()
    with pytest.raises(OSError, match="the disk is full"):
        queue.pop(60, wait=30)
    assert (queue.size(), queue.pending()) == (2, 0)
    leases = queue.pop_many(2)
    assert [lease.item for lease in leases] == ["a", "b"]
    queue.done_many(leases)
    assert (queue.size(), queue.pending()) == (0, 0)


def test_disk_that_fails_is_told_until_the_node_is_started_anew() -> None:
    process = process_of(start("--cpus", "1", env={"FRAY_FAULT": "records_sync:3+"}))
    queue: HttpQueue[str] = HttpQueue("auto", "pages", create=True)
    queue.push("a")
    for item in "bc":
        with pytest.raises(FrayError, match="disk I/O error"):
            queue.push(item)
    assert process.is_alive()
    assert "running" in command("ps").ok()
    stop()
    start("--cpus", "1")
    assert [lease.item for lease in queue.pop_many(10)] == ["a"]


def test_node_that_gets_no_thread_for_queues_says_so_and_tries_again() -> None:
    process = process_of(start("--cpus", "1", env={"FRAY_FAULT": "thread:1"}))
    with pytest.raises((FrayError, OSError), match="cannot start a thread"):
        HttpQueue("auto", "pages", create=True)
    queue: HttpQueue[str] = HttpQueue("auto", "pages", create=True)
    queue.push("a")
    assert [lease.item for lease in queue.pop_many(10)] == ["a"]
    assert process.is_alive()
