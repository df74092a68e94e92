"""`Record`: what the dataclasses of options are, for one that each program makes before its first task.

To import `dataclasses`, and with it `inspect`, takes 7 ms, and to make a class with it one or two. A record has the
same methods, and `dataclasses.replace`, `fields` and `asdict` take it for a dataclass.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from fray.job.options import Options

if TYPE_CHECKING:
    from dataclasses import Field

__all__ = ["NOTHING", "Record", "changed"]

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The default of a parameter for a mapping; as a field its default is a new dictionary."""
R = TypeVar("R", bound="Record")


class _Fields:
    """Makes the fields of a record's class when `dataclasses` first asks for them."""

    def __get__(self, record: object, cls: type[Record]) -> dict[str, Field[Any]]:
        from dataclasses import field, make_dataclass

        made: Any = make_dataclass(
            cls.__name__,
            [
                (name, cls.__annotations__[name], field(default_factory=_empty) if default is NOTHING else default)
                for name, default in zip(cls.__match_args__, cls.__init__.__defaults__ or (), strict=True)
            ],
        )
        cls.__dataclass_fields__ = made.__dataclass_fields__
        return cls.__dataclass_fields__


def _empty() -> dict[str, Any]:
    return {}


class Record(Options):
    """A frozen value whose fields are the parameters of its constructor, all of which have defaults."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:
        __dataclass_fields__ = _Fields()

    def __init_subclass__(cls) -> None:
        code = cls.__init__.__code__
        cls.__match_args__ = code.co_varnames[1 : code.co_argcount]

    def _settle(self, *values: Any) -> None:
        """Set the fields, in the order of the constructor's parameters."""
        for name, value in zip(self.__match_args__, values, strict=True):
            object.__setattr__(self, name, value)

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()  # pyright: ignore[reportAttributeAccessIssue]

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__qualname__}({fields})"

    def __replace__(self: R, /, **changes: Any) -> R:
        return type(self)(**{**dict(zip(self.__match_args__, self._values(), strict=True)), **changes})

    def __getstate__(self) -> tuple[Any, ...]:
        return self._values()

    def __setstate__(self, values: tuple[Any, ...]) -> None:
        self._settle(*values)


def changed(record: R, **changes: Any) -> R:
    """Return a record with other values in some of its fields, as `dataclasses.replace` does."""
    return record.__replace__(**changes)
