"""Queues whose items are leased: one that a worker took and never finished comes back."""

from fray.queue.base import Lease, Queue
from fray.queue.file import FileQueue
from fray.queue.memory import MemoryQueue

__all__ = ["FileQueue", "Lease", "MemoryQueue", "Queue"]
