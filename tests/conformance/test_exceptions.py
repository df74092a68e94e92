"""What a task raises, as the caller gets it."""

from __future__ import annotations

import threading
import traceback

import pytest
from fray import JobContext, TaskError


class OutOfStockError(Exception):
    """Pickle alone cannot make it again: its constructor takes other arguments than it hands on."""

    def __init__(self, item, *, wanted):
        super().__init__(f"no {item}, {wanted} wanted")
        self.item = item
        self.wanted = wanted


class UnreadableError(Exception):
    def __reduce__(self):
        return _cannot_be_read, ()


def _cannot_be_read():
    raise RuntimeError("reading back failed")


class StopEverything(BaseException):
    pass


class NoTextError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def raise_now(make):
    raise make()


def failing_deep_inside():
    def innermost_function():
        raise ValueError("deep")

    innermost_function()


def raised_by(ctx: JobContext, fn, *args) -> BaseException:
    ref = ctx.run(fn, *args)
    with pytest.raises(Exception) as info:
        ctx.get(ref)
    assert ctx.get(ctx.run(len, "ok")) == 2, "the worker lives"
    return info.value


def whole_text(exc: BaseException) -> str:
    return "".join(traceback.format_exception(exc))


@pytest.mark.behaviour("D7")
def test_own_type_message_and_traceback_arrive(ctx: JobContext):
    exc = raised_by(ctx, failing_deep_inside)
    assert type(exc) is ValueError
    assert exc.args == ("deep",)
    assert "innermost_function" in whole_text(exc)
    assert "deep" in whole_text(exc)


@pytest.mark.behaviour("D7")
def test_repeated_get_raises_alike(ctx: JobContext):
    ref = ctx.run(failing_deep_inside)
    texts = []
    for _ in range(3):
        with pytest.raises(ValueError, match="deep") as info:
            ref.result()
        texts.append(len(whole_text(info.value)))
    assert texts[0] == texts[1] == texts[2]


@pytest.mark.behaviour("D8")
def test_raised_by_get_not_by_create_task(ctx: JobContext):
    ref = ctx.create_task(failing_deep_inside)
    with pytest.raises(ValueError, match="deep"):
        ctx.get(ref)


@pytest.mark.behaviour("D7")
def test_exception_passes_through_nested_tasks(ctx: JobContext):
    from fray import get_job_context

    def outer():
        inner = get_job_context()
        return inner.get(inner.run(failing_deep_inside))

    exc = raised_by(ctx, outer)
    assert type(exc) is ValueError
    assert "innermost_function" in whole_text(exc)


@pytest.mark.behaviour("T020")
def test_unpicklable_exception(ctx: JobContext):
    def raise_with_lock():
        exc = ValueError("has a lock")
        exc.lock = threading.Lock()
        raise exc

    exc = raised_by(ctx, raise_with_lock)
    assert isinstance(exc, TaskError)
    assert exc.type_name == "ValueError"
    assert "has a lock" in str(exc)
    assert "raise_with_lock" in exc.remote_traceback
    assert "raise_with_lock" in whole_text(exc)


@pytest.mark.behaviour("T021")
def test_exception_with_its_own_constructor(ctx: JobContext):
    def raise_it():
        raise OutOfStockError("tea", wanted=3)

    exc = raised_by(ctx, raise_it)
    assert type(exc) is OutOfStockError
    assert (exc.item, exc.wanted, str(exc)) == ("tea", 3, "no tea, 3 wanted")


@pytest.mark.behaviour("T022")
def test_exception_that_fails_to_unpickle(ctx: JobContext):
    exc = raised_by(ctx, raise_now, UnreadableError)
    assert isinstance(exc, TaskError)
    assert exc.type_name.endswith("UnreadableError")
    assert "raise_now" in exc.remote_traceback


@pytest.mark.behaviour("T023")
def test_system_exit_ends_nobody(ctx: JobContext):
    exc = raised_by(ctx, raise_now, SystemExit)
    assert isinstance(exc, TaskError)
    assert exc.type_name == "SystemExit"
    assert "raise_now" in exc.remote_traceback


@pytest.mark.behaviour("T024")
def test_base_exception_of_the_user(ctx: JobContext):
    exc = raised_by(ctx, raise_now, StopEverything)
    assert isinstance(exc, TaskError)
    assert exc.type_name.endswith("StopEverything")


@pytest.mark.behaviour("T025")
def test_keyboard_interrupt_raised_by_a_task(ctx: JobContext):
    exc = raised_by(ctx, raise_now, KeyboardInterrupt)
    assert isinstance(exc, TaskError)
    assert exc.type_name == "KeyboardInterrupt"


@pytest.mark.behaviour("T026")
def test_exception_group(ctx: JobContext):
    def raise_group():
        raise ExceptionGroup("several", [ValueError("a"), ExceptionGroup("inner", [KeyError("b")])])

    exc = raised_by(ctx, raise_group)
    assert isinstance(exc, ExceptionGroup)
    assert exc.message == "several"
    values, rest = exc.split(ValueError)
    assert values is not None
    assert values.exceptions[0].args == ("a",)
    assert rest is not None


@pytest.mark.behaviour("T027")
def test_exception_without_text(ctx: JobContext):
    exc = raised_by(ctx, raise_now, NoTextError)
    assert type(exc).__name__ in ("NoTextError", "TaskError")


@pytest.mark.behaviour("T028")
def test_huge_message(ctx: JobContext):
    def raise_huge(size):
        raise ValueError("x" * size)

    assert len(raised_by(ctx, raise_huge, 1 << 20).args[0]) == 1 << 20
    exc = raised_by(ctx, raise_huge, 64 << 20)
    assert type(exc) is ValueError or (isinstance(exc, TaskError) and exc.type_name == "ValueError")


@pytest.mark.behaviour("T029")
def test_causes_and_notes(ctx: JobContext):
    def raise_chain():
        try:
            {}["key"]
        except KeyError as error:
            problem = ValueError("outer")
            problem.add_note("a note")
            raise problem from error

    exc = raised_by(ctx, raise_chain)
    assert exc.__notes__ == ["a note"]
    assert type(exc.__cause__) is KeyError
    assert exc.__cause__.args == ("key",)
    assert "raise_chain" in whole_text(exc)
