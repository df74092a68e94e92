"""What the chaos tests share: conditions to wait for, processes by their marker, drivers in processes of their own."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fray._leaks import MARKER, Process, marked_processes
from fray._leaks import look_at as look_at

from tests.slowness import SLOWNESS
from tests.waiting import PATIENCE as PATIENCE
from tests.waiting import eventually as eventually

ROOT = Path(__file__).resolve().parents[2]
PROMPT = 4.0 * SLOWNESS
"""Seconds within which nothing may be left of an engine whose driver or node has died, on a busy machine too."""

# ---- processes


def current_marker() -> str:
    return os.environ[MARKER]


def nodes() -> list[Process]:
    """Return the nodes that this test has started."""
    return [process for process in marked_processes(current_marker()) if " node " in f"{process.command} "]


def the_node() -> Process:
    found = nodes()
    assert len(found) == 1, found
    return found[0]


def node_socket() -> str:
    """Return the path of the socket of the one node that this test has started."""
    folder = Path(os.environ["FRAY_HOME"])
    found = eventually(lambda: [path for path in folder.rglob("*") if path.is_socket()], what=f"a socket in {folder}")
    assert len(found) == 1, found
    return str(found[0])


def wait_for_workers(context: Any, count: int) -> None:
    """Wait until so many are there and idle, as those that a node starts by itself: each brings descriptors with it."""

    def are_there() -> bool:
        workers = json.loads(context._client.status())["workers"]
        # The node may hear from a worker itself before its fork server tells the pid and sends a descriptor with it.
        return [(worker["state"], worker["pid"] != 0) for worker in workers] == [("idle", True)] * count

    eventually(are_there, what=f"{count} idle workers")


def resident_bytes(pid: int) -> int:
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    raw = Path(f"/proc/{pid}/stat").read_text()
    fields = raw[raw.rindex(")") + 2 :].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ---- drivers


_PRELUDE = """\
import os, sys, time, signal, threading
import fray
from fray.backend.native import NativeJobContext
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests with it ignored
"""


class Driver:
    """A program of its own process and process group that uses Fray; it talks in lines over its pipes."""

    def __init__(self, source: str, *arguments: object, wrapper: tuple[str, ...] = (), **options: Any) -> None:
        folder = Path(os.environ["FRAY_HOME"])
        self.path = folder / f"driver-{time.monotonic_ns()}.py"
        self.path.write_text(_PRELUDE + textwrap.dedent(source))
        self._pending = b""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        environment.update(options.pop("env", {}))
        self.process = subprocess.Popen(
            [*wrapper, sys.executable, "-u", str(self.path), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
            cwd=folder,
            **options,
        )

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self, within: float = PATIENCE) -> str:
        """Return the next line that the driver prints to stdout."""
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        deadline = time.monotonic() + within
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            ready = select.select([descriptor], [], [], max(left, 0))[0]
            if not ready:
                raise AssertionError(f"the driver printed nothing within {within} s; so far {self._pending!r}")
            got = os.read(descriptor, 65536)
            if not got:
                raise AssertionError(f"the driver ended: {self._pending.decode()}\n{self.finish().stderr}")
            self._pending += got
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode()

    def say(self, text: str = "") -> None:
        """Give the driver a line to read."""
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def finish(self, within: float = PATIENCE) -> Finished:
        """Wait for the driver's end and return how it ended. A hang is a failure."""
        try:
            out, err = self.process.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            said = f"--- stdout\n{(self._pending + out).decode()}\n--- stderr\n{err.decode()}"
            raise AssertionError(f"the driver did not end within {within} s\n{said}") from None
        return Finished(self.process.returncode, (self._pending + out).decode(), err.decode())


@dataclass(frozen=True)
class Finished:
    code: int
    stdout: str
    stderr: str

    def ok(self) -> str:
        """Check that it ended well and without noise; return what it printed."""
        assert (self.code, self.stderr) == (0, ""), self
        return self.stdout


def run_driver(source: str, *arguments: object, within: float = 60.0, **options: Any) -> Finished:
    """Run a driver to its end."""
    with Driver(source, *arguments, **options) as driver:
        return driver.finish(within)


# ---- raw bytes to a node


RELEASE = "0.1.0"
WIRE_VERSION = 0xF103
HELLO, STATUS_REQUEST, SHUTDOWN = 1, 19, 20
DRIVER_ROLE, OBSERVER_ROLE = 0, 2


def frame(
    kind: int, body: bytes = b"", *, version: int = WIRE_VERSION, length: int | None = None, fds: int = 0
) -> bytes:
    """Return a frame as src/wire/frame.h draws it; every field can be made wrong."""
    size = len(body) if length is None else length
    header = size.to_bytes(4, "little") + bytes([kind, fds]) + version.to_bytes(2, "little") + bytes(8)
    return header + body


def hello(role: int = DRIVER_ROLE, release: str = RELEASE) -> bytes:
    text = release.encode()
    body = bytes([role]) + os.getpid().to_bytes(4, "little") + bytes(4) + len(text).to_bytes(4, "little") + text
    return frame(HELLO, body)


@dataclass
class RawClient:
    """Somebody who speaks to a node without being Fray."""

    path: str
    socket: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(self.path)
        self.socket.settimeout(PATIENCE)

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        # The node may have closed it already.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def read_to_end(self) -> bytes:
        """Return all that the node says until it hangs up."""
        said = b""
        while more := self.socket.recv(65536):
            said += more
        return said

    def is_closed_by_node(self) -> bool:
        """Read to the end of what the node says; true when an end comes."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        except TimeoutError:
            return False
        return True
