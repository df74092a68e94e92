"""The leak checker finds what tests leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from fray._leaks import MARKER, LeakChecker


@contextmanager
def a_descriptor() -> Iterator[None]:
    descriptor = os.open("/dev/null", os.O_RDONLY)
    yield
    os.close(descriptor)


@contextmanager
def a_child() -> Iterator[None]:
    child = subprocess.Popen(["sleep", "60"], env={}, close_fds=True)
    yield
    child.kill()
    child.wait()


@contextmanager
def a_process_that_is_nobodys_child() -> Iterator[None]:
    script = "sleep 60 >/dev/null 2>&1 & echo $!"
    pid = int(subprocess.check_output(["sh", "-c", script], start_new_session=True))
    yield
    os.kill(pid, signal.SIGKILL)


@contextmanager
def a_thread() -> Iterator[None]:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield
    done.set()
    thread.join()


@contextmanager
def a_file_in_shared_memory() -> Iterator[None]:
    path = Path("/dev/shm") / f"fray-leak-{uuid.uuid4().hex}"
    path.write_bytes(b"x")
    yield
    path.unlink()


@contextmanager
def a_map_of_shared_memory() -> Iterator[None]:
    import mmap

    descriptor = os.memfd_create("fray-leak")
    os.ftruncate(descriptor, 4096)
    mapped = mmap.mmap(descriptor, 4096)
    os.close(descriptor)
    yield
    mapped.close()


LEAKS = {
    "descriptor": a_descriptor,
    "process": a_child,
    "process of nobody": a_process_that_is_nobodys_child,
    "thread": a_thread,
    "shared memory": a_file_in_shared_memory,
    "maps": a_map_of_shared_memory,
}


@pytest.mark.parametrize("what", LEAKS)
def test_a_leak_is_found_and_gone_when_it_is_gone(what: str) -> None:
    leak: Callable[[], AbstractContextManager[None]] = LEAKS[what]
    checker = LeakChecker(os.environ[MARKER], threads=True, among_others=True)
    assert checker.check() == []
    with leak():
        assert any(what.split()[0] in line for line in checker.leftovers())
    assert checker.check() == []


def test_among_others_only_shared_memory_that_is_surely_frays_counts() -> None:
    alone = LeakChecker(os.environ[MARKER], among_others=False)
    among_others = LeakChecker(os.environ[MARKER], among_others=True)
    path = Path(f"/dev/shm/of-another-program-{os.getpid()}")
    path.touch()
    try:
        assert f"shared memory: {path}" in alone.leftovers()
        assert not any("shared memory" in line for line in among_others.leftovers())
    finally:
        path.unlink()
