"""Pickling functions by value without cloudpickle, which takes 8 to 15 ms to import with all that it imports.

Most functions of a main script refer to constants, modules, and other functions. `dumps` pickles these, and says where
there is more: anything that plain pickle does not know; `fray._by_value` then does it. Classes of the main script it
leaves to `fray._classes_by_value`, which needs cloudpickle once for each. What arrives is the same as with cloudpickle:
the functions of one pickle share their globals, which are those that their code reads or assigns, and of the packages
that they name the submodules are imported that the code may mean.
"""

from __future__ import annotations

import builtins
import io
import marshal
import pickle
import sys
from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from fray._functions import MAIN_MODULES, globals_of, is_importable, names_in, pickling_by_value, thing_in_main
from fray._native import client_of_value, plain_pickle
from fray._reductions import REDUCTIONS
from fray._references import is_content, reads_content
from fray.job.interruption import is_from_signal

if TYPE_CHECKING:
    from fray._classes_by_value import Brought
    from fray._function_parts import PartsOfValue
    from fray._native import Client

__all__ = ["dumps", "with_classes"]

_OF_SINGLETONS = (type(None), type(...), type(NotImplemented))
"""Classes without a name to import them by, which plain pickle knows."""
_OF_MODULE = ("__name__", "__package__", "__path__", "__file__")
_OF_FUNCTION = (
    "__name__",
    "__qualname__",
    "__doc__",
    "__module__",
    "__defaults__",
    "__kwdefaults__",
    "__annotations__",
)


def dumps(
    value: object,
    protocol: int = 5,
    buffer_callback: Callable[[Any], object] | None = None,
    shares: bool = False,
    separate: Collection[int] = (),
) -> bytes | None:
    """Return the pickle of a function, or of a value with functions in it; None where cloudpickle is needed.

    Args:
        value: the function or value.
        protocol: of the pickle.
        buffer_callback: as for `pickle.Pickler`.
        shares: whether its functions have changeable objects in common with its classes (`fray._shared_contents`).
        separate: addresses of globals that are nowhere else in the value. The extension pickles these by themselves,
            where it can, several times as fast; such a pickle is among the buffers.
    """
    if _sends_modules_by_value():
        return None
    client = client_of_value(buffer_callback)
    size = _Size(buffer_callback) if client is not None else None
    with io.BytesIO() as file, pickling_by_value():
        try:
            pickler = _Pickler(
                file, protocol, buffer_callback=size or buffer_callback, shares=shares, separate=separate, client=client
            )
            pickler.dump(value)
        except Exception as error:
            if is_from_signal(error.__traceback__):
                raise
            return None
        return file.getvalue() if size is None or pickler.are_parts_apart(size.bytes + file.tell()) else None


class _Size:
    """A `buffer_callback` that counts the bytes that it is given."""

    def __init__(self, take: Callable[[Any], object] | None) -> None:
        self.bytes = 0
        self._take = take

    def __call__(self, buffer: pickle.PickleBuffer) -> object:
        self.bytes += memoryview(buffer).nbytes
        return self._take(buffer) if self._take is not None else None


def with_classes(pickled: bytes, names: list[str], buffers: int, client: Client) -> bytes | None:
    """Return a pickle of the same value that brings the classes of the main script to which `pickled` refers.

    Args:
        pickled: what plain pickle has made of the value.
        names: by which it refers to the main script.
        buffers: the number of its buffers outside.
        client: sends the value, which is just being pickled.

    Returns:
        None where some of these names are no classes, or classes that may change unnoticed.
    """
    things = {name: thing_in_main(name) for name in names}
    if _sends_modules_by_value() or not all(isinstance(thing, type) for thing in things.values()):
        return None
    from fray._classes_by_value import wrapped

    return wrapped(pickled, things, buffers, _dumps_class, client)


class _Pickled:
    """Stands for an object in a pickle, of which it has the pickle."""

    def __init__(self, pickled: bytes) -> None:
        self._pickled = pickled

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[pickle.PickleBuffer]]:
        return pickle.loads, (pickle.PickleBuffer(self._pickled),)


class _NotPlainError(Exception):
    """There is something that only cloudpickle can pickle."""


class _Pickler(pickle.Pickler):
    def __init__(
        self, *args: Any, shares: bool, separate: Collection[int], client: Client | None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._client = client
        self._parts: PartsOfValue | None = None
        self._shares = shares
        self._separate: dict[int, Any] = dict.fromkeys(separate)
        self._globals: dict[int, dict[str, Any]] = {}
        self._brought: Brought | None = None
        self._assigns = False
        self._functions: list[FunctionType] = []

    def reducer_override(self, obj: Any) -> Any:
        """Say how a function or a module travels; all that plain pickle can do is left to it."""
        kind: type[Any] = type(obj)  # pyright: ignore[reportUnknownVariableType]
        if kind is FunctionType:
            return NotImplemented if is_importable(obj) else self._as_part(obj) or self._reduced(obj)
        if kind is ModuleType:
            return import_module, (_checked_name(obj),)
        if issubclass(kind, type):
            is_known = is_importable(obj) or any(obj is one for one in _OF_SINGLETONS)
            return NotImplemented if is_known else self._reduced_class(obj)
        if kind in REDUCTIONS:
            return REDUCTIONS[kind](obj)
        if kind is MethodType and getattr(obj.__self__, obj.__name__, None) == obj:
            return NotImplemented  # plain pickle refers to the object, and to the method by its name
        if getattr(obj, "__module__", None) not in MAIN_MODULES or kind.__module__ in MAIN_MODULES:
            return NotImplemented
        raise _NotPlainError

    def _reduced_class(self, cls: type[Any]) -> Any:
        from fray._classes_by_value import Brought, reduced

        self._brought = self._brought or Brought()
        found = reduced(cls, _dumps_class, self._brought, self._client)
        if found is None:
            raise _NotPlainError
        self._check_globals()
        return found

    def _as_part(self, fn: FunctionType) -> Any:
        """Return how a function comes that is an object of its own; None for others."""
        if self._client is None:
            return None
        if self._parts is None:
            from fray._function_parts import PartsOfValue

            self._parts = PartsOfValue(self._client, dumps)
        return self._parts.reduced(fn)

    def are_parts_apart(self, size: int) -> bool:
        """Return whether functions that are objects share nothing with the rest of a value of `size` bytes."""
        return self._parts is None or self._parts.end_value(self._functions, self._assigns, size, self._addresses)

    def _addresses(self) -> set[int]:
        """Return the addresses of all that the value brings, but for its functions that are objects."""
        return {*self.memo.copy(), *(self._brought.addresses() if self._brought is not None else ())}

    def _check_globals(self) -> None:
        """Refuse what shares globals with the methods of classes, which have globals of their own."""
        if self._brought is not None and (
            self._assigns or (self._brought.having and not self._shares and any(map(reads_content, self._functions)))
        ):
            raise _NotPlainError

    def _reduced(self, fn: FunctionType) -> Any:
        if getattr(fn, "__type_params__", None) or fn.__module__ == "__mp_main__":
            raise _NotPlainError  # the latter may be imported, depending on who has given that name to the main module
        code, inside = fn.__code__, fn.__globals__
        shared = self._globals.setdefault(id(inside), {key: inside[key] for key in _OF_MODULE if key in inside})
        names, assigns = globals_of(code)
        self._assigns = self._assigns or assigns
        self._functions.append(fn)
        self._check_globals()
        found = {name: inside[name] for name in names if name in inside}
        cells = [_content_of(cell) for cell in fn.__closure__ or ()]
        new = FunctionType(code, shared, closure=fn.__closure__)
        attributes = {key: value for key in _OF_FUNCTION if (value := getattr(fn, key)) != getattr(new, key)}
        named = [*found.values(), *(content[0] for content in cells if content)]
        if self._shares:
            from fray._shared_contents import share

            found |= {name: share(value, dumps) for name, value in found.items() if is_content(value)}
        elif self._separate:
            found = {name: self._by_itself(value) for name, value in found.items()}
        state = (attributes, fn.__dict__, found, cells, _submodules(names_in(code), named))
        return _make, (marshal.dumps(code), shared, len(cells)), state, None, None, _settle

    def _by_itself(self, value: Any) -> Any:
        """Return what stands for a global in this pickle, for all functions that have it; for most it is the global."""
        key = id(value)
        if key not in self._separate:
            return value
        if self._separate[key] is None:
            pickled = plain_pickle(value)
            self._separate[key] = value if pickled is None else _Pickled(pickled)
        return self._separate[key]


def _make(code: bytes, inside: dict[str, Any], cells: int) -> FunctionType:
    """Return a function that `_settle` completes: it may refer to itself."""
    inside.setdefault("__builtins__", builtins.__dict__)
    made: CodeType = marshal.loads(code)
    return FunctionType(made, inside, closure=tuple(CellType() for _ in range(cells)) if cells else None)


def _settle(fn: FunctionType, state: tuple[dict[str, Any], dict[str, Any], dict[str, Any], list[Any], Any]) -> None:
    attributes, more, found, cells, _ = state
    for key, value in attributes.items():
        setattr(fn, key, value)
    fn.__dict__.update(more)
    fn.__globals__.update(found)
    for cell, content in zip(fn.__closure__ or (), cells, strict=True):
        if content is not None:
            (cell.cell_contents,) = content


def _dumps_class(value: object) -> bytes:
    from fray._by_value import dumps_classes

    return dumps_classes(value)


def _content_of(cell: CellType) -> tuple[Any] | None:
    """Return what is in a cell, None where it is empty."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return None


def _checked_name(module: ModuleType) -> str:
    """Return the name of a module that others can import."""
    name = module.__name__
    if name in MAIN_MODULES or sys.modules.get(name) is not module or getattr(module, "__spec__", None) is None:
        raise _NotPlainError
    return name


def _submodules(names: Iterable[str], values: Iterable[Any]) -> list[ModuleType]:
    """Return those modules of the packages among `values` of whose names the code has each part."""
    packages = [value.__name__ + "." for value in values if type(value) is ModuleType and hasattr(value, "__path__")]
    if not packages:
        return []
    known = set(names)
    return [
        module
        for name, module in list(sys.modules.items())
        if any(name.startswith(package) and known.issuperset(name[len(package) :].split(".")) for package in packages)
        and type(module) is ModuleType
    ]


def _sends_modules_by_value() -> bool:
    """Return whether the program has told cloudpickle of modules that other processes cannot import."""
    library = sys.modules.get("cloudpickle")
    return bool(getattr(library, "list_registry_pickle_by_value", tuple)())
