"""`nodes`, resources, GPUs and the timeline: the machine and the tasks that ran on it, as Ray describes them."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from fray.ray import _session
from fray.ray.exceptions import RaySystemError

__all__ = ["available_resources", "cluster_resources", "get_gpu_ids", "nodes", "timeline"]

_OWN = ("head_node",)
"""Resources of Fray's own."""
# fmt: off
_PORTS = (
    "DashboardAgentListenPort", "MetricsAgentPort", "MetricsExportPort", "NodeManagerPort", "ObjectManagerPort",
    "RuntimeEnvAgentPort",
)
# fmt: on
"""Ports of Ray's processes, which there are none of."""


def _started() -> Any:
    if not _session.is_initialized():
        raise RaySystemError("Ray has not been started yet. You can start Ray with 'ray.init()'.")
    return _session.context()


def _shown(amounts: Any) -> dict[str, float]:
    return {name: float(amount) for name, amount in amounts.items() if name not in _OWN}


def cluster_resources() -> dict[str, float]:
    """Return the resources of this machine."""
    status = _started().engine.status()
    return {**_shown(status["resources"]["total"]), "object_store_memory": float(status["store"]["limit_bytes"])}


def available_resources() -> dict[str, float]:
    """Return the free resources; a resource that is used up is left out."""
    status = _started().engine.status()
    free = {name: amount for name, amount in _shown(status["resources"]["free"]).items() if amount > 0}
    return {**free, "object_store_memory": float(status["store"]["limit_bytes"] - status["store"]["used_bytes"])}


def nodes() -> list[dict[str, Any]]:
    """Return the nodes of the cluster: this machine."""
    found = _started()
    folder = found.session_name()
    node = {
        **dict.fromkeys(_PORTS, 0),
        "NodeID": _session.node_id().hex(),
        "Alive": True,
        "NodeManagerAddress": _session.IP,
        "NodeManagerHostname": socket.gethostname(),
        "ObjectStoreSocketName": folder,
        "RayletSocketName": os.path.join(folder, "node.sock"),
        "NodeName": _session.IP,
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
    """Return the tasks that ran as events of Chrome's trace format, or write them to the file of that name."""
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
