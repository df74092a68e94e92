"""What runs in Ray's worker processes: a task's function, or a call of an actor, with the context current.

Ray pickles functions that refer to names of this module; state of the driver is not available here.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from inspect import iscoroutine
from typing import Any, NamedTuple, NoReturn

from fray import _traces
from fray._failures import failure_text, pack_exception
from fray.backend import BACKENDS
from fray.backend.ray.failures import RetryableFailure, TaskFailure
from fray.backend.ray.library import ray
from fray.backend.ray.refs import packed
from fray.errors import TaskTimeoutError
from fray.job.current import enter_context

__all__ = [
    "TRACE_KEYWORD",
    "Items",
    "TaskSetting",
    "enter",
    "hear_interrupts",
    "raise_failure",
    "run_stream",
    "run_task",
    "task_failure",
    "traced",
    "with_items",
]


class TaskSetting(NamedTuple):
    """The options of a task that the wrapper of its function needs."""

    namespace: str
    timeout: float | None
    retry_exceptions: bool | tuple[type[BaseException], ...]
    num_returns: int


TRACE_KEYWORD = "_fray_trace"
"""The keyword with a caller's trace context, which Ray passes on with the others."""


class Items(NamedTuple):
    """The argument that stands for a generator task: Ray's refs of its items."""

    raws: list[Any]


class _Interrupt:
    """Whether Ray has interrupted the task that runs; a KeyboardInterrupt of the user's code does not count."""

    installed = False
    came = False


def enter(namespace: str) -> None:
    """Make this process's context current, before user code runs."""
    enter_context(BACKENDS["ray"].context_class().of_worker(namespace))
    hear_interrupts()


def hear_interrupts() -> None:
    """Note from here on whether Ray interrupts the task, because user code may raise KeyboardInterrupt too."""
    _Interrupt.came = False
    if not _Interrupt.installed and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _on_interrupt)
        _Interrupt.installed = True


def run_task(fn: Callable[..., Any], setting: TaskSetting, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what the task's function returns.

    Raises:
        TaskFailure: it raised; a `RetryableFailure` where the options allow another attempt.
        KeyboardInterrupt: the task was cancelled.
    """
    enter(setting.namespace)
    fn = traced(fn, kwargs)
    try:
        if setting.timeout is None:
            value = fn(*args, **kwargs)
        else:
            with _time_limit(setting.timeout):
                value = fn(*args, **kwargs)
        if iscoroutine(value):
            value.close()
            raise TypeError("the function is async; only methods of actors can be")
        return packed(value) if setting.num_returns == 1 else _so_many(value, setting.num_returns)
    except BaseException as error:
        raise_failure(error, setting.retry_exceptions)


def run_stream(
    fn: Callable[..., Any], setting: TaskSetting, args: Sequence[Any], kwargs: dict[str, Any]
) -> Generator[Any, None, None]:
    """Yield what the task's generator function yields; see `run_task`.

    This module uses a loop, never ``yield from``: Ray sends values of its own into generators.
    """
    enter(setting.namespace)
    fn = traced(fn, kwargs)
    try:
        limit = nullcontext() if setting.timeout is None else _time_limit(setting.timeout)
        with limit:
            for item in fn(*args, **kwargs):
                yield packed(item)
    except GeneratorExit:
        raise
    except BaseException as error:
        raise_failure(error, setting.retry_exceptions)


def traced(fn: Callable[..., Any], kwargs: dict[str, Any], name: str = "") -> Callable[..., Any]:
    """Return what is called in the place of `fn`, and take the caller's trace context out of its keywords.

    Args:
        fn: what the task or the call runs.
        kwargs: as they came.
        name: of a call of an actor; by default the task's own.
    """
    trace = kwargs.pop(TRACE_KEYWORD, None)
    if trace is None:
        return fn
    _traces.switch_on_in_worker()
    context = ray.get_runtime_context()
    return _traces.around(
        fn, trace, name or context.get_task_name() or "", **{"messaging.message.id": context.get_task_id()}
    )


def with_items(args: Sequence[Any]) -> list[Any]:
    """Return the arguments with the items of generator tasks in the place of `Items`."""
    return [ray.get(value.raws) if type(value) is Items else value for value in args]


def raise_failure(error: BaseException, retry: bool | tuple[type[BaseException], ...] = False) -> NoReturn:
    """Raise the exception that Ray is to store for `error`."""
    if _Interrupt.came and isinstance(error, KeyboardInterrupt):
        raise error
    raise task_failure(error, retry) from None


def task_failure(error: BaseException, retry: bool | tuple[type[BaseException], ...]) -> TaskFailure:
    """Return `error` packed, as one that may be retried where `retry` says so."""
    packed = pack_exception(error, ray.get_runtime_context().get_task_name() or "")
    again = isinstance(error, Exception) and (retry is True or isinstance(error, retry or ()))
    return (RetryableFailure if again else TaskFailure)(failure_text(packed), packed)


def _so_many(value: Any, count: int) -> Any:
    what = f"the task has num_returns={count} and must return {count} values"
    try:
        got = len(value)
    except TypeError:
        raise TypeError(f"{what}, but it returned a {type(value).__name__}") from None
    if got != count:
        raise ValueError(f"{what}, but it returned {got} values")
    return value


@contextmanager
def _time_limit(seconds: float) -> Generator[None]:
    """Raise TaskTimeoutError inside the block once the time is over."""

    def over(number: int, frame: Any) -> None:
        raise TaskTimeoutError(f"the task ran past its timeout of {seconds:g} s")

    before = signal.getsignal(signal.SIGALRM)
    try:
        signal.signal(signal.SIGALRM, over)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _on_interrupt(number: int, frame: Any) -> None:
    """Note the interrupt and raise: Ray interrupts the main thread to cancel a task."""
    _Interrupt.came = True
    raise KeyboardInterrupt
