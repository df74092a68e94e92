"""`ray.util.state`: lists of tasks, actors and others, without a dashboard and without delay."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from fray.ray import _session
from fray.ray._cluster import nodes
from fray.ray._ids import ActorID

# fmt: off
__all__ = [
    "StateApiClient", "get_actor", "get_job", "get_log", "get_node", "get_objects", "get_placement_group", "get_task",
    "get_worker", "list_actors", "list_cluster_events", "list_jobs", "list_logs", "list_nodes", "list_objects",
    "list_placement_groups", "list_runtime_envs", "list_tasks", "list_workers", "summarize_actors",
    "summarize_objects", "summarize_tasks",
]
# fmt: on

_TASK_STATES = {"succeeded": "FINISHED", "retried": "FAILED", "cancelled": "FAILED", "timed out": "FAILED"}
_ACTOR_STATES = {"alive": "ALIVE", "restarting": "RESTARTING", "dead": "DEAD"}


class _State(dict[str, Any]):
    """A row whose fields are keys and attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def _chosen(rows: Iterable[dict[str, Any]], filters: Any, limit: int) -> list[_State]:
    found: list[_State] = []
    for row in rows:
        if all(_matches(row.get(key), how, value) for key, how, value in filters or ()):
            found.append(_State(row))
    return found[:limit]


def _matches(has: Any, how: str, wanted: Any) -> bool:
    if how not in ("=", "!="):
        raise ValueError(f"filters know '=' and '!=', not {how!r}")
    return (str(has).lower() == str(wanted).lower()) == (how == "=")


def _tasks() -> Iterable[dict[str, Any]]:
    """Yield the tasks that have ended and then those that run."""
    engine = _session.context().engine
    for event in engine.timeline_events():
        if event["ph"] == "X":
            row = _task(event["name"], _TASK_STATES.get(event["args"]["status"], "FAILED"), event["pid"])
            row["task_id"] = _session.task_id(0, event["args"]["task"]).hex()
            row["start_time_ms"] = event["ts"] / 1000
            row["end_time_ms"] = (event["ts"] + event["dur"]) / 1000
            row["error_message"] = event["args"].get("error")
            yield row
    for worker in engine.status()["workers"]:
        if worker.get("running_seconds") is not None:
            row = _task(worker["task"], "RUNNING", worker["pid"])
            row["task_id"] = _session.task_id(worker["caller"], worker["task_number"]).hex()
            yield row


def _task(name: str, state: str, pid: int) -> dict[str, Any]:
    return {
        "attempt_number": 0,
        "name": name,
        "state": state,
        "job_id": _session.job_id().hex(),
        "type": "ACTOR_TASK" if "." in name else "NORMAL_TASK",
        "func_or_class_name": name,
        "node_id": _session.node_id().hex(),
        "worker_pid": pid,
        **dict.fromkeys(("task_id", "actor_id", "parent_task_id", "start_time_ms", "end_time_ms", "error_message")),
    }


def _actors() -> Iterable[dict[str, Any]]:
    for row in _session.context().engine.status()["actors"]:
        yield {
            "actor_id": ActorID.of(str(row.get("id"))).hex(),
            "class_name": row.get("class", ""),
            "state": _ACTOR_STATES.get(row.get("state", ""), "PENDING_CREATION"),
            "job_id": _session.job_id().hex(),
            "name": row.get("name") or "",
            "node_id": _session.node_id().hex(),
            "pid": row.get("pid", 0),
            "ray_namespace": row.get("namespace", ""),
        }


def _nodes() -> Iterable[dict[str, Any]]:
    for node in nodes():
        yield {
            "node_id": node["NodeID"],
            "node_ip": node["NodeManagerAddress"],
            "is_head_node": True,
            "state": "ALIVE",
            "node_name": node["NodeName"],
            "resources_total": node["Resources"],
            "labels": node["Labels"],
        }


def _workers() -> Iterable[dict[str, Any]]:
    for row in _session.context().engine.status()["workers"]:
        yield {
            "worker_id": str(row["process"]),
            "pid": row["pid"],
            "worker_type": "WORKER",
            "is_alive": row["state"] != "dead",
            "node_id": _session.node_id().hex(),
        }


def _jobs() -> Iterable[dict[str, Any]]:
    driver = {"type": "DRIVER", "status": "RUNNING", "entrypoint": "", "driver_info": {"pid": str(os.getpid())}}
    yield {"job_id": _session.job_id().hex(), **driver}


def _placement_groups() -> Iterable[dict[str, Any]]:
    from fray.ray.util.placement_group import placement_group_table

    for row in placement_group_table().values():
        yield {**row, "creator_job_id": _session.job_id().hex()}


_SOURCES: dict[str, Callable[[], Iterable[dict[str, Any]]]] = {
    "actors": _actors,
    "jobs": _jobs,
    "nodes": _nodes,
    "placement_groups": _placement_groups,
    "tasks": _tasks,
    "workers": _workers,
}


def _rows(kind: str) -> Iterable[dict[str, Any]]:
    return _SOURCES[kind]() if kind in _SOURCES else ()


class StateApiClient:
    """The lists of this module as a class."""

    def __init__(self, address: str | None = None, **settings: Any) -> None: ...

    def list(self, resource: Any, options: Any = None, **settings: Any) -> list[_State]:
        """Return the rows of a kind, such as ``"tasks"``."""
        kind = str(getattr(resource, "value", resource))
        return _chosen(_rows(kind), getattr(options, "filters", None), getattr(options, "limit", 100))


def _lister(kind: str) -> Any:
    def list_rows(
        address: str | None = None,
        filters: Any = None,
        limit: int = 100,
        timeout: int = 30,
        detail: bool = False,
        raise_on_missing_output: bool = True,
        _explain: bool = False,
    ) -> list[_State]:
        return _chosen(_rows(kind), filters, limit)

    list_rows.__name__ = list_rows.__qualname__ = f"list_{kind}"
    list_rows.__doc__ = f"Return the {kind.replace('_', ' ')}, filtered by ``(key, '=' or '!=', value)``."
    return list_rows


def _getter(kind: str, key: str) -> Any:
    def get_row(id: str, address: str | None = None, timeout: int = 30, _explain: bool = False) -> _State | None:
        return next(iter(_chosen(_rows(kind), [(key, "=", id)], 1)), None)

    get_row.__doc__ = f"Return one of the {kind.replace('_', ' ')} by its {key}, None where there is none."
    return get_row


list_actors, list_tasks, list_nodes = _lister("actors"), _lister("tasks"), _lister("nodes")
list_jobs, list_objects, list_workers = _lister("jobs"), _lister("objects"), _lister("workers")
list_placement_groups, list_runtime_envs = _lister("placement_groups"), _lister("runtime_envs")
list_cluster_events, list_logs = _lister("cluster_events"), _lister("logs")
get_actor, get_task, get_node = _getter("actors", "actor_id"), _getter("tasks", "task_id"), _getter("nodes", "node_id")
get_job, get_worker = _getter("jobs", "job_id"), _getter("workers", "worker_id")
get_placement_group, get_objects = _getter("placement_groups", "placement_group_id"), _getter("objects", "object_id")


def get_log(*args: Any, **kwargs: Any) -> Iterable[str]:
    """Return no lines: the output of workers is shown where the program prints."""
    return iter(())


def _summary(kind: str, name: str, total: str) -> dict[str, Any]:
    groups: dict[str, Any] = {}
    rows = list(_rows(kind))
    for called in sorted({row[name] for row in rows}):
        states = Counter(row["state"] for row in rows if row[name] == called)
        groups[called] = {"func_or_class_name": called, "class_name": called, "type": "", "state_counts": dict(states)}
    return {"cluster": {"summary": groups, total: len(rows), "summary_by": name}}


def summarize_tasks(address: str | None = None, timeout: int = 30, **settings: Any) -> dict[str, Any]:
    """Return how many tasks of each name are in which state."""
    return _summary("tasks", "func_or_class_name", "total_tasks")


def summarize_actors(address: str | None = None, timeout: int = 30, **settings: Any) -> dict[str, Any]:
    """Return how many actors of each class are in which state."""
    return _summary("actors", "class_name", "total_actors")


def summarize_objects(address: str | None = None, timeout: int = 30, **settings: Any) -> dict[str, Any]:
    """Return an empty summary: objects have no call sites here."""
    return {"cluster": {"summary": {}, "total_objects": 0, "summary_by": "callsite"}}
