"""Translates Fray's options to those of Ray."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from fray.migrate.build import arg, call, dict_of, keyword, literal, string
from fray.migrate.source import Source, dotted

__all__ = ["NoRayError", "init_args", "options_of_ray", "runtime_env_dict"]

Rewrite = Callable[[cst.BaseExpression], cst.BaseExpression]
_SAME = (
    "get_if_exists",
    "max_calls",
    "max_concurrency",
    "max_pending_calls",
    "max_restarts",
    "max_retries",
    "max_task_retries",
    "name",
    "namespace",
    "num_cpus",
    "num_returns",
)
_AMOUNTS = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}


class NoRayError(Exception):
    """Something has no counterpart in Ray; the message is a clause that says what."""


def options_of_ray(
    source: Source,
    options: cst.BaseExpression | None,
    own: dict[str, cst.BaseExpression],
    is_actor: bool,
    rewrite: Rewrite,
    used: list[cst.CSTNode],
) -> tuple[dict[str, cst.BaseExpression], cst.BaseExpression | None]:
    """Return Ray's options by name, and an expression for a dict of further options, or None.

    Args:
        source: the program.
        options: ``fray.TaskOptions(...)``, ``dataclasses.replace(...)``, or an expression whose value is one of these.
        own: options that the call has beside `options`, by keyword.
        is_actor: whether these are the options of an actor.
        rewrite: returns the counterpart of a part.
        used: the names of Fray that the counterpart does not use any more are appended here.

    Raises:
        NoRayError: an option has no counterpart.
    """
    given = dict(own)
    unpacked: cst.BaseExpression | None = None
    if isinstance(options, cst.Call):
        name = source.library_name(options.func, ("fray",)) or ""
        args = list(options.args)
        if dotted(options.func) == "dataclasses.replace" and args and args[0].keyword is None:
            unpacked = rewrite(args.pop(0).value)
        elif name.rpartition(".")[2] not in ("TaskOptions", "ActorOptions"):
            raise NoRayError("these options are made while the program runs")
        else:
            used.append(options.func)
        for item in args:
            if item.keyword is None:
                raise NoRayError("options that are not given by keyword have no counterpart in Ray")
            given[item.keyword.value] = item.value
    elif options is not None and literal(options) is not None:
        unpacked = rewrite(options)
    found: dict[str, cst.BaseExpression] = {}
    for name, value in given.items():
        _one(source, name, value, is_actor, rewrite, found, used)
    return found, unpacked


def _one(
    source: Source,
    name: str,
    value: cst.BaseExpression,
    is_actor: bool,
    rewrite: Rewrite,
    found: dict[str, cst.BaseExpression],
    used: list[cst.CSTNode],
) -> None:
    if name == "resources":
        _resources(value, rewrite, found)
    elif name == "lifetime":
        full = source.library_name(value, ("fray",)) or ""
        if full:
            used.append(value)
            found[name] = string("detached" if full.endswith("DETACHED") else "non_detached")
        else:
            found[name] = rewrite(value)
    elif name == "runtime_env":
        found[name] = rewrite(value)
    elif name == "retry_exceptions":
        if isinstance(value, cst.Tuple):
            found[name] = cst.List([cst.Element(rewrite(item.value)) for item in value.elements])
        elif literal(value) is NotImplemented:
            found[name] = call("list", [arg(rewrite(value))])
        else:
            found[name] = rewrite(value)
    elif name == "schedule_on_head" and literal(value) is True:
        found["resources"] = dict_of([("head_node", cst.Float("0.0001"))])
    elif name in _SAME:
        found[name] = rewrite(value)
    else:
        kind = "actors" if is_actor else "tasks"
        raise NoRayError(f"the option {name} of {kind} has no counterpart in Ray")


def _resources(value: cst.BaseExpression, rewrite: Rewrite, found: dict[str, cst.BaseExpression]) -> None:
    if not isinstance(value, cst.Dict):
        raise NoRayError("resources that are not written out have no counterpart in Ray")
    custom: list[cst.BaseDictElement] = []
    for element in value.elements:
        if isinstance(element, cst.StarredDictElement):
            inner = element.value
            if isinstance(inner, cst.Attribute) and inner.attr.value == "resources":
                get = cst.Attribute(rewrite(inner.value), cst.Name("get"))
                inherited = call(get, [arg(string("resources")), arg(cst.Dict([]))])
                custom.append(cst.StarredDictElement(inherited))
                continue
            raise NoRayError("resources that are not written out have no counterpart in Ray")
        assert isinstance(element, cst.DictElement)
        key = literal(element.key)
        if not isinstance(key, str):
            raise NoRayError("a resource whose name is not written out has no counterpart in Ray")
        if key in _AMOUNTS:
            found[_AMOUNTS[key]] = rewrite(element.value)
        else:
            custom.extend(dict_of([(key, rewrite(element.value))]).elements)
    if any(isinstance(item, cst.DictElement) for item in custom):
        found["resources"] = cst.Dict(custom)


def runtime_env_dict(node: cst.Call, rewrite: Rewrite) -> cst.Dict:
    """Return Ray's dict of a runtime environment for ``fray.RuntimeEnv(...)``."""
    names = {
        "package_requirements": "pip",
        "env": "env_vars",
        "container_image": "image_uri",
        "working_dir": "working_dir",
    }
    items: list[tuple[str, cst.BaseExpression]] = []
    for item in node.args:
        name = item.keyword.value if item.keyword is not None else ""
        if name == "conda":
            items.append(("conda", dict_of([("dependencies", rewrite(item.value))])))
        elif name in names:
            items.append((names[name], rewrite(item.value)))
        else:
            raise NoRayError("a RuntimeEnv whose fields are not given by keyword has no counterpart in Ray")
    return dict_of(items)


def init_args(args: Sequence[cst.Arg], rewrite: Rewrite) -> list[cst.Arg]:
    """Return the arguments of ray.init for those of fray.init."""
    found: dict[str, cst.BaseExpression] = {}
    for number, item in enumerate(args):
        name = item.keyword.value if item.keyword is not None else "cpus" if number == 0 and not item.star else ""
        if name == "cpus":
            found["num_cpus"] = rewrite(item.value)
        elif name == "store_memory" and not isinstance(literal(item.value), str):
            found["object_store_memory"] = rewrite(item.value)
        elif name == "namespace":
            found["namespace"] = rewrite(item.value)
        elif name == "resources":
            _init_resources(item.value, rewrite, found)
        else:
            raise NoRayError(f"fray.init with {name or 'these arguments'} has no counterpart in Ray")
    return [keyword(name, value) for name, value in found.items()]


def _init_resources(value: cst.BaseExpression, rewrite: Rewrite, found: dict[str, cst.BaseExpression]) -> None:
    if isinstance(value, cst.Dict):
        _resources(value, rewrite, found)
    else:
        found["resources"] = rewrite(value)
