"""A queue in a node, for processes on any machine that reaches it over HTTP.

The node keeps items and leases in a database, and answers when they are on its disk: acknowledged changes survive a
crash of the node. A request that is repeated because its answer was lost is carried out once.
"""

from __future__ import annotations

import os
import pickle
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from fray._units import bytes_text
from fray.queue.base import Lease, check_most, check_seconds, invalid_lease
from fray.queue.link import Link, check_url

__all__ = ["HttpQueue"]

Item = TypeVar("Item")

# As src/queue/queue_values.h has them, so that a batch is cut before it is sent.
_MOST_AT_ONCE = 1000
_MOST_ITEM_BYTES = 4 << 20
_LONGEST_LEASE = 100 * 365 * 86_400.0  # seconds
_LONGEST_WAIT = 20.0  # seconds of one request, so that a node that has ended is noticed
_LONGEST_PATIENCE = 240.0  # seconds: the node remembers a request for ten minutes
_REST = 0.25  # seconds until the next request, where the node has too many waiting ones
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class HttpQueue(Generic[Item]):
    """A `Queue` in a node that `fray start` or `HttpQueueServer` has started. It can be pickled: the copy works on the
    same items. It may be used by any number of threads.

    Reading an item unpickles it, which can run code: give the node's token to trusted programs only.

    Args:
        url: of the node, such as ``http://127.0.0.1:40113``, or "auto" for the started node of this home, also after it
            was restarted with another port.
        name: of the queue: letters, digits, ``.``, ``_`` and ``-``.
        token_file: the file with the node's token; it is read at the first use of the queue, and again after a restart
            of the node. None where `url` is that of the started node of this home.
        create: make the queue, where the node has none of that name.
        patience: seconds for which a request is sent again while the node is away, up to 240.

    Raises:
        ValueError: `url` is not an address, `name` is not a valid name, or `patience` is too long.
    """

    def __init__(
        self,
        url: str,
        name: str,
        token_file: str | os.PathLike[str] | None = None,
        *,
        create: bool = False,
        patience: float = 60.0,
    ) -> None:
        self._arguments = (
            check_url(url),
            _check_name(name),
            None if token_file is None else os.path.abspath(os.path.expanduser(os.fsdecode(token_file))),
            _check_patience(patience),
        )
        url, _, token, patience = self._arguments
        self._link = Link(url, token, patience)
        self._path = f"/api/v1/queues/{name}"
        if create:
            self._link.ask("PUT", self._path)

    @property
    def url(self) -> str:
        """Where the node is."""
        return self._arguments[0]

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._arguments[1]

    def push(self, item: Item) -> None:
        """Add an item at the end."""
        self.push_many((item,))

    def push_many(self, items: Iterable[Item]) -> None:
        """Add items at the end, in their order.

        Up to 1000 items and 4 MiB go with one request, which adds all of them or none. All are pickled before the first
        leaves.

        Raises:
            ValueError: an item is larger than 4 MiB pickled.
        """
        for batch in _batches([_pickled(item) for item in items]):
            self._post("push", {"items": [b64encode(data).decode() for data in batch]})

    def peek(self) -> Item | None:
        """Return the item that `pop` would lease, None if no item waits."""
        items: list[str] = self._link.ask("GET", f"{self._path}/peek")["items"]
        return pickle.loads(b64decode(items[0])) if items else None

    def pop(self, lease_timeout: float = 60.0, wait: float = 0.0) -> Lease[Item] | None:
        """Lease the oldest waiting item for `lease_timeout` seconds.

        Where the item cannot be unpickled, that error is raised, and the item stays leased until the time is over.

        Args:
            lease_timeout: seconds after which the item waits again, unless it is done or released before.
            wait: seconds to wait for an item where none waits; None is returned when they are over.
        """
        leases = self.pop_many(1, lease_timeout, wait)
        return leases[0] if leases else None

    def pop_many(self, most: int, lease_timeout: float = 60.0, wait: float = 0.0) -> list[Lease[Item]]:
        """Lease the oldest waiting items: up to `most`, as many as wait; `wait` is for the first of them.

        At most 1000 items, and 4 MiB, come at once. Where an item cannot be unpickled, that error is raised, it stays
        leased until the time is over, and the others wait again.
        """
        most = min(check_most(most), _MOST_AT_ONCE)
        seconds = min(check_seconds("lease_timeout", lease_timeout), _LONGEST_LEASE)
        end = time.monotonic() + check_seconds("wait", wait)
        while True:
            began = time.monotonic()
            some = min(max(0.0, end - began), _LONGEST_WAIT)
            body = {"most": most, "lease_timeout": seconds, "wait": some}
            given: list[dict[str, Any]] = self._post("pop", body, wait=some)["leases"]
            now = time.monotonic()
            if given or now >= end:
                return self._unpickled(given)
            if now < began + some:  # the node has too many waiting requests to keep this one
                time.sleep(min(_REST, end - now))

    def done(self, lease: Lease[Item]) -> None:
        """Take the item of a lease out of the queue for good; ValueError if the lease is not valid any more."""
        self.done_many((lease,))

    def done_many(self, leases: Iterable[Lease[Item]]) -> None:
        """Do the same for several; ValueError names those that are not valid any more, the others are done."""
        self._end("done", [lease.lease_id for lease in leases])

    def release(self, lease: Lease[Item]) -> None:
        """Let the item of a lease wait again; ValueError if the lease is not valid any more."""
        self.release_many((lease,))

    def release_many(self, leases: Iterable[Lease[Item]]) -> None:
        """Do the same for several; ValueError names those that are not valid any more, the others are released."""
        self._end("release", [lease.lease_id for lease in leases])

    def size(self) -> int:
        """Return the number of items that wait."""
        return self._link.ask("GET", self._path)["waiting"]

    def pending(self) -> int:
        """Return the number of items that are leased."""
        return self._link.ask("GET", self._path)["leased"]

    def __reduce__(self) -> tuple[Any, ...]:
        return _same, self._arguments

    def __repr__(self) -> str:
        return f"HttpQueue({self.url!r}, {self.name!r})"

    def _post(self, verb: str, body: dict[str, Any], *, wait: float = 0.0) -> dict[str, Any]:
        return self._link.ask("POST", f"{self._path}/{verb}", body, wait=wait)

    def _end(self, verb: str, lease_ids: list[str]) -> None:
        invalid: list[str] = []
        for first in range(0, len(lease_ids), _MOST_AT_ONCE):
            invalid += self._post(verb, {"leases": lease_ids[first : first + _MOST_AT_ONCE]})["invalid"]
        if invalid:
            raise invalid_lease(*invalid)

    def _unpickled(self, given: list[dict[str, Any]]) -> list[Lease[Item]]:
        leases: list[Lease[Item]] = []
        for each in given:
            try:
                item = pickle.loads(b64decode(each["item"]))
            except BaseException:
                others = [other["lease_id"] for other in given if other is not each]
                if others:
                    self._end("release", others)
                raise
            leases.append(Lease(item, each["lease_id"], each["timestamp"]))
        return leases


def _same(url: str, name: str, token_file: str | None, patience: float) -> HttpQueue[Any]:
    return HttpQueue(url, name, token_file, patience=patience)


def _check_name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"name must be a text, got {name!r}")
    if not _NAME.fullmatch(name):
        raise ValueError(
            "a queue's name has 1 to 100 letters, digits, '.', '_' and '-', and begins with a letter, a digit or '_', "
            f"got {name!r}"
        )
    return name


def _check_patience(seconds: object) -> float:
    patience = check_seconds("patience", seconds)
    if patience > _LONGEST_PATIENCE:
        raise ValueError(
            f"patience must be at most {_LONGEST_PATIENCE:g} s, got {seconds!r}: later the node may carry out "
            "twice what is sent again; catch NodeDiedError, and decide what to do"
        )
    return patience


def _pickled(item: object) -> bytes:
    data = pickle.dumps(item, protocol=5)
    if len(data) > _MOST_ITEM_BYTES:
        raise ValueError(
            f"the item has {bytes_text(len(data))} pickled, and an item may have {bytes_text(_MOST_ITEM_BYTES)} at "
            "most; put larger ones into a file and push its name"
        )
    return data


def _batches(items: list[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for data in items:
        if batch and (len(batch) == _MOST_AT_ONCE or size + len(data) > _MOST_ITEM_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(data)
        size += len(data)
    if batch:
        yield batch
