"""`Controller`: the stand-in as a whole: a server, the state behind it, and the pretended workers."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from google.protobuf import json_format

from tests.iris import launching, messages, names
from tests.iris.auth import Auth, Caller
from tests.iris.bundles import BundleStore
from tests.iris.endpoints import EndpointTable
from tests.iris.errors import ConnectError
from tests.iris.faults import Faults
from tests.iris.jobs import JOB, TASK_ENDED, Attempt, Job, JobTable, Task
from tests.iris.logs import LogStore
from tests.iris.process import TaskProcess
from tests.iris.scheduler import demand_of, placements
from tests.iris.server import Server
from tests.iris.service import Service
from tests.iris.times import Times
from tests.iris.worker import Worker

_FIRST_PORT = 30_000
_PORTS = 10_000


class Controller:
    """Serves at `url` from its construction to close(), which leaves nothing behind.

    Args:
        workers: where tasks run; one of 8 cores by default.
        times: how long things take; Iris's own are `Times()`.
        tokens: static tokens and the users that they are; none means that everybody may do everything.
        admins: users who may do everything.
        port: 0 for any.
        runs_setup: whether tasks run their setup commands, as in a container.

    Threading: any thread; `lock` guards the state of jobs.
    """

    def __init__(
        self,
        workers: list[Worker] | None = None,
        times: Times | None = None,
        tokens: dict[str, str] | None = None,
        admins: frozenset[str] = frozenset(),
        port: int = 0,
        runs_setup: bool = False,
    ) -> None:
        self.times = times or Times()
        self.workers = workers or [Worker("worker-0")]
        self.jobs = JobTable()
        self.logs = LogStore()
        self.bundles = BundleStore()
        self.auth = Auth(tokens, admins)
        self.faults = Faults()
        self.endpoints = EndpointTable(self.jobs)
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self._runs_setup = runs_setup
        self._closed = False
        self._next_port = 0
        self._root = Path(tempfile.mkdtemp(prefix="fray-iris-"))
        self.server = Server(self, Service(self), port)
        self.endpoints.system["/system/log-server"] = self.url
        self._threads = [
            threading.Thread(target=work, daemon=True)
            for work in (self._schedule_for_ever, self._reconcile_for_ever, self._sweep_for_ever)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def url(self) -> str:
        return self.server.url

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.server.stop()
        for worker in self.workers:
            worker.kill_all()
        for worker in self.workers:
            worker.join()
        for thread in self._threads:
            thread.join()
        shutil.rmtree(self._root, ignore_errors=True)

    def __enter__(self) -> Controller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- What tests do to it

    def go_away(self) -> None:
        """Refuse connections and close those that are open; tasks go on."""
        self.server.stop()

    def come_back(self) -> None:
        """Serve again, at the same address, with what is remembered."""
        self.server.start()

    def lose_worker(self, worker: Worker) -> None:
        """A machine is gone, and the controller has noticed."""
        worker.vanish()
        self._end_attempts(worker.worker_id, "WORKER_FAILED", f"Worker {worker.worker_id} failed")

    def preempt(self, worker: Worker) -> None:
        """A machine is taken away and comes back at once, empty."""
        worker.kill_all(silently=True)
        self._end_attempts(worker.worker_id, "PREEMPTED", f"Worker {worker.worker_id} was preempted")

    def add_worker(self, worker: Worker) -> None:
        with self._changed:
            self.workers.append(worker)
            self._changed.notify_all()

    def _end_attempts(self, worker_id: str, state: str, error: str) -> None:
        with self._changed:
            for _, task, attempt in self._live_attempts():
                if attempt.worker == worker_id:
                    self.jobs.lost(task, attempt, state, error, now_ms())
            self._changed.notify_all()

    def _live_attempts(self) -> list[tuple[Job, Task, Attempt]]:
        return [
            (job, task, task.current)
            for job in self.jobs
            for task in job.tasks
            if task.current is not None and task.current.state not in TASK_ENDED
        ]

    # ---- What clients ask for

    def launch(self, request: Any, caller: Caller) -> str:
        """LaunchJob: the id under which the job goes."""
        if not request.name:
            raise ConnectError("invalid_argument", "Job name is required")
        parts = names.parts_of(request.name)
        launching.check_age(request.name, request.client_revision_date)
        if self.auth.provider and len(parts) == 2:
            parts[0] = caller.user
        elif self.auth.provider and parts[0] != caller.user and caller.role != "admin":
            raise ConnectError("permission_denied", f"User {caller.user} does not own {request.name}")
        job_id = "/" + "/".join(parts)
        launching.check_band(request.priority_band, caller.role)
        with self._changed:
            launching.check_parent(self.jobs, job_id)
            before = self.jobs.get(job_id)
            if before is not None:
                todo = launching.existing(before, request.existing_job_policy)
                if todo == "keep":
                    return job_id
                if todo == "recreate":
                    self.terminate(job_id)
                self._drain(before)
                self.jobs.remove(job_id)
            self._add(job_id, request)
            self._changed.notify_all()
        return job_id

    def _add(self, job_id: str, request: Any) -> None:
        stored = messages.LaunchJobRequest()
        stored.CopyFrom(request)
        if request.bundle_blob:
            stored.bundle_id = self.bundles.add(request.bundle_blob)
            stored.ClearField("bundle_blob")
        launching.check_device(stored, job_id, self.workers)
        self.jobs.add(Job(job_id, stored, submitted_ms=now_ms()))

    def _drain(self, job: Job) -> None:
        """Wait until the workers have said that the job's tasks are gone; those of a killed one never do."""
        deadline = time.monotonic() + self.times.drain
        while job.has_unfinished_attempts:
            left = deadline - time.monotonic()
            if left <= 0 or self._closed:
                raise ConnectError(
                    "deadline_exceeded", f"Timed out waiting for job {job.job_id} to drain before replacement"
                )
            self._changed.wait(min(left, 0.1))

    def terminate(self, job_id: str) -> None:
        with self._changed:
            self.jobs.killed(job_id, "Terminated by user", now_ms())
            self._changed.notify_all()

    # ---- What it does by itself

    def _schedule_for_ever(self) -> None:
        with self._changed:
            while not self._closed:
                for job in self.jobs:
                    self._check_scheduling_timeout(job)
                for job, task, worker in placements(self.jobs, self.workers):
                    if not job.is_over:
                        self._start(job, task, worker)
                self._changed.wait(self.times.schedule)

    def _check_scheduling_timeout(self, job: Job) -> None:
        limit = job.request.scheduling_timeout.milliseconds
        if job.state == JOB["PENDING"] and limit and now_ms() - job.submitted_ms > limit:
            self.jobs.unschedulable(job, f"Scheduling timeout exceeded ({limit} ms)", now_ms())

    def _start(self, job: Job, task: Task, worker: Worker) -> None:
        attempt = self.jobs.assigned(task, worker.worker_id, now_ms())
        key = task.key
        folder = worker.folder(self._root) / (key.strip("/").replace("/", "_") + "_workdir")
        process = TaskProcess(
            key=key,
            argv=list(job.request.entrypoint.run_command.argv),
            environment=self._environment(job, task, worker, folder),
            folder=folder,
            files=dict(job.request.entrypoint.workdir_files),
            bundle_id=job.request.bundle_id,
            setup=list(job.request.entrypoint.setup_commands) if self._runs_setup else [],
            bundles=self.bundles,
            logs=self.logs,
            log_batch=self.times.log_batch,
        )

        def exited(code: int, error: str) -> None:
            with self._changed:
                if self.jobs.get(job.job_id) is job:
                    self.jobs.exited(task, attempt, code, error, now_ms())
                self._changed.notify_all()

        self.jobs.runs(task, attempt, now_ms())
        worker.start(key, process, demand_of(job.request), exited)

    def _environment(self, job: Job, task: Task, worker: Worker, folder: Path) -> dict[str, str]:
        attempt = len(task.attempts) - 1
        wanted = job.request.environment
        given = {
            **os.environ,
            # The image of a task has a program `python`; a Debian need not.
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "IRIS_TASK_ID": task.task_id if attempt == 0 else names.attempt_key(task.task_id, attempt),
            "IRIS_NUM_TASKS": str(len(job.tasks)),
            "IRIS_CONTROLLER_ADDRESS": self.url,
            "IRIS_CONTROLLER_URL": self.url,
            "IRIS_ADVERTISE_HOST": "127.0.0.1",
            "IRIS_BIND_HOST": "0.0.0.0",
            "IRIS_WORKDIR": str(folder),
            "IRIS_PYTHON": sys.executable,
            "IRIS_BUNDLE_ID": job.request.bundle_id,
            "IRIS_JOB_ENV": json.dumps(dict(wanted.env_vars)),
            "IRIS_TASK_RESOURCES": json_format.MessageToJson(job.request.resources, preserving_proto_field_name=True),
            **worker.environment(),
        }
        if wanted.extras:
            given["IRIS_JOB_EXTRAS"] = json.dumps(list(wanted.extras))
        if wanted.pip_packages:
            given["IRIS_JOB_PIP_PACKAGES"] = json.dumps(list(wanted.pip_packages))
        for name in job.request.ports:
            given[f"IRIS_PORT_{name.upper()}"] = str(_FIRST_PORT + self._next_port % _PORTS)
            self._next_port += 1
        region = given.get("IRIS_WORKER_REGION")
        given.update(wanted.env_vars)
        if region is not None:
            given["IRIS_WORKER_REGION"] = region
        return given

    def _reconcile_for_ever(self) -> None:
        while not self._wait(self.times.reconcile):
            with self.lock:
                wanted = {task.key for _, task, _ in self._live_attempts()}
            for worker in list(self.workers):
                worker.reconcile(wanted, self.times)

    def _sweep_for_ever(self) -> None:
        while not self._wait(self.times.timeout_sweep):
            with self._changed:
                for job in self.jobs:
                    limit = job.request.timeout.milliseconds
                    started = [task.current.started_ms for task in job.tasks if task.current]
                    if limit and not job.is_over and any(now_ms() - each > limit for each in started):
                        self.jobs.timed_out(job, now_ms())
                self._changed.notify_all()

    def _wait(self, seconds: float) -> bool:
        """Whether it was closed meanwhile."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while not self._closed and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            return self._closed


def now_ms() -> int:
    return int(time.time() * 1000)
