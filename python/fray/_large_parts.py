"""Large parts of values, each in an object of its own: the state of a class, or a function.

A value that the program sends has the ref of such an object in place of the part, so that a part of many values is put once.
Who has the part already does not ask for the object; who has not takes the part from shared memory.

Guarded by the GIL: two threads may put a part twice at once, which costs time only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fray import _native
from fray.errors import StoreFullError

if TYPE_CHECKING:
    from fray._native import Client

__all__ = ["LEAST_BYTES", "LargePart", "makes_parts", "part_for"]

LEAST_BYTES = 64 << 10
"""Of what becomes an object: to have a ref in a value and to take it out again costs as much as to copy this."""


class LargePart:
    """Stands for a part in the pickles of values; who unpickles one of them may ask for the part.

    Args:
        ref: of the object.
    """

    __slots__ = ("_ref",)

    def __init__(self, ref: Any) -> None:
        self._ref = ref

    def __reduce__(self) -> tuple[Callable[..., LargePart], tuple[Any]]:
        return LargePart, (self._ref,)

    def is_of(self, client: Client) -> bool:
        """Return whether values that this client sends can have the part."""
        return self._ref._client is client and client.is_open()

    def take(self) -> Any:
        """Return the part, which whoever sent the value holds."""
        return _native.get(self._ref._client, self._ref, None)


def makes_parts() -> bool:
    """Return whether this process may put parts.

    Workers may not: an object is lost with the process that has put it, and what they send goes further.
    """
    from fray.backend.native import seat

    return seat.client_of_worker is None


def part_for(client: Client, known: LargePart | None, part: Any) -> LargePart | None:
    """Return what stands for `part` in values that a client sends; None where these have to bring it themselves.

    Args:
        client: sends the value.
        known: what stood for it in the last value.
        part: what becomes an object.

    Raises:
        SerializationError: the part cannot be pickled.
    """
    if known is not None and known.is_of(client):
        return known
    if not makes_parts():
        return None
    try:
        return LargePart(_native.put(client, part))
    except StoreFullError:
        return None
