"""Gangs on pretended TPU slices: two raylets beside the head, which form one slice of two machines or two of one."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import fray
import pytest
from fray import Entrypoint, JobRequest, JobStatus, ResourceConfig
from fray.backend.ray.cluster import RayCluster
from fray.backend.ray.tpu import run_on_pod, run_on_pod_ray, run_on_tpu

import ray
from tests.on_ray.head import RayHead

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default"), pytest.mark.timeout(180)]

HEAD = {"TPU": 4, "TPU-v4-8-head": 1, "TPU-v4-16-head": 1, "pod-x": 1}
MATE = {"TPU": 4, "TPU-v4-8-head": 1, "pod-x": 1}


class Pod:
    """The two machines; the second one can be taken away and given back."""

    def __init__(self, head: RayHead) -> None:
        self._head = head
        self._head_node = head.add_node(HEAD)
        self._mate = head.add_node(MATE)
        self.wait_for(2)

    def take_away(self) -> None:
        self._head.kill_node(self._mate)

    def give_back(self) -> None:
        self._mate = self._head.add_node(MATE)
        self.wait_for(2)

    def wait_for(self, machines: int) -> None:
        deadline = time.monotonic() + 60
        while sum("TPU" in node["Resources"] for node in ray.nodes() if node["Alive"]) != machines:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def close(self) -> None:
        self._head.kill_node(self._mate)
        self._head.kill_node(self._head_node)
        self.wait_for(0)


@pytest.fixture(scope="module")
def pod(initialised_ray: RayHead) -> Iterator[Pod]:
    pod = Pod(initialised_ray)
    yield pod
    pod.close()


def where_am_i() -> tuple[str, str | None]:
    return ray.get_runtime_context().get_node_id(), os.environ.get("MEGASCALE_SLICE_ID")


def count(path: str) -> int:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, b".")
    os.close(fd)
    return Path(path).stat().st_size


def fail() -> None:
    raise LookupError("no chips here")


def test_one_process_on_each_machine_of_a_slice(pod: Pod):
    results = run_on_pod(where_am_i, "v4-16")
    assert len({node for node, _ in results}) == len(results) == 2
    assert [number for _, number in results] == [None, None]
    assert sorted(run_on_tpu(where_am_i, "v4-16")) == sorted(results)


def test_several_slices_learn_of_each_other(pod: Pod):
    def variables() -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name.startswith("MEGASCALE_")}

    first, second = run_on_pod(variables, "v4-8", num_slices=2)
    assert (first["MEGASCALE_SLICE_ID"], second["MEGASCALE_SLICE_ID"]) == ("0", "1")
    for found in (first, second):
        assert (found["MEGASCALE_NUM_SLICES"], found["MEGASCALE_PORT"]) == ("2", "8081")
        assert found["MEGASCALE_COORDINATOR_ADDRESS"].endswith(":8081")


def test_largest_number_of_slices_that_there_is(pod: Pod):
    assert len(run_on_pod(where_am_i, "v4-8", num_slices=[1, 2, 4])) == 2
    with pytest.raises(fray.InfeasibleError, match="4 free slices of v4-8 are needed"):
        run_on_pod(where_am_i, "v4-8", num_slices=4, reserve_seconds=1)
    with pytest.raises(ValueError, match="Unknown TPU type"):
        run_on_pod(where_am_i, "v99-8")


def test_failure_is_raised_as_itself_within_its_budget(pod: Pod, tmp_path: Path):
    tries = str(tmp_path / "tries")

    def count_and_fail() -> None:
        count(tries)
        fail()

    with pytest.raises(LookupError, match="no chips here"):
        run_on_pod(count_and_fail, "v4-8", max_retries_failure=1, max_retries_preemption=0)
    assert Path(tries).stat().st_size == 2


def test_giving_up_waiting_is_a_preemption(pod: Pod, tmp_path: Path):
    tries = str(tmp_path / "tries")

    def time_out() -> None:
        count(tries)
        raise TimeoutError("barrier")

    with pytest.raises(RuntimeError, match="preempted too many times"):
        run_on_pod(time_out, "v4-8", max_retries_failure=0, max_retries_preemption=2)
    assert 2 <= Path(tries).stat().st_size <= 3, "Ray may take an attempt's process away before it counts"

    def time_out_once() -> str:
        if count(str(tmp_path / "once")) == 1:
            raise TimeoutError("barrier")
        return "through"

    assert run_on_pod(time_out_once, "v4-8", max_retries_failure=0) == ["through"]


def test_one_failure_ends_the_process_on_every_machine(pod: Pod, tmp_path: Path):
    started = str(tmp_path / "started")

    def fail_beside_a_waiting_one() -> None:
        if count(started) == 2:
            fail()
        time.sleep(1000)

    with pytest.raises(LookupError):
        run_on_pod(fail_beside_a_waiting_one, "v4-16", max_retries_failure=0, max_retries_preemption=0)
    assert run_on_pod(where_am_i, "v4-16")


@pytest.mark.long
def test_machine_that_goes_away_starts_all_anew(pod: Pod, tmp_path: Path):
    started = str(tmp_path / "started")

    def wait_in_the_first_attempt() -> str:
        if count(started) <= 2:
            time.sleep(1000)
        return "through"

    ref = run_on_pod_ray(wait_in_the_first_attempt, "v4-16", max_retries_failure=0)
    deadline = time.monotonic() + 60
    while not Path(started).exists() or Path(started).stat().st_size < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    pod.take_away()
    pod.give_back()
    assert ray.get(ref, timeout=120) == ["through", "through"]


def test_job_on_a_tpu_runs_on_all_its_machines(pod: Pod, tmp_path: Path):
    out = tmp_path / "out"
    out.mkdir()

    def note() -> None:
        Path(out, ray.get_runtime_context().get_node_id()).write_text(os.environ["JAX_PLATFORMS"])

    cluster = RayCluster(local=True)
    job_id = cluster.launch(
        JobRequest("train", Entrypoint.from_callable(note), resources=ResourceConfig.with_tpu("v4-16"))
    )
    assert cluster.wait(job_id, raise_on_failure=True, timeout=90).status is JobStatus.SUCCEEDED
    assert [path.read_text() for path in out.iterdir()] == ["", ""]
