"""Each chaos test has a marker, a run folder and an environment of its own, and must leave nothing behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import fray
import numpy  # noqa: F401  (its threads start here, not in a test)
import pytest
from fray.backend.native import NativeJobContext

from tests.chaos.started import end_all
from tests.conformance.gates import Gate, Journal
from tests.slowness import SLOWNESS


@pytest.fixture
def fray_leak_options() -> Mapping[str, Any]:
    """The check of fray.pytest_plugin, with threads, on a busy machine too, and beside tests of containers."""
    return {"threads": True, "within": 5.0 * SLOWNESS, "among_others": True}


@pytest.fixture(autouse=True)
def leaves_nothing(fray_no_leaks: str) -> Iterator[None]:
    """Have every test here checked, and forget the context that it set."""
    yield
    fray.shutdown()
    fray.set_job_context(None)


@pytest.fixture
def started_nodes() -> Iterator[None]:
    """For tests that start nodes: what they leave ends."""
    yield
    end_all()


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
