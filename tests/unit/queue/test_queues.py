"""What all queues do, with a clock that the test moves."""

from __future__ import annotations

import re
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fray.queue import FileQueue, Lease, MemoryQueue, Queue

from .conftest import QueueNode


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._ticks = 0
        self.server: QueueNode | None = None

    @property
    def now(self) -> float:
        return self._now

    @now.setter
    def now(self, seconds: float) -> None:
        if self.server is not None:
            self.server.pass_time(seconds - self._now)
        self._now = seconds

    def seconds(self) -> float:
        return self.now

    def nanoseconds(self) -> int:
        self._ticks += 1  # a real clock is never read twice at the same nanosecond
        return int(self.now * 1e9) + self._ticks


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "file", "file at a URL", "object store", "http"])
def queue(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Queue[object]:
    if request.param == "http":
        clock.server = request.getfixturevalue("queue_node")
        return clock.server.new_queue()
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
    ("seconds", "kind"),
    [(-1, ValueError), (float("inf"), ValueError), (float("nan"), ValueError), (10**400, ValueError), ("1", TypeError)],
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


@pytest.mark.parametrize(
    ("wait", "kind"), [(-1, ValueError), (float("inf"), ValueError), (None, TypeError), (True, TypeError)]
)
def test_impossible_waits_are_refused(queue: Queue[object], wait, kind):
    queue.push("a")
    with pytest.raises(kind, match="wait must be a"):
        queue.pop(60, wait)
    with pytest.raises(kind, match="wait must be a"):
        queue.pop_many(2, 60, wait)
    assert queue.size() == 1


@pytest.mark.parametrize(("most", "kind"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_impossible_numbers_of_leases_are_refused(queue: Queue[object], most, kind):
    queue.push("a")
    with pytest.raises(kind, match="most must be"):
        queue.pop_many(most)
    assert queue.size() == 1


def test_batches_are_in_order(queue: Queue[object]):
    queue.push("a")
    queue.push_many(iter(["b", None, "d"]))
    queue.push_many([])
    assert [lease.item for lease in queue.pop_many(3)] == ["a", "b", None]
    assert [lease.item for lease in queue.pop_many(3)] == ["d"]
    assert queue.pop_many(3) == []


def test_leases_of_a_batch_are_ended_together(queue: Queue[object]):
    queue.push_many("abcd")
    leases = queue.pop_many(4)
    assert len({lease.lease_id for lease in leases}) == 4
    queue.release_many(leases[2:])
    queue.done_many(iter(leases[:2]))
    queue.done_many([])
    assert (queue.size(), queue.pending()) == (2, 0)
    assert [lease.item for lease in queue.pop_many(4)] == ["c", "d"]


@pytest.mark.parametrize("end", ["done_many", "release_many"])
def test_leases_of_a_batch_that_are_not_valid_are_named_and_the_others_end(queue: Queue[object], end: str):
    queue.push_many("abc")
    leases = queue.pop_many(3)
    queue.done(leases[1])
    with pytest.raises(ValueError, match=f"Invalid lease: {re.escape(leases[1].lease_id)} not found"):
        getattr(queue, end)(leases)
    assert queue.pending() == 0
    assert queue.size() == (2 if end == "release_many" else 0)


def test_wait_is_over_when_there_is_nothing(queue: Queue[object]):
    assert queue.pop(60, wait=0.05) is None
    assert queue.pop_many(5, wait=0.05) == []


def test_who_waits_gets_what_is_pushed(queue: Queue[object]):
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(queue.pop, 60, 60)
        queue.push("a")
        lease = waiting.result(60)
        assert lease is not None
        assert lease.item == "a"
        queue.done(lease)
        several = pool.submit(queue.pop_many, 5, 60, 60)
        queue.push_many("bc")
        leases = several.result(60)
    assert "".join(str(each.item) for each in leases) in ("b", "bc")


def test_who_waits_gets_what_is_released(queue: Queue[object]):
    queue.push("a")
    lease = leased(queue)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(queue.pop, 60, 60)
        queue.release(lease)
        again = waiting.result(60)
    assert again is not None
    assert again.item == "a"


@pytest.mark.parametrize("kind", ["memory", "file", "http"])
def test_who_waits_gets_an_item_whose_lease_runs_out(kind: str, request: pytest.FixtureRequest, tmp_path: Path):
    queue: Queue[object] = MemoryQueue() if kind == "memory" else FileQueue(tmp_path)
    if kind == "http":
        queue = request.getfixturevalue("queue_node").new_queue()
    queue.push("a")
    leased(queue, 0.1)
    again = queue.pop(60, wait=60)
    assert again is not None
    assert again.item == "a"


@pytest.mark.parametrize("queue", ["memory", "file", "http"], indirect=True)
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
