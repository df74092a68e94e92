"""`RayCluster`: whole programs on a Ray cluster; `RayClient` and `RayClusterContext`, its older faces."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from fray import _traces, errors
from fray.backend.ray.capacity import demand_text, refusal, shortage, shortage_of_gang
from fray.backend.ray.dashboard import dashboard_url, initialise, is_local_ray, refuse_name
from fray.backend.ray.environment import SETUP_TIMEOUT_SECONDS, build_runtime_env, check_pip
from fray.backend.ray.job_infos import asked_of, demand_metadata, info_of
from fray.backend.ray.job_program import command_line, demand_of, name_in_id, variables_of
from fray.backend.ray.jobs_api import JobDetails, JobsApi, SubmitOrder
from fray.backend.ray.options import runtime_env_dict
from fray.backend.ray.package_files import self_contained, with_lines
from fray.backend.ray.rest_jobs import RestJobs
from fray.cluster import (
    ClusterContext,
    Entrypoint,
    JobId,
    JobInfo,
    JobRequest,
    JobStatus,
    TpuConfig,
    create_environment,
)
from fray.cluster.cluster import Cluster
from fray.cluster.waiting import check_timeout, jobs_failed, time_is_over, wanted_ids
from fray.job.surroundings import ray_is_initialized
from fray.types import RuntimeEnv

if TYPE_CHECKING:
    from fray.backend.ray.background_job import Attempt, BackgroundJob
    from fray.backend.ray.job_output import JobOutput, Outputs
    from fray.backend.ray.replica_process import ReplicaProcess

__all__ = ["RayClient", "RayCluster", "RayClusterContext"]

_LOG = logging.getLogger("fray")
_FIRST_LOOK_SECONDS = 0.1
_LONGEST_LOOK_SECONDS = 5.0
_SLOWER = 1.4
"""Factor between one pause and the next: the delay of noticing an end is a fixed part of the time a job takes."""
_LOST_SECONDS = 30.0
"""How long a wait goes on while the dashboard does not answer; a head takes some seconds to restart."""


class RayCluster(Cluster):
    """Starts, watches and ends jobs on Ray. Thread-safe.

    A program is submitted to the REST API of Ray's dashboard, for which Ray need not be installed here, and does not
    depend on this process. A function runs as Ray tasks of this process, one for each replica, and ends with it. A
    function on a TPU gets whole slices.

    Args:
        address: of the cluster, as ``ray.init`` takes it; ``"auto"`` for ``RAY_ADDRESS`` or the Ray of this machine.
        namespace: the namespace of the actors of function jobs.
        local: whether Ray runs on this machine, so that no environment is built; see `build_runtime_env`. None: yes if
            this process has started its Ray.
        dashboard_address: URL of the dashboard, through which programs are submitted; by default that of the
            initialised Ray, or `address` where it is a URL.
        jobs: what is asked for jobs instead of the REST API of the dashboard.
        autoscaling: whether Ray adds nodes by itself; as in `RayJobContext`.
        cluster: not supported, as in `RayJobContext`.
    """

    def __init__(
        self,
        address: str = "auto",
        namespace: str | None = None,
        local: bool | None = None,
        *,
        dashboard_address: str | None = None,
        jobs: JobsApi | None = None,
        autoscaling: bool = False,
        cluster: str | None = None,
    ) -> None:
        refuse_name(cluster)
        self._address = address
        self._autoscaling = autoscaling
        self._namespace = namespace
        self._local = is_local_ray() if local is None else local
        self._dashboard_address = dashboard_address or (address if "://" in address else None)
        self._jobs = jobs
        self._functions: dict[str, BackgroundJob] = {}
        self._opening = threading.Lock()
        self._outputs: Outputs | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as a cluster that reaches the same Ray; the copy does not know the functions that this one started."""
        asked = {"autoscaling": self._autoscaling, "dashboard_address": self._dashboard_address}
        if self._dashboard_address is None and isinstance(self._jobs, RestJobs):
            asked["dashboard_address"] = self._jobs.address
        return partial(RayCluster, self._address, self._namespace, self._local, **asked), ()

    # ---- starting

    def launch(self, request: JobRequest) -> JobId:
        """Start a job and return its id.

        Raises:
            InfeasibleError: no node has what the job asks for, and Ray adds no nodes by itself.
            SerializationError: its function cannot be pickled.
            ValueError: a program with several replicas, which Ray's job submission cannot start; or a runtime env that
                it does not take.
            NodeDiedError: no Ray answers.
        """
        _say_what_ray_lacks(request)
        if request.entrypoint.binary_entrypoint is not None:
            return JobId(self._launch_binary_job(request))
        if isinstance(request.resources.device, TpuConfig):
            return JobId(self._launch_tpu_job(request))
        return JobId(self._launch_callable_job(request))

    def create_job(self, entrypoint: str, env: RuntimeEnv | None = None) -> JobId:
        """Start a shell command in this process's folder, which is packed and sent, and return the job's id."""
        if not isinstance(entrypoint, str) or not entrypoint.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"create_job needs a shell command such as 'python train.py', got {entrypoint!r}; "
                "put a function into a script, or launch it: Entrypoint.from_callable(f)"
            )
        runtime_env = job_runtime_env(env or RuntimeEnv(), os.getcwd())
        return JobId(self._submit(SubmitOrder(entrypoint, f"fray-{time.time_ns()}", runtime_env, {"name": "fray"})))

    def _submit(self, order: SubmitOrder) -> str:
        if order.runtime_env.get("pip") and ray_is_initialized():
            from fray.backend.ray.task_environment import on_this_machine

            if on_this_machine():
                check_pip()
        own = variables_of(order.submission_id, order.metadata["name"])
        told = {**order.runtime_env.get("env_vars", {}), **own, "FRAY_REPLICA_ID": "0", "FRAY_REPLICA_COUNT": "1"}
        with (
            _traces.launching(order.metadata["name"], told) as variables,
            self_contained({**order.runtime_env, "env_vars": {**told, **variables}}) as runtime_env,
        ):
            return self._dashboard().submit(replace(order, runtime_env=runtime_env))

    def _launch_binary_job(self, request: JobRequest) -> str:
        binary = request.entrypoint.binary_entrypoint
        assert binary is not None
        if request.replicas != 1:
            raise ValueError(
                f"job {request.name}: Ray's job submission starts one process, not {request.replicas}; "
                "use Entrypoint.from_callable for several replicas"
            )
        runtime_env = build_runtime_env(request, self._get_client_spec(), local=self._local)
        resources = request.resources
        device = resources.device
        others: dict[str, float] = {}
        if isinstance(device, TpuConfig):
            others = {f"TPU-{device.variant}-head": 1.0, "TPU": float(device.chip_count())}
        plain = demand_of(resources)
        demand = {name: amount for name, amount in {**plain, **others}.items() if amount > 0}
        nodes = self._nodes() if demand else ()
        lacking = shortage(demand, nodes) if nodes else None
        if lacking is not None:
            raise refusal(f"job {request.name}", lacking)
        order = SubmitOrder(
            entrypoint=command_line(
                [binary.command, *binary.args], self._folder(request, runtime_env), request.max_retries_failure
            ),
            submission_id=request.id or f"{name_in_id(request.name)}-{uuid.uuid4()}",
            runtime_env=runtime_env,
            metadata={**request.metadata, "name": request.name, **demand_metadata(demand)},
            cpus=demand.get("CPU"),
            gpus=demand.get("GPU"),
            memory_bytes=int(plain.get("memory", 0)) or None,
            resources=others,
        )
        return self._submit(order)

    @staticmethod
    def _folder(request: JobRequest, runtime_env: Mapping[str, Any]) -> str | None:
        """Return the folder in which a job runs; None where Ray runs it in a copy of that folder or in an image."""
        environment = request.environment or create_environment()
        if environment.workspace is None or "working_dir" in runtime_env:
            return None
        return os.path.abspath(environment.workspace)

    def _launch_callable_job(self, request: JobRequest) -> str:
        from fray.backend.ray.replicas import ReplicaAttempt

        runtime_env = with_lines(build_runtime_env(request, self._get_client_spec(), local=self._local))
        context = self._context()
        count, what = request.replicas or 1, f"job {request.name}"
        demand = context.place(demand_of(request.resources), what)
        lacking = None if self._autoscaling else shortage_of_gang(demand, count, context.nodes())
        if lacking is not None:
            raise refusal(what, lacking)
        return self._in_background(
            "callable",
            request,
            runtime_env,
            lambda process: ReplicaAttempt(context, request.name, process, count, demand, runtime_env),
        )

    def _launch_tpu_job(self, request: JobRequest) -> str:
        from fray.backend.ray.tpu import pod_attempt

        runtime_env = with_lines(build_runtime_env(request, self._get_client_spec(), local=self._local))
        self._context()
        return self._in_background(
            "tpu",
            request,
            runtime_env,
            lambda process: pod_attempt(replace(request, entrypoint=Entrypoint.from_callable(process)), runtime_env),
        )

    def _in_background(
        self,
        kind: str,
        request: JobRequest,
        runtime_env: Mapping[str, Any],
        attempt: Callable[[ReplicaProcess], Attempt],
    ) -> str:
        """Start a function job, whose attempts `attempt` makes, and return its id.

        Raises:
            SerializationError: the function or its arguments cannot be pickled.
        """
        from fray.backend.ray.attempts import Budget
        from fray.backend.ray.background_job import BackgroundJob
        from fray.backend.ray.replica_process import ReplicaProcess, put_call

        called = request.entrypoint.callable_entrypoint
        assert called is not None
        call = put_call(called)
        job_id = request.id or f"ray-{kind}-{name_in_id(request.name)}-{uuid.uuid4().hex[:8]}"
        if job_id in self._functions:
            raise errors.JobExistsError(f"there is a job with the id {job_id} already")
        count = request.replicas or 1
        output = self._output(job_id)
        folder = self._folder(request, runtime_env)

        with _traces.launching(request.name, runtime_env.get("env_vars", {})) as traced:

            def numbered(number: int) -> Attempt:
                variables = {**variables_of(job_id, request.name, number), **traced}
                return attempt(ReplicaProcess(call, output.sink, job_id, count > 1, variables, folder))

            self._functions[job_id] = BackgroundJob(
                job_id,
                request.name,
                numbered,
                Budget(request.max_retries_failure, request.max_retries_preemption),
                count,
                output,
                f"waits for {demand_text(demand_of(request.resources)) or 'a process'}",
            )
        return job_id

    def _output(self, job_id: str) -> JobOutput:
        from fray.backend.ray.job_output import Outputs

        with self._opening:
            if self._outputs is None:
                self._outputs = Outputs()
        return self._outputs.open(job_id)

    def _get_client_spec(self) -> str:
        """Return the spec of this cluster, as ``FRAY_CLUSTER_SPEC`` has it."""
        from urllib.parse import urlencode

        keys = {"address": self._address, "namespace": self._namespace}
        query = urlencode({key: value for key, value in keys.items() if value not in (None, "auto")})
        return f"ray?{query}" if query else "ray"

    # ---- watching

    def poll(self, job_id: str) -> JobInfo:
        """Return how a job is doing.

        Raises:
            JobNotFoundError: there is no such job, or the head has forgotten it.
        """
        job = self._function(job_id)
        return job.info() if job is not None else self._infos([self._dashboard().get(job_id)])[0]

    def _function(self, job_id: str) -> BackgroundJob | None:
        """Return the job where it is a function that this object started.

        Raises:
            JobNotFoundError: no job has such an id.
        """
        if not isinstance(job_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a job's id is text, got {job_id!r}")
        if not job_id:
            raise errors.JobNotFoundError("there is no job ''; list_jobs() shows those that are there")
        return self._functions.get(job_id)

    def pending_reason(self, job_id: str) -> str:
        """Return why a job waits: Ray's message, and what no node has; empty for a job that does not wait."""
        return self.poll(job_id).pending_reason or ""

    def list_jobs(self) -> list[JobInfo]:
        """Return the jobs of the cluster and those that this object started as functions, in the order of acceptance.

        Programs that use the Ray without having been submitted are among them, without a name.
        """
        programs = self._dashboard().list()
        accepted = [details.start_time_ms for details in programs]
        known = [*zip(accepted, self._infos(programs), strict=True)]
        known += [(job.accepted_ms, job.info()) for job in list(self._functions.values())]
        return [info for _, info in sorted(known, key=lambda pair: pair[0])]

    def logs(self, job_id: str) -> str:
        """Return what a job has printed; of several replicas, a function's lines begin with their numbers."""
        job = self._function(job_id)
        return job.output.text() if job is not None else self._dashboard().logs(job_id)

    def follow(self, job_id: str) -> Iterator[str]:
        """Yield the output of a job as it comes, until the job ends."""
        job = self._function(job_id)
        return job.output.follow() if job is not None else self._dashboard().follow(job_id)

    @overload
    def wait(  # pyright: ignore[reportOverlappingOverload]  (a text is a sequence of texts)
        self, job_id: str, raise_on_failure: bool = False, *, timeout: float | None = None
    ) -> JobInfo: ...
    @overload
    def wait(
        self, job_id: Sequence[str], raise_on_failure: bool = False, *, timeout: float | None = None
    ) -> list[JobInfo]: ...
    def wait(self, job_id: Any, raise_on_failure: bool = False, *, timeout: float | None = None) -> Any:
        """Wait for the end of a job, or of all jobs of a sequence; see `Cluster.wait`.

        While the dashboard does not answer, the wait goes on for up to 30 s.

        Raises:
            JobFailedError: as in `Cluster.wait`; its cause is what the function raised, where the job is one.
            JobNotFoundError: there is no such job, or the head was started anew and has forgotten it.
            NodeDiedError: the cluster was lost.
        """
        ids = wanted_ids(job_id)
        timeout = check_timeout(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        with _traces.waiting("wait", "job " + ", ".join(ids)):
            infos = [self._wait_for(one, deadline) for one in ids]
        error = jobs_failed(infos) if raise_on_failure else None
        if error is not None:
            job = self._functions.get(error.job_id)
            raise error from (job.error() if job is not None else None)
        return infos[0] if isinstance(job_id, str) else infos

    def _wait_for(self, job_id: str, deadline: float | None) -> JobInfo:
        pause = _FIRST_LOOK_SECONDS
        info: JobInfo | None = None
        seen = time.monotonic()
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            job = self._functions.get(job_id)
            if job is not None:
                job.wait(left)
            try:
                info = self.poll(job_id)
                seen = time.monotonic()
            except errors.NodeDiedError as error:
                if info is None:
                    raise
                if time.monotonic() - seen > _LOST_SECONDS:
                    raise errors.NodeDiedError(
                        f"the cluster was lost while job {job_id} was waited for, which was {info.status} then and may "
                        f"go on: {error}"
                    ) from None
            if JobStatus.finished(info.status):
                return info
            if left is not None and left <= 0:
                raise time_is_over([info])
            time.sleep(pause if left is None else min(pause, max(left, 0)))
            pause = min(_SLOWER * pause, _LONGEST_LOOK_SECONDS)

    def _infos(self, found: Sequence[JobDetails]) -> list[JobInfo]:
        """Return what the dashboard says of jobs, with what no node has for those that wait."""
        waits = any(asked_of(details) for details in found)
        nodes: Sequence[Mapping[str, float]] = self._nodes() if waits else ()
        return [info_of(details, nodes) for details in found]

    def _nodes(self) -> Sequence[Mapping[str, float]]:
        """Return the resources of the nodes; nothing where Ray adds nodes, or the dashboard does not list them."""
        if self._autoscaling:
            return ()
        try:
            return self._dashboard().nodes()
        except errors.FrayError:
            return ()

    # ---- ending

    def terminate(self, job_id: str) -> None:
        """Ask a job to end; no effect on one that has ended. JobNotFoundError where there is none."""
        job = self._function(job_id)
        if job is not None:
            job.stop()
        else:
            self._dashboard().stop(job_id)

    def delete_job(self, job_id: str) -> None:
        """Ask a job to end; forget one that has ended. JobNotFoundError where there is none."""
        if not JobStatus.finished(self.poll(job_id).status):
            self.terminate(job_id)
        elif self._functions.pop(job_id, None) is None:
            self._dashboard().delete(job_id)

    def shutdown(self, wait: bool = True) -> None:
        """End the functions that this object started; with `wait`, wait for them first. Programs go on."""
        for job in list(self._functions.values()):
            if not wait:
                job.stop()
            job.wait(None)

    # ---- the two connections, each made when it is needed

    def _context(self) -> Any:
        from fray.backend.ray.context import RayJobContext

        named = None if self._address == "auto" or "://" in self._address else self._address
        return RayJobContext(named, self._namespace, self._autoscaling).engine

    def _dashboard(self) -> JobsApi:
        if self._jobs is None:
            self._jobs = RestJobs(self._dashboard_address or dashboard_url(self._address))
        return self._jobs


class RayClient(RayCluster):
    """Older name of `RayCluster`, whose environments are built unless `local` says that Ray runs on this machine."""

    def __init__(self, address: str = "auto", namespace: str | None = None, local: bool = False) -> None:
        super().__init__(address, namespace, local)


class RayClusterContext(ClusterContext):
    """Shell commands as jobs of a Ray cluster; implemented by `RayCluster`.

    Args:
        address: of the cluster; Ray is initialised with it unless Ray is initialised already. None: Ray chooses.
        dashboard_address: URL of the dashboard; by default `address`, or the dashboard of the initialised Ray.
    """

    def __init__(self, address: str | None = None, dashboard_address: str | None = None) -> None:
        self._address = address
        self._dashboard_address = dashboard_address or address
        if self._dashboard_address is None or "://" not in self._dashboard_address:
            initialise(address)
            self._dashboard_address = None
        self._cluster = RayCluster(address or "auto", dashboard_address=self._dashboard_address)

    def create_job(self, entrypoint: str, env: RuntimeEnv | None = None) -> str:
        """Start a shell command and return its id; see `RayCluster.create_job`."""
        return self._cluster.create_job(entrypoint, env)

    def list_jobs(self) -> list[dict[str, Any]]:
        """Return a dict for each job: ``id``, ``status`` in capitals, ``submission_time`` in milliseconds or None."""
        dashboard = self._cluster._dashboard()  # pyright: ignore[reportPrivateUsage]
        return [
            {
                "id": details.job_id,
                "status": details.status.upper(),
                "submission_time": details.start_time_ms or None,
            }
            for details in dashboard.list()
        ]

    def delete_job(self, job_id: str) -> None:
        """Stop a job."""
        self._cluster.delete_job(job_id)

    def _build_ray_runtime_env(self, env: RuntimeEnv) -> dict[str, Any]:
        return runtime_env_dict(env)


def _say_what_ray_lacks(request: JobRequest) -> None:
    given = {
        "priority": request.priority or None,
        "deadline_seconds": request.deadline_seconds,
        "grace_seconds": request.grace_seconds,
    }
    lacking = [f"{name}={value:g}" for name, value in given.items() if value is not None]
    if lacking:
        _LOG.warning("job %s: Ray's jobs know no %s; it starts without", request.name, ", ".join(lacking))


def job_runtime_env(env: RuntimeEnv, folder: str) -> dict[str, Any]:
    """Return Ray's runtime env for a shell command that runs in a copy of its working folder, else of `folder`."""
    return {
        "working_dir": folder,
        **runtime_env_dict(env),
        "config": {"setup_timeout_seconds": SETUP_TIMEOUT_SECONDS},
    }
