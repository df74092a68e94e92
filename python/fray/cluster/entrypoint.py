"""What a job runs: a function with its arguments, or a program with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from fray._checks import check_text, text_list

__all__ = ["BinaryEntrypoint", "CallableEntrypoint", "Entrypoint"]


@dataclass(frozen=True, slots=True)
class BinaryEntrypoint:
    """A program and its arguments, which no shell reads.

    Args:
        command: path of a program, or its name in ``PATH``.
        args: its arguments.
    """

    command: str
    args: Sequence[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        check_text(self.command, "BinaryEntrypoint: command")
        args = text_list(self.args, "BinaryEntrypoint: args")
        for arg in args:
            if "\0" in arg:
                raise ValueError(f"BinaryEntrypoint: args must not contain the character NUL, got {arg!r}")
        object.__setattr__(self, "args", args)


@dataclass(frozen=True, slots=True)
class CallableEntrypoint:
    """A function and its arguments; what it returns is dropped.

    Args:
        callable: the function. It and its arguments are pickled by value where they must be.
        args: positional arguments, a list or a tuple.
        kwargs: keyword arguments.
    """

    callable: Callable[..., Any]
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if not callable(self.callable):
            raise TypeError(
                f"CallableEntrypoint: callable must be a function, got {self.callable!r}; "
                "Entrypoint.from_binary runs a program"
            )
        args = cast("object", self.args)
        if not isinstance(args, (list, tuple)):
            raise TypeError(f"CallableEntrypoint: args must be a list or a tuple, got {args!r}")
        object.__setattr__(self, "args", tuple(cast("Sequence[object]", args)))
        object.__setattr__(self, "kwargs", _keywords(self.kwargs))


@dataclass(frozen=True, slots=True)
class Entrypoint:
    """What a job runs; `from_callable` and `from_binary` make one. Exactly one of the two is set."""

    callable_entrypoint: CallableEntrypoint | None = None
    binary_entrypoint: BinaryEntrypoint | None = None

    def __post_init__(self) -> None:
        for name, kind in (("callable_entrypoint", CallableEntrypoint), ("binary_entrypoint", BinaryEntrypoint)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise TypeError(f"Entrypoint: {name} must be a {kind.__name__}(...) or None, got {value!r}")
        if (self.callable_entrypoint is None) == (self.binary_entrypoint is None):
            given = "neither" if self.callable_entrypoint is None else "both"
            raise ValueError(
                f"Entrypoint: exactly one of callable_entrypoint and binary_entrypoint must be given, got {given}; "
                "Entrypoint.from_callable and Entrypoint.from_binary make one"
            )

    @staticmethod
    def from_callable(
        callable: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Entrypoint:
        """Return an entrypoint that calls ``callable(*args, **kwargs)``."""
        keywords = dict[str, Any]() if kwargs is None else kwargs
        return Entrypoint(callable_entrypoint=CallableEntrypoint(callable, args, keywords))

    @staticmethod
    def from_binary(command: str, args: Sequence[str] = ()) -> Entrypoint:
        """Return an entrypoint that runs the program `command`."""
        return Entrypoint(binary_entrypoint=BinaryEntrypoint(command, args))


def _keywords(kwargs: object) -> dict[str, Any]:
    if not isinstance(kwargs, Mapping):
        raise TypeError(f"CallableEntrypoint: kwargs must be a dict of text to values, got {kwargs!r}")
    keywords = dict(cast("Mapping[object, Any]", kwargs))
    for name in keywords:
        if not isinstance(name, str):
            raise TypeError(f"CallableEntrypoint: kwargs must be named by text, got {name!r}")
    return cast("dict[str, Any]", keywords)
