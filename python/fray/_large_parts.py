"""Large parts of values, each in an object of its own: the state of a class, or a function.

A value that the program sends has the ref of such an object in place of the part, so that a part of many values is put
once. Who has the part already does not ask for the object; who has not takes the part from shared memory.

Guarded by the GIL: two threads may put a part twice at once, which costs time only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from fray import _native
from fray.backend.native import seat
from fray.errors import StoreFullError

if TYPE_CHECKING:
    from fray._native import Client

__all__ = ["LEAST_BYTES", "LargePart", "PartsOfClient", "makes_parts", "part_for"]

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
        return self._ref._client is client

    def take(self) -> Any:
        """Return the part, which whoever sent the value holds."""
        return _native.get(self._ref._client, self._ref, None)


class PartsOfClient:
    """The parts that one client has put. Its context has this: tables that hold refs would keep a closed client.

    Args:
        client: puts them.
    """

    def __init__(self, client: Client) -> None:
        self.by_owner: WeakKeyDictionary[Any, LargePart] = WeakKeyDictionary()
        _of_clients[id(client)] = self

    def close(self) -> None:
        """Drop them."""
        self.by_owner.clear()


_of_clients: WeakValueDictionary[int, PartsOfClient] = WeakValueDictionary()
"""By the addresses of the clients, which are there as long."""


def makes_parts() -> bool:
    """Return whether this process may put parts.

    Workers may not: an object is lost with the process that has put it, and what they send goes further.
    """
    return seat.client_of_worker is None


def part_for(client: Client, owner: Any, make: Callable[[], Any]) -> LargePart | None:
    """Return what stands for a part in values that a client sends; None where these have to bring it themselves.

    Args:
        client: sends the value.
        owner: has the part: the object lives as long.
        make: returns what becomes an object, or None.

    Raises:
        SerializationError: the part cannot be pickled.
    """
    parts = _of_clients.get(id(client)) if makes_parts() else None
    if parts is None:
        return None
    known = parts.by_owner.get(owner)
    if known is not None:
        return known
    part = make()
    if part is None:
        return None
    try:
        known = parts.by_owner[owner] = LargePart(_native.put(client, part))
    except StoreFullError:
        return None
    return known
