"""Jobs in environments of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fray import (
    Entrypoint,
    JobRequest,
    JobStatus,
    ResourceConfig,
    RuntimeEnvError,
    UnsupportedError,
    create_environment,
)
from fray.cluster import Cluster, create_cluster

from tests.chaos.wheels import make_wheel
from tests.slowness import SLOWNESS

_SECONDS = 120 * SLOWNESS
LOOK = (
    "import importlib.util as u, json, os, sys\n"
    "names = ['fray', 'fray_isolated_greeting', 'numpy', 'pytest']\n"
    "found = [name for name in names if u.find_spec(name)]\n"
    "print(json.dumps({'prefix': sys.prefix, 'found': found, 'env': os.environ.get('VIRTUAL_ENV')}))\n"
)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with create_cluster("local?use_isolated_env=true&cpus=2") as cluster:
        yield cluster


def request(folder: Path, entrypoint: Entrypoint, *packages: str) -> JobRequest:
    environment = create_environment(workspace=folder, pip_packages=list(packages))
    return JobRequest("isolated", entrypoint, ResourceConfig(cpu=1), environment)


@pytest.mark.parametrize("kind", ["program", "function"])
def test_job_has_what_it_asked_for_and_fray_and_nothing_else(cluster: Cluster, tmp_path: Path, kind: str):
    wheel = make_wheel(tmp_path, "fray_isolated_greeting", "1.0", "WORDS = 'hello'\n")
    if kind == "program":
        entrypoint = Entrypoint.from_binary("python", ["-c", LOOK])
    else:
        entrypoint = Entrypoint.from_callable(exec, [LOOK, {}])
    job = cluster.launch(request(tmp_path, entrypoint, str(wheel)))
    assert cluster.wait(job, timeout=_SECONDS).status is JobStatus.SUCCEEDED, cluster.logs(job)
    seen = json.loads(cluster.logs(job))
    assert seen["found"] == ["fray", "fray_isolated_greeting"]
    assert seen["prefix"] == seen["env"]
    assert seen["prefix"].startswith(str(tmp_path / "cache"))


def test_environment_is_made_once_for_what_is_equal(cluster: Cluster, tmp_path: Path):
    entrypoint = Entrypoint.from_binary("python", ["-c", "import sys; print(sys.prefix)"])
    jobs = [cluster.launch(request(tmp_path, entrypoint)) for _ in range(2)]
    cluster.wait(jobs, raise_on_failure=True, timeout=_SECONDS)
    assert len({cluster.logs(job) for job in jobs}) == 1
    assert len([path for path in (tmp_path / "cache" / "fray" / "isolated").iterdir() if path.is_dir()]) == 1


def test_job_in_its_own_environment_starts_tasks(cluster: Cluster, tmp_path: Path):
    script = "import fray; ctx = fray.get_job_context(); print(ctx.get(ctx.run(pow, 2, 5)))"
    job = cluster.launch(request(tmp_path, Entrypoint.from_binary("python", ["-c", script])))
    assert cluster.wait(job, timeout=_SECONDS).status is JobStatus.SUCCEEDED, cluster.logs(job)
    assert cluster.logs(job) == "32\n"


def test_package_that_cannot_be_had_says_so_and_leaves_nothing(cluster: Cluster, tmp_path: Path):
    wanted = ["--no-index", "fray-has-no-such-package"]
    with pytest.raises(RuntimeEnvError, match="fray-has-no-such-package"):
        cluster.launch(request(tmp_path, Entrypoint.from_binary("true"), *wanted))
    assert not [path for path in (tmp_path / "cache" / "fray" / "isolated").iterdir() if path.is_dir()]


def test_image_and_own_environment_exclude_each_other(cluster: Cluster):
    environment = create_environment(docker_image="debian")
    with pytest.raises(UnsupportedError, match="leave one of them out"):
        cluster.launch(JobRequest("both", Entrypoint.from_binary("true"), environment=environment))
