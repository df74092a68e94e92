"""`TaskOptions`: how one task runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from fray._checks import MOST_RETURNS, check_count, check_name
from fray._resources import check_resources
from fray._units import is_finite
from fray.job.checks import check_runtime_env
from fray.job.options import check_priority
from fray.job.record import NOTHING, Record

if TYPE_CHECKING:
    from fray.job.runtime_env import RuntimeEnv

__all__ = ["TaskOptions"]


class TaskOptions(Record):
    """How one task runs.

    Args:
        name: shown in status, errors and timelines; by default the function's name.
        resources: what the task holds while it runs: ``CPU``, ``GPU``, ``memory`` (bytes) and custom names. One CPU
            where ``CPU`` is not given; ``{"CPU": 0}`` asks for none. On the native engine a task that uses much more
            memory than it asked for is killed (`OutOfMemoryError`).
        max_calls: the worker process ends after this many calls of the function; None for never.
        max_retries: attempts after the first when a worker dies or, with `retry_exceptions`, when the function
            raises; -1 for no limit.
        retry_exceptions: True to retry after any exception, or the exception types to retry after.
        timeout: seconds that one attempt may run, counted from its start.
        num_returns: number of refs that `create_task` returns, at most 65,535; the function then returns that many
            values.
        runtime_env: environment that the task runs in.
        priority: a whole number from -1000 to 1000; of the tasks that wait, higher ones are placed first. One that
            waits gains a step each second, up to the highest that waits, so none waits forever.
    """

    __slots__ = (
        "max_calls",
        "max_retries",
        "name",
        "num_returns",
        "priority",
        "resources",
        "retry_exceptions",
        "runtime_env",
        "timeout",
    )

    name: str | None
    resources: Mapping[str, float]
    max_calls: int | None
    max_retries: int
    retry_exceptions: bool | tuple[type[BaseException], ...]
    timeout: float | None
    num_returns: int
    runtime_env: RuntimeEnv | None
    priority: int

    def __init__(
        self,
        name: str | None = None,
        resources: Mapping[str, float] = NOTHING,
        max_calls: int | None = None,
        max_retries: int = 3,
        retry_exceptions: bool | tuple[type[BaseException], ...] = False,
        timeout: float | None = None,
        num_returns: int = 1,
        runtime_env: RuntimeEnv | None = None,
        priority: int = 0,
    ) -> None:
        check_name(name, "TaskOptions")
        resources = check_resources(resources, "TaskOptions")
        if max_calls is not None:
            check_count(max_calls, 1, "TaskOptions: max_calls")
        check_count(max_retries, -1, "TaskOptions: max_retries")
        retry_exceptions = _check_retry_types(retry_exceptions)
        _check_timeout(timeout)
        check_count(num_returns, 1, "TaskOptions: num_returns", MOST_RETURNS)
        check_runtime_env(runtime_env, "TaskOptions")
        check_priority(priority, "TaskOptions")
        self._settle(
            name, resources, max_calls, max_retries, retry_exceptions, timeout, num_returns, runtime_env, priority
        )

    def demand(self) -> dict[str, float]:
        """Return the resources that the task holds while it runs, with the default of one CPU filled in."""
        return {"CPU": 1, **self.resources}

    def shape(self) -> dict[str, Any]:
        """Return what a worker must have for the task, by the names that the engine knows it by."""
        return {"resources": self.demand(), "priority": self.priority}


def _check_timeout(timeout: object) -> None:
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"TaskOptions: timeout must be seconds or None, got {timeout!r}")
    if not is_finite(timeout) or timeout <= 0:
        raise ValueError(f"TaskOptions: timeout must be a finite number of seconds above 0, got {timeout!r}")


def _check_retry_types(allowed: object) -> bool | tuple[type[BaseException], ...]:
    if isinstance(allowed, bool):
        return allowed
    if isinstance(allowed, type):
        allowed = (allowed,)
    if isinstance(allowed, (list, tuple)):
        kinds = tuple(cast("Sequence[object]", allowed))
        if all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
            return cast("tuple[type[BaseException], ...]", kinds)
    raise TypeError(f"TaskOptions: retry_exceptions must be True, False or a tuple of exception types, got {allowed!r}")
