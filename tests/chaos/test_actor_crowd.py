"""Three hundred actors: what they cost, and that tasks still run beside them."""

from __future__ import annotations

import pytest
from fray.backend.native import NativeJobContext

from tests.chaos.counter import Counter
from tests.chaos.tasks import add

COUNT = 300
MOST_BYTES_EACH = 3 << 20


def pss_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))


@pytest.mark.not_under_asan("keeps freed memory and has shadows of it")
def test_three_hundred_idle_actors_take_at_most_three_megabytes_each_and_leave_room_for_tasks(
    ctx: NativeJobContext,
) -> None:
    actors = [ctx.create_actor(Counter, number) for number in range(COUNT)]
    assert ctx.get([actor.increment() for actor in actors], timeout=120) == list(range(1, COUNT + 1))
    assert ctx.get([ctx.run(add, number, 1) for number in range(20)], timeout=60) == list(range(1, 21))
    pids = ctx.get([actor.pid() for actor in actors], timeout=60)
    assert len(set(pids)) == COUNT
    assert sum(pss_bytes(pid) for pid in pids) / COUNT <= MOST_BYTES_EACH
