"""Many runtime envs of one program, in turn and side by side: what nobody uses is given up, and made anew."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from fray import RuntimeEnv, RuntimeEnvError, TaskOptions
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE, current_marker, eventually, marked_processes
from tests.chaos.tasks import add


def variable() -> str:
    return os.environ["FRAY_TEST_ENV"]


def options(number: int) -> TaskOptions:
    return TaskOptions(runtime_env=RuntimeEnv(env={"FRAY_TEST_ENV": str(number)}))


def interpreters() -> int:
    return sum("fork_server" in process.command for process in marked_processes(current_marker()))


def test_a_program_may_define_thousands_of_environments(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1)
    kept = ctx.put(b"kept")
    for number in range(5000):
        ctx.engine.worker_key(RuntimeEnv(env={"FRAY_TEST_ENV": str(number)}))  # what making a task with it comes to
    assert ctx.get(ctx.run(add, 2, 3), timeout=PATIENCE) == 5
    assert ctx.get(ctx.create_task(variable, options=options(4999)), timeout=PATIENCE) == "4999"
    assert ctx.get(ctx.create_task(variable, options=options(0)), timeout=PATIENCE) == "0"
    assert ctx.get(kept) == b"kept"


def test_interpreters_of_environments_that_nothing_uses_end(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1)
    assert ctx.get(ctx.run(add, 2, 3), timeout=PATIENCE) == 5
    alone = interpreters()
    for number in range(8):
        assert ctx.get(ctx.create_task(variable, options=options(number)), timeout=PATIENCE) == str(number)
    eventually(lambda: interpreters() <= 3 * alone, what="few interpreters")
    eventually(lambda: interpreters() <= alone, within=2 * PATIENCE, what="the driver's own alone")
    assert ctx.get(ctx.run(add, 2, 3), timeout=PATIENCE) == 5


def test_an_environment_that_was_given_up_is_made_anew(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1)
    for _ in range(3):
        for number in range(4):
            assert ctx.get(ctx.create_task(variable, options=options(number)), timeout=PATIENCE) == str(number)


def test_tasks_of_many_environments_wait_for_each_other_and_all_end(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=2)
    refs = [ctx.create_task(variable, options=options(number % 12)) for number in range(48)]
    assert ctx.get(refs, timeout=6 * PATIENCE) == [str(number % 12) for number in range(48)]


def test_what_only_waiting_tasks_name_is_not_forgotten(engine: Callable[..., NativeJobContext]) -> None:
    """The program forgets the numbers of most of these environments before their tasks have begun."""
    ctx = engine(cpus=1)
    gate = ctx.create_task(variable, options=options(0))
    late = [ctx.create_task(first, (gate, number), options=options(number)) for number in (1, 2, 3)]
    for number in range(100, 300):
        ctx.engine.worker_key(RuntimeEnv(env={"FRAY_TEST_ENV": str(number)}))
    assert ctx.get(late, timeout=3 * PATIENCE) == [("1", 1), ("2", 2), ("3", 3)]


def first(_: str, number: int) -> tuple[str, int]:
    return variable(), number


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"FRAY_TEST_BIG": "x" * 200_000}, "FRAY_TEST_BIG has 195 KiB"),
        ({"PYTHONHOME": "/nowhere"}, "the fork server ended"),
    ],
    ids=["variable", "interpreter"],
)
def test_an_environment_that_no_worker_can_start_in_is_its_tasks_error(
    ctx: NativeJobContext, env: dict[str, str], says: str
) -> None:
    ref = ctx.create_task(add, (2, 3), options=TaskOptions(runtime_env=RuntimeEnv(env=env)))
    with pytest.raises(RuntimeEnvError, match=says):
        ctx.get(ref, timeout=PATIENCE)
    assert ctx.get(ctx.run(add, 2, 3), timeout=PATIENCE) == 5
