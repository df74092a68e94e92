"""The plugin of Fray for pytest: contexts for tests, and a check that tests leave nothing behind. pytest loads it.

================================ ================================================================================
fixture                          gives
================================ ================================================================================
``fray_context``                 an engine of the test's own, as the current context; the test may leave nothing behind
``fray_session_context``         one engine for the whole session, as the current context: faster, not checked each time
``fray_no_leaks``                fails a test that leaves a process, a descriptor or shared memory behind
``fray_settings``                to be overridden: settings of the engines; by default two CPUs
``fray_leak_options``            to be overridden: ``within`` (seconds), ``threads`` and ``among_others`` of the check
================================ ================================================================================

``@pytest.mark.fray(cpus=1)`` gives `fray_context` other settings, ``@pytest.mark.fray(contexts=("sync", "local"))``
runs the test on each of these contexts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fray._extras import needs

with needs("pytest", "pytest", "fray.pytest_plugin"):
    import pytest

if TYPE_CHECKING:
    from fray.job.context import JobContext

__all__ = [
    "fray_context",
    "fray_leak_options",
    "fray_no_leaks",
    "fray_session_context",
    "fray_settings",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_runtest_makereport",
]

_FAILED = pytest.StashKey[bool]()
_MARK = (
    "fray(contexts=(...), **settings): the contexts that fray_context runs the test on ('sync', 'sync+serialize', "
    "'thread', 'local'), and settings of the engine, as fray.init takes them"
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", _MARK)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on each of the contexts that its mark lists."""
    contexts: Any = _marked(metafunc.definition).get("contexts")
    if contexts is not None and "fray_context" in metafunc.fixturenames:
        metafunc.parametrize("fray_context", list(contexts), indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember which tests failed: their tracebacks hold the objects of the test."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.fixture(scope="session")
def fray_settings() -> Mapping[str, Any]:
    """What engines are started with, as `fray.init` takes it. Override it in a conftest."""
    return {"cpus": 2}


@pytest.fixture
def fray_leak_options() -> Mapping[str, Any]:
    """Options of the leak check: ``within``, ``threads`` and ``among_others``. Override it in a conftest."""
    return {}


@pytest.fixture
def fray_no_leaks(request: pytest.FixtureRequest, fray_leak_options: Mapping[str, Any]) -> Iterator[str]:
    """Fail a test that leaves something behind, and name it. Gives the mark that processes of the test carry.

    What `fray.init` or the first use starts in the test is shut down after it.
    """
    from fray._leaks import LeakChecker
    from fray.job.current import _process, shutdown  # pyright: ignore[reportPrivateUsage]

    with _folder() as folder, _marked_environment(folder) as marker:
        chosen = _process.chosen
        checker = LeakChecker(marker, **fray_leak_options)
        yield marker
        if _process.chosen is not chosen:
            shutdown()
        # A closed context gives its last descriptors back when it is dropped. A failed test is held by its traceback.
        values: Any = getattr(request.node, "funcargs", {})
        values.clear()
        left = checker.check(only_processes=request.node.stash.get(_FAILED, False))
    if left:
        pytest.fail("left behind by the test:\n" + "\n".join(left), pytrace=False)


@pytest.fixture
def fray_context(
    request: pytest.FixtureRequest, fray_settings: Mapping[str, Any], fray_no_leaks: str
) -> Iterator[JobContext]:
    """A context of the test's own, which is the current one: an engine, unless the mark says otherwise."""
    from fray.job.current import fray_default_job_ctx

    settings = {**fray_settings, **_marked(request.node)}
    settings.pop("contexts", None)
    with _make(getattr(request, "param", "local"), settings) as context, fray_default_job_ctx(context):
        yield context


@pytest.fixture(scope="session")
def _fray_session_engine(fray_settings: Mapping[str, Any]) -> Iterator[JobContext]:
    """The engine behind `fray_session_context`, which must leave no process when the session ends."""
    from fray._leaks import LeakChecker

    with _folder() as folder:
        with _marked_environment(folder) as marker:
            context = _make("local", fray_settings)
        with context:
            yield context
        left = LeakChecker(marker).check(only_processes=True)
    if left:
        pytest.fail("left behind by the tests of the session:\n" + "\n".join(left), pytrace=False)


@pytest.fixture
def fray_session_context(_fray_session_engine: JobContext) -> Iterator[JobContext]:
    """The one engine of the session, which is the current context while the test runs."""
    from fray.job.current import fray_default_job_ctx

    with fray_default_job_ctx(_fray_session_engine):
        yield _fray_session_engine


def _make(kind: str, settings: Mapping[str, Any]) -> JobContext:
    from fray.job.factory import create_job_ctx

    if kind == "local":
        return create_job_ctx("local", **settings)
    if kind == "sync+serialize":
        return create_job_ctx("sync", serialize=True)
    return create_job_ctx(kind, max_workers=int(settings.get("cpus", 2)))


def _marked(node: Any) -> dict[str, Any]:
    """Return what the marks of a test say, the innermost last."""
    found: dict[str, Any] = {}
    for mark in reversed(list(node.iter_markers("fray"))):
        found.update(mark.kwargs)
    return found


@contextmanager
def _folder() -> Generator[str, None, None]:
    """Yield a run folder, so that parallel test processes do not see one another's engines."""
    # A short path, because the path of a Unix socket may have at most 107 bytes.
    folder = tempfile.mkdtemp(prefix="fray-test-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _marked_environment(folder: str) -> Generator[str, None, None]:
    """Give the processes that start inside the block a mark and the run folder, and hide settings from outside."""
    from fray._leaks import MARKER

    marker = uuid.uuid4().hex
    changed: dict[str, str | None] = {
        MARKER: marker,
        "FRAY_HOME": folder,
        "FRAY_CLUSTER_SPEC": None,
        "FRAY_NODE": None,
    }
    before = {name: os.environ.get(name) for name in changed}
    _set_environment(changed)
    try:
        yield marker
    finally:
        _set_environment(before)


def _set_environment(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
