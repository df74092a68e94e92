"""The harness: each test that takes `ctx` runs on every context that its behaviour applies to, and each that takes
`cluster` on every cluster.

A test names its behaviours with ``@pytest.mark.behaviour("T001")``. There is no other way not to run on a context: a
skip is a failure.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import fray
import pytest
from fray import JobContext, LocalJobContext, ThreadContext
from fray._settings import node_of_this_job
from fray.cluster import Cluster
from fray.job.surroundings import is_iris_task

from tests.conformance import in_job
from tests.conformance.behaviours import Table, load
from tests.conformance.clusters import CLUSTERS, end_jobs
from tests.conformance.gates import Gate

TABLES = load()
try:
    from fray.backend.native import NativeJobContext
except ImportError as error:
    NATIVE_IS_MISSING = str(error)
else:
    NATIVE_IS_MISSING = ""


def native() -> JobContext:
    return NativeJobContext(cpus=2)


def on_ray() -> JobContext:
    from fray.backend.ray import RayJobContext

    return RayJobContext(namespace="default")


MAKERS: dict[str, Callable[[], JobContext]] = {
    "sync": LocalJobContext,
    "sync+serialize": lambda: LocalJobContext(serialize=True),
    "thread": lambda: ThreadContext(max_workers=2),
    "native": native,
    **dict.fromkeys(in_job.JOBS, fray.create_job_ctx),
    "ray": on_ray,
}
SHARED = {"native": "fray_session_context", **dict.fromkeys(in_job.JOBS, "job_context"), "ray": "ray_context"}
"""Where one engine, or one Ray, serves all tests: starting it is not what most of them are about."""
RAY_MARKS = (pytest.mark.ray, pytest.mark.filterwarnings("default"))
"""Tests on Ray run in a part of their own; Ray warns of its own old ways."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "behaviour(*ids): the rows of behaviours.toml that the test proves")


def behaviours_of(item: pytest.Item | pytest.Metafunc) -> list[str]:
    node = item.definition if isinstance(item, pytest.Metafunc) else item
    return [name for mark in node.iter_markers("behaviour") for name in mark.args]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise over the contexts, or the clusters, that the test's behaviours apply to.

    A native engine that is not built fails in one place, test_harness.py, rather than in each test.
    """
    if "context_name" in metafunc.fixturenames:
        names = places_of(metafunc, TABLES.contexts)
        if in_job.inside():
            names = [name for name in names if name == in_job.inside()]
        built = [name for name in names if name not in ("native", *in_job.JOBS) or not NATIVE_IS_MISSING]
        values = [pytest.param(name, marks=RAY_MARKS) if name == "ray" else name for name in built]
        metafunc.parametrize("context_name", values, scope="session")
    elif "cluster_name" in metafunc.fixturenames:
        names = [name for name in places_of(metafunc, TABLES.clusters) if name != "local" or not NATIVE_IS_MISSING]
        values = [pytest.param(name, marks=CLUSTERS[name].marks) for name in names]
        metafunc.parametrize("cluster_name", values, scope="session")


def places_of(metafunc: pytest.Metafunc, table: Table) -> list[str]:
    """Return where the test runs: on every place that all of its behaviours apply to."""
    ids = behaviours_of(metafunc)
    if not ids:
        raise pytest.UsageError(f"{metafunc.definition.nodeid} names no behaviour")
    unknown = [name for name in ids if name not in table.titles]
    if unknown:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {unknown} not in its table of behaviours.toml")
    return [place for place in table.places if all(table.applies(behaviour, place) for behaviour in ids)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only the native engine does, while it is not built; let a job run what is to run in one."""
    if not in_job.inside():
        names = [context_of(item) for item in items]
        items[:] = [
            in_job.JobItem.of(item, name) if name in in_job.JOBS else item
            for item, name in zip(items, names, strict=True)
        ]
    if NATIVE_IS_MISSING:
        kept = [item for item in items if "[NOTSET" not in item.name]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def context_of(item: pytest.Item) -> str:
    call = getattr(item, "callspec", None)
    return "" if call is None else call.params.get("context_name", "")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but behaviours.toml does not list it as not applying: {report.longrepr}"
    return report


@pytest.fixture
def ctx(context_name: str, request: pytest.FixtureRequest) -> Iterator[JobContext]:
    """The context under test, which is also the current one."""
    if context_name in SHARED:
        context = request.getfixturevalue(SHARED[context_name])
        with fray.fray_default_job_ctx(context):
            yield context
            end_named_actors(context)
        return
    with MAKERS[context_name]() as context, fray.fray_default_job_ctx(context):
        yield context
    left = [thread for thread in threading.enumerate() if thread.name.startswith("fray-")]
    assert not left, f"threads outlive their context: {left}"


def end_named_actors(context: JobContext) -> None:
    """Leave no names to the next test, which shares the engine."""
    with suppress(fray.UnsupportedError):
        for entry in context.list_named_actors(all_namespaces=True):
            context.kill(context.get_actor(**entry))


@pytest.fixture(scope="session")
def job_context() -> Iterator[JobContext]:
    """The context that a job finds by itself."""
    assert node_of_this_job() or is_iris_task(), "this process is no job"
    yield fray.get_job_context()
    fray.shutdown()


@pytest.fixture(scope="session")
def ray_context(initialised_ray: object) -> Iterator[JobContext]:
    """The one context on the suite's Ray."""
    with MAKERS["ray"]() as context:
        yield context


@pytest.fixture
def new_context(context_name: str, request: pytest.FixtureRequest) -> Iterator[JobContext]:
    """A context of its own, for tests that close it."""
    if context_name == "ray":
        request.getfixturevalue("initialised_ray")
    with MAKERS[context_name]() as context:
        yield context


@pytest.fixture(scope="session")
def shared_cluster(
    cluster_name: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """The cluster that the tests of one kind share."""
    place = CLUSTERS[cluster_name]
    if place.needs is not None:
        request.getfixturevalue(place.needs)
    made = place.make(tmp_path_factory.mktemp(f"cluster-{cluster_name}"))
    yield made
    made.shutdown(wait=False)


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """The cluster under test; no job of the test goes on after it."""
    yield shared_cluster
    end_jobs(shared_cluster)


@pytest.fixture
def new_cluster(cluster_name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of its own, for tests that close it."""
    place = CLUSTERS[cluster_name]
    if place.needs is not None:
        request.getfixturevalue(place.needs)
    made = place.make(tmp_path)
    yield made
    made.shutdown(wait=False)


@pytest.fixture
def gate(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Gate]:
    """Make gates: a task waits at one until the test opens it."""
    folder = tmp_path_factory.mktemp("gates")
    made = 0

    def make() -> Gate:
        nonlocal made
        made += 1
        return Gate.make(str(folder / f"gate{made}"))

    return make
