"""The suite inside a job: its tests run in one job of a cluster, and each is reported where it was asked for.

The job's function is pytest itself, which a variable tells where it is; `get_job_context()` there finds the job's node.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fray import Entrypoint, JobRequest, ResourceConfig, create_environment
from fray.cluster import LocalCluster

from tests.slowness import SLOWNESS

__all__ = ["NAME", "JobItem", "is_inside"]

NAME = "job"
_INSIDE = "FRAY_CONFORMANCE_INSIDE"
_SECONDS = 280 * SLOWNESS
_RUN = pytest.StashKey[dict[str, str]]()


def is_inside() -> bool:
    """Return whether this process is the job."""
    return _INSIDE in os.environ


class JobItem(pytest.Item):
    """Stands for a test that runs in the job."""

    @staticmethod
    def of(item: pytest.Item) -> JobItem:
        made = JobItem.from_parent(item.parent, name=item.name, nodeid=item.nodeid)
        made.own_markers = list(item.own_markers)
        made.add_marker(pytest.mark.timeout(_SECONDS))  # the first one runs the job
        return made

    def runtest(self) -> None:
        config = self.session.config
        if _RUN not in config.stash:
            ids = [item.nodeid for item in self.session.items if isinstance(item, JobItem)]
            config.stash[_RUN] = _run(ids, Path(str(config._tmp_path_factory.mktemp("job"))))  # type: ignore[attr-defined]
        report = config.stash[_RUN].get(self.nodeid, "the job ended before this test")
        if report:
            raise _FailedInside(report)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        del style
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class _FailedInside(Exception):
    """What pytest said inside."""


def _run(ids: list[str], folder: Path) -> dict[str, str]:
    """Run the tests in a job; return what each said, empty where it passed."""
    reports = folder / "reports"
    with LocalCluster(cpus=2) as cluster:
        request = JobRequest(
            "conformance",
            Entrypoint.from_callable(_run_pytest, [ids, str(reports)]),
            ResourceConfig(cpu=0, ram="0"),
            create_environment(env_vars={_INSIDE: "1"}),
        )
        info = cluster.wait(cluster.launch(request))
        log = cluster.logs(info.job_id)
    found = dict(json.loads(line) for line in reports.read_text().splitlines()) if reports.exists() else {}
    missing = f"the job {info.status} before this test:\n{log[-4000:]}"
    return {test: found.get(test, missing) for test in ids}


def _run_pytest(ids: list[str], reports: str) -> None:
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
