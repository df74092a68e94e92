"""A queue in a folder, for processes that share a file system.

Each item is a file, pickled. Its name, which begins with the time of its push, keeps its place; the folder it lies in
says where it is::

    new/          being written
    pending/      <time of push>_<random>.pkl                                 waits
    processing/   <time of push>_<random>.pkl__expiry_<time>_<random>         leased; the name is the lease's id

Every step is one rename, which either happens or does not, so processes need no lock, and one that is killed leaves no
half-written item behind. Between machines their clocks must agree.
"""

from __future__ import annotations

import os
import pickle
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from fray.errors import UnsupportedError
from fray.queue.base import Lease, check_lease_timeout, invalid_lease

__all__ = ["FileQueue"]

Item = TypeVar("Item")

_EXPIRY = "__expiry_"


class FileQueue(Generic[Item]):
    """A `Queue` in a folder. It can be pickled: the copy works on the same items.

    Reading an item unpickles it, so only those may write to the folder whose code the readers would run.

    Args:
        path: folder on a mounted file system; made if it does not exist.
        clock: nanoseconds since 1970, by which items are ordered and leases run out.
    """

    def __init__(self, path: str | os.PathLike[str], clock: Callable[[], int] = time.time_ns) -> None:
        place = os.fspath(path)
        if "://" in place:
            raise UnsupportedError(
                f"FileQueue needs a folder on a mounted file system, where renaming is one step; got {place!r}"
            )
        self._clock = clock
        root = Path(place).absolute()
        self._new, self._waiting, self._leased = root / "new", root / "pending", root / "processing"
        for folder in (self._new, self._waiting, self._leased):
            folder.mkdir(parents=True, exist_ok=True)

    def push(self, item: Item) -> None:
        """Add an item at the end."""
        name = f"{self._clock():020d}_{uuid.uuid4().hex}.pkl"
        written = self._new / name
        try:
            written.write_bytes(pickle.dumps(item, protocol=5))
            written.rename(self._waiting / name)
        except BaseException:
            written.unlink(missing_ok=True)
            raise

    def peek(self) -> Item | None:
        """Return the item that `pop` would lease, None if no item waits."""
        self._take_back()
        for name in sorted(os.listdir(self._waiting)):
            try:
                return self._read(self._waiting / name)
            except FileNotFoundError:
                continue  # somebody else has leased it
        return None

    def pop(self, lease_timeout: float = 60.0) -> Lease[Item] | None:
        """Lease the oldest waiting item for `lease_timeout` seconds; None if no item waits.

        Where the item cannot be unpickled, that error is raised, and the item stays leased until the time is over.
        """
        seconds = check_lease_timeout(lease_timeout)
        self._take_back()
        for name in sorted(os.listdir(self._waiting)):
            now = self._clock()
            lease_id = f"{name}{_EXPIRY}{now + int(seconds * 1e9):020d}_{uuid.uuid4().hex[:12]}"
            if not _moved(self._waiting / name, self._leased / lease_id):
                continue  # somebody else was faster
            try:
                return Lease(self._read(self._leased / lease_id), lease_id, now / 1e9)
            except FileNotFoundError:
                continue  # the lease was so short that it has been taken back
        return None

    def done(self, lease: Lease[Item]) -> None:
        """Take the item of a lease out of the queue for good; ValueError if the lease is not valid any more."""
        try:
            self._file_of(lease).unlink()
        except FileNotFoundError:
            raise invalid_lease(lease.lease_id) from None

    def release(self, lease: Lease[Item]) -> None:
        """Let the item of a lease wait again; ValueError if the lease is not valid any more."""
        file = self._file_of(lease)
        if not _moved(file, self._waiting / file.name.partition(_EXPIRY)[0]):
            raise invalid_lease(lease.lease_id)

    def size(self) -> int:
        """Return the number of items that wait."""
        self._take_back()
        return len(os.listdir(self._waiting))

    def pending(self) -> int:
        """Return the number of items that are leased."""
        self._take_back()
        return len(os.listdir(self._leased))

    def _file_of(self, lease: Lease[Item]) -> Path:
        if _EXPIRY not in lease.lease_id or "/" in lease.lease_id:
            raise invalid_lease(lease.lease_id)
        return self._leased / lease.lease_id

    def _take_back(self) -> None:
        now = self._clock()
        for lease_id in os.listdir(self._leased):
            name, _, expiry = lease_id.partition(_EXPIRY)
            expiry = expiry.partition("_")[0]
            if expiry.isdecimal() and int(expiry) <= now:
                _moved(self._leased / lease_id, self._waiting / name)

    def _read(self, file: Path) -> Any:
        return pickle.loads(file.read_bytes())


def _moved(source: Path, target: Path) -> bool:
    """Rename a file, and return whether it was there; of several processes that try, one does it."""
    try:
        source.rename(target)
    except FileNotFoundError:
        return False
    return True
