"""`ray.remote` on functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from fray.errors import InfeasibleError
from fray.job.frozen import Frozen
from fray.ray import _session
from fray.ray._calls import Body, Items, Several, process, start_in_name_of_call
from fray.ray._errors import raise_translated, translated
from fray.ray._options import check_options, facts_of, settled, task_options
from fray.ray._refs import ObjectRefGenerator, failed_refs
from fray.ray._signature import Shape
from fray.ray._startable import Startable

__all__ = ["FuncWrapper", "RemoteFunction"]

_state = _session.state
_SET_UP = ("_call", "_function_name", "_shape", "remote")


class _Remote:
    """A function with options, as `.remote` calls it; what depends on the session is made anew in each session."""

    def __init__(self, fn: Callable[..., Any], name: str, options: Mapping[str, Any], shape: Shape) -> None:
        self.fn = fn
        self.name = name
        self.options = settled(options)
        self.shape = shape
        self.session = -1
        returns = options.get("num_returns")
        is_generator = inspect.isgeneratorfunction(fn)
        if returns is None:
            returns = "streaming" if is_generator else 1
        if isinstance(returns, str) and not is_generator:
            raise ValueError(
                f"num_returns={returns!r} is for generator functions, and {name} is none; give a number, or yield"
            )
        self.streams = returns == "streaming"
        self.dynamic = returns == "dynamic"
        self.returns: int = returns if isinstance(returns, int) else 1
        self._may_be_captured = self.options.get("scheduling_strategy") is None
        self._captured: tuple[Any, _Remote] | None = None

    def prepare(self) -> None:
        """Freeze the function and translate its options for the present session."""
        _session.context()
        shown = self.options.get("name") or self.name
        facts = facts_of(self.options)
        if self.dynamic or (self.returns > 1 and inspect.isgeneratorfunction(self.fn)):
            body: Body = Several(self.fn, shown, False, facts)
            body.count = 0 if self.dynamic else self.returns
        else:
            body = (Items if self.streams else Body)(self.fn, shown, self.returns <= 1, facts)
        self.frozen = Frozen(body, self.streams, self.options.get("_generator_backpressure_num_objects") or 0)
        self.frozen.__qualname__ = self.name
        self.task_options = task_options(self.options, self.name)
        self.session = _state.number

    def start(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Start a task and return what `.remote` returns."""
        shape = self.shape
        if kwargs or not shape.low <= len(args) <= shape.high:
            shape.check(args, kwargs)
        if process.captured is not None and self._may_be_captured:
            return self._in_group(process.captured).start(args, kwargs)
        if process.overlaps:
            start_in_name_of_call()
        try:
            context = _state.context
            if context is None or self.session != _state.number:
                self.prepare()
                context = _session.context()
            result = context.engine.submit(self.frozen, args, kwargs, self.task_options)
        except InfeasibleError as error:
            if self.streams:
                raise_translated(error)
            result = failed_refs(translated(error), self.returns)  # a program that never waits for them goes on
        except Exception as error:
            raise_translated(error)
        if self.streams:
            return ObjectRefGenerator(result)
        return None if self.returns == 0 else result

    def _in_group(self, group: Any) -> _Remote:
        """Return the same function with its tasks in the placement group that captures them."""
        from fray.ray.util.scheduling_strategies import in_group

        if self._captured is None or self._captured[0] != group:
            self._captured = group, _Remote(self.fn, self.name, in_group(self.options, group), self.shape)
        return self._captured[1]


class FuncWrapper(Startable):
    """A remote function with other options: ``f.options(...)``."""

    _node = "FunctionNode"

    def __init__(self, owner: RemoteFunction, options: Mapping[str, Any]) -> None:
        self._owner = owner
        self._options = options
        self._call = _Remote(owner._function, owner._function.__name__, options, owner._shape)

    def remote(self, *args: Any, **kwargs: Any) -> Any:
        return self._call.start(args, kwargs)

    def options(self, **options: Any) -> FuncWrapper:
        """Return the function with further options."""
        check_options(options, for_actors=False, in_options=True)
        return FuncWrapper(self._owner, {**self._options, **options})

    def __reduce__(self) -> Any:
        return FuncWrapper, (self._owner, dict(self._options))


class RemoteFunction(Startable):
    """A function whose calls are tasks: ``f.remote(...)``."""

    _node = "FunctionNode"

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        if inspect.iscoroutinefunction(function):
            raise ValueError(
                "'async def' should not be used for remote tasks. You can wrap the async function with "
                "`asyncio.run(f())`, or make it a method of an actor."
            )
        self._function = function
        self._default_options = dict(options)
        self._set_up()

    def _set_up(self) -> None:
        function: Any = self._function
        self._shape = Shape(function)
        self._function_name = f"{function.__module__}.{function.__name__}"
        self._call = _Remote(function, function.__name__, self._default_options, self._shape)
        start = self._call.start

        @functools.wraps(function)
        def remote(*args: Any, **kwargs: Any) -> Any:
            return start(args, kwargs)

        self.remote = remote
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(self, name, getattr(function, name, None))

    def __getattr__(self, name: str) -> Any:
        if name in _SET_UP and "_function" in self.__dict__:
            self._set_up()
            return self.__dict__[name]
        options = self.__dict__.get("_default_options")
        if options is not None and name.startswith("_") and not name.startswith("__") and name[1:] in options:
            return options[name[1:]]
        if name in ("_num_cpus", "_num_gpus", "_resources", "_max_calls", "_max_retries", "_num_returns"):
            return None
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        del args, kwargs
        raise TypeError(
            f"Remote functions cannot be called directly. Instead of running '{self._function_name}()', "
            f"try '{self._function_name}.remote()'."
        )

    def options(self, **options: Any) -> FuncWrapper:
        """Return the function with other options for its calls."""
        check_options(options, for_actors=False, in_options=True)
        return FuncWrapper(self, {**self._default_options, **options})

    def __reduce__(self) -> Any:
        # In two steps, because a function may refer to itself; __getattr__ makes the rest when it is first needed.
        return _new_remote_function, (), {"_function": self._function, "_default_options": self._default_options}


def _new_remote_function() -> RemoteFunction:
    return RemoteFunction.__new__(RemoteFunction)
