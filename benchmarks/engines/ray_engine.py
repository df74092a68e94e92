"""Ray, by its plain API."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ray._private.parameter import RayParams

import ray
from benchmarks.engines import CPUS, Engine

STORE_BYTES = 4 << 30


@contextmanager
def open_ray(address: str | None) -> Iterator[Engine]:
    """Connect to the Ray at `address`, or start one."""
    with connection(address):
        yield Engine(
            bind=lambda function: ray.remote(function).remote,
            bind_retrying=lambda function: ray.remote(max_retries=3)(function).remote,
            get=ray.get,
            put=ray.put,
            wait=ray.wait,
            actor=_new_actor,
            kill=ray.kill,
        )


def _new_actor(cls: type[Any], *args: Any, **options: Any) -> Any:
    return ray.remote(num_cpus=0, **options)(cls).remote(*args)


@contextmanager
def connection(address: str | None, dashboard: bool = False) -> Iterator[Any]:
    """Yield Ray's context; daemons that were started here end with it, and their folder goes too."""
    os.environ.update(ENVIRONMENT)
    if address is not None:
        yield ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        ray.shutdown()
        return
    # The path of Ray's sockets must stay short.
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    _use_free_agent_port()
    try:
        yield ray.init(
            num_cpus=CPUS,
            include_dashboard=dashboard,
            object_store_memory=STORE_BYTES,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _temp_dir=folder,
        )
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _use_free_agent_port() -> None:
    """Let the agent of a Ray that starts here listen anywhere: its usual port may be that of the Ray that lives on."""
    make = RayParams.__init__

    def make_with_port(self: RayParams, *args: Any, **keywords: Any) -> None:
        make(self, *args, **keywords)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.dashboard_agent_listen_port = probe.getsockname()[1]

    RayParams.__init__ = make_with_port


ENVIRONMENT = {
    # Without it Ray's workers run at niceness 15, and any neighbour starves them.
    "RAY_worker_niceness": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
