"""Finds what a program for Ray has to change."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import libcst as cst
from libcst.metadata import ImportAssignment

from fray.migrate.build import arg, assign, call, chain, comments, dict_of, is_literal, keyword, literal
from fray.migrate.kinds import (
    NOTHING,
    PLAIN,
    SURROUNDINGS,
    UNKNOWN,
    Definition,
    DictOf,
    Function,
    Handle,
    Instance,
    Items,
    Kind,
    Kinds,
    Method,
    Module,
    PlainClass,
    Ref,
    Remote,
    methods_of,
)
from fray.migrate.options import StaysError, init_keywords, option_keywords, options_value
from fray.migrate.ray_api import EXCEPTIONS, TYPES, Reason, reason_for
from fray.migrate.ray_side import decorator_of, is_remote_name, ray_name, split_options
from fray.migrate.sites import Blocker, Build, Found, Rewriter, Site
from fray.migrate.source import Source, dotted, is_base_of_chain

__all__ = ["Constants", "find_ray"]

_VERBS = ("get", "put", "wait", "cancel", "kill", "get_actor")
_DROPPED = {"wait": ("fetch_local",), "cancel": ("recursive",)}
_BUILTINS_THAT_PASS = [
    "dict",
    "deque",
    "enumerate",
    "getattr",
    "hasattr",
    "id",
    "isinstance",
    "len",
    "list",
    "max",
    "min",
    "print",
    "repr",
    "reversed",
    "set",
    "sorted",
    "str",
    "super",
    "tuple",
    "type",
    "zip",
    "iter",
    "next",
]
_CREATE_ACTOR_OWN = ("name", "get_if_exists", "lifetime", "preemptible", "num_cpus")
_REF_METHODS = [
    "as_future",
    "binary",
    "call_site",
    "completed",
    "future",
    "hex",
    "is_finished",
    "is_nil",
    "job_id",
    "next_ready",
    "owner_address",
    "task_id",
]

_UNKNOWN_KIND = Reason(
    "what .remote is called on is not known here",
    "call the function through its own name, or write ctx.create_task by hand",
)


class Constants:
    """The names of options that several calls share: ``PROCESS_OPTIONS = fray.TaskOptions(...)``.

    Args:
        taken: names that are used already.
    """

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._names: dict[int, str] = {}
        self.calls: dict[int, int] = {}
        """How many calls there are with the options of a definition and no others."""

    def name(self, definition: Definition) -> str:
        """Return the name of the options of `definition`."""
        known = self._names.get(id(definition.node))
        if known is None:
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", definition.name or "task").strip("_")
            known = f"{words.upper()}_OPTIONS" if _is_global(definition) else f"{words.lower()}_options"
            while known in self._taken:
                known += "_"
            self._taken.add(known)
            self._names[id(definition.node)] = known
        return known

    def is_named(self, definition: Definition) -> bool:
        """Return whether the options of `definition` are used by name somewhere."""
        return id(definition.node) in self._names


def find_ray(kinds: Kinds, source: Source, constants: Constants, sync_tests: bool) -> Found:
    """Return what `source`, which uses Ray or what a user of Ray imports, has of it."""
    finder = _Finder(kinds, source, constants, sync_tests)
    finder.run()
    return finder.found


def _is_global(definition: Definition) -> bool:
    node = definition.node
    return definition.source.function_of(node) is None and definition.source.class_of(node) is None


class _Finder:
    def __init__(self, kinds: Kinds, source: Source, constants: Constants, sync_tests: bool) -> None:
        self.kinds = kinds
        self.source = source
        self.constants = constants
        self.sync_tests = sync_tests
        self.found = Found(source)
        self.methods = kinds.actor_methods()
        self._consumed: set[int] = set()
        self._ended_handlers: set[int] = set()

    # ---- helpers

    def block(self, node: cst.CSTNode, reason: Reason) -> None:
        self.found.blockers.append(Blocker(self.source, node, reason))

    def site(
        self,
        node: cst.CSTNode,
        build: Build,
        uses: Sequence[cst.CSTNode] = (),
        context: bool = False,
        names_fray: bool = True,
        imports: tuple[str, ...] = (),
        role: str = "",
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._consumed.update(id(use) for use in uses)
        self.found.sites.append(
            Site(self.source, node, build, tuple(uses), context, names_fray or context, imports, role, prepare)
        )

    def kind(self, node: cst.BaseExpression) -> Kind:
        return self.kinds.of(self.source, node)

    # ---- the walk

    def run(self) -> None:
        self._references()
        for node in self.source.nodes():
            if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
                self._definition(node)
            elif isinstance(node, cst.Call):
                self._call(node)
            elif isinstance(node, cst.Attribute) and not isinstance(self._called_by(node), cst.Call):
                self._bound(node)
            if isinstance(node, (cst.Name, cst.Attribute)):
                self._flow(node)
        for node, name in self.found.references:
            if id(node) not in self._consumed:
                self._reference(node, name)
        self._mixtures()

    def _references(self) -> None:
        for node in self.source.nodes():
            if isinstance(node, (cst.Name, cst.Attribute)):
                if is_base_of_chain(node, self.source.parent(node)):
                    continue
                name = ray_name(self.source, node)
                if name is not None:
                    self.found.references.append((node, name))

    def _called_by(self, node: cst.CSTNode) -> cst.Call | None:
        parent = self.source.parent(node)
        return parent if isinstance(parent, cst.Call) and parent.func is node else None

    # ---- definitions

    def _definition(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        self._method_decorator(node)
        definition = self.kinds.definition(self.source, node)
        if definition is None:
            return
        decorator = decorator_of(self.source, node)
        assert decorator is not None
        called = decorator.decorator
        used = called.func if isinstance(called, cst.Call) else called
        self._consumed.add(id(used))
        if definition.dynamic:
            self.block(decorator, Reason("these options are made while the program runs", "write them out"))
            return
        if node.decorators[0] is not decorator:
            self.block(
                decorator, Reason("another decorator is around ray.remote", "make ray.remote the outermost decorator")
            )
            return
        if isinstance(self.source.parent(self.source.parent(node) or node), cst.ClassDef):
            self.block(decorator, Reason("a remote function inside of a class has no counterpart", "move it out"))
            return
        if isinstance(node, cst.FunctionDef) and node.asynchronous is not None:
            self.block(decorator, Reason("Ray takes no async function as a task", "make it an actor's method"))
            return
        if not self._convertible(definition.options, definition.is_actor, self.source, decorator):
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode | cst.FlattenSentinel[cst.BaseStatement]:
            assert isinstance(new, (cst.FunctionDef, cst.ClassDef))
            bare = without_decorator(new, 0)
            if not self.constants.is_named(definition):
                return bare
            lines = bare.leading_lines
            found = option_keywords(definition.options, definition.is_actor, self.kinds, self.source, rewriter.sub)
            constant = assign(self.constants.name(definition), options_value(found, definition.is_actor), lines)
            blank = [cst.EmptyLine(indent=False)] * (2 if _is_global(definition) else 1)
            return cst.FlattenSentinel([constant, bare.with_changes(leading_lines=blank)])

        self.site(node, build, [used], names_fray=False)
        self.found.sites[-1].may_name_fray = lambda: self.constants.is_named(definition)

    def _convertible(
        self, options: Mapping[str, cst.BaseExpression], is_actor: bool, where: Source, node: cst.CSTNode
    ) -> bool:
        try:
            option_keywords(options, is_actor, self.kinds, where, lambda part: part)
        except StaysError as error:
            self.block(node, error.reason)
            return False
        return True

    def _method_decorator(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        for index, decorator in enumerate(node.decorators):
            called = decorator.decorator
            used = called.func if isinstance(called, cst.Call) else called
            if ray_name(self.source, used) != "ray.method":
                continue
            self._consumed.add(id(used))
            options = split_options(called.args)[0] if isinstance(called, cst.Call) else {}
            if any(name != "num_returns" or not isinstance(literal(value), int) for name, value in options.items()):
                self.block(decorator, Reason("these options of a method have no counterpart", "give them at the calls"))
                continue

            def build(rewriter: Rewriter, new: cst.CSTNode, index: int = index) -> cst.CSTNode:
                del rewriter
                assert isinstance(new, cst.FunctionDef)
                return without_decorator(new, index)

            self.site(node, build, [used], names_fray=False)

    # ---- calls

    def _call(self, node: cst.Call) -> None:
        name = ray_name(self.source, node.func)
        if name is not None:
            self._library_call(node, name)
            return
        if isinstance(node.func, cst.Call) and is_remote_name(ray_name(self.source, node.func.func)):
            self._wrapping(node, node.func.func)
            return
        if not isinstance(node.func, cst.Attribute):
            return
        verb = node.func.attr.value
        if verb in ("remote", "_remote"):
            self._remote(node, node.func.value, verb)
        elif verb == "options":
            self._options(node, node.func.value)
        elif verb == "bind" and isinstance(self.kind(node.func.value), (Remote, Method)):
            self.block(node, reason_for("ray.dag.bind"))
        elif verb in _REF_METHODS and isinstance(self.kind(node.func.value), Ref):
            self.block(node, Reason(f"refs have no method {verb}", "use ctx.get, ctx.wait or await"))
        elif self.kind(node.func.value) is SURROUNDINGS:
            self._surroundings(node, node.func.attr.value)

    def _library_call(self, node: cst.Call, name: str) -> None:
        verb = name.removeprefix("ray.").removeprefix("worker.")
        if verb in _VERBS:
            self._verb(node, verb)
        elif is_remote_name(name):
            parent = self.source.parent(node)
            if isinstance(parent, cst.Decorator) or self._called_by(node) is not None:
                return  # seen with what it is applied to
            self._wrapping(node, node.func)
        elif verb == "init":
            self._init(node)
        elif verb == "shutdown":
            self.site(node, lambda rewriter, new: call("fray.shutdown"), [node.func], role="shutdown")
        elif verb == "is_initialized":
            self._is_initialized(node)
        elif verb == "get_gpu_ids":
            self.site(node, self._gpu_ids, [node.func], context=True)
        elif verb == "util.list_named_actors":
            self.site(node, self._same_call("list_named_actors", node), [node.func], context=True)
        elif verb == "util.map_unordered":
            self._map_unordered(node)
        elif verb == "get_runtime_context":
            self._runtime_context(node)

    def _same_call(self, verb: str, node: cst.Call) -> Build:
        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            del new
            kept = [item for item in node.args if not _is_dropped(verb, item)]
            args = [self._timeout(rewriter.sub_arg(item)) for item in kept]
            if args and len(args) < len(node.args) and len(kept) and kept[-1] is not node.args[-1]:
                args[-1] = args[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            return node.with_changes(func=cst.Attribute(rewriter.context(node), cst.Name(verb)), args=args)

        return build

    @staticmethod
    def _timeout(item: cst.Arg) -> cst.Arg:
        """Return ``timeout=None`` for Ray's ``timeout=-1``."""
        if item.keyword is not None and item.keyword.value == "timeout" and literal(item.value) == -1:
            return item.with_changes(value=cst.Name("None"))
        return item

    def _verb(self, node: cst.Call, verb: str) -> None:
        for item in node.args:
            name = item.keyword.value if item.keyword else ""
            if name.startswith("_"):
                self._consumed.add(id(node.func))
                self.block(node, Reason(f"{name} has no counterpart", "leave it out"))
                return
        self.site(node, self._same_call(verb, node), [node.func], context=True)

    def _gpu_ids(self, rewriter: Rewriter, node: cst.CSTNode) -> cst.CSTNode:
        ids = call(cst.Attribute(rewriter.context(node), cst.Name("resource_ids")))
        return call(cst.Attribute(ids, cst.Name("get")), [arg(cst.SimpleString('"GPU"')), arg(cst.List([]))])

    def _map_unordered(self, node: cst.Call) -> None:
        kind = self.kind(node.args[0].value) if node.args else UNKNOWN
        if len(node.args) != 2 or not isinstance(kind, Remote) or (kind.definition and kind.definition.merged()):
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            del new
            args = [rewriter.sub_arg(item) for item in node.args]
            function = cst.Attribute(rewriter.context(node), cst.Name("map"))
            return node.with_changes(func=function, args=[*args, keyword("ordered", cst.Name("False"))])

        self.site(node, build, [node.func], context=True)

    def _is_initialized(self, node: cst.Call) -> None:
        parent = self.source.parent(node)
        negated = isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not)
        target: cst.CSTNode = parent if negated and parent is not None else node

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            del rewriter
            operator: cst.BaseCompOp = cst.Is() if negated else cst.IsNot()
            compared = [cst.ComparisonTarget(operator, cst.Name("None"))]
            alone = isinstance(self.source.parent(new), (cst.If, cst.Assert, cst.Assign, cst.Return, cst.Arg))
            asked = cst.Comparison(call("existing_job_context"), compared)
            return asked if alone else asked.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])

        imports = ("from fray.job.current import existing_job_context",)
        self.site(target, build, [node.func], names_fray=False, imports=imports, role="asks")

    # ---- init

    def _init(self, node: cst.Call) -> None:
        self._consumed.add(id(node.func))
        parent = self.source.parent(node)
        alone = isinstance(parent, cst.Expr)
        managed = isinstance(parent, cst.WithItem) and parent.asname is None
        if not alone and not managed and not self._is_unused_target(parent):
            reason = Reason("what ray.init returns has no counterpart", "it stays, and Fray's tasks run on it", True)
            self.block(node, reason)
            return
        try:
            keywords = init_keywords(list(node.args), lambda part: part)
        except StaysError as error:
            self.block(node, error.reason)
            return
        names = [item.keyword.value for item in node.args if item.keyword]
        guard = alone and bool(keywords) and self._may_run_again(node, names)
        sync = keywords is None or (self.sync_tests and self._is_test())

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            del new
            if sync:
                context = call("fray.LocalJobContext")
                return context if managed else call("fray.set_job_context", [arg(context)])
            found = init_keywords(list(node.args), rewriter.sub) or {}
            kept = [item for item in node.args if item.keyword and item.keyword.value == "namespace"]
            if len(kept) == len(node.args):
                return node.with_changes(func=chain("fray.init"), args=[rewriter.sub_arg(item) for item in kept])
            return call("fray.init", [keyword(name, value) for name, value in found.items()])

        if not guard or sync:
            self.site(node, build, [node.func], role="init")
            return
        line = self.source.statement_of(node)

        def build_guarded(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            assert isinstance(new, cst.SimpleStatementLine)
            inner = build(rewriter, node)
            assert isinstance(inner, cst.BaseExpression)
            test = cst.Comparison(call("existing_job_context"), [cst.ComparisonTarget(cst.Is(), cst.Name("None"))])
            body = cst.IndentedBlock([new.with_changes(body=[cst.Expr(inner)], leading_lines=[])])
            return cst.If(test, body, leading_lines=new.leading_lines)

        imports = ("from fray.job.current import existing_job_context",)
        self.site(line, build_guarded, [node.func], imports=imports, role="init")

    def _may_run_again(self, node: cst.Call, names: list[str]) -> bool:
        """Return whether this init is one of several, of which Ray heeds only the first."""
        if "ignore_reinit_error" not in names:
            return False
        line = self.source.statement_of(node)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            return False
        others = sum(
            1
            for source in self.kinds.project.sources
            for other, name in _all_names(source)
            if name == "ray.init" and other is not node.func
        )
        in_package = (self.source.path.parent / "__init__.py").exists()
        return others > 0 or in_package

    def _is_unused_target(self, parent: cst.CSTNode | None) -> bool:
        if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
            return False
        target = parent.targets[0].target
        if not isinstance(target, cst.Name):
            return False
        return not any(
            isinstance(node, cst.Name) and node is not target and node.value == target.value
            for node in self.source.nodes()
        )

    def _is_test(self) -> bool:
        name = self.source.path.name
        return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"

    # ---- the runtime context

    def _runtime_context(self, node: cst.Call) -> None:
        self._consumed.add(id(node.func))
        parent = self.source.parent(node)
        attribute = parent.attr.value if isinstance(parent, cst.Attribute) and parent.value is node else ""
        if attribute == "current_actor":
            assert parent is not None
            self.site(parent, lambda rewriter, new: chain_call("fray.current_actor", "handle"), [node.func])
        elif attribute == "namespace":
            assert parent is not None
            self.site(
                parent,
                lambda rewriter, new: cst.Attribute(rewriter.context(node), cst.Name("namespace")),
                [node.func],
                context=True,
            )
        else:
            self.block(node, reason_for("ray.get_runtime_context"))

    def _surroundings(self, node: cst.Call, name: str) -> None:
        if ray_name(self.source, node) is None and isinstance(node.func, cst.Attribute):
            if isinstance(node.func.value, cst.Call):
                return  # seen with the call of get_runtime_context
            self.block(node, Reason(f"{name} of Ray's runtime context has no counterpart", "it stays on Ray", True))

    # ---- ray.remote(x), x.options(...)

    def _wrapping(self, node: cst.Call, used: cst.BaseExpression) -> None:
        kind = self.kind(node)
        self._consumed.add(id(used))
        if not isinstance(kind, Remote) or kind.definition is None:
            self.block(node, Reason("what becomes remote here is not known", "give ray.remote a function or a class"))
            return
        if kind.definition.dynamic:
            self.block(node, Reason("these options are made while the program runs", "write them out"))
            return
        if isinstance(self.kind(node.args[0].value), Remote) and kind.definition.plain is None:
            self.block(node, Reason("this is remote already", "leave ray.remote out"))
            return
        if not self._convertible(kind.definition.options, kind.is_actor, self.source, node):
            return
        self.site(node, lambda rewriter, new: rewriter.sub(node.args[0].value), [used], names_fray=False)
        self._named_options(node, kind.definition)

    def _options(self, node: cst.Call, base: cst.BaseExpression) -> None:
        kind = self.kind(node)
        parent = self.source.parent(node)
        started = isinstance(parent, cst.Attribute) and parent.attr.value in ("remote", "_remote")
        if started or not isinstance(kind, Remote) or kind.definition is None:
            return  # seen with the call of remote, or nothing of Ray's
        if kind.definition.dynamic:
            self.block(node, Reason("these options are made while the program runs", "write them out"))
            return
        if not self._convertible(kind.definition.options, kind.is_actor, self.source, node):
            return
        self.site(node, lambda rewriter, new: rewriter.sub(base), names_fray=False)
        self._named_options(node, kind.definition)

    def _named_options(self, node: cst.Call, definition: Definition) -> None:
        """Put the options of an expression that has a name into a constant of their own."""
        line = self.source.statement_of(node)
        if definition.name is None or not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode | cst.FlattenSentinel[cst.BaseStatement]:
            assert isinstance(new, cst.SimpleStatementLine)
            statement = new.body[0]
            itself = (
                isinstance(statement, cst.Assign)
                and isinstance(statement.value, cst.Name)
                and statement.value.value == definition.name
            )
            if not self.constants.is_named(definition):
                nothing: list[cst.BaseStatement] = []
                return cst.FlattenSentinel(nothing) if itself else new
            options = definition.merged()
            found = option_keywords(options, definition.is_actor, self.kinds, self.source, rewriter.sub)
            constant = assign(self.constants.name(definition), options_value(found, definition.is_actor))
            constant = constant.with_changes(leading_lines=new.leading_lines)
            if itself:
                return constant
            return cst.FlattenSentinel([constant, new.with_changes(leading_lines=[])])

        self.site(line, build, names_fray=False)
        self.found.sites[-1].may_name_fray = lambda: self.constants.is_named(definition)
        self.found.links.append((line, node))

    # ---- x.remote(...)

    def _remote(self, node: cst.Call, receiver: cst.BaseExpression, verb: str) -> None:
        kind = self._receiver_kind(receiver)
        if isinstance(kind, Remote):
            self._start(node, receiver, kind, verb)
        elif isinstance(kind, Method) and verb == "remote":
            self._method(node, receiver, kind)
        elif not isinstance(kind, (Instance, Function, PlainClass, Module)) and kind is not PLAIN:
            self.block(node, _UNKNOWN_KIND)

    def _receiver_kind(self, receiver: cst.BaseExpression) -> Kind:
        """Return the kind of ``x`` in ``x.remote``, where the name of a method tells what the rest does not."""
        kind = self.kind(receiver)
        if kind is not UNKNOWN and kind is not NOTHING:
            return kind
        inner = receiver
        if isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute) and inner.func.attr.value == "options":
            inner = inner.func.value
        if isinstance(inner, cst.Attribute) and inner.attr.value in self.methods:
            base = self.kind(inner.value)
            if base is UNKNOWN or base is NOTHING:
                return Method(inner.attr.value)
        return kind

    def _start(self, node: cst.Call, receiver: cst.BaseExpression, kind: Remote, verb: str) -> None:
        definition = kind.definition
        if definition is not None and any(layer.dynamic for layer in definition.layers()):
            self.block(node, Reason("these options are made while the program runs", "write them out"))
            return
        args: Sequence[cst.Arg] = node.args
        if verb == "_remote":
            unpacked = _unpack_private(node.args)
            if unpacked is None:
                self.block(node, Reason("_remote with these arguments has no counterpart", "call options and remote"))
                return
            args = unpacked
        target = _target(self.source, receiver)
        try:
            options = self._call_options(node, target, definition, kind.is_actor)
        except StaysError as error:
            self.block(node, error.reason)
            return
        names = [item.keyword.value for item in args if item.keyword is not None]
        if kind.is_actor and "options" in names:
            self.block(node, Reason("create_actor has an argument called options", "give it by position"))
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            del new
            function = rewriter.sub(target)
            context = rewriter.context(node)
            new_args = [rewriter.sub_arg(item) for item in args]
            value = options(rewriter)
            if kind.is_actor:
                return _actor_call(context, node, function, new_args, value)
            return _task_call(context, node, function, new_args, value)

        self.site(node, build, context=True, imports=options.imports, prepare=options.prepare)
        self._link_definition(node, definition)

    def _link_definition(self, node: cst.CSTNode, definition: Definition | None) -> None:
        while definition is not None:
            self.found.links.append((node, definition.node))
            definition = definition.base

    def _call_options(
        self, node: cst.Call, target: cst.BaseExpression, definition: Definition | None, is_actor: bool
    ) -> _Options:
        """Decide how the options of one call are written."""
        if definition is None:
            return _Options(lambda rewriter: None)
        layers = definition.layers()
        named = [index for index, layer in enumerate(layers) if layer.name is not None and self._is_seen(layer)]
        base = layers[named[-1]] if named else None
        before = base.merged() if base is not None else {}
        own: dict[str, cst.BaseExpression] = {}
        for layer in layers[(named[-1] + 1) if named else 0 :]:
            own.update(layer.options)
            if layer.source is not self.source and not all(is_literal(value) for value in layer.options.values()):
                raise StaysError(Reason("these options are not in sight here", "give them a name"))
        everything = {**before, **own}
        option_keywords(everything, is_actor, self.kinds, self.source, lambda part: part)
        literals = all(is_literal(value) for value in before.values())

        def inline(rewriter: Rewriter) -> cst.BaseExpression | None:
            found = option_keywords(everything, is_actor, self.kinds, self.source, rewriter.sub)
            return options_value(found, is_actor) if found else None

        if base is None or not before or (literals and own):
            return _Options(inline)
        if not option_keywords(before, is_actor, self.kinds, base.source, lambda part: part):
            return _Options(inline)
        reach = self._reach(target, base)
        if literals and reach is None:
            return _Options(inline)
        if reach is None:
            raise StaysError(Reason("the options of this function are not in sight here", "import them with it"))
        if not own:
            key = id(base.node)
            self.constants.calls[key] = self.constants.calls.get(key, 0) + 1

            def is_single() -> bool:
                return literals and self.constants.calls[key] == 1

            return _Options(
                lambda rewriter: inline(rewriter) if is_single() else reach(),
                prepare=lambda: None if is_single() else _forget(reach()),
            )
        return _Options(
            lambda rewriter: self._replaced(rewriter, own, is_actor, reach()),
            ("import dataclasses",),
            lambda: _forget(reach()),
        )

    def _replaced(
        self, rewriter: Rewriter, own: Mapping[str, cst.BaseExpression], is_actor: bool, base: cst.BaseExpression
    ) -> cst.BaseExpression:
        found = option_keywords(own, is_actor, self.kinds, self.source, rewriter.sub)
        resources = found.get("resources")
        if resources is not None:
            inherited = cst.StarredDictElement(cst.Attribute(base, cst.Name("resources")))
            given = list(resources.elements) if isinstance(resources, cst.Dict) else [cst.StarredDictElement(resources)]
            found["resources"] = cst.Dict([inherited, *given])
        return call("dataclasses.replace", [arg(base), *(keyword(name, value) for name, value in found.items())])

    @staticmethod
    def _is_seen(layer: Definition) -> bool:
        """Return whether a definition is one whose options get a name of their own."""
        if isinstance(layer.node, (cst.FunctionDef, cst.ClassDef)):
            return True
        line = layer.source.statement_of(layer.node)
        return isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1

    def _reach(self, target: cst.BaseExpression, base: Definition) -> Callable[[], cst.BaseExpression] | None:
        """Return what makes the name of the options of `base` here; None where it cannot be seen."""
        if base.source is self.source:
            around = self.source.function_of(base.node)
            if around is None or around in list(self.source.ancestors(target)):
                return lambda: cst.Name(self.constants.name(base))
            return None
        if not _is_global(base):
            return None
        if isinstance(target, cst.Attribute) and isinstance(self.kind(target.value), Module):
            return lambda: target.with_changes(attr=cst.Name(self.constants.name(base)))
        if isinstance(target, cst.Name):
            imports = self._import_chain(self.source, target.value, self.source.bindings(target), base)
            if imports:
                return lambda: self._import_constant(imports, base)
        return None

    def _import_chain(
        self, source: Source, name: str, bindings: Sequence[object], base: Definition
    ) -> list[tuple[Source, cst.ImportFrom]]:
        """Return the imports by which `name` comes from where `base` is; empty where it does not come that way."""
        for binding in bindings:
            node = binding.node if isinstance(binding, ImportAssignment) else None
            if not isinstance(node, cst.ImportFrom) or isinstance(node.names, cst.ImportStar):
                continue
            found = self.kinds.project.imported(source, node, name)
            module, inner = found or (None, None)
            if module is None or inner is None:
                continue
            if module is base.source:
                return [(source, node)]
            scope = module.scope(module.module.body[0]) if module.module.body else None
            further = self._import_chain(module, inner, list(scope.globals[inner]) if scope else [], base)
            if further:
                return [(source, node), *further]
        return []

    def _import_constant(self, imports: list[tuple[Source, cst.ImportFrom]], base: Definition) -> cst.BaseExpression:
        name = self.constants.name(base)
        for source, node in imports:
            source.added_names.setdefault(id(node), set()).add(name)
        return cst.Name(name)

    # ---- methods

    def _method(self, node: cst.Call, receiver: cst.BaseExpression, kind: Method) -> None:
        if kind.name.startswith("_"):
            self.block(node, _private_method(kind.name))
            return
        bound = receiver
        options: dict[str, cst.BaseExpression] = {}
        if isinstance(receiver, cst.Call) and isinstance(receiver.func, cst.Attribute):
            bound = receiver.func.value
            options, dynamic = split_options(receiver.args)
            if dynamic or any(name not in ("num_returns", "name") for name in options):
                self.block(node, Reason("these options of a call have no counterpart", "num_returns and name have"))
                return
        if "num_returns" not in options:
            returns = self._declared_returns(kind)
            if returns is NotImplemented:
                self.block(node, Reason(f"methods called {kind.name} return different numbers of refs", "rename one"))
                return
            if isinstance(returns, int) and returns != 1:
                options = {"num_returns": cst.Integer(str(returns)), **options}
        if isinstance(literal(options.get("num_returns")), str):
            self.block(node, Reason("this num_returns has no counterpart", "yield the values"))
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            del new
            method = rewriter.sub(bound)
            if options:
                given = [keyword(name, rewriter.sub(value)) for name, value in options.items()]
                method = call(cst.Attribute(method, cst.Name("options")), given)
            return node.with_changes(func=method, args=[rewriter.sub_arg(item) for item in node.args])

        self.site(node, build, names_fray=False)
        self._link_method(node, kind)

    def _link_method(self, node: cst.CSTNode, kind: Method) -> None:
        """Connect a call with its class, or with all classes that it may be of."""
        if kind.definition is not None:
            self._link_definition(node, kind.definition)
            return
        for definition in self.kinds.definitions():
            plain = definition.plain
            if definition.is_actor and isinstance(plain, cst.ClassDef) and kind.name in methods_of(plain):
                self._link_definition(node, definition)

    def _declared_returns(self, kind: Method) -> object:
        """Return the num_returns of a method's decorator, None without one, NotImplemented where classes disagree."""
        if kind.definition is not None:
            definitions = [kind.definition]
        else:
            definitions = [item for item in self.kinds.definitions() if item.is_actor]
        found: set[object] = set()
        for definition in definitions:
            plain = definition.plain
            if not isinstance(plain, cst.ClassDef) or kind.name not in methods_of(plain):
                continue
            for item in plain.body.body:
                if isinstance(item, cst.FunctionDef) and item.name.value == kind.name:
                    found.add(self._returns_of(definition.plain_source or self.source, item))
        if len(found) > 1:
            return NotImplemented
        return next(iter(found), None)

    @staticmethod
    def _returns_of(source: Source, node: cst.FunctionDef) -> object:
        for decorator in node.decorators:
            called = decorator.decorator
            if isinstance(called, cst.Call) and ray_name(source, called.func) == "ray.method":
                return literal(split_options(called.args)[0].get("num_returns", cst.Integer("1")))
        return 1

    def _bound(self, node: cst.Attribute) -> None:
        """Handle ``x.remote`` that is not called but handed on, and ``x._function``."""
        kind = self.kind(node.value)
        verb = node.attr.value
        if verb == "_function" and isinstance(kind, Remote) and not kind.is_actor:
            self.site(node, lambda rewriter, new: rewriter.sub(node.value), names_fray=False)
        elif verb != "remote":
            return
        elif isinstance(kind, Method) and not kind.name.startswith("_") and self._declared_returns(kind) in (None, 1):
            self.site(node, lambda rewriter, new: rewriter.sub(node.value), names_fray=False)
            self._link_method(node, kind)
        elif isinstance(kind, Remote) and kind.definition is not None and not kind.definition.merged():
            if kind.is_actor or any(layer.dynamic for layer in kind.definition.layers()):
                self.block(node, Reason("a class that is handed on as its .remote has no counterpart", "use a lambda"))
                return
            self.site(node, self._partial(node), context=True, imports=("import functools",))
            self._link_definition(node, kind.definition)
        elif isinstance(kind, (Remote, Method)):
            self.block(node, Reason("a call with options is handed on as a value", "write a function around it"))

    def _partial(self, node: cst.Attribute) -> Build:
        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            del new
            run = cst.Attribute(rewriter.context(node), cst.Name("run"))
            return call("functools.partial", [arg(run), arg(rewriter.sub(node.value))])

        return build

    # ---- remote functions as values

    def _flow(self, node: cst.Name | cst.Attribute) -> None:
        """Look at what else is done with a remote function or an actor class than to start it."""
        if isinstance(node, cst.Name) and not self.source.bindings(node):
            return
        kind = self.kind(node)
        parent = self.source.parent(node)
        if not isinstance(kind, Remote) or parent is None or _binds(node, parent):
            return
        if self._is_annotation(node):
            self._annotation(node, kind)
            return
        if isinstance(parent, cst.Attribute) and parent.value is node:
            self._attribute_of(parent, kind)
        elif isinstance(parent, cst.Call) and parent.func is node:
            self.block(
                parent, Reason("a remote thing is called directly, which Ray refuses", "use .remote, or leave it")
            )
        elif isinstance(parent, cst.Arg):
            self._handed_on(node, parent)
        elif isinstance(parent, cst.Decorator):
            self.block(parent, Reason("a remote thing decorates another", "write it out"))

    def _attribute_of(self, parent: cst.Attribute, kind: Remote) -> None:
        name = parent.attr.value
        if name in ("remote", "options", "bind", "_remote", "_function"):
            return
        if not kind.is_actor or name.startswith("_"):
            self.block(
                parent, Reason(f"{name} of Ray's wrapper has no counterpart", "use the function or class itself")
            )

    def _handed_on(self, node: cst.BaseExpression, parent: cst.Arg) -> None:
        called = self.source.parent(parent)
        if not isinstance(called, cst.Call):
            return
        name = dotted(called.func)
        ray = ray_name(self.source, called.func)
        if ray is not None:
            if ray not in ("ray.util.map_unordered", "ray.remote", "ray.put"):
                self.block(called, Reason(f"{ray} gets a remote function or class", "keep this on Ray"))
            return
        if name in _BUILTINS_THAT_PASS or isinstance(called.func, cst.Call):
            return
        if isinstance(called.func, cst.Attribute):
            base = self.kind(called.func.value)
            if called.func.attr.value == "remote" or isinstance(base, (Items, DictOf, Handle)):
                return
        if isinstance(self.kind(called.func), (Function, PlainClass, Method)):
            return
        self.block(
            node, Reason(f"{name or 'a call'} gets a remote function and is not among the files", "pass a lambda")
        )

    def _is_annotation(self, node: cst.CSTNode) -> bool:
        return any(isinstance(item, cst.Annotation) for item in self.source.ancestors(node))

    def _annotation(self, node: cst.Name | cst.Attribute, kind: Remote) -> None:
        definition = kind.definition
        if not kind.is_actor or definition is None or definition.node in list(self.source.ancestors(node)):
            return
        parent = self.source.parent(node)
        if isinstance(parent, cst.Attribute):
            return
        self.site(node, lambda rewriter, new: chain("fray.ActorHandle"))
        self._link_definition(node, definition)

    # ---- other names of Ray

    def _reference(self, node: cst.CSTNode, name: str) -> None:
        """Handle a name of Ray that is not part of anything seen before."""
        parent = self.source.parent(node)
        short = name.removeprefix("ray.exceptions.")
        if name in TYPES:
            self._type(node, name, parent)
        elif short in EXCEPTIONS:
            self.site(node, lambda rewriter, new: chain(f"fray.{EXCEPTIONS[short]}"), [node])
        elif short in ("RayTaskError", "RayError"):
            self._any_error(node, short)
        elif name.removeprefix("ray.") in _VERBS:
            verb = name.removeprefix("ray.")
            build: Build = lambda rewriter, new: cst.Attribute(rewriter.context(node), cst.Name(verb))  # noqa: E731
            self.site(node, build, [node], context=True)
        elif name.endswith(".RemoteFunction"):
            self._remote_function(node, parent)
        elif name == "ray.is_initialized":
            imports = ("from fray.job.current import existing_job_context",)
            self.site(
                node, lambda rewriter, new: cst.Name("existing_job_context"), [node], False, False, imports, "asks"
            )
        elif name == "ray":
            self.block(node, Reason("the module ray is used as a value", "name what is used of it"))
        else:
            self.block(node, reason_for(name))

    def _type(self, node: cst.CSTNode, name: str, parent: cst.CSTNode | None) -> None:
        new_name = TYPES[name]
        if isinstance(parent, cst.Call) and parent.func is node:
            self.block(parent, Reason(f"{name} cannot be made by hand", "hand the ref itself on"))
        elif isinstance(parent, cst.Subscript) and parent.value is node and new_name == "ActorHandle":
            self.site(parent, lambda rewriter, new: chain("fray.ActorHandle"), [node])
        elif isinstance(parent, cst.Subscript) and parent.value is node:
            slices = parent.slice[:1]
            self.site(
                parent,
                lambda rewriter, new: parent.with_changes(
                    value=chain(f"fray.{new_name}"), slice=[_sub_slice(rewriter, item) for item in slices]
                ),
                [node],
            )
        else:
            self.site(node, lambda rewriter, new: chain(f"fray.{new_name}"), [node])

    def _remote_function(self, node: cst.CSTNode, parent: cst.CSTNode | None) -> None:
        """Move ``isinstance(f, ray.remote_function.RemoteFunction)`` and annotations."""
        holder = self.source.parent(parent) if parent is not None else None
        if isinstance(parent, cst.BinaryOperation) and self._is_annotation(node):
            other = parent.left if parent.right is node else parent.right
            self.site(parent, lambda rewriter, new: rewriter.sub(other), [node], names_fray=False)
        elif isinstance(holder, cst.Call) and dotted(holder.func) == "isinstance" and len(holder.args) == 2:
            first = holder.args[0].value

            def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
                del new
                return call("hasattr", [arg(rewriter.sub(first)), arg(cst.SimpleString('"_function"'))])

            self.site(holder, build, [node], names_fray=False)
        else:
            self.block(node, Reason("Ray's type of remote functions has no counterpart", "functions stay functions"))

    def _any_error(self, node: cst.CSTNode, short: str) -> None:
        """Move ``except RayTaskError``: here the task's own exception arrives."""
        parent = self.source.parent(node)
        handler = next((item for item in self.source.ancestors(node) if isinstance(item, cst.ExceptHandler)), None)
        asserted = isinstance(parent, cst.Arg) and dotted(getattr(self.source.parent(parent), "func", None)) in (
            "pytest.raises",
            "self.assertRaises",
        )
        if handler is not None and handler.type is not None and _contains(handler.type, node):
            around = self.source.parent(handler)
            if isinstance(around, cst.Try) and around.handlers[-1] is handler:
                self.site(node, lambda rewriter, new: cst.Name("Exception"), [node], names_fray=False)
                if id(handler) not in self._ended_handlers:
                    self._ended_handlers.add(id(handler))
                    self._causes(handler)
                return
        elif asserted:
            self.site(node, lambda rewriter, new: cst.Name("Exception"), [node], names_fray=False)
            return
        self.block(
            node,
            Reason(f"{short} has no counterpart, for a task's own exception arrives", "catch that, or Exception last"),
        )

    def _causes(self, handler: cst.ExceptHandler) -> None:
        """Make ``error.cause`` the error itself inside of a handler."""
        target = handler.name.name if handler.name is not None else None
        if not isinstance(target, cst.Name):
            return
        for node in self.source.nodes():
            if not isinstance(node, cst.Attribute) or dotted(node.value) != target.value:
                continue
            if not any(item is handler.body for item in self.source.ancestors(node)):
                continue
            called = self._called_by(node)
            if node.attr.value == "as_instanceof_cause" and called is not None:
                self.site(called, lambda rewriter, new, node=node: node.value, names_fray=False)
            elif node.attr.value == "cause":
                self.site(node, lambda rewriter, new, node=node: node.value, names_fray=False)

    # ---- what goes from Ray's libraries into tasks, and back

    def _mixtures(self) -> None:
        """Block refs that come out of Ray's libraries, and those that go in."""
        apart = [item for item in self.found.blockers if item.reason.apart]
        if not apart:
            return
        tainted = self._tainted([self.source.statement_of(item.node) for item in apart])
        for site in list(self.found.sites):
            if isinstance(site.node, cst.Call) and site.context and site.uses:
                first = site.node.args[0].value if site.node.args else None
                if first is not None and not _is_refs(self.kind(first)) and self._reads(first, tainted):
                    self.block(site.node, Reason("this comes from a part that stays on Ray", "keep it on Ray"))
        for item in apart:
            called = self.source.parent(item.node)
            if isinstance(called, cst.Call) and any(_is_refs(self.kind(part.value)) for part in called.args):
                self.block(called, Reason("refs go into a part that stays on Ray", "pass values"))

    def _tainted(self, statements: Sequence[cst.CSTNode]) -> set[tuple[int, str]]:
        """Return the variables that hold something of these statements, directly or not."""
        assigns = [node for node in self.source.nodes() if isinstance(node, (cst.Assign, cst.For, cst.With))]
        tainted: set[tuple[int, str]] = set()
        seeds = {id(item) for item in statements}
        while True:
            before = len(tainted)
            for node in assigns:
                value: cst.CSTNode = node.value if isinstance(node, cst.Assign) else node
                direct = id(self.source.statement_of(node)) in seeds
                if not direct and not (isinstance(node, cst.Assign) and self._reads(value, tainted)):
                    continue
                targets = node.targets if isinstance(node, cst.Assign) else [node]
                for target in targets:
                    tainted |= self._bound_names(target)
            if len(tainted) == before:
                return tainted

    def _bound_names(self, node: cst.CSTNode) -> set[tuple[int, str]]:
        holder = node.target if isinstance(node, (cst.AssignTarget, cst.For)) else None
        names: list[cst.CSTNode | None] = [holder, *(holder.children if holder is not None else ())]
        found: set[tuple[int, str]] = set()
        for item in names:
            inner = item.value if isinstance(item, cst.Element) else item
            key = self.source.variable(inner) if isinstance(inner, cst.Name) else None
            if key is not None:
                found.add(key)
        return found

    def _reads(self, node: cst.CSTNode, variables: set[tuple[int, str]]) -> bool:
        stack = [node]
        while stack:
            current = stack.pop()
            if isinstance(current, cst.Name) and self.source.variable(current) in variables:
                return True
            stack.extend(current.children)
        return False


# ---- pieces


class _Options:
    """How the options of one call are written: `make` returns the expression, or None."""

    def __init__(
        self,
        make: Callable[[Rewriter], cst.BaseExpression | None],
        imports: tuple[str, ...] = (),
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._make = make
        self.imports = imports
        self.prepare = prepare

    def __call__(self, rewriter: Rewriter) -> cst.BaseExpression | None:
        return self._make(rewriter)


def _forget(value: object) -> None:
    del value


def without_decorator(node: cst.FunctionDef | cst.ClassDef, index: int) -> cst.FunctionDef | cst.ClassDef:
    """Return a definition without one of its decorators, whose comments go above."""
    removed = node.decorators[index]
    rest = [item for number, item in enumerate(node.decorators) if number != index]
    lines = [*node.leading_lines, *removed.leading_lines]
    inside = comments(removed)
    for line in removed.leading_lines:
        inside -= comments(line)
    lines += [cst.EmptyLine(comment=cst.Comment(text)) for text in inside.elements()]
    if not rest:
        return node.with_changes(
            decorators=[], leading_lines=[*lines, *node.lines_after_decorators], lines_after_decorators=[]
        )
    return node.with_changes(decorators=rest, leading_lines=lines)


def chain_call(function: str, attribute: str) -> cst.BaseExpression:
    """Return ``function().attribute``."""
    return cst.Attribute(call(function), cst.Name(attribute))


def _all_names(source: Source) -> list[tuple[cst.CSTNode, str]]:
    found: list[tuple[cst.CSTNode, str]] = []
    for node in source.nodes():
        if isinstance(node, cst.Call):
            name = ray_name(source, node.func)
            if name is not None:
                found.append((node.func, name))
    return found


def _private_method(name: str) -> Reason:
    if name == "__ray_ready__":
        return Reason("__ray_ready__ has no counterpart", "call a method of the class that returns at once")
    if name == "__ray_terminate__":
        return Reason("__ray_terminate__ has no counterpart", "call ctx.kill(actor)")
    return Reason(f"{name} is private, and only public methods of an actor can be called", "rename it")


def _is_dropped(verb: str, item: cst.Arg) -> bool:
    return item.keyword is not None and item.keyword.value in _DROPPED.get(verb, ())


def _target(source: Source, receiver: cst.BaseExpression) -> cst.BaseExpression:
    """Return the function or class in ``f.options(...)``."""
    inner = receiver.func if isinstance(receiver, cst.Call) else None
    if isinstance(inner, cst.Attribute) and inner.attr.value == "options":
        return _target(source, inner.value)
    return receiver


def _unpack_private(args: Sequence[cst.Arg]) -> list[cst.Arg] | None:
    """Return the arguments of ``f._remote(args=[...], kwargs={...})``."""
    found: list[cst.Arg] = []
    for number, item in enumerate(args):
        name = item.keyword.value if item.keyword else ("args", "kwargs")[number] if number < 2 else ""
        if name == "args" and isinstance(item.value, (cst.List, cst.Tuple)):
            found += [cst.Arg(element.value) for element in item.value.elements]
        elif name == "kwargs" and isinstance(item.value, cst.Dict):
            for element in item.value.elements:
                key = literal(element.key) if isinstance(element, cst.DictElement) else None
                if not isinstance(key, str):
                    return None
                found.append(keyword(key, element.value))
        else:
            return None
    return found


def _task_call(
    context: cst.BaseExpression,
    node: cst.Call,
    function: cst.BaseExpression,
    args: Sequence[cst.Arg],
    options: cst.BaseExpression | None,
) -> cst.Call:
    """Return ``ctx.create_task(function, (a, b), {"k": v}, options=options)``."""
    positional = [item for item in args if item.keyword is None and item.star != "**"]
    named = [item for item in args if item.keyword is not None or item.star == "**"]
    given = [arg(function)]
    if positional:
        given.append(arg(_as_tuple(node, positional, not named)))
    if named:
        value = _as_dict(named)
        given.append(arg(value) if positional else keyword("kwargs", value))
    if options is not None:
        given.append(keyword("options", options))
    return cst.Call(cst.Attribute(context, cst.Name("create_task")), given, lpar=node.lpar, rpar=node.rpar)


def _as_tuple(node: cst.Call, args: Sequence[cst.Arg], whole: bool) -> cst.Tuple:
    elements: list[cst.BaseElement] = []
    for number, item in enumerate(args):
        last = number == len(args) - 1
        comma = item.comma if not last or (whole and isinstance(item.comma, cst.Comma)) else cst.MaybeSentinel.DEFAULT
        if item.star:
            elements.append(cst.StarredElement(item.value, comma=comma))
        else:
            elements.append(cst.Element(item.value, comma=comma))
    lpar = cst.LeftParen(whitespace_after=node.whitespace_before_args)
    closing = args[-1].whitespace_after_arg if whole else cst.SimpleWhitespace("")
    return cst.Tuple(elements, lpar=[lpar], rpar=[cst.RightParen(whitespace_before=closing)])


def _as_dict(args: Sequence[cst.Arg]) -> cst.BaseExpression:
    if len(args) == 1 and args[0].star:
        return args[0].value
    elements: list[cst.BaseDictElement] = []
    for number, item in enumerate(args):
        comma = item.comma if number < len(args) - 1 else cst.MaybeSentinel.DEFAULT
        if item.keyword is None:
            elements.append(cst.StarredDictElement(item.value, comma=comma))
        else:
            key = dict_of([(item.keyword.value, item.value)]).elements[0]
            elements.append(key.with_changes(comma=comma))
    return cst.Dict(elements)


def _actor_call(
    context: cst.BaseExpression,
    node: cst.Call,
    cls: cst.BaseExpression,
    args: Sequence[cst.Arg],
    options: cst.BaseExpression | None,
) -> cst.Call:
    """Return ``ctx.create_actor(cls, a, k=v, options=options)``."""
    own = [item for item in args if item.star == "**" or (item.keyword and item.keyword.value in _CREATE_ACTOR_OWN)]
    if own and options is None:
        options = call("fray.ActorOptions")
    given = [arg(cls), *args]
    if args and not isinstance(node.whitespace_before_args, cst.SimpleWhitespace):
        given[0] = given[0].with_changes(comma=cst.Comma(whitespace_after=node.whitespace_before_args))
    if options is not None:
        place = next((number for number, item in enumerate(given) if item.star == "**"), len(given))
        given.insert(place, keyword("options", options))
    return cst.Call(cst.Attribute(context, cst.Name("create_actor")), given, lpar=node.lpar, rpar=node.rpar)


def _sub_slice(rewriter: Rewriter, item: cst.SubscriptElement) -> cst.SubscriptElement:
    if isinstance(item.slice, cst.Index):
        return item.with_changes(slice=item.slice.with_changes(value=rewriter.sub(item.slice.value)))
    return item


def _binds(node: cst.CSTNode, parent: cst.CSTNode) -> bool:
    """Return whether `node` is a name that gets a value here."""
    if isinstance(parent, (cst.FunctionDef, cst.ClassDef, cst.Param, cst.AssignTarget, cst.AsName, cst.ImportAlias)):
        return getattr(parent, "name", getattr(parent, "target", None)) is node
    return isinstance(parent, (cst.For, cst.CompFor, cst.NamedExpr, cst.AnnAssign)) and parent.target is node


def _contains(node: cst.CSTNode, part: cst.CSTNode) -> bool:
    return node is part or any(_contains(child, part) for child in node.children)


def _is_refs(kind: Kind) -> bool:
    if isinstance(kind, (Items, DictOf)):
        return _is_refs(kind.item if isinstance(kind, Items) else kind.value)
    return isinstance(kind, (Ref, Handle))
