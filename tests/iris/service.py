"""`Service`: the calls, by the path under which a controller serves them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.iris import messages, names
from tests.iris.auth import Caller
from tests.iris.errors import ConnectError
from tests.iris.jobs import JOB, TASK, Attempt, Job, Task
from tests.iris.messages import enum
from tests.iris.redaction import shown

if TYPE_CHECKING:
    from tests.iris.controller import Controller

_CONTROLLER = "/iris.cluster.ControllerService/"
_LOG_PATHS = ("/finelog.logging.LogService/", "/iris.logging.LogService/", _CONTROLLER)
_MOST_ROWS = 500
_MOST_OFFSET = 5000
_SCOPE = enum("JobQueryScope")
_SORT = enum("JobSortField")


@dataclass(frozen=True)
class Call:
    """One call: the message that it takes, and what answers."""

    name: str
    takes: Any
    answer: Callable[[Any, Caller], Any]


class Service:
    """What a client asks. Threading: any thread; the controller's lock is held where its state is read."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self.calls = {_CONTROLLER + call.name: call for call in self._controller_calls()}
        for path in _LOG_PATHS:
            self.calls[path + "FetchLogs"] = Call("FetchLogs", messages.FetchLogsRequest, self._fetch_logs)

    def _controller_calls(self) -> list[Call]:
        return [
            Call("GetAuthInfo", messages.Empty, self._auth_info),
            Call("Login", messages.LoginRequest, self._login),
            Call("GetCurrentUser", messages.Empty, self._current_user),
            Call("LaunchJob", messages.LaunchJobRequest, self._launch),
            Call("GetJobStatus", messages.GetJobStatusRequest, self._job_status),
            Call("GetJobState", messages.GetJobStateRequest, self._job_state),
            Call("TerminateJob", messages.TerminateJobRequest, self._terminate),
            Call("ListJobs", messages.ListJobsRequest, self._list_jobs),
            Call("GetTaskStatus", messages.GetTaskStatusRequest, self._task_status),
            Call("ListTasks", messages.ListTasksRequest, self._list_tasks),
            Call("SetTaskStatusText", messages.SetTaskStatusTextRequest, self._set_text),
            Call("RegisterEndpoint", messages.RegisterEndpointRequest, self._register),
            Call("UnregisterEndpoint", messages.UnregisterEndpointRequest, self._unregister),
            Call("ListEndpoints", messages.ListEndpointsRequest, self._list_endpoints),
        ]

    # ---- Who asks

    def _auth_info(self, request: Any, caller: Caller) -> Any:
        return messages.GetAuthInfoResponse(provider=self._controller.auth.provider)

    def _login(self, request: Any, caller: Caller) -> Any:
        token, key, user = self._controller.auth.login(request.identity_token)
        return messages.LoginResponse(token=token, key_id=key, user_id=user)

    def _current_user(self, request: Any, caller: Caller) -> Any:
        return messages.GetCurrentUserResponse(user_id=caller.user, role=caller.role)

    # ---- Jobs

    def _launch(self, request: Any, caller: Caller) -> Any:
        return messages.LaunchJobResponse(job_id=self._controller.launch(request, caller))

    def _job(self, job_id: str) -> Job:
        names.parts_of(job_id)
        job = self._controller.jobs.get(job_id)
        if job is None:
            raise ConnectError("not_found", f"Job {job_id} not found")
        return job

    def _job_status(self, request: Any, caller: Caller) -> Any:
        with self._controller.lock:
            job = self._job(request.job_id)
            stored = messages.LaunchJobRequest()
            stored.CopyFrom(job.request)
            for name, value in job.request.environment.env_vars.items():
                stored.environment.env_vars[name] = shown(name, value)
            stored.ClearField("client_revision_date")
            status = self._row(job)
            status.resources.CopyFrom(job.request.resources)
            return messages.GetJobStatusResponse(job=status, request=stored)

    def _job_state(self, request: Any, caller: Caller) -> Any:
        with self._controller.lock:
            known = [self._controller.jobs.get(job_id) for job_id in request.job_ids]
            return messages.GetJobStateResponse(states={job.job_id: job.state for job in known if job})

    def _terminate(self, request: Any, caller: Caller) -> Any:
        with self._controller.lock:
            job = self._job(request.job_id)
            if caller.role != "admin" and names.parts_of(job.job_id)[0] != caller.user:
                raise ConnectError("permission_denied", f"User {caller.user} does not own {job.job_id}")
            self._controller.terminate(job.job_id)
        return messages.Empty()

    def _list_jobs(self, request: Any, caller: Caller) -> Any:
        query = request.query
        if query.offset > _MOST_OFFSET:
            raise ConnectError("invalid_argument", f"offset must be at most {_MOST_OFFSET}")
        with self._controller.lock:
            rows = [job for job in self._controller.jobs if self._fits(job, query)]
            if query.sort_field == _SORT["NAME"]:
                rows.sort(key=lambda job: job.job_id)
            else:
                rows.sort(key=lambda job: job.submitted_ms)
            if query.sort_direction != enum("SortDirection")["ASC"]:
                rows.reverse()
            limit = query.limit if 0 < query.limit <= _MOST_ROWS else _MOST_ROWS
            page = rows[query.offset : query.offset + limit]
            return messages.ListJobsResponse(
                jobs=[self._row(job) for job in page],
                total_count=len(rows),
                has_more=query.offset + limit < len(rows),
            )

    def _fits(self, job: Job, query: Any) -> bool:
        states = {number: name.lower() for name, number in JOB.items()}
        parent = names.parent_of(job.job_id)
        return (
            job.job_id.startswith(query.job_id_prefix)
            and query.name_filter.lower() in job.job_id.lower()
            and (not query.state_filter or states[job.state] == query.state_filter)
            and not (query.scope == _SCOPE["ROOTS"] and parent is not None)
            and not (query.scope == _SCOPE["CHILDREN"] and parent != query.parent_job_id)
        )

    def _row(self, job: Job) -> Any:
        counts = job.counts()
        return messages.JobStatus(
            job_id=job.job_id,
            state=job.state,
            error=job.error,
            started_at=_time(job.started_ms),
            finished_at=_time(job.finished_ms),
            failure_count=sum(task.failures for task in job.tasks),
            preemption_count=sum(task.preemptions for task in job.tasks),
            name=job.job_id.lower(),
            submitted_at=_time(job.submitted_ms),
            task_state_counts=job.named_counts(),
            task_count=len(job.tasks),
            completed_count=counts[TASK["SUCCEEDED"]] + counts[TASK["KILLED"]],
            # Of a job that has ended it is the error.
            pending_reason=job.pending_reason or job.error,
            has_children=len(self._controller.jobs.below(job.job_id)) > 1,
        )

    # ---- Tasks

    def _found_task(self, task_id: str) -> tuple[Job, Task]:
        try:
            found = self._controller.jobs.task(task_id)
        except names.WrongNameError:
            raise ConnectError("invalid_argument", f"JobName is not a task: {task_id}") from None
        if found is None:
            raise ConnectError("not_found", f"Task {task_id} not found")
        return found

    def _task_status(self, request: Any, caller: Caller) -> Any:
        with self._controller.lock:
            job, task = self._found_task(request.task_id)
            status = self._task(task, all_attempts=True)
            status.status_text_detail_md = task.status_text[0]
            return messages.GetTaskStatusResponse(task=status, job_resources=job.request.resources)

    def _list_tasks(self, request: Any, caller: Caller) -> Any:
        with self._controller.lock:
            job = self._controller.jobs.get(request.job_id)
            tasks = job.tasks if job else []
            return messages.ListTasksResponse(tasks=[self._task(task, all_attempts=False) for task in tasks])

    def _task(self, task: Task, all_attempts: bool) -> Any:
        current = task.current
        attempts = task.attempts if all_attempts else task.attempts[-1:]
        return messages.TaskStatus(
            task_id=task.task_id,
            state=task.state,
            worker_id=current.worker if current else "",
            worker_address="127.0.0.1:0" if current else "",
            exit_code=current.exit_code if current else 0,
            error=task.error,
            started_at=_time(current.started_ms if current else 0),
            finished_at=_time(current.finished_ms if current else 0),
            current_attempt_id=current.number if current else 0,
            attempts=[_attempt(attempt) for attempt in attempts],
            status_text_summary_md=task.status_text[1],
        )

    def _set_text(self, request: Any, caller: Caller) -> Any:
        with self._controller.lock:
            self._found_task(request.task_id)[1].status_text = (
                request.status_text_detail_md,
                request.status_text_summary_md,
            )
        return messages.Empty()

    # ---- Endpoints and logs

    def _register(self, request: Any, caller: Caller) -> Any:
        with self._controller.lock:
            return messages.RegisterEndpointResponse(endpoint_id=self._controller.endpoints.register(request))

    def _unregister(self, request: Any, caller: Caller) -> Any:
        with self._controller.lock:
            self._controller.endpoints.unregister(request.endpoint_id)
        return messages.Empty()

    def _list_endpoints(self, request: Any, caller: Caller) -> Any:
        with self._controller.lock:
            return messages.ListEndpointsResponse(
                endpoints=self._controller.endpoints.list(request.prefix, request.exact)
            )

    def _fetch_logs(self, request: Any, caller: Caller) -> Any:
        return self._controller.logs.fetch(request)


def _time(epoch_ms: int) -> Any:
    return messages.Timestamp(epoch_ms=epoch_ms) if epoch_ms else None


def _attempt(attempt: Attempt) -> Any:
    return messages.TaskAttempt(
        attempt_id=attempt.number,
        worker_id=attempt.worker,
        state=attempt.state,
        exit_code=attempt.exit_code,
        error=attempt.error,
        started_at=_time(attempt.started_ms),
        finished_at=_time(attempt.finished_ms),
        is_worker_failure=attempt.is_worker_failure,
    )
