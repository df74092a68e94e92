"""`CheckedKeywords`: the base of the frozen values, whose errors name the keywords that there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

__all__ = ["CheckedKeywords"]


class CheckedKeywords:
    """Base of dataclasses and records: an unknown keyword is reported with the known ones and perhaps a hint."""

    __slots__ = ()

    KEYWORD_HINTS: ClassVar[Mapping[str, str]] = {}
    """Keywords that users of other systems write, each with a hint that names Fray's keyword."""

    def __new__(cls, *args: Any, **kwargs: Any):
        names: tuple[str, ...] = getattr(cls, "__match_args__", ())
        unknown = [key for key in kwargs if key not in names]
        if unknown:
            hints = "".join(
                f"; write {cls.KEYWORD_HINTS[key]} for {key!r}" for key in unknown if key in cls.KEYWORD_HINTS
            )
            listed = ", ".join(repr(key) for key in unknown)
            raise TypeError(f"{cls.__name__} does not know {listed}{hints}. It knows: {', '.join(names)}.")
        return object.__new__(cls)
