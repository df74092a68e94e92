"""Whatever a task raises arrives with its type's name and traceback, and its worker lives on."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from fray import TaskError
from fray.backend.native import NativeJobContext

from tests.chaos.tasks import pid


class Unpicklable(Exception):
    def __init__(self) -> None:
        super().__init__("holds a lock")
        import threading

        self.lock = threading.Lock()


class FailsToUnpickle(Exception):
    def __reduce__(self) -> Any:
        return _refuse, ("the bytes are fine, the constructor is not",)


def _refuse(text: str) -> Any:
    raise RuntimeError(text)


class Fatal(BaseException):
    pass


class BadText(Exception):
    def __str__(self) -> str:
        raise ValueError("no text today")


def raise_unpicklable() -> None:
    raise Unpicklable


def raise_fails_to_unpickle() -> None:
    raise FailsToUnpickle("text")


def raise_system_exit() -> None:
    raise SystemExit(3)


def raise_base() -> None:
    raise Fatal("fatal")


def raise_group() -> None:
    raise ExceptionGroup("several", [ValueError("a"), ExceptionGroup("inner", [KeyError("b")])])


def raise_base_group() -> None:
    raise BaseExceptionGroup("several", [Fatal("a"), ValueError("b")])


def raise_group_of_unpicklable() -> None:
    raise ExceptionGroup("several", [Unpicklable(), ValueError("b")])


def raise_interrupt() -> None:
    raise KeyboardInterrupt


def raise_generator_exit() -> None:
    raise GeneratorExit


def raise_stop_iteration() -> None:
    raise StopIteration(3)


def raise_bad_text() -> None:
    raise BadText


def recurse() -> None:
    recurse()


def return_unpicklable() -> Any:
    return (_ for _ in ())


RAISERS: dict[Callable[[], Any], str] = {
    raise_unpicklable: "Unpicklable",
    raise_fails_to_unpickle: "FailsToUnpickle",
    raise_system_exit: "SystemExit",
    raise_base: "Fatal",
    raise_group: "ExceptionGroup",
    raise_base_group: "ExceptionGroup",
    raise_group_of_unpicklable: "ExceptionGroup",
    raise_interrupt: "KeyboardInterrupt",
    raise_generator_exit: "GeneratorExit",
    raise_stop_iteration: "StopIteration",
    raise_bad_text: "BadText",
    recurse: "RecursionError",
    return_unpicklable: "generator",
}


def everything_said(error: BaseException) -> str:
    """Return type names, messages and remote tracebacks along the chain of causes."""
    parts: list[str] = []
    step: BaseException | None = error
    while step is not None:
        try:
            parts.append(f"{type(step).__name__}: {step}")
        except Exception:
            parts.append(type(step).__name__)
        if isinstance(step, TaskError):
            parts += [step.type_name, step.remote_traceback]
        step = step.__cause__
    return "\n".join(parts)


@pytest.mark.parametrize("raiser", RAISERS, ids=lambda raiser: raiser.__name__)
def test_a_worker_lives_after_a_task_raised(engine: Callable[..., NativeJobContext], raiser: Callable[[], Any]) -> None:
    ctx = engine(cpus=1)
    worker = ctx.get(ctx.run(pid))
    with pytest.raises(BaseException) as caught:
        ctx.get(ctx.run(raiser), timeout=20)
    said = everything_said(caught.value)
    assert RAISERS[raiser] in said
    if raiser is not return_unpicklable:
        assert f"in {raiser.__name__}" in said, "the traceback of the worker is missing"
    assert ctx.get(ctx.run(pid), timeout=20) == worker


@pytest.mark.parametrize("raiser", [raise_system_exit, raise_base, raise_interrupt], ids=lambda raiser: raiser.__name__)
def test_what_would_end_a_program_does_not_end_the_caller(
    engine: Callable[..., NativeJobContext], raiser: Callable[[], Any]
) -> None:
    """Only an Exception arrives: SystemExit of a task must not look like one of the driver."""
    ctx = engine(cpus=1)
    with pytest.raises(Exception):  # noqa: B017
        ctx.get(ctx.run(raiser), timeout=20)


def test_an_argument_that_fails_to_unpickle_is_an_error_of_its_task_alone(
    engine: Callable[..., NativeJobContext],
) -> None:
    ctx = engine(cpus=1)
    worker = ctx.get(ctx.run(pid))
    with pytest.raises(Exception, match="constructor is not"):
        ctx.get(ctx.run(type, FailsToUnpickle("text")), timeout=20)
    assert ctx.get(ctx.run(pid), timeout=20) == worker


def test_a_function_that_fails_to_load_is_an_error_of_its_task_alone(
    engine: Callable[..., NativeJobContext],
) -> None:
    class Callable_:
        def __reduce__(self) -> Any:
            return _refuse, ("cannot be loaded",)

        def __call__(self) -> None:
            pass

    ctx = engine(cpus=1)
    worker = ctx.get(ctx.run(pid))
    for _ in range(2):
        with pytest.raises(Exception, match="cannot be loaded"):
            ctx.get(ctx.run(Callable_()), timeout=20)
    assert ctx.get(ctx.run(pid), timeout=20) == worker


def test_a_generator_that_raises_keeps_its_worker(engine: Callable[..., NativeJobContext]) -> None:
    def items() -> Any:
        yield os.getpid()
        raise Fatal("after one")

    ctx = engine(cpus=1)
    stream = ctx.run(items)
    worker = ctx.get(next(stream))
    with pytest.raises(Exception, match="Fatal"):
        while True:
            ctx.get(next(stream))
    assert ctx.get(ctx.run(pid), timeout=20) == worker
