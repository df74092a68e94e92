"""A queue in a folder, for processes that share a file system.

Each item is a pickled file. Its name begins with the time of its push, which gives the order; its folder is its state::

    new/          being written
    pending/      <time of push>_<random>.pkl                                 waits
    processing/   <time of push>_<random>.pkl__expiry_<time>_<random>         leased; the name is the lease's id

Every step is one rename, which is atomic, so processes need no lock, and a process that is killed leaves no
half-written item behind. Machines that share a queue must have clocks that agree.

At a URL that fsspec knows, such as ``gs://bucket/queue``, a rename is a copy and a removal. There, too, a pushed item
is never lost, is delivered at least once, and is seen whole or not at all if the store writes atomically, as object
stores do. But two processes that pop at the same moment may both get the item, each with a lease of its own, and `done`
may succeed for both. A process that is killed inside a rename leaves the item both waiting and leased, so that it is
delivered again. Work on items of such a queue must be safe to do twice.
"""

from __future__ import annotations

import os
import pickle
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from fray.queue.base import Lease, QueueOfOne, invalid_lease
from fray.queue.folder import open_folder

__all__ = ["FileQueue"]

Item = TypeVar("Item")

_WAITING, _LEASED = "pending", "processing"
_EXPIRY = "__expiry_"


class FileQueue(QueueOfOne[Item]):
    """A `Queue` in a folder. It can be pickled: the copy works on the same items.

    Where the item that `pop` leases cannot be unpickled, that error is raised, and the item stays leased until the time
    is over. A `pop` that waits looks again and again, at first after 10 ms, later twice a second.

    Reading an item unpickles it, which can run code: let only trusted programs write to the folder.

    Args:
        path: folder on a mounted file system, or URL of a store that fsspec knows; made if it does not exist.
        fs_args: of the store, as fsspec takes them.
        clock: returns nanoseconds since 1970, by which items are ordered and leases expire.

    Raises:
        UnsupportedError: a URL, and fsspec, or what it needs for that store, is not installed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        fs_args: Mapping[str, Any] | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._clock = clock
        self._folder = open_folder(path, (_WAITING, _LEASED), fs_args)

    def push(self, item: Item) -> None:
        """Add an item at the end."""
        name = f"{self._clock():020d}_{uuid.uuid4().hex}.pkl"
        self._folder.write(f"{_WAITING}/{name}", pickle.dumps(item, protocol=5))

    def peek(self) -> Item | None:
        """Return the item that `pop` would lease, None if no item waits."""
        self._take_back()
        for name in self._folder.names(_WAITING):
            try:
                return self._read(f"{_WAITING}/{name}")
            except FileNotFoundError:
                continue  # another process has leased the item
        return None

    def _lease(self, seconds: float) -> Lease[Item] | None:
        self._take_back()
        for name in self._folder.names(_WAITING):
            now = self._clock()
            lease_id = f"{name}{_EXPIRY}{now + int(seconds * 1e9):020d}_{uuid.uuid4().hex[:12]}"
            if not self._folder.move(f"{_WAITING}/{name}", f"{_LEASED}/{lease_id}"):
                continue  # another process has leased the item
            try:
                return Lease(self._read(f"{_LEASED}/{lease_id}"), lease_id, now / 1e9)
            except FileNotFoundError:
                continue  # the lease was so short that it has expired already
        return None

    def done(self, lease: Lease[Item]) -> None:
        """Take the item of a lease out of the queue for good; ValueError if the lease is not valid any more."""
        if not self._folder.remove(self._file_of(lease)):
            raise invalid_lease(lease.lease_id)

    def release(self, lease: Lease[Item]) -> None:
        """Let the item of a lease wait again; ValueError if the lease is not valid any more."""
        name = lease.lease_id.partition(_EXPIRY)[0]
        if not self._folder.move(self._file_of(lease), f"{_WAITING}/{name}"):
            raise invalid_lease(lease.lease_id)

    def size(self) -> int:
        """Return the number of items that wait."""
        self._take_back()
        return len(self._folder.names(_WAITING))

    def pending(self) -> int:
        """Return the number of items that are leased."""
        self._take_back()
        return len(self._folder.names(_LEASED))

    def _file_of(self, lease: Lease[Item]) -> str:
        if _EXPIRY not in lease.lease_id or "/" in lease.lease_id:
            raise invalid_lease(lease.lease_id)
        return f"{_LEASED}/{lease.lease_id}"

    def _take_back(self) -> None:
        now = self._clock()
        for lease_id in self._folder.names(_LEASED):
            name, _, expiry = lease_id.partition(_EXPIRY)
            expiry = expiry.partition("_")[0]
            if expiry.isdecimal() and int(expiry) <= now:
                self._folder.move(f"{_LEASED}/{lease_id}", f"{_WAITING}/{name}")

    def _read(self, name: str) -> Any:
        return pickle.loads(self._folder.read(name))
