"""Queues whose items are leased: an item that a worker took and did not finish is delivered again."""

from typing import TYPE_CHECKING, Any

from fray._lazy import lazy_attribute
from fray.queue.base import Lease, Queue
from fray.queue.file import FileQueue
from fray.queue.memory import MemoryQueue

if TYPE_CHECKING:
    from fray.queue.http import HttpQueue
    from fray.queue.server import HttpQueueServer

__all__ = ["FileQueue", "HttpQueue", "HttpQueueServer", "Lease", "MemoryQueue", "Queue"]

_LAZY = {
    "HttpQueue": ("fray.queue.http", "HttpQueue"),
    "HttpQueueServer": ("fray.queue.server", "HttpQueueServer"),
}


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, name, _LAZY)
