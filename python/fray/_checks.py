"""Checks that the frozen values of several modules share; each message says what was given and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from fray._units import is_finite

__all__ = [
    "MOST_RETURNS",
    "check_actor_name",
    "check_amount",
    "check_count",
    "check_env",
    "check_flag",
    "check_name",
    "check_text",
    "text_list",
]


MOST_RETURNS = 65_535
"""The most results that a task may have; the engine counts them in 16 bits."""
_MOST_COUNT = 2**31 - 1
_MAX_NAME_BYTES = 255


def check_flag(value: object, what: str) -> None:
    """Raise unless `value` is True or False; `what` opens the message, here and in the functions below."""
    if not isinstance(value, bool):
        raise TypeError(f"{what} must be True or False, got {value!r}")


def check_name(name: object, owner: str) -> None:
    """Raise unless `name` is None or text that is not empty."""
    if name is not None and (not isinstance(name, str) or not name):
        raise TypeError(f"{owner}: name must be text that is not empty, or None, got {name!r}")


def check_actor_name(name: object, what: str) -> str:
    """Return `name` if an actor or a namespace can have it; `what` opens the messages.

    Raises:
        TypeError: `name` is not text.
        ValueError: `name` is empty, too long or not printable.
    """
    if not isinstance(name, str):
        raise TypeError(f"{what} must be text, got {name!r}")
    if not name.strip():
        raise ValueError(f"{what} is {'blank' if name else 'empty'}; give at least one visible character")
    if not name.isprintable():
        position = next(index for index, character in enumerate(name) if not character.isprintable())
        raise ValueError(f"{what} has the unprintable character {name[position]!r} at position {position}: {name!r}")
    size = len(name.encode())
    if size > _MAX_NAME_BYTES:
        raise ValueError(f"{what} has {size} bytes in UTF-8; at most {_MAX_NAME_BYTES} are allowed")
    return name


def check_text(value: object, what: str) -> None:
    """Raise unless `value` is text that is not blank and has no NUL, which system calls cannot pass on."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, got {value!r}")
    if not value.strip():
        raise ValueError(f"{what} must not be blank, got {value!r}")
    if "\0" in value:
        raise ValueError(f"{what} must not contain the character NUL, got {value!r}")


def check_count(value: object, least: int, what: str, most: int = _MOST_COUNT) -> None:
    """Raise unless `value` is a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be a whole number of at least {least}, got {value!r}")
    if value < least:
        raise ValueError(f"{what} must be at least {least}, got {value}")
    if value > most:
        raise ValueError(f"{what} must be at most {most}, got {value}")


def check_amount(value: object, what: str) -> None:
    """Raise unless `value` is a finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be a number of at least 0, got {value!r}")
    if not is_finite(value) or value < 0:
        raise ValueError(f"{what} must be a finite number of at least 0, got {value!r}")


def text_list(values: object, what: str) -> list[str]:
    """Return a copy of `values`, a list or tuple of text."""
    if isinstance(values, (list, tuple)):
        items = list(cast("Sequence[object]", values))
        if all(isinstance(item, str) for item in items):
            return cast("list[str]", items)
    raise TypeError(f"{what} must be a list of text, got {values!r}")


def check_env(env: object, what: str) -> dict[str, str]:
    """Return a copy of `env`, which maps names of environment variables to text. Messages never show a value."""
    if not isinstance(env, Mapping):
        raise TypeError(f"{what} must be a dict of text to text, got a {type(env).__name__}")
    checked: dict[str, str] = {}
    for name, value in cast("Mapping[object, object]", env).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"{what} must map text to text; {name!r} maps to a {type(value).__name__}")
        if not name or "=" in name or "\0" in name or "\0" in value:
            before, equals, _ = name.partition("=")  # what follows may be a secret
            shown = before + "=..." if equals else name
            raise ValueError(
                f"{what} has {shown!r}, which cannot be an environment variable: names are not empty and have no '=', "
                "and neither names nor values have the character NUL"
            )
        checked[name] = value
    return checked
