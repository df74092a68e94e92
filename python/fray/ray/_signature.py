"""Checks whether the arguments of a call fit the function, as Ray does; arguments that fit cost little."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Shape"]

_MANY = 1 << 30


class Shape:
    """The least and the most positional arguments that a function takes, and its signature for all other calls.

    Args:
        fn: the function; a method with its `self`.
        bound: the number of arguments that are given already.
    """

    __slots__ = ("high", "low", "signature")

    def __init__(self, fn: Callable[..., Any] | None, bound: int = 0) -> None:
        self.low, self.high = 0, _MANY
        self.signature: inspect.Signature | None = None
        if fn is None:
            return
        try:
            signature = inspect.signature(fn)
        except (TypeError, ValueError):  # a function of C without a signature
            return
        self.take(signature.replace(parameters=list(signature.parameters.values())[bound:]))

    def take(self, signature: inspect.Signature) -> None:
        """Be the shape of `signature`."""
        self.signature = signature
        parameters = list(signature.parameters.values())
        positional = [part for part in parameters if part.kind in (part.POSITIONAL_ONLY, part.POSITIONAL_OR_KEYWORD)]
        self.low = sum(part.default is part.empty for part in positional)
        if any(part.kind is part.KEYWORD_ONLY and part.default is part.empty for part in parameters):
            self.low = _MANY  # keywords are needed, so every call is checked
        if not any(part.kind is part.VAR_POSITIONAL for part in parameters):
            self.high = len(positional)

    def check(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raise TypeError where the arguments do not fit."""
        if self.signature is not None:
            self.signature.bind(*args, **kwargs)
