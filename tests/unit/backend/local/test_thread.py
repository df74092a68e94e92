from __future__ import annotations

import asyncio
import threading
from typing import Any

import fray
import pytest
from fray import DeadlockError, TaskOptions, ThreadContext
from fray.backend.local import pool

from tests.waiting import eventually


def chain(depth: int) -> int:
    ctx = fray.get_job_context()
    return 0 if depth == 0 else 1 + ctx.get(ctx.run(chain, depth - 1))


def test_one_worker_runs_nested_tasks():
    with ThreadContext(max_workers=1) as ctx:
        assert ctx.get(ctx.run(chain, 50)) == 50


def await_chain(depth: int) -> int:
    async def main() -> int:
        return 1 + await fray.get_job_context().run(await_chain, depth - 1)

    return 0 if depth == 0 else asyncio.run(main())


def test_one_worker_runs_tasks_that_await_nested_ones():
    with ThreadContext(max_workers=1) as ctx:
        assert ctx.get([ctx.run(await_chain, 20) for _ in range(3)], timeout=60) == [20] * 3


def test_a_task_that_waits_inside_an_event_loop_that_waits_lends_its_place_once():
    async def main() -> int:
        ctx = fray.get_job_context()
        door = threading.Event()
        slow = ctx.run(door.wait)
        waiting = asyncio.ensure_future(until(slow))
        await asyncio.sleep(0)
        assert ctx.get(ctx.run(len, "abc")) == 3
        door.set()
        return await waiting

    async def until(ref: Any) -> int:
        return int(await ref)

    with ThreadContext(max_workers=2) as ctx:
        assert ctx.get(ctx.run(lambda: asyncio.run(main())), timeout=60) == 1
        assert ctx.get(ctx.run(len, "ab"), timeout=60) == 2
        pool_of_ctx = ctx.engine._pool
    assert pool_of_ctx._active == pool_of_ctx._blocked == 0  # once its threads have ended


def test_no_more_than_max_workers_run_at_once():
    lock = threading.Lock()
    running, most = 0, 0

    def work(barrier_free: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        sum(range(barrier_free))
        with lock:
            running -= 1

    with ThreadContext(max_workers=3) as ctx:
        ctx.get([ctx.run(work, 20_000) for _ in range(60)])
    assert 1 <= most <= 3


def test_nesting_past_the_last_thread_is_a_deadlock_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool, "MAX_THREADS", 5)
    with ThreadContext(max_workers=1) as ctx:
        assert ctx.get(ctx.run(chain, 4)) == 4
        with pytest.raises(DeadlockError, match="all 5 threads wait"):
            ctx.get(ctx.run(chain, 8))
        assert ctx.get(ctx.run(chain, 2)) == 2


def test_closing_fails_what_has_not_ended_and_leaves_no_thread():
    inside, stop = threading.Event(), threading.Event()

    def work() -> None:
        inside.set()
        stop.wait()

    ctx = ThreadContext(max_workers=1)
    running, queued = ctx.run(work), ctx.run(len, "abc")
    waiter_saw = []

    def wait_for_it() -> None:
        try:
            ctx.engine.get(queued, None)
        except fray.ContextClosedError:
            waiter_saw.append("closed")

    waiter = threading.Thread(target=wait_for_it)
    waiter.start()
    inside.wait()
    threading.Thread(target=lambda: (eventually(lambda: running.cell.done and queued.cell.done), stop.set())).start()
    ctx.close()
    waiter.join()
    assert waiter_saw == ["closed"]
    assert running.cell.done
    assert not [thread for thread in threading.enumerate() if thread.name == "fray-task"]


def test_close_inside_a_task_does_not_wait_for_itself():
    ctx = ThreadContext(max_workers=1)
    ended = threading.Event()

    def work() -> None:
        ctx.close()
        ended.set()

    ctx.run(work)
    assert ended.wait(60)


def test_blocked_tasks_with_environments_do_not_hold_one_another():
    def outer(name: str) -> str:
        import os

        ctx = fray.get_job_context()
        options = TaskOptions(runtime_env=fray.RuntimeEnv(env={"FRAY_UNIT": name + "-inner"}))
        inner = ctx.get(ctx.create_task(lambda: os.environ["FRAY_UNIT"], options=options))
        return f"{os.environ['FRAY_UNIT']} {inner}"

    with ThreadContext(max_workers=2) as ctx:
        refs = [
            ctx.create_task(outer, (name,), options=TaskOptions(runtime_env=fray.RuntimeEnv(env={"FRAY_UNIT": name})))
            for name in "abcdef"
        ]
        assert ctx.get(refs, timeout=30) == [f"{name} {name}-inner" for name in "abcdef"]


def test_timeout_counts_from_each_attempt(monkeypatch: pytest.MonkeyPatch):
    from fray.backend.local import call

    now, attempts = [0.0], []
    monkeypatch.setattr(call.time, "monotonic", lambda: now[0])

    def work() -> str:
        attempts.append(1)
        now[0] += 2
        if len(attempts) < 3:
            raise OSError("again")
        return "done"

    with ThreadContext(max_workers=1) as ctx:
        options = TaskOptions(timeout=3, retry_exceptions=True)
        assert ctx.get(ctx.create_task(work, options=options)) == "done"


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "2"])
def test_wrong_max_workers_is_refused(value):
    with pytest.raises((ValueError, TypeError), match="max_workers"):
        ThreadContext(max_workers=value)


def test_racing_cancels_touch_only_their_task():
    with ThreadContext(max_workers=2) as ctx:
        for number in range(300):
            victim, bystander = ctx.run(abs, -number), ctx.run(abs, -number)
            ctx.cancel(victim)
            assert ctx.get(bystander) == number
