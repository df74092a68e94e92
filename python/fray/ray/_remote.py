"""The decorator `remote`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from fray.ray._options import check_options

__all__ = ["remote"]


def remote(*args: Any, **options: Any) -> Any:
    """Make a function a remote function, or a class an actor class.

    ``@ray.remote``, ``@ray.remote(num_cpus=2)``, ``ray.remote(f)`` and ``ray.remote(num_cpus=2)(f)``.
    """
    if len(args) == 1 and not options and (callable(args[0])):
        return _make(args[0], {})
    assert not args and options, (
        "The @ray.remote decorator must be applied either with no arguments and no parentheses, for example "
        "'@ray.remote', or it must be applied using some of the arguments, for example '@ray.remote(num_returns=2)'."
    )
    return lambda target: _make(target, options)


def _make(target: Any, options: Mapping[str, Any]) -> Any:
    if inspect.isclass(target):
        from fray.ray.actor import ActorClass

        check_options(options, for_actors=True)
        return ActorClass(target, options)
    if inspect.isfunction(target):
        from fray.ray.remote_function import RemoteFunction

        check_options(options, for_actors=False)
        return RemoteFunction(target, options)
    raise TypeError("The @ray.remote decorator must be applied to either a function or a class.")
