"""Moves what starts, ends and configures the engine, and options apart from calls."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import call, dict_of, keyword
from fray.migrate.fray_side import context_verb
from fray.migrate.sites import Rewriter
from fray.migrate.to_ray.executors import move_executor
from fray.migrate.to_ray.facts import Facts
from fray.migrate.to_ray.finding import Finding
from fray.migrate.to_ray.options import NoRayError, init_args, options_of_ray, runtime_env_dict

__all__ = ["Sessions"]


class Sessions(Finding):
    """Finds calls of functions and classes of the package `fray`."""

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
            again = Facts.of(self.kinds).starts_several_times
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
