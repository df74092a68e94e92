"""Finds the sites and blockers of a program for Fray that is moved to Ray."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import libcst as cst

from fray.migrate.build import arg, call, chain, dict_of, keyword, literal
from fray.migrate.decorating import can_be_decorated
from fray.migrate.executors import move_executor
from fray.migrate.fray_side import FRAY, FrayApi, TaskCall, context_verb
from fray.migrate.from_ray import Constants
from fray.migrate.inference import Kinds
from fray.migrate.kinds import NOTHING, UNKNOWN, Context, Function, Instance, Kind, Method, PlainClass
from fray.migrate.program import Direction
from fray.migrate.ray_api import EXCEPTIONS, SAME, Reason
from fray.migrate.ray_options import NoRayError, init_args, options_of_ray, runtime_env_dict
from fray.migrate.ray_side import only_assignment
from fray.migrate.sites import Blocker, Build, Found, Rewriter, Site
from fray.migrate.source import Source, dotted, is_base_of_chain
from fray.migrate.task_arguments import task_arguments, with_commas

__all__ = ["to_ray"]

_Args: TypeAlias = Callable[[Rewriter], list[cst.Arg]]
"""Returns the new arguments of a call."""
_VERBS = {
    "get": ("refs", "timeout"),
    "wait": ("refs", "num_returns", "timeout"),
    "cancel": ("ref", "force"),
    "kill": ("actor", "no_restart"),
    "put": ("value",),
    "get_actor": ("name", "namespace"),
}
"""Methods of contexts that are functions of Ray, with their parameters; all but the first are passed by keyword."""
_OWN = ("options", "name", "get_if_exists", "lifetime", "preemptible", "num_cpus")
_ERRORS = {name: old for old, name in reversed(EXCEPTIONS.items())}
_SAME = {name: old for old, name in reversed(SAME.items())}
_ERRORS.update(ActorDiedError="RayActorError", ObjectLostError="ObjectLostError")
_CALL_A_FUNCTION = ("map", "filter", "functools.partial", "partial")
"""Functions that call the function they are given as they are told, whatever it is."""


def to_ray() -> Direction:
    """Return the direction from Fray to Ray."""
    return Direction(_find, FrayApi, FRAY, "import ray", "", re.compile(r"\bfray\b|\bctx\b"))


def _find(kinds: Kinds, source: Source, constants: Constants) -> Found:
    finder = _Finder(kinds, source)
    finder.run()
    return finder.found


class _Finder:
    def __init__(self, kinds: Kinds, source: Source) -> None:
        self.kinds = kinds
        self.source = source
        self.found = Found(source)
        self.methods = kinds.actor_methods()
        self._consumed: set[int] = set()
        self._contexts: set[int] = set()
        """Ids of the nodes that stand for a context and vanish with the call around them."""

    def block(self, node: cst.CSTNode, why: str, what: str = "keep this on Fray") -> None:
        self.found.blockers.append(Blocker(self.source, node, Reason(why, what)))

    def site(
        self,
        node: cst.CSTNode,
        build: Build,
        uses: Sequence[cst.CSTNode] = (),
        names_ray: bool = True,
        imports: tuple[str, ...] = (),
    ) -> None:
        self._consumed.update(id(use) for use in uses)
        self.found.sites.append(Site(self.source, node, build, tuple(uses), False, names_ray, imports))

    def link(self, node: cst.CSTNode, other: cst.CSTNode) -> None:
        self.found.links.append((node, other))

    def kind(self, node: cst.BaseExpression) -> Kind:
        return self.kinds.of(self.source, node)

    def run(self) -> None:
        for node in self.source.nodes():
            if isinstance(node, (cst.Name, cst.Attribute)) and not is_base_of_chain(node, self.source.parent(node)):
                name = self.source.library_name(node, FRAY)
                if name is not None:
                    self.found.references.append((node, name))
        for node in self.source.nodes():
            if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
                self._definition(node)
            elif isinstance(node, cst.Call):
                self._call(node)
            elif isinstance(node, cst.SimpleStatementLine):
                self._line(node)
            elif isinstance(node, cst.With):
                self._with(node)
            elif isinstance(node, cst.Attribute):
                self._attribute(node)
        for node, name in self.found.references:
            if id(node) not in self._consumed:
                self._reference(node, name)
        for node in self.source.nodes():
            if isinstance(node, cst.Name) and isinstance(self.kind(node), Context) and id(node) not in self._contexts:
                self._loose_context(node)
            elif isinstance(node, cst.Name) and isinstance(self.kind(node), Method):
                self._handed_on(node, lambda rewriter, method=node: method)

    # ---- definitions

    def _definition(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        if not can_be_decorated(self.kinds, node):
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            assert isinstance(new, (cst.FunctionDef, cst.ClassDef))
            first = cst.Decorator(chain("ray.remote"))
            return new.with_changes(decorators=[first, *new.decorators])

        self.site(node, build)

    # ---- calls

    def _call(self, node: cst.Call) -> None:
        name = self.source.library_name(node.func, FRAY)
        if name is not None:
            self._library_call(node, name)
            return
        verb = context_verb(self.kinds, self.source, node.func)
        if verb is not None:
            assert isinstance(node.func, cst.Attribute)
            self._contexts.add(id(node.func.value))
            self._on_context(node, verb, node.func.value)
            return
        method = self._method_called(node)
        if method is not None:
            self.site(
                node,
                lambda rewriter, new: node.with_changes(
                    func=cst.Attribute(rewriter.sub(node.func), cst.Name("remote")),
                    args=[rewriter.sub_arg(item) for item in node.args],
                ),
                names_ray=False,
            )
            if isinstance(method, Method) and method.definition is not None:
                self.found.links.append((node, method.definition.node))
        if dotted(node.func) == "functools.partial" and len(node.args) >= 2:
            self._partial(node)

    def _method_called(self, node: cst.Call) -> Kind | None:
        """Return the method of a handle that `node` calls; block a call that may or may not be one."""
        kind = self.kind(node.func)
        if isinstance(kind, Method):
            if isinstance(node.func, cst.Attribute) and node.func.attr.value in ("remote", "options"):
                return None
            return None if kind.name in ("remote", "options") else kind
        if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in self.methods:
            return None
        if node.func.attr.value.startswith("_"):
            return None
        if self.kind(node.func.value) not in (UNKNOWN, NOTHING) or kind not in (UNKNOWN, NOTHING):
            return None
        holder: cst.CSTNode | None = self.source.parent(node)
        while isinstance(holder, (cst.Element, cst.List, cst.ListComp, cst.GeneratorExp)):
            holder = self.source.parent(holder)
        around = self.source.parent(holder) if isinstance(holder, cst.Arg) else None
        gotten = isinstance(around, cst.Call) and context_verb(self.kinds, self.source, around.func) in ("get", "wait")
        if gotten or isinstance(holder, cst.Await) or self._is_of_pool(node.func.value, holder):
            return Method(node.func.attr.value)
        self.block(
            node, f"{node.func.attr.value} may be a method of an actor or of a plain object", "annotate the handle"
        )
        return None

    def _is_of_pool(self, receiver: cst.BaseExpression, holder: cst.CSTNode | None) -> bool:
        """Return whether `receiver` is the actor in ``pool.map(lambda actor, value: ..., values)``."""
        item = self.source.parent(holder) if isinstance(holder, cst.Lambda) else None
        work = self.source.parent(item) if isinstance(item, cst.Arg) else None
        if not isinstance(holder, cst.Lambda) or not isinstance(work, cst.Call) or not isinstance(receiver, cst.Name):
            return False
        pool = work.func.value if isinstance(work.func, cst.Attribute) else None
        made = only_assignment(self.source, pool) if isinstance(pool, cst.Name) else None
        value = made.value if isinstance(made, cst.Assign) else None
        if not isinstance(value, cst.Call) or self.source.library_name(value.func, FRAY) != "fray.ActorPool":
            return False
        return bool(holder.params.params) and holder.params.params[0].name.value == receiver.value

    def _partial(self, node: cst.Call) -> None:
        first = node.args[0].value
        if context_verb(self.kinds, self.source, first) != "run" or not isinstance(first, cst.Attribute):
            return
        function = node.args[1].value
        self._contexts.add(id(first.value))
        self._contexts.add(id(first))
        self._consume_context(first.value)

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            remote = self._remote_of(rewriter, function, {}, is_actor=False)
            started = cst.Attribute(remote, cst.Name("remote"))
            rest = [rewriter.sub_arg(item) for item in node.args[2:]]
            return started if not rest else node.with_changes(args=[arg(started), *rest])

        self.site(node, build)
        self._link(node, function)

    def _link(self, node: cst.CSTNode, function: cst.BaseExpression) -> None:
        kind = self.kind(function)
        if isinstance(kind, (Function, PlainClass)):
            self.found.links.append((node, kind.node))

    def _consume_context(self, node: cst.BaseExpression) -> None:
        """Note that the ``fray.get_job_context()`` in `node` vanishes with the call around it."""
        if isinstance(node, cst.Call):
            self._consumed.add(id(node.func))
            self.found.sites.append(Site(self.source, node, lambda rewriter, new: node, (node.func,), False, False))

    def _on_context(self, node: cst.Call, verb: str, context: cst.BaseExpression) -> None:
        self._consume_context(context)
        if verb in _VERBS:
            self._verb(node, verb)
        elif verb == "create_task":
            parts = TaskCall(node.args)
            if not parts.readable or parts.function is None:
                self.block(node, "the arguments of create_task are not written out")
                return
            self._start(node, parts.function, partial(task_arguments, parts), parts.options, {}, False)
        elif verb in ("run", "create_actor") and node.args and not node.args[0].star and node.args[0].keyword is None:
            self._start_directly(node, verb)
        elif verb == "list_named_actors":
            self._rename(node, "ray.util.list_named_actors")
        elif verb == "close":
            self._rename(node, "ray.shutdown")
        elif verb == "resource_ids":
            self._devices(node)
        else:
            self.block(node, f"ctx.{verb} has no counterpart in Ray")

    def _rename(self, node: cst.Call, name: str) -> None:
        self.site(
            node,
            lambda rewriter, new: node.with_changes(
                func=chain(name), args=[rewriter.sub_arg(item) for item in node.args]
            ),
        )

    def _devices(self, node: cst.Call) -> None:
        parent = self.source.parent(node)
        holder = self.source.parent(parent) if parent is not None else None
        gets = isinstance(parent, cst.Attribute) and parent.attr.value == "get"
        if gets and isinstance(holder, cst.Call) and holder.args and literal(holder.args[0].value) == "GPU":
            self.site(holder, lambda rewriter, new: call("ray.get_gpu_ids"))
            return
        self.block(node, "resource_ids has no counterpart but for GPUs in Ray")

    def _verb(self, node: cst.Call, verb: str) -> None:
        names = _VERBS[verb]
        if any(item.star for item in node.args) or len(node.args) > len(names):
            self.block(node, f"the arguments of ctx.{verb} are not written out")
            return
        if verb == "get" and isinstance(node.args[0].value, cst.Tuple):
            self.block(node, "ray.get takes no tuple", "use a list")
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            args = [rewriter.sub_arg(item) for item in node.args]
            for number, item in enumerate(args):
                if item.keyword is not None and item.keyword.value == names[0]:
                    args[number] = item.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT)
                elif number > 0 and item.keyword is None and verb != "get_actor":
                    args[number] = keyword(names[number], item.value).with_changes(comma=item.comma)
            return node.with_changes(func=chain(f"ray.{verb}"), args=args)

        self.site(node, build)

    # ---- tasks and actors

    def _start_directly(self, node: cst.Call, verb: str) -> None:
        own = {
            item.keyword.value: item.value
            for item in node.args
            if item.keyword is not None and (item.keyword.value in _OWN if verb == "create_actor" else False)
        }
        options = own.pop("options", None)
        if options is not None and own:
            own = {}  # these keywords are arguments of the constructor
        if verb == "run" and any(item.keyword is not None and item.keyword.value == "name" for item in node.args):
            self.block(node, "run with a name may mean the task or the function", "use create_task")
            return
        rest = [item for item in node.args[1:] if not (item.keyword and item.keyword.value in (*own, "options"))]
        self._start(
            node,
            node.args[0].value,
            lambda rewriter: [rewriter.sub_arg(item) for item in rest],
            options,
            own,
            verb == "create_actor",
        )

    def _start(
        self,
        node: cst.Call,
        function: cst.BaseExpression,
        args: _Args,
        options: cst.BaseExpression | None,
        own: dict[str, cst.BaseExpression],
        is_actor: bool,
    ) -> None:
        used: list[cst.CSTNode] = []
        try:
            options_of_ray(self.source, options, own, is_actor, lambda part: part, used)
        except NoRayError as error:
            self.block(node, str(error))
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            found, unpacked = options_of_ray(self.source, options, own, is_actor, rewriter.sub, [])
            remote = self._remote_of(rewriter, function, found, is_actor)
            found.pop("max_calls", None)
            given = [keyword(name, value) for name, value in found.items()]
            if unpacked is not None and found:
                both = [cst.StarredDictElement(unpacked), *dict_of(found.items()).elements]
                given = [cst.Arg(cst.Dict(both), star="**")]
            elif unpacked is not None:
                given = [cst.Arg(unpacked, star="**")]
            if given:
                remote = call(cst.Attribute(remote, cst.Name("options")), given)
            started = cst.Attribute(remote, cst.Name("remote"))
            return cst.Call(started, with_commas(args(rewriter)), lpar=node.lpar, rpar=node.rpar)

        self.site(node, build, used)
        self._link(node, function)

    def _remote_of(
        self,
        rewriter: Rewriter,
        function: cst.BaseExpression,
        options: dict[str, cst.BaseExpression],
        is_actor: bool,
    ) -> cst.BaseExpression:
        kind = self.kind(function)
        new = rewriter.sub(function)
        if not is_actor and self._may_be_no_function(function, kind):
            new = _called_in_a_function(new)
        if "max_calls" in options:
            return call(call("ray.remote", [keyword("max_calls", options["max_calls"])]), [arg(new)])
        node = kind.node if isinstance(kind, (Function, PlainClass)) else None
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)) and can_be_decorated(self.kinds, node):
            return new
        return call("ray.remote", [arg(new)])

    def _may_be_no_function(self, node: cst.BaseExpression, kind: Kind) -> bool:
        """Return whether `node` may be a builtin, a partial or a bound method: Ray takes functions of Python only."""
        if isinstance(kind, Function):
            return isinstance(node, cst.Attribute) and isinstance(self.kind(node.value), (Instance, PlainClass))
        if not isinstance(node, cst.Name) or kind is not UNKNOWN:
            return True
        bound_by = [getattr(binding, "node", None) for binding in self.source.bindings(node)]
        return not all(isinstance(binder, cst.Param) for binder in bound_by)

    # ---- the engine

    def _library_call(self, node: cst.Call, name: str) -> None:
        short = name.rpartition(".")[2]
        if id(node) in self._contexts or id(node.func) in self._consumed:
            return
        parent = self.source.parent(node)
        if short == "init":
            try:
                init_args(node.args, lambda part: part)
            except NoRayError as error:
                self._consumed.add(id(node.func))
                self.block(node, str(error))
                return
            again = (
                sum(name == "fray.init" for _, name in self.found.references) > 1
            )  # which Fray takes, and Ray does not
            more = [keyword("ignore_reinit_error", cst.Name("True"))] if again else []
            self.site(
                node, lambda rewriter, new: call("ray.init", [*init_args(node.args, rewriter.sub), *more]), [node.func]
            )
            self._contexts.add(id(node))
        elif short == "shutdown":
            self.site(node, lambda rewriter, new: call("ray.shutdown"), [node.func])
        elif short == "existing_job_context" and isinstance(parent, cst.Comparison):
            negated = isinstance(parent.comparisons[0].operator, cst.Is)
            asked = call("ray.is_initialized")
            self.site(
                parent,
                lambda rewriter, new: cst.UnaryOperation(cst.Not(), asked) if negated else asked,
                [node.func],
            )
        elif short == "current_actor" and isinstance(parent, cst.Attribute) and parent.attr.value == "handle":
            new_node = cst.Attribute(call("ray.get_runtime_context"), cst.Name("current_actor"))
            self.site(parent, lambda rewriter, new: new_node, [node.func])
        elif name == "fray.Executor":
            move_executor(self, node)
        elif short in ("TaskOptions", "ActorOptions") and not self._is_options_argument(node):
            self._loose_options(node, short == "ActorOptions")
        elif short == "RuntimeEnv":
            try:
                runtime_env_dict(node, lambda part: part)
            except NoRayError as error:
                self._consumed.add(id(node.func))
                self.block(node, str(error))
                return
            self.site(node, lambda rewriter, new: runtime_env_dict(node, rewriter.sub), [node.func], False)

    def _is_options_argument(self, node: cst.Call) -> bool:
        parent = self.source.parent(node)
        around = self.source.parent(parent) if isinstance(parent, cst.Arg) else None
        return isinstance(around, cst.Call) and context_verb(self.kinds, self.source, around.func) is not None

    def _loose_options(self, node: cst.Call, is_actor: bool) -> None:
        """Replace options that are not part of a call, such as those in a variable, by a dict."""
        used: list[cst.CSTNode] = []
        try:
            options_of_ray(self.source, node, {}, is_actor, lambda part: part, used)
        except NoRayError as error:
            self._consumed.add(id(node.func))
            self.block(node, str(error))
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            return dict_of(options_of_ray(self.source, node, {}, is_actor, rewriter.sub, [])[0].items())

        self.site(node, build, used, names_ray=False)

    # ---- contexts

    def _line(self, node: cst.SimpleStatementLine) -> None:
        """Remove the statement ``ctx = fray.get_job_context()``; make ``ctx = fray.init()`` the call ``ray.init()``."""
        if len(node.body) != 1 or not isinstance(node.body[0], cst.Assign):
            return
        statement = node.body[0]
        target = statement.targets[0].target
        value = statement.value
        if len(statement.targets) != 1 or not isinstance(target, cst.Name) or not isinstance(value, cst.Call):
            return
        name = self.source.library_name(value.func, FRAY)
        if name in ("fray.get_job_context", "fray.get_default_job_ctx"):
            self._contexts.update((id(target), id(value)))
            self.site(node, lambda rewriter, new: cst.RemoveFromParent(), [value.func], names_ray=False)
        elif name == "fray.init":
            self._contexts.add(id(target))

            def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
                assert isinstance(new, cst.SimpleStatementLine)
                return new.with_changes(body=[cst.Expr(rewriter.sub(value))])

            self.site(node, build, names_ray=False)

    def _with(self, node: cst.With) -> None:
        for item in node.items:
            if item.asname is None or not isinstance(item.asname.name, cst.Name) or not isinstance(item.item, cst.Call):
                continue
            if self.source.library_name(item.item.func, FRAY) != "fray.init":
                continue
            self._contexts.add(id(item.asname.name))

            def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
                assert isinstance(new, cst.WithItem)
                return new.with_changes(asname=None)

            self.site(item, build, names_ray=False)

    def _attribute(self, node: cst.Attribute) -> None:
        parent = self.source.parent(node)
        called = isinstance(parent, cst.Call) and parent.func is node
        if called or isinstance(parent, cst.Attribute) or id(node) in self._contexts:
            return
        kind = self.kind(node)
        verb = context_verb(self.kinds, self.source, node)
        if verb == "namespace":
            self._contexts.add(id(node.value))
            self._consume_context(node.value)
            new_node = cst.Attribute(call("ray.get_runtime_context"), cst.Name("namespace"))
            self.site(node, lambda rewriter, new: new_node)
        elif verb in _VERBS:
            self._contexts.add(id(node.value))
            self._consume_context(node.value)
            self.site(node, lambda rewriter, new: chain(f"ray.{verb}"))
        elif isinstance(kind, Method):
            self._handed_on(node, lambda rewriter: node.with_changes(value=rewriter.sub(node.value)))

    def _handed_on(self, node: cst.Name | cst.Attribute, method: Callable[[Rewriter], cst.BaseExpression]) -> None:
        """Move a method that is an argument; one in a variable, a container or a `return` has its calls moved."""
        parent = self.source.parent(node)
        if not isinstance(parent, cst.Arg) or parent.value is not node:
            return
        called = self.source.parent(parent)
        if isinstance(called, cst.Call) and dotted(called.func) in _CALL_A_FUNCTION:
            self.site(node, lambda rewriter, new: cst.Attribute(method(rewriter), cst.Name("remote")), names_ray=False)
        else:
            self.block(node, "a method is handed on to what may call it", "hand on a lambda that calls it")

    def _loose_context(self, node: cst.Name) -> None:
        parent = self.source.parent(node)
        if isinstance(parent, cst.Attribute) and parent.value is node:
            return  # the call has been blocked or moved as a whole
        if isinstance(parent, cst.AssignTarget):
            statement = self.source.parent(parent)
            value = statement.value if isinstance(statement, cst.Assign) else None
            self.block(
                node, f"{self.source.code(value) if value is not None else 'a context'} has no counterpart in Ray"
            )
            return
        self.block(node, "a context is handed on as a value, and Ray has none", "look it up where it is used")

    # ---- other names

    def _reference(self, node: cst.CSTNode, name: str) -> None:
        short = name.rpartition(".")[2]
        parent = self.source.parent(node)
        if name in ("fray.get_job_context", "fray.get_default_job_ctx") and isinstance(parent, cst.Call):
            if id(parent) in self._contexts:
                return
            self.block(parent, "a context is handed on as a value, and Ray has none", "look it up where it is used")
        elif short in _ERRORS:
            self.site(node, lambda rewriter, new: chain(f"ray.exceptions.{_ERRORS[short]}"), [node])
        elif name in _SAME:
            imports = ("import ray.util.queue",) if "queue" in _SAME[name] else ()
            self.site(node, lambda rewriter, new: chain(_SAME[name]), [node], True, imports)
        elif short == "ObjectRef":
            self.site(node, lambda rewriter, new: chain("ray.ObjectRef"), [node])
        elif short == "ActorHandle":
            self.site(node, lambda rewriter, new: chain("ray.actor.ActorHandle"), [node])
        elif name.startswith("fray.Lifetime.") or name.endswith((".DETACHED", ".JOB")):
            text = "detached" if name.endswith("DETACHED") else "non_detached"
            self.site(node, lambda rewriter, new: cst.SimpleString(f'"{text}"'), [node], False)
        else:
            self.block(node, f"{name} has no counterpart in Ray")


def _called_in_a_function(node: cst.BaseExpression) -> cst.Lambda:
    """Return a function that calls what `node` stands for."""
    name = dotted(node)
    by_name = name is not None and name.split(".")[0] not in ("args", "kwargs")
    made = cst.parse_expression(f"lambda *args, {'' if by_name else '_call=0, '}**kwargs: _call(*args, **kwargs)")
    assert isinstance(made, cst.Lambda) and isinstance(made.body, cst.Call)
    if by_name:
        return made.with_changes(body=made.body.with_changes(func=node))
    given = made.params.kwonly_params[0].with_changes(default=node)
    return made.with_changes(params=made.params.with_changes(kwonly_params=[given]))
