"""Functions on whole TPU slices of a Ray cluster: one process on each machine, together or not at all.

A slice is reserved by an actor that holds its head's resource for as long as the attempt goes on. When a machine goes
away the attempt ends on all of them and starts anew, on slices that are whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fray import errors
from fray.backend.ray.attempts import Budget, Ending, ending_of, worst
from fray.backend.ray.background_job import Attempt
from fray.backend.ray.context import RayJobContext
from fray.backend.ray.ending import end_tasks
from fray.backend.ray.engine import RayEngine
from fray.backend.ray.functions import remote_call
from fray.backend.ray.library import node_affinity, ray, theirs
from fray.backend.ray.options import runtime_env_dict
from fray.backend.ray.slices import Node, Slice, find_slices, multislice_variables, slice_counts
from fray.cluster import JobRequest, TpuConfig, TpuTopologyInfo, get_tpu_topology
from fray.types import RuntimeEnv

__all__ = ["pod_attempt", "run_on_pod", "run_on_pod_multislice", "run_on_pod_ray", "run_on_tpu"]

_LOOK_SECONDS = 0.5
_RESERVE_SECONDS = 600.0
_HOLD_SECONDS = 30.0
"""How long the reservation of a free slice may take: it starts a process, which is slow on a busy machine."""
GROW_CHECK_SECONDS = 3 * 3600.0
"""How often a run on fewer slices than it may have looks for more."""


def run_on_pod(
    fn: Callable[[], Any],
    tpu_type: str,
    *,
    num_slices: int | Sequence[int] = 1,
    max_retries_preemption: int = 10_000,
    max_retries_failure: int = 10,
    runtime_env: RuntimeEnv | Mapping[str, Any] | None = None,
    reserve_seconds: float = _RESERVE_SECONDS,
) -> list[Any]:
    """Run `fn` on every machine of TPU slices at the same time and return all results, slice by slice.

    With several slices each process finds ``MEGASCALE_COORDINATOR_ADDRESS``, ``MEGASCALE_NUM_SLICES``,
    ``MEGASCALE_PORT`` and ``MEGASCALE_SLICE_ID`` in its environment.

    Args:
        fn: a function, also one decorated with ``ray.remote``; called without arguments.
        tpu_type: such as ``"v4-16"``.
        num_slices: the number of slices, or a list of acceptable numbers, of which the largest possible is taken.
        max_retries_preemption: attempts after one whose machine went away, or whose code gave up waiting for others.
        max_retries_failure: attempts after one in which `fn` raised.
        runtime_env: of the processes.
        reserve_seconds: how long to wait for enough slices before each attempt.

    Raises:
        ValueError: an unknown type, or a number of slices that makes no sense.
        InfeasibleError: there are not enough slices.
        RuntimeError: preempted too often.
        Exception: what `fn` raised in the last attempt.
    """
    topology = get_tpu_topology(tpu_type)
    counts = slice_counts(num_slices)
    env = runtime_env_dict(runtime_env) if isinstance(runtime_env, RuntimeEnv) else dict(runtime_env or {})
    budget = Budget(max_retries_failure, max_retries_preemption)
    context = RayJobContext().engine
    while True:
        attempt = _Attempt(context, fn, topology, counts, env, reserve_seconds)
        ends = attempt.run()
        ending = worst(end for end, _ in ends)
        if ending is Ending.SUCCEEDED:
            return attempt.results()
        if not budget.again(ending):
            raise _last_error(ending, ends)


def run_on_tpu(fn: Callable[[], Any], tpu_type: str, **options: Any) -> list[Any]:
    """Do as `run_on_pod` does; its older name."""
    return run_on_pod(fn, tpu_type, **options)


def run_on_pod_multislice(fn: Callable[[], Any], tpu_type: str, num_slices: int, **options: Any) -> list[Any]:
    """Do as `run_on_pod` does."""
    return run_on_pod(fn, tpu_type, num_slices=num_slices, **options)


def run_on_pod_ray(fn: Callable[[], Any], tpu_type: str, **options: Any) -> Any:
    """Run `run_on_pod` in a task of its own and return Ray's ref of the list.

    When the machine that coordinates goes away, Ray starts the task again elsewhere; it asks for the head where the
    cluster marks it, which is not preempted.
    """
    context = RayJobContext().engine
    resources = context.place({"CPU": 0.1, "head_node": 0.0001}, "run_on_pod_ray")
    cpus = resources.pop("CPU")

    def coordinate() -> list[Any]:
        return run_on_pod(fn, tpu_type, **options)

    keywords: dict[str, Any] = {"num_cpus": cpus, "resources": resources, "max_retries": -1, "retry_exceptions": False}
    return remote_call(context.namespace).options(**keywords).remote(coordinate)


def pod_attempt(request: JobRequest, runtime_env: Mapping[str, Any]) -> Attempt:
    """Return an attempt at a job whose device is a TPU."""
    function, device = request.entrypoint.callable_entrypoint, request.resources.device
    assert function is not None
    assert isinstance(device, TpuConfig)
    topology = get_tpu_topology(device.variant)
    count = max(1, (request.replicas or 1) // topology.vm_count)

    def call() -> Any:
        return function.callable(*function.args, **function.kwargs)

    # Ray takes the other keys for a whole job, not for a task.
    env = {key: value for key, value in runtime_env.items() if key in ("env_vars", "pip", "container", "conda")}
    return _Attempt(RayJobContext().engine, call, topology, [count], env, _RESERVE_SECONDS)


class _Attempt:
    """Reserves slices, runs the function on all their machines, and gives the slices back."""

    def __init__(
        self,
        engine: RayEngine,
        fn: Callable[[], Any],
        topology: TpuTopologyInfo,
        counts: Sequence[int],
        env: Mapping[str, Any],
        reserve_seconds: float,
    ) -> None:
        self._engine = engine
        self._fn = getattr(fn, "_function", fn)
        self._topology = topology
        self._counts = counts
        self._env = env
        self._reserve_seconds = reserve_seconds
        self._holds: list[Any] = []
        self._tasks: list[Any] = []
        self._values: list[Any] = []
        self._stopping = False
        self._cancelled = False

    def run(self) -> list[tuple[Ending, BaseException | None]]:
        try:
            slices = self._reserve()
            self._start(slices)
            return self._watch(len(slices) < self._counts[0])
        except errors.InfeasibleError as error:
            if self._stopping:
                return [(Ending.CANCELLED, None)]
            raise_at_once = not self._tasks
            if raise_at_once:
                raise
            return [(Ending.PREEMPTED, error)]
        finally:
            self._give_back()

    def results(self) -> list[Any]:
        """Return what the processes returned, once all have succeeded."""
        return self._values

    def cancel(self) -> None:
        """End all processes."""
        self._stopping = True
        self._cancel_tasks()

    # ---- slices

    def _reserve(self) -> list[Slice]:
        """Reserve slices: the largest acceptable number for which there are enough."""
        deadline = time.monotonic() + self._reserve_seconds
        while True:
            slices = find_slices(_nodes(), self._topology)
            wanted = next((count for count in self._counts if count <= len(slices)), None)
            if wanted is not None:
                held = self._hold(slices, deadline)
                fitting = next((count for count in self._counts if count <= len(held)), None)
                if fitting is not None:
                    return held[:fitting]
                self._give_back()
            if self._stopping or time.monotonic() > deadline:
                raise errors.InfeasibleError(
                    f"{self._counts[-1]} free slices of {self._topology.name} are needed ({self._topology.vm_count} "
                    f"machines with {self._topology.chips_per_vm} chips each), and the cluster has {len(slices)} whole "
                    f"ones; waited {self._reserve_seconds:g} s"
                )
            time.sleep(_LOOK_SECONDS)

    def _hold(self, slices: Sequence[Slice], deadline: float) -> list[Slice]:
        """Reserve the heads of `slices`; return those that were free."""
        asked: list[tuple[Slice, Any]] = []
        for one in slices[: self._counts[0]] if len(slices) == self._counts[0] else slices:
            holder = _SliceHold.options(
                resources={f"TPU-{self._topology.name}-head": 1},
                scheduling_strategy=node_affinity(one.nodes[0].node_id),
            ).remote()
            asked.append((one, holder))
        refs = {holder.ready.remote(): (one, holder) for one, holder in asked}
        patience = max(_LOOK_SECONDS, min(_HOLD_SECONDS, deadline - time.monotonic()))
        ready, _ = ray.wait(list(refs), num_returns=len(refs), timeout=patience)
        held: list[Slice] = []
        for ref, (one, holder) in refs.items():
            if ref in ready and _succeeds(ref) and len(held) < self._counts[0]:
                self._holds.append(holder)
                held.append(one)
            else:
                ray.kill(holder)
        return held

    def _give_back(self) -> None:
        self._cancel_tasks()
        for holder in self._holds:
            ray.kill(holder)
        self._holds = []

    # ---- processes

    def _start(self, slices: Sequence[Slice]) -> None:
        submit = remote_call(self._engine.namespace, max_calls=1)
        for number, one in enumerate(slices):
            more = multislice_variables(slices, number)
            variables = {**self._env.get("env_vars", {}), **more}
            for node in one.nodes:
                keywords: dict[str, Any] = {
                    "num_cpus": 0,
                    "resources": {"TPU": self._topology.chips_per_vm},
                    "max_retries": 0,
                    "scheduling_strategy": node_affinity(node.node_id),
                    "runtime_env": {**self._env, "env_vars": variables},
                    "name": getattr(self._fn, "__name__", "pod"),
                }
                self._tasks.append(submit.options(**keywords).remote(self._fn))

    def _watch(self, may_grow: bool) -> list[tuple[Ending, BaseException | None]]:
        """Wait for all processes; when one does not succeed, or a slice's head is gone, end the others."""
        pending = list(self._tasks)
        ends: dict[Any, tuple[Ending, BaseException | None]] = {}
        values: dict[Any, Any] = {}
        grow_at = time.monotonic() + GROW_CHECK_SECONDS
        while pending:
            ready, pending = ray.wait(pending, num_returns=1, timeout=_LOOK_SECONDS, fetch_local=False)
            for task in ready:
                try:
                    values[task] = self._engine.fetch(task)
                    ends[task] = Ending.SUCCEEDED, None
                except Exception as error:
                    gone = self._cancelled and isinstance(error, errors.WorkerDiedError)
                    ending = Ending.CANCELLED if gone else ending_of(error, timeouts_are_preemptions=True)
                    ends[task] = ending, error
                    self._cancel_tasks()
            if may_grow and time.monotonic() > grow_at and not self._cancelled:
                grow_at = time.monotonic() + GROW_CHECK_SECONDS
                if len(find_slices(_nodes(), self._topology)) >= self._counts[0]:
                    self._cancel_tasks()  # the attempt counts as preempted, and the next one gets more slices
        self._values = [values.get(task) for task in self._tasks]
        found = [ends[task] for task in self._tasks]
        if worst(end for end, _ in found) is Ending.CANCELLED and not self._stopping:
            found.append(
                (Ending.PREEMPTED, errors.WorkerDiedError("the slices were given up for a larger number of them"))
            )
        return found

    def _cancel_tasks(self) -> None:
        if self._cancelled or not self._tasks:
            return
        self._cancelled = True
        end_tasks(self._tasks)


@ray.remote(num_cpus=0)
class _SliceHold:
    """Keeps a slice's head from others while it lives."""

    def ready(self) -> bool:
        return True


def _succeeds(ref: Any) -> bool:
    try:
        return bool(ray.get(ref))
    except theirs.RayError:
        return False


def _nodes() -> list[Node]:
    return [
        Node(node["NodeID"], node["NodeManagerAddress"], node["Resources"]) for node in ray.nodes() if node["Alive"]
    ]


def _last_error(ending: Ending, ends: Sequence[tuple[Ending, BaseException | None]]) -> BaseException:
    decisive = next((error for end, error in ends if end is ending and error is not None), None)
    if ending is Ending.PREEMPTED:
        error = RuntimeError("TPU job was preempted too many times")
        error.__cause__ = decisive
        return error
    return decisive or RuntimeError("TPU job failed too many times")
