"""How values pass between caller and task in this process: as the same objects, or through pickle.

A codec turns a value into a *packed* one, which is opened anew for every reader. `PlainCodec` hands the same object to
everybody. `PickleCodec` makes copies; buffers of arrays arrive read-only, and functions of ``__main__`` and closures
travel by value. Refs and actor handles inside a value are kept apart in a list, so that they stay the same ones.
"""

from __future__ import annotations

import io
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple, cast

from fray._failures import in_process_failure, pack_exception, unpack_exception
from fray._functions import MAIN_MODULES
from fray._unpicklable import serialization_error
from fray.backend.local.results import LocalRef
from fray.job.actors import ActorHandle

__all__ = ["Codec", "PickleCodec", "PlainCodec"]


class Codec(ABC):
    """Packs values, functions and failures."""

    @abstractmethod
    def pack(self, value: Any, what: str) -> Any:
        """Pack a value; `what` names it in a SerializationError."""

    @abstractmethod
    def open(self, packed: Any) -> Any:
        """Return the value."""

    @abstractmethod
    def pack_function(self, fn: Callable[..., Any], what: str) -> Any:
        """Pack a function; `open` returns it."""

    @abstractmethod
    def pack_failure(self, exc: BaseException, task_name: str) -> Any:
        """Pack what a task raised."""

    @abstractmethod
    def open_failure(self, packed: Any) -> Exception:
        """Return the exception to raise in the caller."""


class PlainCodec(Codec):
    """Makes no copies: caller and task see the same objects."""

    def pack(self, value: Any, what: str) -> Any:
        return value

    def open(self, packed: Any) -> Any:
        return packed

    def pack_function(self, fn: Callable[..., Any], what: str) -> Any:
        return fn

    def pack_failure(self, exc: BaseException, task_name: str) -> Any:
        failure = in_process_failure(exc, task_name)
        return failure, failure.__traceback__

    def open_failure(self, packed: Any) -> Exception:
        # Each raise starts from the frames of the task; else every `get` would add its own frames to the traceback.
        failure, frames = packed
        return cast("Exception", failure.with_traceback(frames))


class _Packed(NamedTuple):
    data: bytes
    buffers: list[bytes]
    kept: list[Any]


class PickleCodec(Codec):
    """Every reader gets a copy of its own."""

    def pack(self, value: Any, what: str) -> Any:
        return self._pack(value, what, by_value=False)

    def open(self, packed: _Packed) -> Any:
        unpickler: Any = _Unpickler(io.BytesIO(packed.data), buffers=packed.buffers)
        unpickler.kept = packed.kept
        return unpickler.load()

    def pack_function(self, fn: Callable[..., Any], what: str) -> Any:
        by_value = isinstance(fn, FunctionType) and fn.__module__ in MAIN_MODULES
        return self._pack(fn, what, by_value)

    def pack_failure(self, exc: BaseException, task_name: str) -> Any:
        return pack_exception(exc, task_name)

    def open_failure(self, packed: Any) -> Exception:
        return unpack_exception(packed)

    def _pack(self, value: Any, what: str, by_value: bool) -> _Packed:
        try:
            return _dump(value, by_value)
        except Exception as error:
            raise serialization_error(what, value, error, _can_pickle) from error


class _Unpickler(pickle.Unpickler):
    kept: list[Any]

    def persistent_load(self, pid: int) -> Any:
        return self.kept[pid]


class _Pickler(pickle.Pickler):
    kept: list[Any]

    def persistent_id(self, obj: Any) -> int | None:
        return _place_of(self.kept, obj)


def _place_of(kept: list[Any], obj: Any) -> int | None:
    if type(obj) is not LocalRef and type(obj) is not ActorHandle:
        return None
    kept.append(obj)
    return len(kept) - 1


def _dump(value: Any, by_value: bool) -> _Packed:
    if not by_value:
        try:
            return _dump_with(_Pickler, value)
        except Exception:
            return _dump_with(_cloud_pickler(), value)
    return _dump_with(_cloud_pickler(), value)


def _dump_with(pickler_class: Any, value: Any) -> _Packed:
    stream = io.BytesIO()
    buffers: list[bytes] = []

    def keep(buffer: pickle.PickleBuffer) -> None:
        buffers.append(bytes(buffer.raw()))

    pickler = pickler_class(stream, protocol=5, buffer_callback=keep)
    kept: list[Any] = []
    pickler.kept = kept
    pickler.dump(value)
    return _Packed(stream.getvalue(), buffers, kept)


_cloud_class: Any = None


def _cloud_pickler() -> Any:
    """Return the cloudpickle twin of `_Pickler`; cloudpickle is imported when it is first needed."""
    global _cloud_class
    if _cloud_class is None:
        from fray import _by_value

        base: Any = _by_value.Pickler

        class CloudPickler(base):
            kept: list[Any]

            def persistent_id(self, obj: Any) -> int | None:
                return _place_of(self.kept, obj)

        _cloud_class = CloudPickler
    return _cloud_class


def _can_pickle(value: Any) -> bool:
    try:
        _dump(value, by_value=False)
    except Exception:
        return False
    return True
