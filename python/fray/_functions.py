"""What there is to know of a function or class before it is sent: its name, and whether others can import it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from typing import TypeGuard

__all__ = [
    "MAIN_MODULES",
    "captured_values",
    "globals_of",
    "is_generator_function",
    "is_importable",
    "is_partial_by_value",
    "is_pickling_by_value",
    "name_of",
    "names_in",
    "pickling_by_value",
    "send_main_by_value",
    "thing_in_main",
    "warn_of_large_function",
]

MAIN_MODULES = ("__main__", "__mp_main__")
"""Names of the main module; the second one in a process that `multiprocessing` has spawned."""

_OF_NAMES = ("LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
"""Operations of the bodies of classes, which find globals too."""
_SMALL = (int, float, complex, bool, type(None), ModuleType, FunctionType, BuiltinFunctionType, type)
_CO_GENERATOR = 0x20
"""A flag of the code of generator functions (`inspect.CO_GENERATOR`)."""


def name_of(fn: Any) -> str:
    """Return the qualified name of a callable, or that of its type."""
    return getattr(fn, "__qualname__", None) or type(fn).__qualname__


def is_importable(fn: Any) -> bool:
    """Return whether a worker finds this very object under its name. Modules without a file may not exist there."""
    module_name = getattr(fn, "__module__", None)
    path = getattr(fn, "__qualname__", None)
    if not module_name or not path or module_name in MAIN_MODULES or "<" in path:
        return False
    module = sys.modules.get(module_name)
    if module is None or getattr(module, "__spec__", None) is None:
        return False
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part, None)
    return found is fn


def is_partial_by_value(fn: Any) -> TypeGuard[partial[Any]]:
    """Return whether `fn` is a partial object of a function that workers cannot import.

    Programs make one for each step, as in ``pool.map(partial(nearest, centers), points)``: its function is best sent by
    itself, once for all of them.
    """
    return type(fn) is partial and type(fn.func) is FunctionType and not is_importable(fn.func)


def thing_in_main(path: str) -> Any:
    """Return what has this qualified name in the main module, None if nothing has."""
    found: Any = sys.modules["__main__"]
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def is_generator_function(fn: Any) -> bool:
    """Return what `inspect.isgeneratorfunction` does, without `inspect`, whose import takes 6 ms."""
    while isinstance(fn, (MethodType, partial)):
        fn = fn.__func__ if isinstance(fn, MethodType) else fn.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return isinstance(fn, FunctionType) and bool(fn.__code__.co_flags & _CO_GENERATOR)


_by_value = threading.local()


@contextmanager
def pickling_by_value() -> Generator[None, None, None]:
    """Mark, while the block runs, that this thread pickles by value what other processes cannot import."""
    before = is_pickling_by_value()
    _by_value.runs = True
    try:
        yield
    finally:
        _by_value.runs = before


def is_pickling_by_value() -> bool:
    """Return whether this thread runs such a block; a ref then says that it has to travel as an argument."""
    return getattr(_by_value, "runs", False)


def send_main_by_value(library: Any) -> None:
    """Tell cloudpickle, or Ray's copy of it, that no other process can import the main script of this one."""
    main = sys.modules.get("__mp_main__")
    if main is not None and main.__name__ == "__mp_main__":  # elsewhere __mp_main__ is another name of __main__
        library.register_pickle_by_value(main)


def captured_values(fn: Any) -> list[tuple[str, Any]]:
    """Return the values that are pickled with a callable that is sent by value, each with its name."""
    if not isinstance(fn, FunctionType):
        return list(getattr(fn, "__dict__", {}).items())
    found = [
        (name, cell.cell_contents) for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False)
    ]
    return found + [(name, fn.__globals__[name]) for name in fn.__code__.co_names if name in fn.__globals__]


def _captured_by_all(fn: Any) -> Generator[tuple[str, Any], None, None]:
    """Give what is pickled with a callable and with the functions that travel with it, each with its name."""
    functions = [fn]
    for one in functions:
        for name, value in captured_values(one):
            yield name, value
            if type(value) is FunctionType and not is_importable(value) and value not in functions:
                functions.append(value)


def warn_of_large_function(fn: Any, size: int, take_buffer: Callable[[Any], bool] | None = None) -> None:
    """Warn of a function that takes `size` bytes, at the line of the program that has sent it.

    Args:
        fn: the function.
        size: of its pickle.
        take_buffer: the `buffer_callback` of a pickle that had not all arrays in it.
    """
    import warnings

    level = 2
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "fray":
        frame, level = frame.f_back, level + 1
    warnings.warn(_large_function_message(fn, size, take_buffer), stacklevel=level)


def _large_function_message(fn: Any, size: int, take_buffer: Callable[[Any], bool] | None) -> str:
    """Return the text of the warning, with the value that makes the function large."""
    from fray._units import bytes_text

    largest = _largest_part(fn, size, take_buffer)
    cause = f", the largest part of which is {largest!r}" if largest else ""
    return (
        f"function {name_of(fn)!r} has {bytes_text(size)} when pickled{cause}: each worker gets a copy, and another "
        "after each change. Put the value with ctx.put() and pass the ref as an argument instead"
    )


def _largest_part(fn: Any, size: int, take_buffer: Callable[[Any], bool] | None) -> str | None:
    """Return the name of the largest value that is pickled with a function of `size` bytes."""
    values = {name: value for name, value in _captured_by_all(fn) if not isinstance(value, _SMALL)}
    if len(values) <= 1:
        return next(iter(values), None)
    # That of a list or an object is without what is in it.
    memory = {name: sys.getsizeof(value, 0) for name, value in values.items()}
    largest = max(memory, key=lambda name: memory[name])
    if take_buffer is None and memory[largest] > size / 2:
        return largest
    import pickle

    sizes: dict[str, int] = {}
    for name, value in values.items():
        try:
            sizes[name] = len(pickle.dumps(value, protocol=5, buffer_callback=take_buffer))
        except Exception:
            continue
    return max(sizes, key=lambda name: sizes[name], default=None)


def names_in(code: CodeType) -> tuple[str, ...]:
    """Return the names of the globals and attributes that the code, and the code inside of it, uses."""
    names = code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names += names_in(constant)
    return names


class GlobalUse(NamedTuple):
    """The globals that some code, and the code inside of it, uses.

    Attributes:
        names: of those that it reads or assigns, each once.
        are_assigned: whether it assigns or deletes any.
    """

    names: tuple[str, ...]
    are_assigned: bool


def globals_of(code: CodeType) -> GlobalUse:
    """Return which globals the code, and the code inside of it, uses; names of attributes are none."""
    names: dict[str, None] = {}
    are_assigned = False
    to_do = [code]
    for one in to_do:
        to_do += [constant for constant in one.co_consts if isinstance(constant, CodeType)]
        if one.co_names:
            are_assigned = _note_globals(one, names) or are_assigned
    return GlobalUse(tuple(names), are_assigned)


def _note_globals(code: CodeType, names: dict[str, None]) -> bool:
    """Note the globals that the code itself uses; return whether it assigns any."""
    from opcode import EXTENDED_ARG, opmap

    reads, direct = opmap["LOAD_GLOBAL"], {opmap[name] for name in _OF_NAMES if name in opmap}
    stores = {opmap["STORE_GLOBAL"], opmap["DELETE_GLOBAL"]}
    are_assigned = False
    extended = 0
    steps = iter(code.co_code)
    for step, operand in zip(steps, steps, strict=True):
        number = extended | operand
        extended = number << 8 if step == EXTENDED_ARG else 0
        if step == reads:
            names[code.co_names[number >> 1]] = None  # the lowest bit is about the stack
        elif step in direct or step in stores:
            names[code.co_names[number]] = None
            are_assigned = are_assigned or step in stores
    return are_assigned
