"""`Worker`: a machine, pretended: what it has, and the processes of the tasks that run on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.iris.process import TaskProcess
from tests.iris.times import Times

GIB = 1 << 30


@dataclass
class Worker:
    """Attributes that constraints speak of are texts in lower case, as Iris has them.

    Threading: any thread; the processes have threads of their own, which call `exited`.
    """

    worker_id: str
    cpu_millicores: int = 8_000
    memory_bytes: int = 64 * GIB
    disk_bytes: int = 512 * GIB
    group: str = "local-cpu"
    device_type: str = "cpu"
    device_variant: str = ""
    device_count: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    is_up: bool = True
    _running: dict[str, tuple[TaskProcess, dict[str, int], float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.attributes = {
            "device-type": self.device_type,
            "device-variant": self.device_variant,
            "preemptible": "false",
            **self.attributes,
        }

    def free(self) -> dict[str, int]:
        free = {
            "cpu": self.cpu_millicores,
            "memory": self.memory_bytes,
            "disk": self.disk_bytes,
            "device": self.device_count,
        }
        with self._lock:
            for _, demand, _ in self._running.values():
                for name, amount in demand.items():
                    free[name] -= amount
        return free

    def start(self, key: str, process: TaskProcess, demand: dict[str, int], exited: Callable[[int, str], None]) -> None:
        with self._lock:
            self._running[key] = (process, demand, time.monotonic())

        def ended(code: int, error: str) -> None:
            with self._lock:
                self._running.pop(key, None)
            exited(code, error)

        process.start(ended)

    def reconcile(self, wanted: set[str], times: Times) -> None:
        """End what is not wanted any more, but nothing that started a moment ago."""
        now = time.monotonic()
        with self._lock:
            unwanted = [
                process
                for key, (process, _, started) in self._running.items()
                if key not in wanted and now - started >= times.kill_grace
            ]
        for process in unwanted:
            process.kill()

    def vanish(self) -> None:
        """The machine is gone, with all that ran on it, and nobody says anything of it."""
        self.is_up = False
        self.kill_all(silently=True)

    def kill_all(self, silently: bool = False) -> None:
        with self._lock:
            running = [process for process, _, _ in self._running.values()]
            if silently:
                self._running.clear()
        for process in running:
            process.kill(silently)

    def join(self) -> None:
        with self._lock:
            running = [process for process, _, _ in self._running.values()]
        for process in running:
            process.join()

    def folder(self, root: Path) -> Path:
        return root / self.worker_id

    def environment(self) -> dict[str, Any]:
        region = self.attributes.get("region")
        return {"IRIS_WORKER_ID": self.worker_id, **({"IRIS_WORKER_REGION": region} if region else {})}


def slice_of(name: str, count: int) -> list[Worker]:
    """The machines of one TPU slice, four chips each."""
    return [
        Worker(
            f"{name}-{i}",
            cpu_millicores=128_000,
            memory_bytes=512 * GIB,
            group="tpu",
            device_type="tpu",
            device_variant="v5litepod-16",
            device_count=4,
            attributes={"tpu-name": name, "tpu-worker-id": str(i)},
        )
        for i in range(count)
    ]
