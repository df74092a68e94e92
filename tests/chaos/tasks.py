"""Task functions of the chaos tests, in a module that loads quickly in a worker."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path
from typing import Any

import fray

from tests.conformance.gates import Gate, Journal


def pid() -> int:
    return os.getpid()


def soft_limit() -> int:
    """Return how many files this worker may have open."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def fork_server() -> int:
    """Return the number of the fork server: the parent of this worker's guardian."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])


def add(a: int, b: int) -> int:
    return a + b


def echo(value: Any) -> Any:
    return value


def fib(n: int) -> int:
    if n < 2:
        return n
    ctx = fray.get_job_context()
    return sum(ctx.get([ctx.run(fib, n - 1), ctx.run(fib, n - 2)]))


def sleep_forever() -> None:
    """Run until ended. The longest test has a deadline far below this."""
    time.sleep(3600)


def write_pid(journal: Journal) -> None:
    journal.add(os.getpid())


def write_pid_and_hang(journal: Journal) -> None:
    journal.add(os.getpid())
    sleep_forever()


def write_pid_and_ignore_interrupts(journal: Journal) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    journal.add(os.getpid())
    while True:
        time.sleep(3600)


def write_pid_and_wait(journal: Journal, gate: Gate) -> int:
    journal.add(os.getpid())
    gate.wait()
    return os.getpid()


def kill_self(number: int = signal.SIGKILL) -> None:
    os.kill(os.getpid(), number)
    sleep_forever()


def die_once(journal: Journal) -> int:
    """End this worker the first time, return the number of the attempt the second time."""
    attempt = journal.add(os.getpid())
    if attempt == 0:
        kill_self()
    return attempt


def array(count: int, fill: int) -> Any:
    import numpy

    return numpy.full(count, fill, dtype=numpy.int64)


def array_and_pid(count: int, fill: int) -> tuple[Any, int]:
    return array(count, fill), os.getpid()


def random_words() -> list[int]:
    import numpy

    return [int(word) for word in numpy.random.randint(0, 2**31, 4)]


def hold(count: int) -> int:
    """Take `count` MiB; more than 100 of them are kept until somebody kills this process."""
    held = bytearray(os.urandom(1 << 20) * count)
    while count > 100:
        time.sleep(0.01)
    return len(held)
