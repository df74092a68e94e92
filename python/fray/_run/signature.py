"""A command line from a function's signature: an `argparse` parser with one option for each parameter.

Parameters become ``--name VALUE``; ``bool`` ones ``--name`` and ``--no-name``; lists take several values;
positional-only ones and ``*rest`` have no name. A parameter of a type that no text can give is left out when it has a
default.
"""

from __future__ import annotations

import argparse
import inspect
import json
import types
import typing
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple

__all__ = ["BoundCall", "SignatureError", "bind", "make_parser"]

_SCALARS: dict[type[Any], Callable[[str], Any]] = {int: int, float: float, str: str, Path: Path, PurePath: PurePath}
_SEQUENCES: dict[type[Any], type[Any]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    typing.cast("type[Any]", Sequence): list,
}
_NO_DEFAULT = inspect.Parameter.empty


class SignatureError(TypeError):
    """A function that cannot be called from a command line, and why."""


class BoundCall(NamedTuple):
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _Reading(NamedTuple):
    """How the value of one parameter is read from words."""

    convert: Callable[[str], Any]
    metavar: str
    several: type[Any] | None = None  # the kind of collection that several words become
    flag: bool = False


def make_parser(function: Callable[..., Any], program: str) -> argparse.ArgumentParser:
    """Return the parser for `function`'s arguments; its help is the docstring.

    Raises:
        SignatureError: a parameter without a default has a type that no text can give.
    """
    parser = argparse.ArgumentParser(
        prog=program,
        description=inspect.getdoc(function),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        exit_on_error=True,
    )
    for parameter, annotation in _parameters(function):
        _add(parser, parameter, annotation, program)
    return parser


def bind(function: Callable[..., Any], values: dict[str, Any]) -> BoundCall:
    """Return the call that the parsed `values` make; parameters that were not given are left to their defaults."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    parameters = _parameters(function)
    # What stands before *rest can be given by keyword only where there is no rest.
    has_rest = any(each.kind is each.VAR_POSITIONAL and values.get(each.name) for each, _ in parameters)
    by_place = {inspect.Parameter.POSITIONAL_ONLY, *([inspect.Parameter.POSITIONAL_OR_KEYWORD] if has_rest else [])}
    for parameter, _ in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            args.extend(values.get(parameter.name, ()))
        elif parameter.kind in by_place:
            if parameter.name in values:
                args.append(values[parameter.name])
            elif parameter.default is not _NO_DEFAULT:
                args.append(parameter.default)
        elif parameter.name in values:
            kwargs[parameter.name] = values[parameter.name]
    return BoundCall(tuple(args), kwargs)


def _parameters(function: Callable[..., Any]) -> list[tuple[inspect.Parameter, Any]]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise SignatureError(f"its signature is not known: {error}") from None
    try:
        hints = typing.get_type_hints(function if not isinstance(function, type) else function.__init__)
    except Exception:  # an annotation names something that is imported for type checkers only
        hints = {}
    return [
        (parameter, hints.get(parameter.name, parameter.annotation))
        for parameter in signature.parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]


def _add(parser: argparse.ArgumentParser, parameter: inspect.Parameter, annotation: Any, program: str) -> None:
    reading = _reading(annotation, parameter.default)
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        item = reading or _Reading(str, "VALUE")
        parser.add_argument(parameter.name, nargs="*", type=item.convert, metavar=parameter.name.upper())
        return
    if reading is None:
        if parameter.default is _NO_DEFAULT:
            raise SignatureError(
                f"parameter {parameter.name!r} has type {_type_text(annotation)}, which a command line cannot give; "
                "possible are int, float, bool, str, Path, Literal, Enum, a list of these, and each with None; "
                "or give it a default"
            )
        return
    options: dict[str, Any] = {
        "dest": parameter.name,
        "required": parameter.default is _NO_DEFAULT,
        "default": argparse.SUPPRESS,
        "help": _help(annotation, parameter),
    }
    if reading.flag:
        options["action"] = argparse.BooleanOptionalAction
    else:
        options.update(type=reading.convert, metavar=reading.metavar)
        if reading.several is not None:
            options.update(nargs="*", action=_Collect, kind=reading.several)
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY and not reading.flag:
        del options["dest"], options["required"]
        optional = parameter.default is not _NO_DEFAULT
        if optional and reading.several is None:
            options["nargs"] = "?"
        parser.add_argument(parameter.name, **options)
        return
    names = ["-" + parameter.name] if len(parameter.name) == 1 else []
    names.append("--" + parameter.name.replace("_", "-"))
    if "_" in parameter.name and not reading.flag:
        names.append("--" + parameter.name)
    try:
        parser.add_argument(*names, **options)
    except argparse.ArgumentError:  # -h and --help are taken
        raise SignatureError(f"parameter {parameter.name!r} would hide the help of {program}; rename it") from None


class _Collect(argparse.Action):
    """Gathers ``--x 1 2 --x 3`` into one collection of the annotated kind."""

    def __init__(self, *args: Any, kind: type[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        setattr(namespace, self.dest, self.kind([*getattr(namespace, self.dest, ()), *values]))


def _reading(annotation: Any, default: Any) -> _Reading | None:
    """Return how to read a value of this type, or None where no text can give it."""
    if annotation is inspect.Parameter.empty or annotation is Any or annotation is object:
        known = default is not _NO_DEFAULT and default is not None
        return _reading(type(default), _NO_DEFAULT) if known else _Reading(str, "TEXT")
    if typing.get_origin(annotation) is typing.Annotated:
        return _reading(typing.get_args(annotation)[0], default)
    if annotation is bool:
        return _Reading(bool, "", flag=True)
    if annotation in _SCALARS:
        return _Reading(_SCALARS[annotation], "TEXT" if annotation is str else annotation.__name__.upper())
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _choice({member.name: member for member in annotation} | {str(m.value): m for m in annotation})
    return _generic_reading(annotation)


def _generic_reading(annotation: Any) -> _Reading | None:
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return _choice({str(value): value for value in inner})
    if origin in (typing.Union, types.UnionType):
        return _union([_reading(member, _NO_DEFAULT) for member in inner if member is not type(None)])
    if annotation is dict or origin is dict:
        return _Reading(_json_object, "JSON")
    kind = _SEQUENCES.get(origin or annotation)
    if kind is None:
        return None
    members = [member for member in inner if member is not Ellipsis]
    if len(set(members)) > 1:
        return None
    item = _reading(members[0], _NO_DEFAULT) if members else _Reading(str, "TEXT")
    if item is None or item.several is not None:
        return None
    return item._replace(convert=_truth if item.flag else item.convert, several=kind, flag=False)


def _union(readings: list[_Reading | None]) -> _Reading | None:
    if not readings or any(reading is None for reading in readings):
        return None
    known = typing.cast("list[_Reading]", readings)
    if len(known) == 1:
        return known[0]
    if any(reading.several for reading in known):
        return None
    # Types that refuse some texts are tried first: str accepts every text, so it comes last.
    known.sort(key=lambda reading: reading.metavar == "TEXT")

    def convert(text: str) -> Any:
        for reading in known:
            try:
                return _truth(text) if reading.flag else reading.convert(text)
            except (ValueError, argparse.ArgumentTypeError):
                continue
        raise argparse.ArgumentTypeError(f"{text!r} is none of {metavar}")

    metavar = "|".join("true|false" if reading.flag else reading.metavar for reading in known)
    return _Reading(convert, metavar)


def _choice(choices: dict[str, Any]) -> _Reading:
    shown = list({id(value): name for name, value in reversed(choices.items())}.values())[::-1]

    def convert(text: str) -> Any:
        if text not in choices:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(shown)}")
        return choices[text]

    return _Reading(convert, "{" + ",".join(shown) + "}")


def _truth(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return words[text.lower()]


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON object")
    return typing.cast("dict[str, Any]", value)


def _help(annotation: Any, parameter: inspect.Parameter) -> str:
    kind = "" if annotation is inspect.Parameter.empty else _type_text(annotation)
    if parameter.default is _NO_DEFAULT:
        text = f"{kind}, required" if kind else "required"
    else:
        text = f"{kind}, default {parameter.default!r}" if kind else f"default {parameter.default!r}"
    return text.replace("%", "%%")


def _type_text(annotation: Any) -> str:
    is_plain = isinstance(annotation, type) and typing.get_origin(annotation) is None
    return annotation.__name__ if is_plain else str(annotation).replace("typing.", "")
