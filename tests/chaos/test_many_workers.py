"""More workers than a process polls one by one: all work, deaths among them are noticed, and none is forgotten."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from fray import ActorOptions, ObjectRef, TaskOptions, WorkerDiedError
from fray.backend.native import NativeJobContext

from tests.chaos.counter import Counter
from tests.chaos.harness import eventually, look_at, run_driver
from tests.chaos.meeting import Meeting, has_cloudpickle, leave_a_child
from tests.chaos.tasks import add, echo
from tests.conformance.gates import Journal

MANY = 40
T = TypeVar("T")


@pytest.fixture
def wide(engine: Callable[..., NativeJobContext]) -> NativeJobContext:
    """An engine on which many tasks run at once."""
    return engine(cpus=MANY, max_workers=MANY)


@pytest.fixture
def meeting(tmp_path: Path) -> Meeting:
    os.mkfifo(tmp_path / "meeting")
    return Meeting(str(tmp_path / "meeting"))


def all_at_once(ctx: NativeJobContext, journal: Journal, meeting: Meeting) -> list[int]:
    """Run a task on each worker at the same time; return the numbers of their processes."""
    return let_all_go(ctx, [ctx.run(meeting.attend, journal) for _ in range(MANY)], journal, meeting)


def let_all_go(ctx: NativeJobContext, refs: list[ObjectRef[T]], journal: Journal, meeting: Meeting) -> list[T]:
    """Return the values of the tasks once all of them have met."""
    eventually(lambda: len(journal.lines()) >= MANY, within=120, what="all tasks run")
    meeting.let_go(MANY)
    return ctx.get(refs, timeout=60)


def test_many_workers_run_at_once_then_one_task_at_a_time(
    wide: NativeJobContext, journal: Journal, meeting: Meeting
) -> None:
    assert len(set(all_at_once(wide, journal, meeting))) == MANY
    assert [wide.get(wide.run(add, number, 1)) for number in range(200)] == list(range(1, 201))
    assert wide.get([wide.run(echo, number) for number in range(5000)]) == list(range(5000))


def test_the_deaths_of_some_of_many_workers_fail_their_tasks_alone(
    wide: NativeJobContext, journal: Journal, meeting: Meeting
) -> None:
    all_at_once(wide, journal, meeting)
    once = TaskOptions(max_retries=0)
    refs = [wide.create_task(meeting.attend, (journal,), options=once) for _ in range(MANY)]
    eventually(lambda: len(journal.lines()) >= 2 * MANY, within=120, what="all tasks run")
    victims = {int(line) for line in journal.lines()[MANY :: MANY // 8]}
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    # Those that are left still wait, so only the deaths can end anything.
    ended, _ = wide.wait(refs, num_returns=len(victims), timeout=60)
    assert len(ended) == len(victims)
    for ref in ended:
        with pytest.raises(WorkerDiedError):
            wide.get(ref)
    meeting.let_go(MANY - len(victims))
    left = [ref for ref in refs if ref not in ended]
    assert not victims & set(wide.get(left, timeout=60))
    assert wide.get([wide.run(add, number, 1) for number in range(MANY)], timeout=120) == list(range(1, MANY + 1))


def test_a_program_that_forks_between_many_workers_goes_on_hearing_from_all(
    wide: NativeJobContext, journal: Journal, meeting: Meeting
) -> None:
    all_at_once(wide, journal, meeting)
    refs = [wide.run(echo, number) for number in range(MANY)]
    child = multiprocessing.get_context("fork").Process(target=int)
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert wide.get(refs, timeout=60) == list(range(MANY))
    assert wide.get([wide.run(echo, number) for number in range(1000)], timeout=60) == list(range(1000))


def test_many_actors_answer_threads_that_ask_one_each(ctx: NativeJobContext) -> None:
    actors = [ctx.create_actor(Counter) for _ in range(MANY)]
    answers: list[list[int]] = [[] for _ in range(8)]

    def ask(place: int) -> None:
        for _ in range(5):
            for actor in actors[place :: len(answers)]:
                answers[place].append(ctx.get(actor.increment(), timeout=60))

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(answers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = sorted(count for count in range(1, 6) for _ in range(MANY // len(answers)))
    assert [sorted(each) for each in answers] == [expected] * len(answers)


def test_an_idle_actor_that_died_among_many_is_told_of_by_the_next_call(ctx: NativeJobContext) -> None:
    options = ActorOptions(max_restarts=1, max_task_retries=1)
    actors = [ctx.create_actor(Counter, options=options) for _ in range(MANY)]
    pids = ctx.get([actor.pid() for actor in actors], timeout=120)
    for victim in pids[::8]:
        os.kill(victim, signal.SIGKILL)
    again = ctx.get([actor.pid() for actor in actors], timeout=60)
    assert [new for new, old in zip(again, pids, strict=True) if new == old] == [
        old for place, old in enumerate(pids) if place % 8
    ]


def test_what_many_workers_leave_behind_ends_with_each_of_them(wide: NativeJobContext, journal: Journal) -> None:
    refs = [wide.run(leave_a_child, journal) for _ in range(MANY)]
    eventually(lambda: len(journal.lines()) >= MANY, within=120, what="all children run")
    children = [int(line) for line in journal.lines()]
    for worker in sorted(set(wide.get(refs, timeout=60)))[::2]:
        os.kill(worker, signal.SIGKILL)
    wide.close()
    eventually(lambda: not any(look_at(child) for child in children), what="the children have ended")


WITH_FEW_DESCRIPTORS = """
    import resource
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    from tests.chaos.counter import Counter
    from tests.chaos.tasks import soft_limit
    ctx = NativeJobContext(cpus=2)
    actors = [ctx.create_actor(Counter) for _ in range(160)]
    print(sum(ctx.get([actor.increment() for actor in actors[:80]], timeout=120)))
    print(ctx.get(ctx.run(soft_limit), timeout=60))
    ctx.close()
"""


def test_a_low_limit_of_open_files_bounds_what_a_program_connects_to_and_not_how_many_workers_there_are() -> None:
    finished = run_driver(WITH_FEW_DESCRIPTORS, within=180)
    assert finished.ok().split() == ["80", "128"]


def test_many_workers_share_what_classes_of_the_main_script_need(
    wide: NativeJobContext, journal: Journal, meeting: Meeting
) -> None:
    """Asked of functions that can be imported, so the workers have not loaded it for these."""
    refs = [wide.run(has_cloudpickle, meeting, journal) for _ in range(MANY)]
    assert let_all_go(wide, refs, journal, meeting).count(True) >= MANY - 4
