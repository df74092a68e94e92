"""Pickles a value apart from the large arrays in it, at whatever depth, so that each of them can travel by itself::

packed = pack(value, number_of)      # number_of(array) says which of the values it will be
unpack(packed, values)               # elsewhere
"""

from __future__ import annotations

import copyreg
import io
import pickle
import sys
import threading
from collections import ChainMap
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fray import _native
from fray._functions import pickling_by_value

__all__ = ["LARGE_BYTES", "pack", "unpack"]

LARGE_BYTES = 1 << 20
"""Of an array that travels by itself."""

_here = threading.local()
_cloud_class: Any = None


class _TooLargeError(Exception):
    """A buffer that is no array is large, and would be copied more often than in the usual way."""


def pack(value: object, number_of: Callable[[Any], int]) -> bytes | None:
    """Return the pickle of `value`, with the numbers of its large arrays in their places.

    None: the value is to be pickled in the usual way, because this one cannot, or has nothing to offer.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    found: set[int] = set()

    def reduce_array(array: Any) -> Any:
        if array.nbytes < LARGE_BYTES or array.dtype.hasobject:
            return array.__reduce_ex__(5)
        number = number_of(array)
        found.add(number)
        return _value_at, (number,)

    packed = _dump(value, {numpy.ndarray: reduce_array})
    return packed if packed is not None and (found or len(packed) < LARGE_BYTES) else None


def unpack(packed: bytes, values: Sequence[Any]) -> Any:
    """Return the value, with `values` in the places of its large arrays."""
    before = getattr(_here, "values", ())
    _here.values = values
    try:
        return pickle.loads(packed)
    finally:
        _here.values = before


def _value_at(number: int) -> Any:
    return _here.values[number]


def _dump(value: object, reducers: dict[type[Any], Callable[[Any], Any]]) -> bytes | None:
    """Return the pickle, by value where it would refer to the main script; None where neither way can pickle it."""
    from fray.job.interruption import is_from_signal

    for dump in (_dump_by_name, _dump_by_value):
        try:
            packed = dump(value, reducers)
        except Exception as error:
            if is_from_signal(error.__traceback__):
                raise
            continue
        if dump is _dump_by_value or not _native.refers_to_main(packed):
            return packed
    return None


def _dump_by_name(value: object, reducers: dict[type[Any], Callable[[Any], Any]]) -> bytes:
    # Within `pickling_by_value` refs refuse, and the whole value is pickled in the usual way, which counts them.
    with io.BytesIO() as file, pickling_by_value():
        pickler = pickle.Pickler(file, 5, buffer_callback=_keep)
        pickler.dispatch_table = {**copyreg.dispatch_table, **reducers}
        pickler.dump(value)
        return file.getvalue()


def _dump_by_value(value: object, reducers: dict[type[Any], Callable[[Any], Any]]) -> bytes:
    from fray._by_value import dumps

    return dumps(value, buffer_callback=_keep, pickler=partial(_cloud_pickler(), reducers))


def _keep(buffer: pickle.PickleBuffer) -> bool:
    """Keep a buffer in the pickle."""
    if buffer.raw().nbytes >= LARGE_BYTES:
        raise _TooLargeError
    return True


def _cloud_pickler() -> Any:
    """Return a pickler by value that takes reducers; cloudpickle is imported when it is first needed."""
    global _cloud_class
    if _cloud_class is None:
        from fray import _by_value

        base: Any = _by_value.Pickler

        class CloudPickler(base):
            def __init__(self, reducers: dict[type[Any], Callable[[Any], Any]], file: Any, **options: Any) -> None:
                self._table = ChainMap(reducers, base.dispatch_table)
                base.__init__(self, file, **options)

            @property
            def dispatch_table(self) -> Any:
                return self._table

        _cloud_class = CloudPickler
    return _cloud_class
