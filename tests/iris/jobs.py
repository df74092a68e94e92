"""Jobs, their tasks and attempts, and how their states follow from each other. No I/O, clock or thread.

The rules are Iris's, with what is wrong in them: an attempt that was killed on a worker never counts as finished, so a
job that was killed cannot be replaced; and with `max_task_failures` above 0 a job can run for ever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.iris import names
from tests.iris.messages import enum

JOB = enum("JobState")
TASK = enum("TaskState")
JOB_ENDED = frozenset(JOB[name] for name in ("SUCCEEDED", "FAILED", "KILLED", "WORKER_FAILED", "UNSCHEDULABLE"))
TASK_ENDED = frozenset(
    TASK[name] for name in ("SUCCEEDED", "FAILED", "KILLED", "WORKER_FAILED", "UNSCHEDULABLE", "PREEMPTED")
)
_TASK_NAMES = {number: name for name, number in TASK.items()}
_LAST_WORDS = {
    JOB["SUCCEEDED"]: "Job finalized",
    JOB["FAILED"]: "Job exceeded max_task_failures",
    JOB["KILLED"]: "Job was terminated.",
    JOB["UNSCHEDULABLE"]: "Job could not be scheduled.",
    JOB["WORKER_FAILED"]: "Worker failed",
}
"""For what is killed because a job has ended."""
_POLICY = enum("JobPreemptionPolicy")


@dataclass
class Attempt:
    """One try at a task, on one worker."""

    number: int
    worker: str
    state: int
    started_ms: int = 0
    finished_ms: int = 0
    exit_code: int = 0
    error: str = ""
    is_worker_failure: bool = False


@dataclass
class Task:
    task_id: str
    state: int = TASK["PENDING"]
    attempts: list[Attempt] = field(default_factory=list)
    failures: int = 0
    preemptions: int = 0
    error: str = ""
    status_text: tuple[str, str] = ("", "")

    @property
    def index(self) -> int:
        return names.split_task_id(self.task_id)[1]

    @property
    def current(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None

    @property
    def key(self) -> str:
        """The attempt's key, under which its output lies."""
        return names.attempt_key(self.task_id, len(self.attempts) - 1)


@dataclass
class Job:
    job_id: str
    request: Any
    submitted_ms: int
    tasks: list[Task] = field(default_factory=list)
    state: int = JOB["PENDING"]
    error: str = ""
    started_ms: int = 0
    finished_ms: int = 0
    pending_reason: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in JOB_ENDED

    @property
    def has_unfinished_attempts(self) -> bool:
        return any(attempt.finished_ms == 0 for task in self.tasks for attempt in task.attempts)

    @property
    def takes_children_along(self) -> bool:
        """Whether its children end when it does not succeed, or a task of it begins anew on another machine."""
        policy = self.request.preemption_policy
        return policy == _POLICY["TERMINATE_CHILDREN"] or (policy == _POLICY["UNSPECIFIED"] and len(self.tasks) == 1)

    def counts(self) -> Counter[int]:
        return Counter(task.state for task in self.tasks)

    def named_counts(self) -> dict[str, int]:
        return {_TASK_NAMES[state].lower(): count for state, count in self.counts().items()}


@dataclass
class JobTable:
    """All jobs, by id."""

    jobs: dict[str, Job] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Job]:
        return iter(list(self.jobs.values()))

    def get(self, job_id: str) -> Job | None:
        return self.jobs.get(job_id)

    def task(self, task_id: str) -> tuple[Job, Task] | None:
        job_id, index = names.split_task_id(task_id)
        job = self.jobs.get(job_id)
        return (job, job.tasks[index]) if job and index < len(job.tasks) else None

    def add(self, job: Job) -> None:
        """Take a job that LaunchJob has let through; without tasks it has failed."""
        replicas = job.request.replicas
        job.tasks = [Task(names.task_id(job.job_id, index)) for index in range(max(replicas, 0))]
        self.jobs[job.job_id] = job
        if replicas < 1:
            error = f"Job {job.job_id} has invalid replicas={replicas}; must be >= 1"
            self._end(job, JOB["FAILED"], error, job.submitted_ms)

    def below(self, job_id: str) -> list[Job]:
        """The job and its children, and theirs."""
        return [job for job in self if job.job_id == job_id or job.job_id.startswith(job_id + "/")]

    def remove(self, job_id: str) -> None:
        for job in self.below(job_id):
            del self.jobs[job.job_id]

    # ---- Events

    def assigned(self, task: Task, worker: str, now_ms: int) -> Attempt:
        attempt = Attempt(len(task.attempts), worker, TASK["ASSIGNED"], started_ms=now_ms)
        task.attempts.append(attempt)
        task.state = attempt.state
        self._settle(self._job_of(task), now_ms)
        return attempt

    def runs(self, task: Task, attempt: Attempt, now_ms: int, state: str = "RUNNING") -> None:
        if attempt is task.current and attempt.state not in TASK_ENDED:
            attempt.state = task.state = TASK[state]
            self._settle(self._job_of(task), now_ms)

    def exited(self, task: Task, attempt: Attempt, exit_code: int, error: str, now_ms: int) -> None:
        """A process ended by itself. What a worker says of an attempt that was killed is dropped."""
        if attempt.state in TASK_ENDED:
            return
        job = self._job_of(task)
        attempt.exit_code, attempt.error = exit_code, error
        self._finish(attempt, "SUCCEEDED" if exit_code == 0 else "FAILED", now_ms)
        if exit_code != 0:
            task.failures += 1
        self._ended_or_again(job, task, task.failures <= job.request.max_retries_failure, now_ms)

    def lost(self, task: Task, attempt: Attempt, state: str, error: str, now_ms: int) -> None:
        """The worker is gone (WORKER_FAILED), or was taken away (PREEMPTED)."""
        if attempt.state in TASK_ENDED:
            return
        job = self._job_of(task)
        attempt.error, attempt.is_worker_failure = error, True
        self._finish(attempt, state, now_ms)
        task.preemptions += 1
        again = task.preemptions <= job.request.max_retries_preemption
        self._ended_or_again(job, task, again, now_ms)
        if again and not job.is_over and job.takes_children_along:
            self._kill_children(job, "Parent task preempted", now_ms)

    def killed(self, job_id: str, error: str, now_ms: int) -> None:
        """TerminateJob: the job and all below it. Jobs that have ended stay as they are."""
        for job in self.below(job_id):
            if not job.is_over:
                self._kill_tasks(job, error)
                self._end(job, JOB["KILLED"], error, now_ms)

    def unschedulable(self, job: Job, error: str, now_ms: int) -> None:
        for task in job.tasks:
            if task.state not in TASK_ENDED:
                task.state, task.error = TASK["UNSCHEDULABLE"], error
        self._settle(job, now_ms)

    def timed_out(self, job: Job, now_ms: int) -> None:
        self._kill_tasks(job, "Execution timeout exceeded")
        self._end(job, JOB["FAILED"], "Execution timeout exceeded", now_ms)

    # ---- What follows

    def _job_of(self, task: Task) -> Job:
        return self.jobs[names.split_task_id(task.task_id)[0]]

    def _finish(self, attempt: Attempt, state: str, now_ms: int) -> None:
        attempt.state, attempt.finished_ms = TASK[state], now_ms

    def _ended_or_again(self, job: Job, task: Task, again: bool, now_ms: int) -> None:
        attempt = task.attempts[-1]
        task.error = attempt.error
        task.state = attempt.state
        if attempt.state != TASK["SUCCEEDED"] and again and not job.is_over:
            task.state = TASK["PENDING"]
        self._settle(job, now_ms)

    def _settle(self, job: Job, now_ms: int) -> None:
        """The job's state from those of its tasks; the first rule that applies."""
        if job.is_over:
            return
        counts = job.counts()
        every = len(job.tasks)
        ended = sum(counts[state] for state in TASK_ENDED)
        lost = counts[TASK["WORKER_FAILED"]] + counts[TASK["PREEMPTED"]]
        first_error = next((task.error for task in job.tasks if task.error), "")
        if counts[TASK["SUCCEEDED"]] == every:
            self._finalize(job, JOB["SUCCEEDED"], "", now_ms)
        elif counts[TASK["FAILED"]] > job.request.max_task_failures:
            self._finalize(job, JOB["FAILED"], first_error, now_ms)
        elif counts[TASK["UNSCHEDULABLE"]]:
            self._finalize(job, JOB["UNSCHEDULABLE"], first_error, now_ms)
        elif counts[TASK["KILLED"]]:
            self._finalize(job, JOB["KILLED"], first_error, now_ms)
        elif ended == every and lost:
            self._finalize(job, JOB["WORKER_FAILED"], first_error, now_ms)
        elif job.started_ms or any(counts[TASK[name]] for name in ("ASSIGNED", "BUILDING", "RUNNING")):
            job.state = JOB["RUNNING"]
            job.started_ms = job.started_ms or now_ms

    def _finalize(self, job: Job, state: int, error: str, now_ms: int) -> None:
        """Its other tasks end with a job; so do its children, except those of a job of several tasks that failed."""
        self._kill_tasks(job, _LAST_WORDS[state])
        self._end(job, state, error, now_ms)
        if state in (JOB["SUCCEEDED"], JOB["WORKER_FAILED"]) or job.takes_children_along:
            self._kill_children(job, _LAST_WORDS[state], now_ms)

    def _kill_children(self, job: Job, error: str, now_ms: int) -> None:
        for child in self.below(job.job_id):
            if child is not job and not child.is_over:
                self._kill_tasks(child, error)
                self._end(child, JOB["KILLED"], error, now_ms)

    def _kill_tasks(self, job: Job, error: str) -> None:
        """The attempts stay without an end: what their workers say of it later is dropped."""
        for task in job.tasks:
            if task.state not in TASK_ENDED:
                if task.current is not None and task.current.state not in TASK_ENDED:
                    task.current.state, task.current.error = TASK["KILLED"], error
                task.state = TASK["KILLED"]
                task.error = task.error or error

    def _end(self, job: Job, state: int, error: str, now_ms: int) -> None:
        job.state, job.error, job.finished_ms, job.pending_reason = state, error, now_ms, ""
