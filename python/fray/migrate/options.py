"""Translates Ray's options to keywords of Fray's `TaskOptions`, `ActorOptions`, `RuntimeEnv` and `init`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import libcst as cst

from fray.migrate.build import arg, call, chain, dict_of, keyword, literal
from fray.migrate.inference import Kinds
from fray.migrate.kinds import DictOf
from fray.migrate.ray_api import IGNORED_OPTIONS, INIT_IGNORED, REFUSED_OPTIONS, Reason
from fray.migrate.source import Source, dotted

__all__ = ["Keywords", "StaysError", "init_keywords", "option_keywords", "options_value"]

Keywords: TypeAlias = "dict[str, cst.BaseExpression]"
"""Keyword arguments in order."""
Rewrite: TypeAlias = Callable[[cst.BaseExpression], cst.BaseExpression]
"""Returns the counterpart of an expression, with the sites in it replaced."""

_SAME_FOR_TASKS = ("max_retries", "name")
_SAME_FOR_ACTORS = (
    "get_if_exists",
    "max_concurrency",
    "max_pending_calls",
    "max_restarts",
    "max_task_retries",
    "name",
    "namespace",
)
_AMOUNTS = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
_HEAD = "head_node"


class StaysError(Exception):
    """Something has no counterpart and stays as it is; `reason` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text())
        self.reason = reason


def option_keywords(
    options: Mapping[str, cst.BaseExpression], is_actor: bool, kinds: Kinds, source: Source, rewrite: Rewrite
) -> Keywords:
    """Return the keywords of `TaskOptions` or `ActorOptions` for Ray's options of a task or an actor.

    Raises:
        StaysError: an option has no counterpart.
    """
    found: Keywords = {}
    resources = _resources(options, rewrite)
    for name, value in options.items():
        if name in _AMOUNTS or name == "resources" or name in IGNORED_OPTIONS:
            continue
        if name in REFUSED_OPTIONS:
            raise StaysError(REFUSED_OPTIONS[name])
        if name == "scheduling_strategy":
            _strategy(value, is_actor, found, resources, source)
        elif literal(value) is None and name not in ("get_if_exists",):
            continue  # the option has its default value
        elif name == "runtime_env":
            found[name] = runtime_env(value, kinds, source, rewrite)
        elif name in (_SAME_FOR_ACTORS if is_actor else _SAME_FOR_TASKS):
            found[name] = rewrite(value)
        elif is_actor and name == "lifetime":
            found[name] = _lifetime(value, rewrite)
        elif not is_actor:
            _task_option(name, value, found, rewrite)
        else:
            raise StaysError(Reason(f"the option {name} of actors has no counterpart", "leave it out"))
    if resources:
        merged: Keywords = {}
        for name in ("name", "get_if_exists", "lifetime"):
            if name in found:
                merged[name] = found.pop(name)
        return {**merged, "resources": _resource_dict(resources), **found}
    return found


def _resources(
    options: Mapping[str, cst.BaseExpression], rewrite: Rewrite
) -> list[tuple[str | None, cst.BaseExpression]]:
    """Return (name, amount) of each resource; an item without a name is an expression for a whole dict of amounts."""
    found: list[tuple[str | None, cst.BaseExpression]] = []
    for name, key in _AMOUNTS.items():
        value = options.get(name)
        if value is not None and literal(value) is not None:
            found.append((key, rewrite(value)))
    custom = options.get("resources")
    if custom is None or literal(custom) is None:
        return found
    if not isinstance(custom, cst.Dict):
        return [*found, (None, rewrite(custom))]
    for element in custom.elements:
        if isinstance(element, cst.StarredDictElement):
            found.append((None, rewrite(element.value)))
        elif isinstance(element, cst.DictElement):
            name = literal(element.key)
            if not isinstance(name, str):
                raise StaysError(Reason("the name of a resource is not written out", "write it as a text"))
            found.append((name, rewrite(element.value)))
    return found


def _resource_dict(resources: list[tuple[str | None, cst.BaseExpression]]) -> cst.BaseExpression:
    if len(resources) == 1 and resources[0][0] is None:
        value = resources[0][1]
        return value if isinstance(value, cst.Name) else _or_empty(value)
    elements: list[cst.BaseDictElement] = []
    for name, value in resources:
        if name is None:
            elements.append(cst.StarredDictElement(_or_empty(value)))
        else:
            elements.extend(dict_of([(name, value)]).elements)
    return cst.Dict(elements)


def _or_empty(value: cst.BaseExpression) -> cst.BaseExpression:
    both = cst.BooleanOperation(value, cst.Or(), cst.Dict([]), lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return both if isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) else value


def _strategy(
    value: cst.BaseExpression,
    is_actor: bool,
    found: Keywords,
    resources: list[tuple[str | None, cst.BaseExpression]],
    source: Source,
) -> None:
    if literal(value) in (None, "DEFAULT", "SPREAD"):
        return
    condition = _head_condition(value, source)
    if condition is None:
        raise StaysError(
            Reason("this scheduling strategy has no counterpart", "ask for resources that only the wanted nodes have")
        )
    if is_actor:
        found["schedule_on_head"] = condition
    elif isinstance(condition, cst.Name) and condition.value == "True":
        resources.append((_HEAD, cst.Float("0.0001")))
    else:
        raise StaysError(Reason("only sometimes on the head node has no counterpart for tasks", "choose the options"))


def _head_condition(value: cst.BaseExpression, source: Source) -> cst.BaseExpression | None:
    """Return the condition under which `value` is the strategy of the head node; None if it may be another strategy."""
    if isinstance(value, cst.Call):
        return cst.Name("True") if _HEAD in (dotted(value.func) or "") else None
    if not isinstance(value, cst.Name):
        return None
    given: list[cst.BaseExpression] = []
    for binding in source.bindings(value):
        node = getattr(binding, "node", None)
        holder = source.parent(node) if isinstance(node, cst.Name) else None
        statement = source.parent(holder) if isinstance(holder, cst.AssignTarget) else None
        if not isinstance(statement, cst.Assign):
            return None
        given.append(statement.value)
    strategies = [item for item in given if literal(item) is not None]
    if not strategies or any(_head_condition(item, source) is None for item in strategies):
        return None
    if len(strategies) == len(given):
        return cst.Name("True")
    target = cst.ComparisonTarget(cst.IsNot(), cst.Name("None"))
    return cst.Comparison(cst.Name(value.value), [target])


def _lifetime(value: cst.BaseExpression, rewrite: Rewrite) -> cst.BaseExpression:
    text = literal(value)
    if text is NotImplemented:
        return rewrite(value)
    return chain("fray.Lifetime.DETACHED" if text == "detached" else "fray.Lifetime.JOB")


def _task_option(name: str, value: cst.BaseExpression, found: Keywords, rewrite: Rewrite) -> None:
    if name == "num_returns":
        if literal(value) in ("streaming", 1):
            return
        if isinstance(literal(value), str) or literal(value) == 0:
            raise StaysError(
                Reason(f"num_returns={literal(value)!r} has no counterpart", "return a list, or yield the values")
            )
        found[name] = rewrite(value)
    elif name == "max_calls":
        if literal(value) != 0:
            found[name] = rewrite(value)
    elif name == "retry_exceptions":
        new = rewrite(value)
        if isinstance(new, cst.List):
            new = cst.Tuple([cst.Element(element.value) for element in new.elements])
        elif literal(new) is NotImplemented and not isinstance(new, cst.Tuple):
            new = call("tuple", [arg(new)])
        found[name] = new
    else:
        raise StaysError(Reason(f"the option {name} of tasks has no counterpart", "leave it out"))


# ---- runtime environments


def runtime_env(value: cst.BaseExpression, kinds: Kinds, source: Source, rewrite: Rewrite) -> cst.BaseExpression:
    """Return ``fray.RuntimeEnv(...)`` for Ray's dict of a runtime environment."""
    if isinstance(value, cst.Dict):
        items = [
            (literal(element.key), element.value) for element in value.elements if isinstance(element, cst.DictElement)
        ]
        if len(items) != len(value.elements):
            raise _dynamic_env()
    elif isinstance(value, cst.Call) and source.library_name(value.func, kinds.api.packages) in (
        "ray.runtime_env.RuntimeEnv",
        "fray.ray.runtime_env.RuntimeEnv",
    ):
        items = [(item.keyword.value if item.keyword else None, item.value) for item in value.args]
    else:
        return _env_of_variable(value, kinds, source, rewrite)
    found: Keywords = {}
    for key, part in items:
        if literal(part) is None:
            continue
        _env_part(key, part, found, rewrite)
    return call("fray.RuntimeEnv", [keyword(name, part) for name, part in found.items()])


def _env_part(key: object, part: cst.BaseExpression, found: Keywords, rewrite: Rewrite) -> None:
    if key in ("pip", "uv"):
        found["package_requirements"] = _texts(part, "packages", rewrite)
    elif key == "conda":
        found["conda"] = _texts(part, "dependencies", rewrite)
    elif key == "env_vars":
        found["env"] = rewrite(part)
    elif key == "working_dir":
        found["working_dir"] = rewrite(part)
    elif key == "image_uri":
        found["container_image"] = rewrite(part)
    elif key == "container":
        image = _entries(part)
        if image is None or list(image) != ["image"]:
            raise StaysError(Reason("options of containers have no counterpart", "name the image alone"))
        found["container_image"] = rewrite(image["image"])
    else:
        raise StaysError(Reason(f"{key!r} of a runtime environment has no counterpart", "see fray.RuntimeEnv"))


def _texts(part: cst.BaseExpression, inner: str, rewrite: Rewrite) -> cst.BaseExpression:
    entries = _entries(part)
    if entries is not None:
        if list(entries) != [inner]:
            raise StaysError(Reason("this form of packages has no counterpart", "list the packages"))
        part = entries[inner]
    if isinstance(literal(part), str):
        raise StaysError(Reason("a file of packages has no counterpart", "list the packages"))
    if isinstance(part, cst.List) and any(isinstance(element.value, cst.Dict) for element in part.elements):
        raise StaysError(Reason("this form of packages has no counterpart", "list the packages"))
    return rewrite(part)


def _entries(part: cst.BaseExpression) -> dict[str, cst.BaseExpression] | None:
    if not isinstance(part, cst.Dict):
        return None
    found: dict[str, cst.BaseExpression] = {}
    for element in part.elements:
        key = literal(element.key) if isinstance(element, cst.DictElement) else None
        found[str(key)] = element.value
    return found


def _env_of_variable(value: cst.BaseExpression, kinds: Kinds, source: Source, rewrite: Rewrite) -> cst.BaseExpression:
    kind = kinds.of(source, value)
    if not isinstance(value, (cst.Name, cst.Attribute)) or not isinstance(kind, DictOf) or not kind.keys:
        raise _dynamic_env()
    found: Keywords = {}
    for key in kind.keys:
        field = {"pip": "package_requirements", "env_vars": "env", "working_dir": "working_dir"}.get(key)
        if field is None:
            raise StaysError(Reason(f"{key!r} of a runtime environment has no counterpart", "see fray.RuntimeEnv"))
        index = cst.SubscriptElement(cst.Index(cst.SimpleString(f'"{key}"')))
        found[field] = cst.Subscript(rewrite(value), [index])
    return call("fray.RuntimeEnv", [keyword(name, part) for name, part in found.items()])


def _dynamic_env() -> StaysError:
    return StaysError(
        Reason("this runtime environment is made while the program runs", "build a fray.RuntimeEnv in its place")
    )


# ---- values


def options_value(found: Keywords, is_actor: bool) -> cst.Call:
    """Return ``fray.TaskOptions(...)`` or ``fray.ActorOptions(...)``."""
    name = "fray.ActorOptions" if is_actor else "fray.TaskOptions"
    return call(name, [keyword(key, value) for key, value in found.items()])


def init_keywords(args: list[cst.Arg], rewrite: Rewrite) -> Keywords | None:
    """Return the keywords of fray.init for the arguments of ray.init; None for Ray's local mode, in one process.

    Raises:
        StaysError: the call starts or joins something that only Ray has.
    """
    given: Keywords = {}
    for number, item in enumerate(args):
        if item.star:
            raise _init_stays("arguments that are chosen while the program runs")
        given[item.keyword.value if item.keyword else "address" if number == 0 else "?"] = item.value
    found: Keywords = {}
    for name, value in given.items():
        if name == "local_mode" and literal(value) is True:
            return None
        if name == "address" and literal(value) not in (None, "local"):
            raise _init_stays("the address of a cluster")
        if name not in (*_INIT_KNOWN, *INIT_IGNORED) and literal(value) is not None:
            raise _init_stays(f"{name}=")
        new = {"num_cpus": "cpus", "object_store_memory": "store_memory", "namespace": "namespace"}.get(name)
        if new is not None and literal(value) is not None:
            found[new] = rewrite(value)
    resources = [item for item in _resources({"num_gpus": given.get("num_gpus", cst.Name("None"))}, rewrite) if item[0]]
    resources += _resources({"resources": given.get("resources", cst.Name("None"))}, rewrite)
    if len(resources) == 1 and resources[0][0] is None:
        found["resources"] = resources[0][1]
    elif resources:
        found["resources"] = _resource_dict(resources)
    return found


_INIT_KNOWN = ("address", "local_mode", "namespace", "num_cpus", "num_gpus", "object_store_memory", "resources")


def _init_stays(what: str) -> StaysError:
    return StaysError(
        Reason(f"ray.init with {what} has no counterpart", "it stays, and Fray's tasks run on that Ray", True)
    )
