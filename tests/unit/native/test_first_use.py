"""The first use of a context, which starts its node."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import fray
from fray.backend.native import NativeJobContext


def test_first_task_gives_name_to_a_function_that_has_such_a_parameter() -> None:
    def greet(greeting: str, name: str = "world") -> str:
        return f"{greeting} {name}"

    with fray.create_job_ctx("local", max_workers=1) as ctx:
        assert ctx.get(ctx.run(greet, "hello", name="Bob")) == "hello Bob"


def test_worker_makes_its_context_when_it_is_asked_for_and_a_child_of_it_finds_that() -> None:
    def has_context() -> bool:
        return vars(NativeJobContext)["_current"] is not None

    def ask() -> list[object]:
        found = [has_context()]
        child = os.fork()
        if child == 0:
            os._exit(7 if has_context() and fray.get_job_context().begun_engine is None else 1)
        found.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        return [*found, fray.get_job_context() is NativeJobContext.current(), has_context()]

    with fray.create_job_ctx("local", max_workers=1) as ctx:
        assert ctx.get(ctx.run(ask)) == [False, 7, True, True]


def test_threads_of_a_task_that_ask_at_once_get_one_context() -> None:
    def ask() -> int:
        barrier = threading.Barrier(8)
        seen: list[fray.JobContext] = []

        def use() -> None:
            barrier.wait()
            seen.append(fray.get_job_context())

        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(context.get(context.put(number)) == number for number, context in enumerate(seen))
        return len({id(context) for context in seen})

    with fray.create_job_ctx("local", max_workers=1) as ctx:
        assert ctx.get(ctx.run(ask)) == 1


def test_worker_begins_without_what_only_some_calls_need() -> None:
    code = (
        "import sys; from fray.backend.native import fork_server, worker; import fray._by_value, fray.job.batches; "
        "print(*(name for name in sys.argv[1:] if name in sys.modules))"
    )
    rest = ("context", "engine", "actor_host", "actors", "launch")
    others = ("fray.types", "fray.job.mapping", "fray._cpp_library")
    command = [sys.executable, "-c", code, *(f"fray.backend.native.{name}" for name in rest), *others]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == []


def test_workers_but_the_first_four_share_what_the_fork_server_has_loaded_meanwhile() -> None:
    class Look:
        def __init__(self) -> None:
            self.loaded = "fray.backend.native.engine" in sys.modules

        def has_engine(self) -> bool:
            return self.loaded

        def asks(self) -> bool:
            return fray.get_job_context() is NativeJobContext.current()

    with fray.create_job_ctx("local", max_workers=2) as ctx:
        assert ctx.get(ctx.run(pow, 2, 3)) == 8
        actors = [ctx.create_actor(Look) for _ in range(8)]
        assert sum(ctx.get([actor.has_engine() for actor in actors])) >= 4
        assert all(ctx.get([actor.asks() for actor in actors]))


def test_a_ref_is_an_object_ref_before_a_task_uses_its_context() -> None:
    def is_ref(values: list[object]) -> bool:
        return isinstance(values[0], fray.ObjectRef)

    with NativeJobContext(cpus=1) as context:
        assert context.get(context.run(is_ref, [context.put(7)]))
