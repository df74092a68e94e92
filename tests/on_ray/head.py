"""`RayHead`: a Ray of the tests' own: own ports, own folder, own token, and nothing of it left at the end."""

from __future__ import annotations

import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fray._leaks import MARKER, marked_processes

from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 180.0
END_SECONDS = 30.0
STORE_BYTES = 512 << 20
ENVIRONMENT = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
}
"""For the daemons and their drivers. Ray reads some of it when it is imported."""


class RayHead:
    """Ray's daemons, ended by their pids: ``ray stop`` would end those of others too.

    Attributes:
        address: of the cluster, for ``ray.init``.
        dashboard: its URL, empty where there is none.
        environment: what a program needs in its environment to use it.
        wheels: folder of the packages that Ray's environments are built from.
    """

    def __init__(
        self, resources: Mapping[str, float] = {}, cpus: int = 2, dashboard: bool = False, dashboard_port: int = 0
    ) -> None:
        self._marker = uuid.uuid4().hex
        # The path of Ray's sockets must stay short.
        self._folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
        self.wheels = Path(self._folder, "wheels")
        self.wheels.mkdir()
        self.environment = dict(ENVIRONMENT)
        settings: dict[str, Any] = {
            "num_cpus": cpus,
            "resources": dict(resources),
            "include_dashboard": dashboard,
            "object_store_memory": STORE_BYTES,
            "_temp_dir": self._folder,
            "agent_port": free_port(),
        }
        if dashboard:
            settings |= {"dashboard_host": "127.0.0.1", "dashboard_port": dashboard_port or free_port()}
        self._log = open(os.path.join(self._folder, "head.log"), "wb")  # noqa: SIM115  (closed with the head)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.on_ray.head_program", json.dumps(settings)],
            cwd=ROOT,
            env={**os.environ, **self.environment, **self._packages(), "RAY_ADDRESS": "", "PATH": _path()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        self.pid = self._process.pid
        assert self._process.stdout is not None
        readable = select.select([self._process.stdout], [], [], START_SECONDS)[0]
        line = self._process.stdout.readline() if readable else b""
        if not line:
            text = Path(self._folder, "head.log").read_text(errors="replace")[-2000:]
            self.close()
            raise RuntimeError(f"Ray does not start: {text}")
        where = json.loads(line)
        self.address: str = where["gcs"]
        self.dashboard = f"http://{where['dashboard']}" if where["dashboard"] else ""

    def add_node(self, resources: Mapping[str, float]) -> int:
        """Start a further raylet on this machine, without CPUs or GPUs unless they are named; return its number."""
        return int(self._order({"add": dict(resources)}))

    def kill_node(self, number: int) -> None:
        """Kill a further raylet and all that runs on it."""
        self._order({"kill": number})

    def _order(self, order: dict[str, Any]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        readable = select.select([self._process.stdout], [], [], START_SECONDS)[0]
        line = self._process.stdout.readline().decode().strip() if readable else ""
        if not line:
            raise RuntimeError(f"Ray does not do {order}")
        return line

    def _packages(self) -> dict[str, str]:
        """Return the variables by which pip finds what tests put into `wheels`, and nothing from the network."""
        return {MARKER: self._marker, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}

    def kill(self) -> None:
        """Kill all daemons and workers at once, as when the machine goes down."""
        for process in marked_processes(self._marker):
            with suppress(ProcessLookupError):
                process.signal(signal.SIGKILL)
        self._process.wait()

    def close(self) -> list[str]:
        """End the daemons; return what did not end by itself, having killed it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()
        deadline = time.monotonic() + END_SECONDS
        while (left := marked_processes(self._marker)) and time.monotonic() < deadline:
            time.sleep(0.05)
        for process in left:
            process.signal(signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)
        return [f"process {process.pid}: {process.command}" for process in left]


def _path() -> str:
    """Return PATH with this Python in front, for jobs that say ``python``."""
    return os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
