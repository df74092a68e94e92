"""The base of remote functions, actor classes and methods of actors."""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = ["Startable"]


class Startable:
    """A remote function, an actor class or a method of an actor, with `remote` and `options`."""

    _node: ClassVar[str]
    """The class of its nodes in graphs, see `fray.ray.dag`."""

    def bind(self, *args: Any, **kwargs: Any) -> Any:
        """Return a node of a graph, which calls `remote` when the graph runs."""
        from fray.ray import dag

        return getattr(dag, self._node)(self, args, kwargs)

    def _remote(self, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        given: Any = self
        return given.options(**options).remote(*(args or ()), **(kwargs or {}))
