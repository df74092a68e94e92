"""CPython's own tests of executors, from the interpreter's `test` package, hold for Fray's."""

from __future__ import annotations

import importlib
import sys
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fray
import pytest
from fray.backend.native import NativeJobContext

SYSTEMS_TESTS = str(Path("/usr/lib") / f"python{sys.version_info.major}.{sys.version_info.minor}" / "test")
"""Where Debian's package of CPython's tests lies; it fits every interpreter of this version."""


@contextmanager
def with_systems_tests() -> Iterator[None]:
    """Let modules of Debian's package be found, here and in workers that are started meanwhile."""
    sys.path.append(SYSTEMS_TESTS)
    try:
        yield
    finally:
        sys.path.remove(SYSTEMS_TESTS)


def cpythons_tests() -> type[Any] | None:
    """Return the class that CPython tests each of its executors with; many interpreters come without it."""
    own = "test.test_concurrent_futures"
    with with_systems_tests():
        for module in (f"{own}.executor", own, "test_concurrent_futures.executor", "test_concurrent_futures"):
            try:
                found = getattr(importlib.import_module(module), "ExecutorTest", None)
            except ImportError:
                continue
            if found is not None:
                return found
    return None


THEIRS = cpythons_tests()
CONTEXTS = {
    "sync": fray.LocalJobContext,
    "thread": lambda: fray.ThreadContext(5),
    "native": lambda: NativeJobContext(cpus=2),
}


@pytest.mark.skipif(THEIRS is None, reason="this Python was installed without CPython's own tests")
@pytest.mark.parametrize("backend", CONTEXTS)
def test_cpythons_own_tests_hold(backend: str) -> None:
    with with_systems_tests(), CONTEXTS[backend]() as context:

        class Tests(THEIRS, unittest.TestCase):  # type: ignore[misc, valid-type]
            worker_count = 5

            @staticmethod
            def executor_type(max_workers: int | None = None) -> fray.Executor:
                return fray.Executor(max_workers, context=context)

            def setUp(self) -> None:
                self.executor = self.executor_type(max_workers=self.worker_count)

            def tearDown(self) -> None:
                self.executor.shutdown()

        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(result)
        assert result.testsRun > 5
        assert [text for _, text in result.failures + result.errors] == []
