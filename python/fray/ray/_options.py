"""The options of remote functions, classes and methods, which are checked and translated into Fray's."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fray.errors import UnsupportedError
from fray.ray import _session
from fray.types import ActorOptions, Lifetime, RuntimeEnv, TaskOptions

# fmt: off
__all__ = [
    "OF_CALLS", "actor_options", "check_call_options", "check_options", "check_runtime_env", "demand_of",
    "facts_of", "method", "settled", "task_options",
]
# fmt: on

_SMALLEST = 0.0001
_NUMBER = (int, float, type(None))
_PACKAGES = ("pip", "uv", "conda")
_UNIT_SHARE = 0.001
"""The amount that a task takes of the resource that stands for a type of accelerator or for a label."""


@dataclass(frozen=True)
class _Option:
    """The types of an option's values, and a function that says in a text what else is wrong with a value."""

    kinds: tuple[type[Any], ...]
    trouble: Callable[[Any], str | None] = lambda value: None


def _amount(value: Any) -> str | None:
    if value is None:
        return None
    if value < 0:
        return "The quantity of resource {} cannot be negative."
    if 0 < value < _SMALLEST:
        return "The precision of the fractional quantity of resource {} cannot go beyond 0.0001."
    return None


def _named_amounts(value: Any) -> str | None:
    for name, amount in (value or {}).items():
        if name in ("CPU", "GPU"):
            return "Use the 'num_cpus' and 'num_gpus' keyword instead of 'CPU' and 'GPU' in 'resources' keyword"
        if not isinstance(amount, (int, float)):
            return f"The amount of {name!r} in {{}} must be a number, got {amount!r}."
        trouble = _amount(amount)
        if trouble is not None:
            return trouble.replace("{}", name)
    return None


def _from(least: int) -> Callable[[Any], str | None]:
    counts = {0: "None, 0 or a positive integer.", 1: "None or a positive integer."}
    endless = "None, 0, -1 or a positive integer, where -1 represents infinity."
    text = f"The keyword '{{}}' only accepts {counts.get(least, endless)}"
    return lambda value: None if value is None or value >= least else text


def _retries(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    for kind in value:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            return "In {}, only a boolean or a list of exception types is accepted."
    return None


_RETURNS = "The keyword '{}' only accepts None, a non-negative integer, 'streaming' (for generators), or 'dynamic'."


def _returns(value: Any) -> str | None:
    if isinstance(value, str) and value not in ("streaming", "dynamic"):
        return _RETURNS
    return None if isinstance(value, str) or value is None or value >= 0 else _RETURNS


def _lifetime(value: Any) -> str | None:
    if value in (None, "detached", "non_detached"):
        return None
    return "The lifetime of an actor must be 'detached', 'non_detached' or None: {}."


def _texts(value: Any) -> str | None:
    if value is not None and not all(isinstance(text, str) for pair in value.items() for text in pair):
        raise TypeError("label_selector must be a dict of texts")
    return None


_BOTH = {
    "num_cpus": _Option(_NUMBER, _amount),
    "num_gpus": _Option(_NUMBER, _amount),
    "memory": _Option(_NUMBER, _amount),
    "resources": _Option((dict, type(None)), _named_amounts),
    "accelerator_type": _Option((str, type(None))),
    "label_selector": _Option((dict, type(None)), _texts),
    "fallback_strategy": _Option((list, type(None))),
    "name": _Option((str, type(None))),
    "runtime_env": _Option((dict, type(None))),
    "scheduling_strategy": _Option((object,)),
    "placement_group": _Option((object,)),
    "placement_group_bundle_index": _Option((int,)),
    "placement_group_capture_child_tasks": _Option((bool, type(None))),
    "enable_task_events": _Option((bool,)),
    "_labels": _Option((dict, type(None))),
}
_TASKS = {
    **_BOTH,
    "max_calls": _Option((int, type(None)), _from(0)),
    "max_retries": _Option((int, type(None)), _from(-1)),
    "retry_exceptions": _Option((bool, list, tuple), _retries),
    "num_returns": _Option((int, str, type(None)), _returns),
    "_generator_backpressure_num_objects": _Option((int, type(None)), _from(1)),
}
_ACTORS = {
    **_BOTH,
    "object_store_memory": _Option(_NUMBER, _amount),
    "max_concurrency": _Option((int, type(None)), _from(0)),
    "concurrency_groups": _Option((dict, list, type(None))),
    "max_restarts": _Option((int, type(None)), _from(-1)),
    "max_task_retries": _Option((int, type(None)), _from(-1)),
    "max_pending_calls": _Option((int,), _from(-1)),
    "lifetime": _Option((str, type(None)), _lifetime),
    "namespace": _Option((str, type(None))),
    "get_if_exists": _Option((bool,)),
    "allow_out_of_order_execution": _Option((bool, type(None))),
    "enable_tensor_transport": _Option((bool, type(None))),
}
_CALLS = {
    **{name: _TASKS[name] for name in ("num_returns", "retry_exceptions", "_generator_backpressure_num_objects")},
    "max_task_retries": _ACTORS["max_task_retries"],
    "enable_task_events": _TASKS["enable_task_events"],
    "concurrency_group": _TASKS["name"],
    "name": _TASKS["name"],
}
_ONLY_IN_DECORATORS = ("max_calls", "concurrency_groups")


def check_options(options: Mapping[str, Any], for_actors: bool, in_options: bool = False) -> None:
    """Refuse the options that Ray refuses.

    Raises:
        ValueError: there is no such option, or its value makes no sense.
        TypeError: a value has another type.
    """
    known, kind = (_ACTORS, "actors") if for_actors else (_TASKS, "remote functions")
    for name, value in options.items():
        option = known.get(name)
        if option is None:
            raise ValueError(f"Invalid option keyword {name} for {kind}. Valid ones are {sorted(known)}.")
        if in_options and name in _ONLY_IN_DECORATORS:
            raise ValueError(f"Setting '{name}' is not supported in '.options()'. Give it to the decorator.")
        _check_value(name, value, option)
    if options.get("placement_group", "default") != "default" and options.get("scheduling_strategy") is not None:
        raise ValueError("Placement groups should be specified via the scheduling_strategy option, not both.")
    if for_actors:
        _check_actor_options(options)
    check_runtime_env(options.get("runtime_env"))


def check_call_options(options: Mapping[str, Any]) -> None:
    """Refuse values of a method's options that make no sense, with the errors of `check_options`."""
    for name, value in options.items():
        if name in _CALLS and value is not None:
            _check_value(name, value, _CALLS[name])


def _check_value(name: str, value: Any, option: _Option) -> None:
    if not isinstance(value, option.kinds) or (isinstance(value, bool) and option.kinds[0] is int):
        raise TypeError(
            f"The type of keyword '{name}' must be {option.kinds}, but received type {type(value)}: {value!r}"
        )
    trouble = option.trouble(value)
    if trouble is not None:
        raise ValueError(f"{trouble.replace('{}', name)} Got {name}={value!r}.")


def _check_actor_options(options: Mapping[str, Any]) -> None:
    if options.get("get_if_exists") and not options.get("name"):
        raise ValueError("The actor name must be specified to use `get_if_exists`.")
    if options.get("name") == "":
        raise ValueError("Actor name cannot be an empty string.")
    if options.get("max_pending_calls") == 0:
        raise ValueError("max_pending_calls must be at least 1, or -1 for no limit.")


# fmt: off
_ENV_KEYS = {
    "working_dir", "py_modules", "py_executable", "pip", "uv", "conda", "container", "image_uri", "env_vars",
    "java_jars", "excludes", "worker_process_setup_hook", "nsight", "config", "rocprof-sys", "_inherit",
    "_ray_commit", "_inject_current_ray", "mpi",
}
# fmt: on


def check_runtime_env(env: Mapping[str, Any] | None) -> None:
    """Refuse the values that Ray refuses in a runtime environment; warn of keys that Ray does not have."""
    if not env:
        return
    unknown = sorted(set(env) - _ENV_KEYS)
    if unknown:
        import warnings

        warnings.warn(f"runtime_env: unknown and ignored: {', '.join(map(str, unknown))}", stacklevel=4)
    variables = env.get("env_vars") or {}
    if not isinstance(variables, Mapping) or not all(
        isinstance(text, str) for pair in variables.items() for text in pair
    ):
        raise TypeError(f"runtime_env['env_vars'] must be of type Dict[str, str], got {variables!r}")
    folder = env.get("working_dir")
    if isinstance(folder, str) and "://" not in folder and not os.path.exists(os.path.expanduser(folder)):
        raise ValueError(f"runtime_env: working_dir {folder!r} is no folder and no archive")


def _runtime_env(own: Mapping[str, Any] | None) -> RuntimeEnv | None:
    jobs = _session.state.runtime_env
    if any((own or {}).get(kind) for kind in _PACKAGES):  # those of a task replace the job's, of whichever kind
        jobs = {key: value for key, value in jobs.items() if key not in _PACKAGES}
    env: dict[str, Any] = {**jobs, **(own or {})}
    if not env:
        return None
    variables = {**(jobs.get("env_vars") or {}), **((own or {}).get("env_vars") or {})}
    if env.get("py_modules"):
        paths = [os.path.abspath(_module_folder(module)) for module in env["py_modules"]]
        variables["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    image = env.get("image_uri") or (env.get("container") or {}).get("image")
    packages = _packages(env.get("pip") or env.get("uv"))
    conda = _conda(env.get("conda"))
    if not (variables or image or packages or conda or env.get("working_dir")):
        return None
    return RuntimeEnv(
        package_requirements=packages,
        env=variables,
        container_image=image,
        conda=conda,
        working_dir=env.get("working_dir"),
    )


def _module_folder(module: Any) -> str:
    if isinstance(module, str):
        return os.path.dirname(module) if os.path.exists(os.path.join(module, "__init__.py")) else module
    return os.path.dirname(os.path.dirname(module.__file__))


def _packages(wanted: Any) -> list[str]:
    if isinstance(wanted, Mapping):
        wanted = wanted.get("packages")
    if isinstance(wanted, str):
        with open(wanted, encoding="utf-8") as file:
            wanted = [line.strip() for line in file if line.strip() and not line.lstrip().startswith("#")]
    return list(wanted or [])


def _conda(wanted: Any) -> list[str]:
    if isinstance(wanted, Mapping):
        wanted = [spec for spec in wanted.get("dependencies", []) if isinstance(spec, str)]
    elif isinstance(wanted, str):
        raise UnsupportedError(
            f"runtime_env: the conda environment {wanted!r} by its name; give {{'dependencies': [...]}} instead"
        )
    return list(wanted or [])


def demand_of(options: Mapping[str, Any], cpus: float | None) -> dict[str, float]:
    """Return the resources that the options ask for, with `cpus` CPUs where they do not say."""
    asked = options.get("num_cpus")
    demand: dict[str, float] = {}
    if asked is not None or cpus is not None:
        demand["CPU"] = asked if asked is not None else cpus or 0
    if options.get("num_gpus"):
        demand["GPU"] = options["num_gpus"]
    if options.get("memory"):
        demand["memory"] = int(options["memory"])
    demand.update(options.get("resources") or {})
    if options.get("accelerator_type"):
        demand[f"accelerator_type:{options['accelerator_type']}"] = _UNIT_SHARE
    if options.get("label_selector"):
        demand.update({f"label:{key}={value}": _UNIT_SHARE for key, value in options["label_selector"].items()})
    return demand


def _resources(options: Mapping[str, Any], cpus: float) -> dict[str, float]:
    """Return the resources that the engine is asked for; in a placement group `cpus` CPUs where the options do not say.

    Raises:
        ValueError: the strategy is none of Ray's, or the demand does not fit into the placement group.
        InfeasibleError: no node will ever do.
    """
    strategy = options.get("scheduling_strategy")
    if strategy in (None, "DEFAULT", "SPREAD"):
        return demand_of(options, None)
    from fray.ray.util.scheduling_strategies import group_of

    group, index = group_of(strategy)
    return demand_of(options, None) if group is None else group.asks_for(demand_of(options, cpus), index)


def facts_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that workers need of the options: placement group, runtime environment, hook and resources."""
    env = {**_session.state.runtime_env, **(options.get("runtime_env") or {})}
    facts: dict[str, Any] = {}
    strategy: Any = options.get("scheduling_strategy")
    group = getattr(strategy, "placement_group", None)
    if group is not None:
        capture = bool(strategy.placement_group_capture_child_tasks)
        facts["placement_group"] = {"id": group.id.hex(), "capture": capture, "group": group}
    if env:
        facts["runtime_env"] = {key: value for key, value in env.items() if key != "worker_process_setup_hook"}
    if env.get("worker_process_setup_hook") is not None:
        facts["setup_hook"] = env["worker_process_setup_hook"]
    wanted = {name: options[name] for name in ("num_cpus", "num_gpus", "memory", "resources") if options.get(name)}
    if wanted:
        facts["resources"] = wanted
    return facts


def task_options(options: Mapping[str, Any], name: str | None) -> TaskOptions:
    """Return the options of a task of the context API."""
    returns = options.get("num_returns")
    retries = options.get("max_retries")
    if retries is None:
        retries = int(os.environ.get("RAY_TASK_MAX_RETRIES", "3"))
    retry = options.get("retry_exceptions", False)
    calls = options.get("max_calls") or None
    if calls is None and options.get("num_gpus") and "max_calls" not in options:
        calls = 1
    return TaskOptions(
        name=options.get("name") or name,
        resources=_resources(options, 1),
        max_calls=calls,
        max_retries=retries,
        retry_exceptions=retry if isinstance(retry, bool) else tuple(retry),
        num_returns=returns if isinstance(returns, int) and returns > 1 else 1,
        runtime_env=_runtime_env(options.get("runtime_env")),
    )


def actor_options(options: Mapping[str, Any], annotations: Mapping[str, str], places: int | None) -> ActorOptions:
    """Return the options of an actor of the context API; `places` is the most calls that run at once."""
    detached = options.get("lifetime") == "detached"
    return ActorOptions(
        name=options.get("name"),
        get_if_exists=bool(options.get("get_if_exists")),
        lifetime=Lifetime.DETACHED if detached and options.get("name") else Lifetime.JOB,
        resources=_resources(options, 0),
        max_restarts=options.get("max_restarts") or 0,
        max_task_retries=options.get("max_task_retries") or 0,
        max_concurrency=places,
        runtime_env=_runtime_env(options.get("runtime_env")),
        namespace=options.get("namespace"),
        max_pending_calls=options.get("max_pending_calls", -1),
        annotations=annotations,
    )


def settled(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options with a strategy in place of Ray's older options for placement groups."""
    group = options.get("placement_group", "default")
    if group == "default":
        return options
    from fray.ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    index = options.get("placement_group_bundle_index", -1)
    capture = options.get("placement_group_capture_child_tasks")
    strategy = PlacementGroupSchedulingStrategy(group, index, capture)
    return {**options, "placement_group": "default", "scheduling_strategy": strategy}


# fmt: off
OF_CALLS = (
    "num_returns", "concurrency_group", "max_task_retries", "retry_exceptions", "_generator_backpressure_num_objects",
    "enable_task_events", "tensor_transport", "name", "_labels",
)
# fmt: on
"""The options of one call of a method."""
_OF_METHODS = (*OF_CALLS[:-2], "_num_objects_per_yield")
"""The options of a method in its class."""


def method(*args: Any, **options: Any) -> Any:
    """Set the options of all calls of a method, where its class is written: ``@ray.method(num_returns=2)``."""
    if len(args) == 1 and not options and callable(args[0]):
        return args[0]
    assert not args and options and all(name in _OF_METHODS for name in options), (
        "The @ray.method decorator must be applied using at least one of the arguments in the list "
        f"{list(_OF_METHODS)}, for example '@ray.method(num_returns=2)'; got {args} {sorted(options)}."
    )
    check_call_options(options)

    def mark(fn: Callable[..., Any]) -> Callable[..., Any]:
        marked: Any = fn
        marked.__ray_method__ = options
        if "num_returns" in options:
            marked.__ray_num_returns__ = options["num_returns"]  # which packages look for
        return fn

    return mark
