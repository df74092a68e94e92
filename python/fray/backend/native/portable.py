"""The Python part of portable values, which other languages can read: arrays, handles, refusals of other types."""

from __future__ import annotations

from typing import Any, NoReturn

from fray._extras import needs
from fray.errors import SerializationError
from fray.job.actors import ActorHandle

__all__ = ["array_parts", "handle_parts", "make_array", "refuse"]

_SHARED = "None, bool, int, float, str, bytes, list, dict, arrays, refs and handles of actors"
_KINDS = "biufc"  # bool, integers, unsigned integers, floats, complex numbers


def refuse(what: str, value: object, why: str) -> NoReturn:
    """Raise the error for a value that only Python can read; it names the type."""
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    reason = f": {why}" if why else ""
    raise SerializationError(
        f"{what}: a value of type {name} cannot go to C++{reason}; C++ and Python share {_SHARED}. Convert it first"
    )


def array_parts(what: str, array: Any) -> tuple[str, tuple[int, ...], Any]:
    """Return (dtype, shape, the array in C order).

    Raises:
        SerializationError: its elements are of a type that other languages lack.
    """
    import numpy

    dtype = array.dtype
    if dtype.kind not in _KINDS or dtype.str.startswith(">") or dtype.itemsize > 16:
        refuse(what, array, f"its elements are of dtype {dtype.name!r} ({dtype.str})")
    return dtype.str, array.shape, numpy.ascontiguousarray(array)


def make_array(memory: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    """Return the array whose elements are in `memory`, without a copy; read-only, as every value that `get` returns."""
    with needs("numpy", "numpy", "an array from C++"):
        import numpy

    return numpy.frombuffer(memory, dtype=numpy.dtype(dtype)).reshape(shape)


def handle_parts(what: str, value: object) -> tuple[Any, bytes]:
    """Return (ref, description) of an actor's handle.

    Raises:
        SerializationError: `value` is not a handle, nor any other value that other languages read.
    """
    from fray.backend.native.actors import NativeActorLink

    link = value._fray_link if isinstance(value, ActorHandle) else None  # pyright: ignore[reportPrivateUsage]
    if not isinstance(link, NativeActorLink):
        refuse(what, value, "")
    return link.ref, link.description.pack_portable()
