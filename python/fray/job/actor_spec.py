"""`ActorSpec`: the actor that an engine is to start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fray.job.actor_methods import MethodKind
from fray.job.actor_options import ActorOptions

__all__ = ["ActorSpec"]


class ActorSpec(NamedTuple):
    """What an actor is made of.

    Args:
        cls: its class.
        args: for the constructor; refs among them were not checked.
        kwargs: likewise.
        options: of the actor.
        methods: the methods that can be called, by name.
    """

    cls: type[Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: ActorOptions
    methods: Mapping[str, MethodKind]

    @property
    def class_name(self) -> str:
        """The name by which users know the class."""
        return self.cls.__qualname__.replace("<locals>.", "")
