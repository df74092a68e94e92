"""Starts Ray with the settings given as JSON, prints where it is, and ends it when the input ends.

Meanwhile each line of the input is an order, answered by a line: ``{"add": {resources}}`` starts a further raylet on
this machine, ``{"kill": number}`` kills one.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any

from ray._private.node import Node
from ray._private.parameter import RayParams

import ray
from tests.on_ray.agent_port import set_agent_port

STORE_BYTES = 100 << 20


def add_node(gcs_address: str, resources: dict[str, float]) -> Any:
    settings = RayParams(
        num_cpus=int(resources.pop("CPU", 0)),
        num_gpus=int(resources.pop("GPU", 0)),
        memory=int(resources.pop("memory", 0)) or None,
        resources=resources,
        object_store_memory=STORE_BYTES,
        min_worker_port=0,
        max_worker_port=0,
        gcs_address=gcs_address,
        include_log_monitor=False,
        node_manager_port=0,
    )
    settings.dashboard_agent_listen_port = None
    return Node(settings, head=False, shutdown_at_exit=False, spawn_reaper=False)


def kill_node(node: Any, gracefully: bool) -> None:
    node.kill_all_processes(check_alive=False, allow_graceful=gracefully, wait=True)


def main() -> None:
    settings = json.loads(sys.argv[1])
    set_agent_port(settings.pop("agent_port"))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints now and then
    context = ray.init(log_to_driver=False, logging_level=logging.ERROR, **settings)
    gcs_address = context.address_info["gcs_address"]
    print(json.dumps({"gcs": gcs_address, "dashboard": context.dashboard_url}), file=answers, flush=True)
    nodes: list[Any] = []
    for line in sys.stdin:
        order = json.loads(line)
        if "add" in order:
            nodes.append(add_node(gcs_address, order["add"]))
            print(len(nodes) - 1, file=answers, flush=True)
        else:
            kill_node(nodes[order["kill"]], gracefully=False)
            nodes[order["kill"]] = None
            print("killed", file=answers, flush=True)
    for node in nodes:
        if node is not None:
            kill_node(node, gracefully=True)
    ray.shutdown()


main()
