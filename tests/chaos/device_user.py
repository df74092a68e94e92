"""An actor with devices, in a module of its own: what it saw when it was imported is what the class was loaded with."""

from __future__ import annotations

import os
from typing import Any

import fray
from fray import TaskOptions

VISIBLE_AT_IMPORT = os.environ.get("CUDA_VISIBLE_DEVICES")


def resource_ids() -> dict[str, list[int]]:
    return fray.get_job_context().resource_ids()


class DeviceUser:
    def __init__(self) -> None:
        self.in_constructor = resource_ids()

    def found(self) -> dict[str, Any]:
        return {
            "constructor": self.in_constructor,
            "method": resource_ids(),
            "visible_at_import": VISIBLE_AT_IMPORT,
            "pid": os.getpid(),
        }

    def around_a_child(self, options: TaskOptions) -> list[dict[str, list[int]]]:
        """Return the devices of this actor and those of a task that it waits for."""
        ctx = fray.get_job_context()
        return [resource_ids(), ctx.get(ctx.create_task(resource_ids, options=options))]
