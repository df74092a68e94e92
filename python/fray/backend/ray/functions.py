"""How a task's function gets to Ray's workers, and with which of Ray's options it is called.

A function that workers can import, or one by value that has not changed, is wrapped and exported to Ray once.
One that could change unnoticed, or that holds refs, which Ray must count, is the first argument of each task instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import iscoroutinefunction, isgeneratorfunction
from types import FunctionType
from typing import Any, NamedTuple

from fray import _traces
from fray._functions import (
    is_importable,
    name_of,
    send_main_by_value,
    warn_of_large_function,
)
from fray._ref_outside import RefOutsideError
from fray._sent_functions import SentFunctions
from fray._snapshots import Snapshot, snapshot_of
from fray.backend.ray.capacity import Capacity
from fray.backend.ray.failures import RetryableFailure
from fray.backend.ray.library import cloudpickle, ray
from fray.backend.ray.options import task_keywords
from fray.backend.ray.refs import trial_pickling
from fray.backend.ray.task_environment import buildable, with_sent_folder
from fray.backend.ray.worker import TaskSetting, run_stream, run_task, with_items
from fray.types import TaskOptions

__all__ = ["FunctionTable", "Submitter", "can_pickle", "remote_call", "takes_nothing"]

_LARGE_BYTES = 1 << 20
_MOST_KNOWN = 1024


class Submitter(NamedTuple):
    """How to submit tasks of one function with one set of options."""

    remote: Callable[..., Any]
    """The ``remote`` method of Ray's function: takes arguments and returns refs."""
    name: str
    """The name of the task."""
    as_argument: bool
    """Whether the function itself is the first argument."""
    state: Snapshot | None
    """What the function referred to when it was exported; None for one that cannot become stale."""
    options: TaskOptions
    """The options, held so that no other object gets their id."""


class FunctionTable:
    """The functions that one context has sent. Guarded by the GIL: entries that two threads make at once are equal."""

    def __init__(self, namespace: str, capacity: Capacity) -> None:
        self._namespace = namespace
        self._capacity = capacity
        self._known: SentFunctions[Submitter] = SentFunctions(_MOST_KNOWN, _one)
        self._exported: SentFunctions[Any] = SentFunctions(_MOST_KNOWN, _one)

    def submitter(self, fn: Callable[..., Any], options: TaskOptions) -> Submitter:
        """Return how to submit a task of `fn`.

        Raises:
            TypeError: `fn` is an async function.
            SerializationError: `fn` cannot be pickled; the message names the captured variable.
            InfeasibleError: no node has the resources.
        """
        key = (fn, id(options))
        try:
            known = self._known.find(fn, key)
        except TypeError:  # not hashable: a callable object with __eq__
            return self._make(fn, options, as_argument=True)
        if known is not None:
            return known
        made = self._make(fn, options)
        return made if made.as_argument else self._known.note(key, made.state, made)

    def as_argument(self, fn: Callable[..., Any], options: TaskOptions) -> Submitter:
        """Return how to submit a task that has generator tasks among its arguments."""
        return self._make(fn, options, as_argument=True)

    def _make(self, fn: Callable[..., Any], options: TaskOptions, as_argument: bool = False) -> Submitter:
        if iscoroutinefunction(fn):
            raise TypeError(f"{name_of(fn)!r} is an async function; a task's function must not be, an actor's may")
        name = options.name or name_of(fn).replace("<locals>.", "")
        streams = isgeneratorfunction(fn)
        demand = self._capacity.place(options.demand(), f"task {name!r}")
        keywords = with_sent_folder(task_keywords(buildable(options), demand, streams))
        setting = TaskSetting(self._namespace, options.timeout, options.retry_exceptions, options.num_returns)
        state = None
        send_main_by_value(cloudpickle)
        if not as_argument and not is_importable(fn):
            # Not by content: Ray keeps each export of a function, and what is in a container may change with each call.
            state = snapshot_of(fn, by_content=False) if type(fn) is FunctionType else None
            as_argument = state is None
        remote = None if as_argument else self._export(fn, state, setting, options.max_calls, streams)
        if remote is None:
            keywords.setdefault("name", name)
            as_argument, state = True, None
            remote = self._generic(setting, options.max_calls, streams)
        submit = remote.options(**keywords).remote if keywords else remote.remote
        return Submitter(submit, name, as_argument, state, options)

    def _export(
        self,
        fn: Callable[..., Any],
        state: Snapshot | None,
        setting: TaskSetting,
        max_calls: int | None,
        streams: bool,
    ) -> Any:
        """Return Ray's remote function, None for a function that holds refs or handles."""
        key = (fn, setting, max_calls)
        exported = self._exported.find(fn, key)
        if exported is not None:
            return exported
        wrapper = _wrapper(fn, setting, streams)
        if state is not None and not _check_picklable(fn, wrapper):
            return None
        return self._exported.note(key, state, _remote(wrapper, setting, max_calls))

    def _generic(self, setting: TaskSetting, max_calls: int | None, streams: bool) -> Any:
        key = (None, setting, max_calls, streams)
        exported = self._exported.find(None, key)
        if exported is None:
            wrapper = _stream_of_argument(setting) if streams else _task_of_argument(setting)
            exported = self._exported.note(key, None, _remote(wrapper, setting, max_calls))
        return exported


def _one(key: object, made: object) -> int:
    return 1


def can_pickle(value: object) -> bool:
    """Return whether `value` can be pickled as an argument."""
    with trial_pickling():
        try:
            cloudpickle.dumps(value, protocol=5)
        except Exception:
            return False
    return True


def remote_call(namespace: str, max_calls: int | None = None) -> Any:
    """Return Ray's remote function that calls its first argument with the others."""
    setting = TaskSetting(namespace, None, False, 1)
    return _remote(_task_of_argument(setting), setting, max_calls)


def takes_nothing(fn: object, is_method: bool = False) -> bool:
    """Return whether a function written in Python takes no arguments, a method none but its object."""
    if type(fn) is not FunctionType or hasattr(fn, "__wrapped__"):
        return False
    code = fn.__code__
    names = code.co_argcount + code.co_kwonlyargcount
    starred = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return names == int(is_method) and not starred


def _remote(wrapper: Callable[..., Any], setting: TaskSetting, max_calls: int | None) -> Any:
    keywords: dict[str, Any] = {}
    if max_calls is not None:
        keywords["max_calls"] = max_calls
    if setting.retry_exceptions is not False:
        keywords["retry_exceptions"] = [RetryableFailure]
    return ray.remote(**keywords)(wrapper) if keywords else ray.remote(wrapper)


def _wrapper(fn: Callable[..., Any], setting: TaskSetting, streams: bool) -> Callable[..., Any]:
    """Return the function that Ray calls, which is pickled by value; `fn` inside it by name where that works."""

    def task(*args: Any, **kwargs: Any) -> Any:
        return run_task(fn, setting, args, kwargs)

    def stream(*args: Any, **kwargs: Any) -> Any:
        for item in run_stream(fn, setting, args, kwargs):  # noqa: UP028
            yield item

    made: Any = _named(stream if streams else task, name_of(fn).replace("<locals>.", ""))
    if takes_nothing(fn) and _traces.recorder() is None:
        made.__signature__ = inspect.Signature()  # Ray skips work where the signature has no arguments
    return made


def _task_of_argument(setting: TaskSetting) -> Callable[..., Any]:
    def task(*args: Any, **kwargs: Any) -> Any:
        return run_task(args[0], setting, with_items(args[1:]), kwargs)

    return task


def _stream_of_argument(setting: TaskSetting) -> Callable[..., Any]:
    def stream(*args: Any, **kwargs: Any) -> Any:
        for item in run_stream(args[0], setting, with_items(args[1:]), kwargs):  # noqa: UP028
            yield item

    return stream


def _named(wrapper: Callable[..., Any], name: str) -> Callable[..., Any]:
    wrapper.__name__ = wrapper.__qualname__ = name
    return wrapper


def _check_picklable(fn: Callable[..., Any], wrapper: Callable[..., Any]) -> bool:
    """Return whether `fn` can be exported; raise SerializationError where it cannot be pickled at all."""
    try:
        size = len(cloudpickle.dumps(wrapper, protocol=5))
    except Exception as error:
        if isinstance(error, RefOutsideError):
            return False
        from fray._unpicklable import serialization_error

        raise serialization_error(f"function {name_of(fn)!r}", fn, error, can_pickle) from error
    if size > _LARGE_BYTES:
        warn_of_large_function(fn, size)
    return True
