"""What all queues do, with a clock that the test moves."""

from __future__ import annotations

import threading
import uuid
from pathlib import Path

import pytest
from fray.queue import FileQueue, Lease, MemoryQueue, Queue


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._ticks = 0

    def seconds(self) -> float:
        return self.now

    def nanoseconds(self) -> int:
        self._ticks += 1  # a real clock is never read twice at the same nanosecond
        return int(self.now * 1e9) + self._ticks


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "file", "file through fsspec", "object store"])
def queue(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Queue[object]:
    if request.param == "memory":
        return MemoryQueue(clock.seconds)
    if request.param == "object store":  # one that has no folders and lives in this process
        return FileQueue(f"memory://{uuid.uuid4().hex}/queue", clock=clock.nanoseconds)
    url = "" if request.param == "file" else "file://"
    return FileQueue(f"{url}{tmp_path}/queue", clock=clock.nanoseconds)


def leased(queue: Queue[object], seconds: float = 60.0) -> Lease[object]:
    lease = queue.pop(seconds)
    assert lease is not None
    return lease


def test_items_come_in_the_order_of_pushes(queue: Queue[object]):
    for item in ("a", {"b": 1}, None):
        queue.push(item)
    assert [leased(queue).item for _ in range(3)] == ["a", {"b": 1}, None]
    assert queue.pop() is None


def test_empty_queue_has_nothing(queue: Queue[object]):
    assert (queue.pop(), queue.peek(), queue.size(), queue.pending()) == (None, None, 0, 0)


def test_peek_shows_what_pop_takes(queue: Queue[object]):
    queue.push("a")
    queue.push("b")
    assert queue.peek() == queue.peek() == "a"
    leased(queue)
    assert queue.peek() == "b"


def test_item_that_is_done_is_gone(queue: Queue[object], clock: Clock):
    queue.push("a")
    queue.done(leased(queue, 1))
    clock.now += 2
    assert (queue.pop(), queue.size(), queue.pending()) == (None, 0, 0)


def test_released_item_is_first_again(queue: Queue[object]):
    queue.push("a")
    queue.push("b")
    queue.release(leased(queue))
    assert (queue.size(), queue.pending()) == (2, 0)
    assert [leased(queue).item, leased(queue).item] == ["a", "b"]


def test_lease_that_ran_out_comes_back(queue: Queue[object], clock: Clock):
    queue.push("a")
    queue.push("b")
    first = leased(queue, 0.2)
    assert leased(queue).item == "b"
    clock.now += 0.1
    assert queue.pop() is None
    clock.now += 0.2
    again = leased(queue)
    assert again.item == "a"
    assert again.lease_id != first.lease_id


def test_peek_sees_a_lease_that_ran_out(queue: Queue[object], clock: Clock):
    queue.push("a")
    leased(queue, 1)
    assert queue.peek() is None
    clock.now += 1.1
    assert queue.peek() == "a"
    assert (queue.size(), queue.pending()) == (1, 0)


def test_items_that_come_back_are_in_the_order_of_pushes_before_the_others(queue: Queue[object], clock: Clock):
    for item in "abcd":
        queue.push(item)
    leases = [leased(queue, seconds) for seconds in (3, 1, 2)]
    queue.release(leases[1])
    clock.now += 5
    assert [leased(queue).item for _ in range(4)] == ["a", "b", "c", "d"]


def test_lease_that_ran_out_is_valid_until_it_is_taken_back(queue: Queue[object], clock: Clock):
    queue.push("a")
    lease = leased(queue, 1)
    clock.now += 2
    queue.done(lease)
    assert queue.size() == 0


@pytest.mark.parametrize("end", ["done", "release"])
def test_lease_is_good_for_one_end(queue: Queue[object], clock: Clock, end: str):
    queue.push("a")
    queue.push("b")
    for finish in (queue.done, queue.release):
        lease = leased(queue)
        finish(lease)
        with pytest.raises(ValueError, match=r"Invalid lease: .* not found \(already done"):
            getattr(queue, end)(lease)


@pytest.mark.parametrize("end", ["done", "release"])
def test_lease_that_was_taken_back_is_not_valid(queue: Queue[object], clock: Clock, end: str):
    queue.push("a")
    old = leased(queue, 1)
    clock.now += 2
    new = leased(queue)
    with pytest.raises(ValueError, match="expired and taken back"):
        getattr(queue, end)(old)
    queue.done(new)


@pytest.mark.parametrize("lease_id", ["", "nonsense", "../pending/x__expiry_0", "x__expiry_00000000000000000000_0"])
def test_lease_of_nobody_is_refused(queue: Queue[object], lease_id: str):
    queue.push("a")
    for end in (queue.done, queue.release):
        with pytest.raises(ValueError, match="Invalid lease"):
            end(Lease("a", lease_id, 0.0))
    assert queue.size() == 1


@pytest.mark.parametrize(
    ("seconds", "kind"), [(-1, ValueError), (float("inf"), ValueError), (float("nan"), ValueError), ("1", TypeError)]
)
def test_impossible_times_are_refused(queue: Queue[object], seconds, kind):
    queue.push("a")
    with pytest.raises(kind, match="lease_timeout must be a"):
        queue.pop(seconds)
    assert queue.size() == 1


def test_counts_tell_waiting_from_leased(queue: Queue[object]):
    for item in range(3):
        queue.push(item)
    leased(queue)
    assert (queue.size(), queue.pending()) == (2, 1)


@pytest.mark.parametrize("queue", ["memory", "file"], indirect=True)
def test_threads_get_every_item_once(queue: Queue[object]):
    items = range(60)
    got: list[object] = []

    def work() -> None:
        while (lease := queue.pop()) is not None:
            got.append(lease.item)
            queue.done(lease)

    for item in items:
        queue.push(item)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(items)  # type: ignore[type-var]
    assert (queue.size(), queue.pending()) == (0, 0)
