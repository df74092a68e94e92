"""Each chaos test has a marker, a run folder and an environment of its own, and must leave nothing behind."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import fray
import numpy  # noqa: F401  (its threads start here, not in a test)
import pytest
from fray.backend.native import NativeJobContext

from tests.chaos.harness import MARKER
from tests.chaos.leaks import LeakChecker
from tests.conformance.gates import Gate, Journal

_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.fixture(autouse=True)
def leaves_nothing(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a process, descriptor, thread or shared memory behind."""
    marker = uuid.uuid4().hex
    # A short path: that of a Unix socket may have 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="fray-chaos-"))
    monkeypatch.setenv(MARKER, marker)
    monkeypatch.setenv("FRAY_HOME", str(folder))
    monkeypatch.delenv("FRAY_CLUSTER_SPEC", raising=False)
    monkeypatch.delenv("FRAY_NODE", raising=False)
    checker = LeakChecker(marker)
    yield
    fray.shutdown()
    fray.set_job_context(None)
    # A closed context gives its last descriptors back when it is dropped. A failed test is held by its traceback.
    request.node.funcargs.clear()
    left = checker.check(only_processes=request.node.stash.get(_FAILED, False))
    shutil.rmtree(folder, ignore_errors=True)
    assert not left, "left behind:\n" + "\n".join(left)


@pytest.fixture
def engine() -> Iterator[Callable[..., NativeJobContext]]:
    """Make native contexts, two CPUs each unless said otherwise, and close them after the test."""
    made: list[NativeJobContext] = []

    def make(**settings: Any) -> NativeJobContext:
        context = NativeJobContext(**{"cpus": 2, **settings})
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def ctx(engine: Callable[..., NativeJobContext]) -> NativeJobContext:
    """An engine of two CPUs."""
    return engine()


@pytest.fixture
def gate(tmp_path: Path) -> Callable[[], Gate]:
    """Make gates: a task waits at one until the test opens it."""
    made = 0

    def make() -> Gate:
        nonlocal made
        made += 1
        return Gate.make(str(tmp_path / f"gate{made}"))

    return make


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """A file that tasks write lines to."""
    return Journal(str(tmp_path / "journal"))


def pytest_report_header() -> str:
    return f"chaos: {os.cpu_count()} cores, CI={os.environ.get('CI', '')}"
