"""Which task goes to which worker."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.iris.jobs import JOB, TASK, Job, JobTable, Task
from tests.iris.messages import enum
from tests.iris.worker import Worker

_OP = enum("ConstraintOp")
_MODE = enum("ConstraintMode")
_BANDS = enum("PriorityBand")


def placements(jobs: JobTable, workers: list[Worker]) -> list[tuple[Job, Task, Worker]]:
    """What can start now, in the order of bands and submissions. Nothing is changed."""
    free = {worker.worker_id: worker.free() for worker in workers if worker.is_up}
    placed: list[tuple[Job, Task, Worker]] = []
    waiting = [job for job in jobs if job.state in (JOB["PENDING"], JOB["RUNNING"])]
    for job in sorted(waiting, key=lambda job: (job.request.priority_band or _BANDS["INTERACTIVE"], job.submitted_ms)):
        tasks = [task for task in job.tasks if task.state == TASK["PENDING"]]
        fitting = [worker for worker in workers if worker.is_up and _suits(job.request, worker)]
        if tasks and job.request.coscheduling.group_by:
            placed += _together(job, tasks, fitting, free)
            continue
        for task in tasks:
            worker = next((each for each in fitting if _take(job.request, free[each.worker_id])), None)
            if worker is None:
                job.pending_reason = _reason(job, fitting)
                break
            placed.append((job, task, worker))
    return placed


def _together(
    job: Job, tasks: list[Task], fitting: list[Worker], free: dict[str, dict[str, int]]
) -> list[tuple[Job, Task, Worker]]:
    """All tasks at once, on workers that share the attribute, one task a worker."""
    groups: defaultdict[str, list[Worker]] = defaultdict(list)
    for worker in fitting:
        if worker.attributes.get(job.request.coscheduling.group_by):
            groups[worker.attributes[job.request.coscheduling.group_by]].append(worker)
    for members in groups.values():
        able = [worker for worker in members if _fits(job.request, free[worker.worker_id])]
        if len(able) >= len(tasks) == len(job.tasks):
            able.sort(key=lambda worker: int(worker.attributes.get("tpu-worker-id", "0")))
            for worker in able[: len(tasks)]:
                _take(job.request, free[worker.worker_id])
            return [(job, task, worker) for task, worker in zip(tasks, able, strict=False)]
    job.pending_reason = f"Scheduler: no group of {len(job.tasks)} workers is free\n\nAutoscaler: at its limit"
    return []


def _reason(job: Job, fitting: list[Worker]) -> str:
    if not fitting:
        return "Scheduler: no worker matches the constraints\n\nAutoscaler: at its limit"
    cores = job.request.resources.cpu_millicores / 1000
    return f"Scheduler: insufficient capacity (need {cores:g} cores)\n\nAutoscaler: at its limit"


def demand_of(request: Any) -> dict[str, int]:
    resources = request.resources
    demand = {"cpu": resources.cpu_millicores, "memory": resources.memory_bytes, "disk": resources.disk_bytes}
    kind = resources.device.WhichOneof("device") if resources.HasField("device") else None
    if kind in ("gpu", "tpu"):
        demand["device"] = getattr(resources.device, kind).count or 1
    return demand


def _fits(request: Any, free: dict[str, int]) -> bool:
    return all(free.get(name, 0) >= amount for name, amount in demand_of(request).items())


def _take(request: Any, free: dict[str, int]) -> bool:
    if not _fits(request, free):
        return False
    for name, amount in demand_of(request).items():
        free[name] -= amount
    return True


def _suits(request: Any, worker: Worker) -> bool:
    kind = request.resources.device.WhichOneof("device") if request.resources.HasField("device") else None
    named = {constraint.key for constraint in request.constraints}
    if kind in ("gpu", "tpu"):
        variant = getattr(request.resources.device, kind).variant.lower()
        if worker.device_type != kind:
            return False
        if "device-variant" not in named and worker.device_variant not in ("", variant):
            return False
    return all(
        _matches(constraint, worker) for constraint in request.constraints if constraint.mode != _MODE["PREFERRED"]
    )


def _matches(constraint: Any, worker: Worker) -> bool:
    has = worker.attributes.get(constraint.key)
    if constraint.op == _OP["EXISTS"]:
        return has is not None
    if constraint.op == _OP["NOT_EXISTS"]:
        return has is None
    if has is None:
        return False
    values = [_text(value) for value in (constraint.values or [constraint.value])]
    if constraint.op == _OP["NE"]:
        return has not in values
    if constraint.op in (_OP["EQ"], _OP["IN"]):
        return has in values
    mine, theirs = float(has), float(values[0])
    return {"GT": mine > theirs, "GE": mine >= theirs, "LT": mine < theirs, "LE": mine <= theirs}[
        next(name for name in ("GT", "GE", "LT", "LE") if constraint.op == _OP[name])
    ]


def _text(value: Any) -> str:
    return str(getattr(value, value.WhichOneof("value") or "string_value")).strip().lower()
