"""The suite inside jobs: its tests run in one job of each cluster, and each is reported where it was asked for.

The job's function is pytest itself, which a variable tells where it is; `get_job_context()` there finds the job's node,
or the machine of the Iris task.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from fray import Entrypoint, JobRequest, ResourceConfig, create_environment
from fray.cluster import Cluster, EnvironmentConfig, LocalCluster

from tests.slowness import SLOWNESS

__all__ = ["JOBS", "JobItem", "inside"]

_INSIDE = "FRAY_CONFORMANCE_INSIDE"
_SECONDS = 280 * SLOWNESS
_RUNS = pytest.StashKey[dict[str, dict[str, str]]]()


@contextmanager
def _local() -> Iterator[Cluster]:
    with LocalCluster(cpus=2) as cluster:
        yield cluster


@contextmanager
def _iris() -> Iterator[Cluster]:
    from fray.backend.iris.cluster import IrisCluster

    from tests.iris.controller import Controller
    from tests.iris.times import Times

    with Controller(times=Times().scaled(0.1)) as controller, IrisCluster(controller.url, user="tester") as cluster:
        yield cluster


@dataclass(frozen=True)
class Jobs:
    """Where the job of a context runs, and what it asks for.

    Args:
        cluster: makes it.
        resources: of the job.
        is_copied: it runs in a copy of this folder; else in the folder itself, since each actor would have a copy.
    """

    cluster: Callable[[], AbstractContextManager[Cluster]]
    resources: ResourceConfig
    is_copied: bool = True


JOBS = {
    "job": Jobs(_local, ResourceConfig(cpu=0, ram="0")),
    "iris": Jobs(_iris, ResourceConfig(cpu=2, ram="2g", disk="0"), is_copied=False),
}
"""The contexts that a job finds."""


def inside() -> str:
    """Return the name of the context of the job that this process is; empty elsewhere."""
    return os.environ.get(_INSIDE, "")


class JobItem(pytest.Item):
    """Stands for a test that runs in the job."""

    context_name: str

    @staticmethod
    def of(item: pytest.Item, context_name: str) -> JobItem:
        made = JobItem.from_parent(item.parent, name=item.name, nodeid=item.nodeid)
        made.own_markers = list(item.own_markers)
        made.add_marker(pytest.mark.timeout(_SECONDS))  # the first one runs the job
        made.context_name = context_name
        return made

    def runtest(self) -> None:
        config = self.session.config
        runs, name = config.stash.setdefault(_RUNS, {}), self.context_name
        if name not in runs:
            items = [item for item in self.session.items if isinstance(item, JobItem)]
            ids = [item.nodeid for item in items if item.context_name == name]
            runs[name] = _run(name, ids, Path(str(config._tmp_path_factory.mktemp(name))))  # type: ignore[attr-defined]
        report = runs[name].get(self.nodeid, "the job ended before this test")
        if report:
            raise _FailedInside(report)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        del style
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class _FailedInside(Exception):
    """What pytest said inside."""


def _run(name: str, ids: list[str], folder: Path) -> dict[str, str]:
    """Run the tests in a job; return what each said, empty where it passed."""
    reports = folder / "reports"
    with JOBS[name].cluster() as cluster:
        request = JobRequest(
            "conformance",
            Entrypoint.from_callable(_run_pytest, [ids, str(reports), None if JOBS[name].is_copied else os.getcwd()]),
            JOBS[name].resources,
            _environment(name, folder),
        )
        info = cluster.wait(cluster.launch(request))
        log = cluster.logs(info.job_id)
    found = dict(json.loads(line) for line in reports.read_text().splitlines()) if reports.exists() else {}
    missing = f"the job {info.status} before this test:\n{log[-4000:]}"
    return {test: found.get(test, missing) for test in ids}


def _environment(name: str, folder: Path) -> EnvironmentConfig:
    if JOBS[name].is_copied:
        return create_environment(env_vars={_INSIDE: name})
    empty = folder / "workspace"
    empty.mkdir()
    return create_environment(workspace=str(empty), env_vars={_INSIDE: name, "PYTHONPATH": os.getcwd()})


def _run_pytest(ids: list[str], reports: str, folder: str | None) -> None:
    if folder is not None:
        os.chdir(folder)
    known = "ignore::pytest.PytestAssertRewriteWarning"  # a job's process has Fray before pytest
    pytest.main(["-q", "-p", "no:cacheprovider", "-W", known, *ids], plugins=[_Recorder(reports)])


class _Recorder:
    """Writes a line for each test when it is over."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._failures: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failures[report.nodeid] = self._failures.get(report.nodeid, "") + report.longreprtext
        if report.when == "teardown":
            with open(self._path, "a") as file:
                file.write(json.dumps([report.nodeid, self._failures.get(report.nodeid, "")]) + "\n")
