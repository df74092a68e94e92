"""Every environment variable that the Python package reads.

========================  ==========================================================================================
FRAY_CLUSTER_SPEC         where programs run when they do not say so, such as ``thread?max_workers=4``; see
                          `fray.job.spec`
FRAY_NAMESPACE            namespace of actors where a program names none; ``default`` if unset
FRAY_AS_RAY               1 has ``import ray`` give `fray.ray`; read by `fray._as_ray`
FRAY_RAY_PYTHON           the interpreter of the command ``ray`` that such programs find; set by `fray._as_ray`
FRAY_PRELOAD              modules, with commas between, that processes load which workers are forked from
FRAY_JOB_SECRET           what the tasks of an Iris job and its children show each other; set for each root job
FRAY_IRIS_OPEN_ACTORS     1 has actors of Iris jobs speak Iris's own protocol too; nobody has to show a secret then
FRAY_IRIS_WORKER          set for the workers of an `IrisJobContext`, which have such a context too
FRAY_OTEL                 1 traces tasks, calls of actors, jobs and waits with OpenTelemetry; see `fray._traces`
FRAY_NODE                 address of the node that this process's job runs on; set by the node for the jobs it starts
========================  ==========================================================================================
"""

from __future__ import annotations

import os

__all__ = [
    "IRIS_WORKER_VARIABLE",
    "NAMESPACE_VARIABLE",
    "PRELOAD_VARIABLE",
    "TRACE_VARIABLE",
    "cluster_spec",
    "default_namespace",
    "node_of_this_job",
    "traces_are_asked_for",
]

PRELOAD_VARIABLE = "FRAY_PRELOAD"
"""Names the variable with the modules that fork servers import before they fork workers."""
NAMESPACE_VARIABLE = "FRAY_NAMESPACE"
IRIS_WORKER_VARIABLE = "FRAY_IRIS_WORKER"
"""Names the variable that is set for the workers of an `IrisJobContext`, whose current context is one, too."""
TRACE_VARIABLE = "FRAY_OTEL"


def cluster_spec() -> str | None:
    """Return FRAY_CLUSTER_SPEC, or None where it is unset or empty."""
    return os.environ.get("FRAY_CLUSTER_SPEC", "").strip() or None


def node_of_this_job() -> str | None:
    """Return FRAY_NODE, or None in a process that no node started."""
    return os.environ.get("FRAY_NODE") or None


def default_namespace() -> str:
    """Return FRAY_NAMESPACE, or ``default`` where it is unset or empty."""
    return os.environ.get(NAMESPACE_VARIABLE) or "default"


def traces_are_asked_for() -> bool:
    """Return whether FRAY_OTEL is set, to anything but a word for no; src/capi/trace_context.cc has the same rule."""
    return os.environ.get(TRACE_VARIABLE, "").lower() not in ("", "0", "false", "no", "off")
