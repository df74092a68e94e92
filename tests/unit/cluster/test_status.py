from __future__ import annotations

import pickle

import pytest
from fray.cluster import ClusterContext, JobId, JobInfo, JobStatus, TaskStatus


def test_status_equals_its_text():
    assert [str(status) for status in JobStatus] == ["pending", "running", "succeeded", "failed", "stopped"]
    assert JobStatus.SUCCEEDED == "succeeded"


@pytest.mark.parametrize("status", JobStatus)
def test_three_statuses_are_final(status: JobStatus):
    final = status in ("succeeded", "failed", "stopped")
    assert JobStatus.finished(status) is final
    assert JobStatus.finished(str(status)) is final


def test_job_with_its_replicas():
    info = JobInfo(JobId("job-1"), JobStatus.FAILED, [TaskStatus("failed", "exit code 1")], "train", "1 replica failed")
    assert (info.job_id, info.name, info.error_message) == ("job-1", "train", "1 replica failed")
    assert info.tasks == [TaskStatus(JobStatus.FAILED, "exit code 1")]
    assert info.tasks[0].status is JobStatus.FAILED
    assert pickle.loads(pickle.dumps(info)) == info


def test_unknown_status_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown status 'lost'; known are 'pending', 'running', 'succeeded'"):
        JobInfo(JobId("a"), "lost")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="TaskStatus: unknown status None"):
        TaskStatus(None)  # type: ignore[arg-type]


def test_tasks_are_statuses():
    with pytest.raises(TypeError, match=r"tasks must be a list of TaskStatus\(...\), got \['failed'\]"):
        JobInfo(JobId("a"), JobStatus.FAILED, ["failed"])  # type: ignore[list-item]


def test_place_for_jobs_must_have_all_three_verbs():
    class Half(ClusterContext):
        def create_job(self, entrypoint, env):
            return "id"

    with pytest.raises(TypeError, match=r"delete_job.*list_jobs"):
        Half()  # type: ignore[abstract]
