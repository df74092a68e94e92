"""Recognizes tasks, actors and their calls in programs for Fray."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import libcst as cst

from fray.migrate.build import literal
from fray.migrate.calls import Call, plain_call
from fray.migrate.inference import Kinds
from fray.migrate.kinds import (
    SURROUNDINGS,
    UNKNOWN,
    Context,
    Definition,
    Function,
    Handle,
    Items,
    Kind,
    Method,
    PlainClass,
    Ref,
)
from fray.migrate.source import Source

__all__ = ["FRAY", "FrayApi", "TaskCall", "context_verb", "task_call"]

FRAY = ("fray",)
_CONTEXTS = ("fray.get_job_context", "fray.get_default_job_ctx", "fray.init", "fray.create_job_ctx")
_TYPES = {"ActorHandle": Handle(), "ObjectRef": Ref(), "JobContext": Context()}
_OWN = ("options", "name", "get_if_exists", "lifetime", "preemptible", "num_cpus")


class TaskCall:
    """The parts of ``ctx.create_task(fn, args, kwargs, options)``; a part that is not given is None."""

    def __init__(self, args: Sequence[cst.Arg]) -> None:
        names = ("fn", "args", "kwargs", "options")
        given: dict[str, cst.BaseExpression] = {}
        self.readable = True
        for number, item in enumerate(args):
            name = item.keyword.value if item.keyword is not None else names[number] if number < len(names) else "?"
            self.readable = self.readable and not item.star and name in names
            given[name] = item.value
        self.function = given.get("fn")
        self.args = given.get("args")
        self.kwargs = given.get("kwargs")
        self.options = given.get("options")
        self.readable = self.readable and self.function is not None


def context_verb(kinds: Kinds, source: Source, node: cst.BaseExpression) -> str | None:
    """Return the method of a context that `node` names, such as ``"get"`` for ``ctx.get``; None for anything else."""
    if not isinstance(node, cst.Attribute) or not isinstance(kinds.of(source, node.value), Context):
        return None
    return node.attr.value


def task_call(kinds: Kinds, source: Source, node: cst.Call) -> TaskCall | None:
    """Return the parts of a call of create_task."""
    return TaskCall(node.args) if context_verb(kinds, source, node.func) == "create_task" else None


class FrayApi:
    """Tells `Kinds` what the methods of contexts and handles return and run: Fray's implementation of `Api`."""

    packages = FRAY

    def __init__(self) -> None:
        self._classes: dict[int, Definition] = {}

    def decorated(self, source: Source, node: cst.FunctionDef | cst.ClassDef) -> Definition | None:
        """Return None: tasks and actors of Fray have no decorator."""

    def narrowed(self, source: Source, node: cst.BaseExpression) -> Kind | None:
        """Return None: programs for Fray tell no kinds by conditions."""

    def actor_classes(self) -> Iterable[Definition]:
        """Return the classes of which ``ctx.create_actor`` makes actors."""
        return list(self._classes.values())

    def name_kind(self, name: str) -> Kind | None:
        """Return the kind of a name of Fray."""
        return UNKNOWN

    def call_kind(self, kinds: Kinds, source: Source, node: cst.Call) -> Kind | None:
        """Return the kind of the result of a call of Fray's API; None for any other call."""
        name = source.library_name(node.func, FRAY)
        if name in _CONTEXTS or (name or "").endswith(("existing_job_context", "JobContext")):
            return Context()
        if name is not None:
            return SURROUNDINGS if name == "fray.current_actor" else UNKNOWN
        if isinstance(node.func, cst.Call):
            inner = kinds.of(source, node.func)
            return Items(Ref()) if isinstance(inner, Method) else None
        verb = context_verb(kinds, source, node.func)
        if verb is not None:
            return self._context_call(kinds, source, node, verb)
        if not isinstance(node.func, cst.Attribute):
            return None
        base = kinds.of(source, node.func.value)
        if isinstance(base, Method) and node.func.attr.value == "options":
            return base
        return Ref() if isinstance(base, Handle) else None

    def _context_call(self, kinds: Kinds, source: Source, node: cst.Call, verb: str) -> Kind:
        first = node.args[0].value if node.args and not node.args[0].star else None
        given: Kind = UNKNOWN if first is None else kinds.of(source, first)
        if verb == "create_task":
            options = TaskCall(node.args).options
            returns = [
                item.value for item in _keywords(options) if item.keyword and item.keyword.value == "num_returns"
            ]
            count = literal(returns[0]) if returns else 1
            return Ref(self._returned(kinds, given)) if count == 1 else Items(Ref())
        if verb == "run":
            return Ref(self._returned(kinds, given))
        if verb == "create_actor":
            return Handle(self._class(given) if isinstance(given, PlainClass) else None)
        if verb == "get_actor":
            return Handle()
        if verb == "put":
            return Ref(given)
        if verb == "get":
            if isinstance(given, Items) and isinstance(given.item, Ref):
                return Items(given.item.value)
            return given.value if isinstance(given, Ref) else UNKNOWN
        return Items(given) if verb == "wait" else UNKNOWN

    @staticmethod
    def _returned(kinds: Kinds, kind: Kind) -> Kind:
        return kinds.returned(kind) if isinstance(kind, Function) else UNKNOWN

    def _class(self, kind: PlainClass) -> Definition:
        node = kind.node
        made = Definition(kind.source, node, True, {}, None, node.name.value, node, kind.source)
        return self._classes.setdefault(id(node), made)

    def remote_call(self, kinds: Kinds, source: Source, node: cst.Call) -> tuple[Kind, Call] | None:
        """Return the function, class or method that ``ctx.create_task(fn, (a,))`` and its like run, with arguments."""
        verb = context_verb(kinds, source, node.func)
        if verb == "create_task":
            return self._task(kinds, source, TaskCall(node.args))
        if verb in ("run", "create_actor") and node.args and not node.args[0].star:
            rest = [item for item in node.args[1:] if item.keyword is None or item.keyword.value not in _OWN]
            call = plain_call(source, rest)
            started = kinds.of(source, node.args[0].value)
            if verb == "create_actor" and isinstance(started, PlainClass):
                self._class(started)
            return None if call is None else (started, replace(call, resolves=True))
        callee = kinds.of(source, node.func)
        call = plain_call(source, node.args)
        return (callee, replace(call, resolves=True)) if isinstance(callee, Method) and call is not None else None

    def _task(self, kinds: Kinds, source: Source, parts: TaskCall) -> tuple[Kind, Call] | None:
        if not parts.readable or parts.function is None:
            return None
        args: list[cst.BaseExpression] = []
        if isinstance(parts.args, (cst.Tuple, cst.List)):
            if any(isinstance(item, cst.StarredElement) for item in parts.args.elements):
                return None
            args = [item.value for item in parts.args.elements]
        elif parts.args is not None:
            return None
        keywords: dict[str, cst.BaseExpression] = {}
        for item in parts.kwargs.elements if isinstance(parts.kwargs, cst.Dict) else ():
            key = literal(item.key) if isinstance(item, cst.DictElement) else None
            if isinstance(key, str):
                keywords[key] = item.value
        return kinds.of(source, parts.function), Call(source, tuple(args), keywords, True)

    def annotated(self, kinds: Kinds, source: Source, annotation: cst.BaseExpression) -> Kind | None:
        """Return the kind that a name of Fray means as an annotation."""
        name = source.library_name(annotation, FRAY)
        return None if name is None else _TYPES.get(name.rpartition(".")[2])


def _keywords(options: cst.BaseExpression | None) -> Sequence[cst.Arg]:
    return options.args if isinstance(options, cst.Call) else ()
