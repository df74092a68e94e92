"""Options of tasks and actors, and runtime environments, as the keywords that Ray takes. Pure; needs no Ray."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

from fray.types import ActorOptions, Lifetime, RuntimeEnv, TaskOptions

__all__ = [
    "BACKPRESSURE_ITEMS",
    "actor_keywords",
    "resource_keywords",
    "runtime_env_dict",
    "task_keywords",
    "task_options",
]

BACKPRESSURE_ITEMS = 32
"""How many items of a generator may be untaken before its producer waits."""
_RAY_DEFAULT_RETRIES = 3
_AMOUNTS = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
_SAME_NAMES = ("max_retries", "max_calls", "name")
"""Options that have the same name in Ray and in `TaskOptions`."""


def task_keywords(options: TaskOptions, demand: Mapping[str, float], streams: bool) -> dict[str, Any]:
    """Return the keywords of a remote function's ``options`` for one task.

    Keywords whose value is Ray's default are left out. For retries after an exception, the wrapper of the task raises
    one type of exception whenever a retry is allowed; see `fray.backend.ray.worker`.

    Args:
        options: what was asked for.
        demand: the resources of `options`, with the defaults filled in.
        streams: the function is a generator function.
    """
    keywords = resource_keywords(demand)
    if keywords.get("num_cpus") == 1:
        del keywords["num_cpus"]
    if options.name is not None:
        keywords["name"] = options.name
    if options.max_retries != _RAY_DEFAULT_RETRIES:
        keywords["max_retries"] = options.max_retries
    if options.num_returns > 1:
        keywords["num_returns"] = options.num_returns
    if streams:
        keywords["_generator_backpressure_num_objects"] = BACKPRESSURE_ITEMS
    if options.runtime_env is not None:
        keywords["runtime_env"] = runtime_env_dict(options.runtime_env)
    if options.priority:
        _say_that_ray_has_no_priorities()
    return keywords


def task_options(keywords: Mapping[str, Any]) -> TaskOptions:
    """Return the options that some keywords of ``ray.remote`` ask for.

    Raises:
        TypeError: a keyword that has no counterpart; the message lists those that have.
    """
    amounts = {key: keywords[name] for name, key in _AMOUNTS.items() if keywords.get(name) is not None}
    others = {name: value for name, value in keywords.items() if name not in (*_AMOUNTS, "resources")}
    unknown = [name for name in others if name not in _SAME_NAMES]
    if unknown:
        known = ", ".join((*_AMOUNTS, "resources", *_SAME_NAMES))
        raise TypeError(f"{unknown[0]!r} is no option for the tasks of a Ray context; the options are: {known}")
    return TaskOptions(resources={**keywords.get("resources", {}), **amounts}, **others)


def actor_keywords(options: ActorOptions, demand: Mapping[str, float], namespace: str) -> dict[str, Any]:
    """Return the keywords of an actor class's ``options`` for one actor; `namespace` is where its name lives."""
    keywords = resource_keywords(demand)
    if options.name is not None:
        keywords |= {"name": options.name, "namespace": namespace, "get_if_exists": options.get_if_exists}
        keywords["lifetime"] = "detached" if options.lifetime is Lifetime.DETACHED else "non_detached"
    if options.max_restarts:
        keywords["max_restarts"] = options.max_restarts
    if options.max_task_retries:
        keywords["max_task_retries"] = options.max_task_retries
    if options.max_concurrency is not None:
        keywords["max_concurrency"] = options.max_concurrency
    if options.max_pending_calls != -1:
        keywords["max_pending_calls"] = options.max_pending_calls
    if options.runtime_env is not None:
        keywords["runtime_env"] = runtime_env_dict(options.runtime_env)
    if options.priority:
        _say_that_ray_has_no_priorities()
    return keywords


@cache
def _say_that_ray_has_no_priorities() -> None:
    """Warn, once in a process, that Ray runs the tasks in an order of its own choice."""
    warnings.warn(
        "Ray has no priorities for tasks and actors: the option priority is left out, and Ray chooses the order; the "
        "native engine and the thread context heed it",
        stacklevel=3,
    )


def resource_keywords(demand: Mapping[str, float]) -> dict[str, Any]:
    """Return ``CPU``, ``GPU`` and ``memory`` as Ray's own keywords and the rest as ``resources``; a zero stays."""
    keywords: dict[str, Any] = {}
    others: dict[str, float] = {}
    for name, amount in demand.items():
        if name == "CPU":
            keywords["num_cpus"] = amount
        elif name == "GPU":
            keywords["num_gpus"] = amount
        elif name == "memory":
            keywords["memory"] = int(amount)
        else:
            others[name] = amount
    if others:
        keywords["resources"] = others
    return keywords


def runtime_env_dict(env: RuntimeEnv) -> dict[str, Any]:
    """Return Ray's dict for an environment.

    It has ``container`` for an image, else ``pip`` or ``conda``; and ``env_vars`` and ``working_dir``. Ray ignores
    packages beside an image, so they are left out, with a warning.
    """
    found: dict[str, Any] = {}
    if env.container_image is not None:
        found["container"] = {"image": env.container_image}
        if env.package_requirements or env.conda:
            warnings.warn(
                f"RuntimeEnv: packages are left out, for the image {env.container_image!r} brings its own; "
                "install them into the image",
                stacklevel=2,
            )
    elif env.package_requirements:
        found["pip"] = list(env.package_requirements)
    elif env.conda:
        found["conda"] = {"dependencies": list(env.conda)}
    if env.working_dir is not None:
        found["working_dir"] = env.working_dir
    if env.env:
        found["env_vars"] = dict(env.env)
    return found
