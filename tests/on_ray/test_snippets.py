"""The code blocks of the documents that Fray was written to, as far as they need Ray."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import fray
import pytest
from fray.backend.ray.cluster import RayCluster

from tests.on_ray.head import ENVIRONMENT, ROOT, RayHead
from tests.snippets.blocks import blocks
from tests.snippets.books import programs
from tests.snippets.programs import Around, Program, run

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default"), pytest.mark.timeout(180)]

OWN_RAY = "a Ray of its own"
BIG = {"CPU": 4, "GPU": 1, "memory": 9 << 30, "TPU": 8, "TPU-v4-32-head": 1}


@pytest.fixture
def context_on_ray(initialised_ray: RayHead) -> Iterator[fray.JobContext]:
    from fray.backend.ray import RayJobContext

    with RayJobContext(namespace="snippets") as context, fray.fray_default_job_ctx(context):
        yield context
        for entry in context.list_named_actors(all_namespaces=True):
            context.kill(context.get_actor(**entry))


@pytest.fixture
def ray_cluster(context_on_ray: fray.JobContext) -> Iterator[RayCluster]:
    cluster = RayCluster(local=True)
    with fray.set_current_cluster(cluster):
        yield cluster
    cluster.shutdown(wait=False)


@pytest.fixture(scope="module")
def big_node(initialised_ray: RayHead) -> Iterator[None]:
    """A raylet with what the documents' tasks ask for; none of it is real."""
    number = initialised_ray.add_node(BIG)
    yield
    initialised_ray.kill_node(number)


@pytest.fixture
def around(
    request: pytest.FixtureRequest, initialised_ray: RayHead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Program, str], Around]:
    """Make what is around a program: an empty folder, and its place."""
    monkeypatch.chdir(tmp_path)
    return lambda program, place: Around(blocks()[program.id], place, tmp_path, monkeypatch, request.getfixturevalue)


@pytest.mark.parametrize(
    ("program", "place"),
    [
        pytest.param(program, place, id=name, marks=[pytest.mark.long] if program.long else [])
        for name, program, place in programs(("Ray", "RayCluster", "Ray itself"))
    ],
)
def test_block_runs_on_ray(program: Program, place: str, around: Callable[[Program, str], Around]):
    run(program, around(program, place))


@pytest.mark.long
@pytest.mark.parametrize("key", [name.removesuffix(f"-{OWN_RAY}") for name, _, _ in programs((OWN_RAY,))])
def test_block_starts_a_ray_of_its_own(key: str):
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # the path of Ray's sockets must stay short
    environment = {**os.environ, **ENVIRONMENT, "RAY_ADDRESS": "", "RAY_TMPDIR": folder, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.snippets.own_ray", key]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert done.stdout.endswith("done\n")
