"""`get`, `put`, `wait`, `cancel`, `kill` and `get_actor`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from fray.errors import ActorNotFoundError, GetTimeoutError
from fray.job.refs import ObjectRef as AnyRef
from fray.ray import _session, exceptions
from fray.ray._errors import raise_translated
from fray.ray._refs import ObjectRef, ObjectRefGenerator, two_sided

__all__ = ["cancel", "get", "get_actor", "kill", "put", "wait"]

_state = _session.state
_LOOK_SECONDS = 0.2
"""The time between two looks whether one of several refs has failed."""


def get(
    object_refs: Any, *, timeout: float | None = None, _use_object_store: bool = False, _tensor_transport: Any = None
) -> Any:
    """Return the value of a ref, or the list of the values of a list of refs.

    Raises:
        ValueError: `object_refs` is neither.
        GetTimeoutError: a value was not there in time.
        RayTaskError: the task raised an exception; the error is of the type of that exception, too.
    """
    context = _state.context or _session.context()
    if timeout is not None:
        timeout = _seconds(timeout)
    if two_sided and not _use_object_store:
        _refuse_two_sided(object_refs)
    try:
        if isinstance(object_refs, ObjectRef):
            return context.get(object_refs, timeout)
        if type(object_refs) is list or type(object_refs) is tuple:
            return (_get_list if len(object_refs) < 2 else _get_several)(context, object_refs, timeout)
    except Exception as error:
        raise_translated(error)
    return _get_other(context, object_refs, timeout)


def _refuse_two_sided(refs: Any) -> None:
    for ref in refs if isinstance(refs, (list, tuple)) else [refs]:
        transport = two_sided.get(ref.hex()) if isinstance(ref, ObjectRef) else None
        if transport is not None:
            raise ValueError(
                f"Trying to use two-sided tensor transport: {transport} for ray.get. This is only supported for "
                "one-sided transports such as NIXL or the OBJECT_STORE."
            )


def _seconds(timeout: float) -> float | None:
    if timeout == -1:
        return None
    if timeout < 0:
        raise ValueError(f"The 'timeout' argument must be nonnegative, or -1 for no limit; got {timeout}")
    return timeout


def _get_list(context: Any, refs: Sequence[Any], timeout: float | None) -> list[Any]:
    for ref in refs:
        if not isinstance(ref, AnyRef):
            raise TypeError(
                f"Invalid type of object refs, {type(ref)}, is given. 'object_refs' must be a list of ObjectRefs"
            )
    return list(context.get(refs, timeout))


def _get_several(context: Any, refs: Sequence[Any], timeout: float | None) -> list[Any]:
    """Return the values of all refs, or raise the first failure that is known while other refs are not ready."""
    end = None if timeout is None else time.monotonic() + timeout
    settled = 0
    while True:
        left = _LOOK_SECONDS if end is None else min(_LOOK_SECONDS, end - time.monotonic())
        try:
            return _get_list(context, refs, max(left, 0))
        except GetTimeoutError:  # raised by this wait, or by a task itself
            unique = list(dict.fromkeys(refs))
            ready, _ = context.wait(unique, len(unique), 0)
            if len(ready) != settled:
                settled = len(ready)
                for ref in ready:
                    if ref._failed():
                        context.get(ref)
            if end is not None and time.monotonic() >= end:
                raise


def _get_other(context: Any, refs: Any, timeout: float | None) -> Any:
    if isinstance(refs, ObjectRefGenerator):
        return refs
    if isinstance(refs, AnyRef):  # made before this process knew Ray's refs
        return context.get(refs, timeout)
    from fray.ray.dag import DAGNode

    hint = "; call .execute() on a node of a graph first" if isinstance(refs, DAGNode) else ""
    raise ValueError(
        f"Invalid type of object refs, {type(refs)}, is given. 'object_refs' must either be an ObjectRef or a list "
        f"of ObjectRefs{hint}."
    )


def put(value: Any, *, _owner: Any = None, _tensor_transport: Any = None) -> Any:
    """Hold `value` and return a ref to it."""
    context = _state.context or _session.context()
    if _owner is not None:
        raise ValueError("put: _owner must be None; every object belongs to the session")
    if isinstance(value, AnyRef):
        raise TypeError(
            "Calling 'put' on an ray.ObjectRef is not allowed. If you really want to do this, you can wrap the "
            "ray.ObjectRef in a list and call 'put' on it."
        )
    if isinstance(value, ObjectRefGenerator):
        raise TypeError("Calling 'put' on a generator is not allowed; take its refs and put a list of those.")
    try:
        return context.put(value)
    except Exception as error:
        raise_translated(error)


def wait(
    ray_waitables: Any, *, num_returns: int = 1, timeout: float | None = None, fetch_local: bool = True
) -> tuple[list[Any], list[Any]]:
    """Wait until `num_returns` of a list of refs and generators are ready; return (ready, not ready)."""
    context = _state.context or _session.context()
    if not isinstance(ray_waitables, (list, tuple)):
        raise TypeError(f"wait() expected a list of ray.ObjectRef or ray.ObjectRefGenerator, got {type(ray_waitables)}")
    if timeout is not None and timeout < 0:
        raise ValueError(f"The 'timeout' argument must be nonnegative. Received {timeout}")
    if not ray_waitables:
        return [], []
    generators = {item._ref: item for item in ray_waitables if type(item) is ObjectRefGenerator}
    refs = ray_waitables if type(ray_waitables) is list else list(ray_waitables)  # the engine knows its own lists again
    if generators:
        refs = [item._ref if type(item) is ObjectRefGenerator else item for item in refs]
    if not isinstance(num_returns, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"wait: num_returns must be a number, got {num_returns!r}")
    num_returns = int(num_returns)
    if num_returns <= 0:
        raise ValueError(f"Invalid number of objects to return {num_returns}.")
    if num_returns > len(refs):
        raise ValueError("num_returns cannot be greater than the number of ray_waitables provided to ray.wait.")
    try:
        ready, others = context.wait(refs, num_returns, timeout)
    except TypeError as error:
        raise TypeError(f"wait() expected a list of ray.ObjectRef or ray.ObjectRefGenerator: {error}") from None
    except ValueError as error:
        raise ValueError(f"Wait requires a list of unique ray_waitables: {error}") from None
    except Exception as error:
        raise_translated(error)
    if not generators:
        return ready, others
    return [generators.get(ref, ref) for ref in ready], [generators.get(ref, ref) for ref in others]


def cancel(ray_waitable: Any, *, force: bool = False, recursive: bool = True) -> None:
    """Cancel a task or an actor's call, so that `get` raises TaskCancelledError; one that has ended keeps its result.

    Args:
        ray_waitable: the ref of the task or the call, or its generator.
        force: end the process of a task that runs.
        recursive: cancel the tasks that it has started, too.
    """
    context = _session.context()
    target = ray_waitable._ref if isinstance(ray_waitable, ObjectRefGenerator) else ray_waitable
    if not isinstance(target, AnyRef):
        kind = type(ray_waitable)
        raise TypeError(f"ray.cancel() only supported for object refs. For actors, use ray.kill(). Got: {kind}.")
    if force and target._is_call():  # type: ignore[attr-defined]
        raise ValueError("force=True is not supported for actor tasks.")
    try:
        engine: Any = context.engine  # the native one, which alone can cancel recursively
        engine.cancel(target, force, recursive)
    except Exception as error:
        raise_translated(error)


def kill(actor: Any, *, no_restart: bool = True) -> None:
    """End an actor at once."""
    from fray.ray.actor import ActorHandle

    if not isinstance(actor, ActorHandle):
        hint = " You can cancel a task with ray.cancel()." if isinstance(actor, AnyRef) else ""
        raise ValueError(f"ray.kill() only supported for actors. Got: {type(actor)}.{hint}")
    context = _session.context()
    if not actor._belongs_to(context):
        raise exceptions.ActorHandleNotFoundError(
            f"ActorHandle objects are not valid across sessions: {actor!r} is of another one"
        )
    try:
        actor._kill(context, no_restart)
    except Exception as error:
        raise_translated(error)


def get_actor(name: str, namespace: str | None = None) -> Any:
    """Return a handle of the living actor of that name."""
    from fray.ray.actor import ActorHandle

    if not name:
        raise ValueError("Please supply a non-empty value to get_actor")
    try:
        return ActorHandle._of(_session.context().get_actor(name, namespace))
    except ActorNotFoundError as error:
        raise ValueError(
            f"Failed to look up actor with name '{name}'. This could be because 1. You are trying to look up a named "
            f"actor you didn't create. 2. The named actor died. 3. You did not use a namespace matching the namespace "
            f"of the actor. ({error})"
        ) from None
