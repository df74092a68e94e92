"""Arrays of `ctx.empty`: memory in the store that the user fills, until it is put and becomes an object."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, cast

from fray import _native

if TYPE_CHECKING:
    import numpy

__all__ = ["became_object", "make_array"]

_HELD = (
    "an array of ctx.empty() was put while another array shows its memory: what is written through that one from now "
    "on stays in this process and does not reach the object; drop such views before put, or do not write to them"
)


def make_array(client: _native.Client, sizes: tuple[int, ...], kind: numpy.dtype[Any], nbytes: int) -> Any:
    """Return an array in the store; views of it refer to the array over the whole room, not to the one returned."""
    import numpy

    return numpy.frombuffer(_native.empty(client, nbytes), dtype=kind).reshape(sizes)


def became_object(array: Any) -> None:
    """Make an array of `make_array`, or a view of all of it, read-only: its memory has become an object.

    Every other reference to that memory reads and writes a private copy from now on (see `SegmentPool.take_private`),
    so that nothing changes the object. A warning names this where other arrays still refer to the memory.
    """
    import numpy

    if not isinstance(array, numpy.ndarray):
        return
    array.flags.writeable = False
    others = False
    while isinstance(array.base, numpy.ndarray):  # pyright: ignore[reportUnknownMemberType]
        others = _references(array) > _references(numpy.empty(1).reshape(1))
        array = cast("Any", array.base)  # pyright: ignore[reportUnknownMemberType]
        array.flags.writeable = False
    if others:
        warnings.warn(_HELD, stacklevel=3)


def _references(view: Any) -> int:
    """Return the number of references to the array that `view` is a view of."""
    return sys.getrefcount(view.base)
