"""`fray.Executor`: `concurrent.futures` on any context."""

from __future__ import annotations

from fray.executor.executor import Executor
from fray.executor.future import TaskFuture

__all__ = ["Executor", "TaskFuture"]
