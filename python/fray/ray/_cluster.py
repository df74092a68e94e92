"""`nodes`, resources, GPUs and the timeline: the machine and what ran on it, in Ray's form."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from fray.ray import _session
from fray.ray.exceptions import RaySystemError

__all__ = ["available_resources", "cluster_resources", "get_gpu_ids", "nodes", "timeline"]

_OWN = ("head_node",)
"""Resources that the engine has for itself."""


def _started() -> Any:
    if not _session.is_initialized():
        raise RaySystemError("Ray has not been started yet. You can start Ray with 'ray.init()'.")
    return _session.context()


def _shown(amounts: Any) -> dict[str, float]:
    return {name: float(amount) for name, amount in amounts.items() if name not in _OWN}


def cluster_resources() -> dict[str, float]:
    """Return what there is to be asked for."""
    status = _started().engine.status()
    return {**_shown(status["resources"]["total"]), "object_store_memory": float(status["store"]["limit_bytes"])}


def available_resources() -> dict[str, float]:
    """Return what of it is free; what is used up is left out."""
    status = _started().engine.status()
    free = {name: amount for name, amount in _shown(status["resources"]["free"]).items() if amount > 0}
    return {**free, "object_store_memory": float(status["store"]["limit_bytes"] - status["store"]["used_bytes"])}


def nodes() -> list[dict[str, Any]]:
    """Return the nodes of the cluster: this machine."""
    found = _started()
    folder = found.session_name()
    node = {
        "NodeID": _session.node_id().hex(),
        "Alive": True,
        "NodeManagerAddress": "127.0.0.1",
        "NodeManagerHostname": socket.gethostname(),
        "NodeManagerPort": 0,
        "ObjectManagerPort": 0,
        "ObjectStoreSocketName": folder,
        "RayletSocketName": os.path.join(folder, "node.sock"),
        "MetricsExportPort": 0,
        "MetricsAgentPort": 0,
        "DashboardAgentListenPort": 0,
        "NodeName": "127.0.0.1",
        "RuntimeEnvAgentPort": 0,
        "DeathReason": 0,
        "DeathReasonMessage": "",
        "alive": True,
        "Resources": cluster_resources(),
        "Labels": {"ray.io/node-id": _session.node_id().hex()},
    }
    return [node]


def get_gpu_ids() -> list[int]:
    """Return the indices of the GPUs that this task or actor has."""
    return _session.context().resource_ids().get("GPU", [])


def timeline(filename: str | None = None) -> list[dict[str, Any]] | None:
    """Return what ran when, as events of Chrome's trace format; with a name, write them there."""
    context = _started()
    events: list[dict[str, Any]] = []
    for event in context.engine.timeline_events():
        if event["ph"] == "X":
            events.append({**event, "cat": f"task::{event['name']}", "cname": "generic_work"})
        else:
            events.append(dict(event))
    if filename is None:
        return events
    with open(filename, "w", encoding="utf-8") as file:
        json.dump(events, file)
    return None
