"""How values travel between machines: as pickles of protocol 5, with large buffers beside the pickle."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from fray import _by_value
from fray._ref_outside import RefOutsideError
from fray.backend.iris.actors import reduce_leaving
from fray.errors import FrayError, SerializationError
from fray.job.actors import ActorHandle
from fray.job.engine import Engine

__all__ = ["memory_in", "pack", "unpack"]

_LEAST_BUFFER_BYTES = 4 << 10
_MOST_BUFFERS = 1000


class _Pickler(_by_value.Pickler):
    """Pickles actor handles in the form in which they leave this machine."""

    def reducer_override(self, obj: Any) -> Any:
        return reduce_leaving(obj) if type(obj) is ActorHandle else super().reducer_override(obj)


def pack(value: object) -> tuple[bytes, Sequence[Any]]:
    """Return the pickle of a value and its buffers, which are views of the value's memory.

    Raises:
        SerializationError: the value cannot be pickled, or holds refs, which are valid on this machine only.
    """
    buffers: list[Any] = []

    def take(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < _LEAST_BUFFER_BYTES or len(buffers) >= _MOST_BUFFERS:
            return True
        buffers.append(raw)
        return False

    try:
        body = pickle.dumps(value, protocol=5, buffer_callback=take)
        if b"_main__" not in body:
            return body, buffers
    except Exception:
        pass
    buffers.clear()
    try:
        return _by_value.dumps(value, 5, take, _Pickler), buffers
    except RefOutsideError:
        raise SerializationError(
            "a ref, or the handle of an actor without a name, cannot leave the machine where it was made; "
            "get its value, and pass or return that"
        ) from None
    except Exception as error:
        raise SerializationError(f"it cannot be pickled: {type(error).__name__}: {error}") from error


def memory_in(engine: Engine) -> Callable[[int], Any]:
    """Return a function that allocates a large buffer: in the store, where that has room and numpy is installed."""

    def make(size: int) -> Any:
        try:
            return engine.empty(size, "uint8")
        except (ImportError, FrayError):
            return bytearray(size)

    return make


def unpack(body: Any, buffers: Sequence[Any]) -> Any:
    """Return the value of which these are the pickle and the buffers."""
    return pickle.loads(body, buffers=buffers)
