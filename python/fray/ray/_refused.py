"""The names of Ray that `fray.ray` does not have, each with what to do instead."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["LIBRARIES", "refuse_library", "refuse_name"]

_STAYS = "leave the module that needs it on Ray itself (start that part without `fray ray` or FRAY_AS_RAY)"
LIBRARIES = {
    "air": f"Ray AIR is a library on top of Ray; {_STAYS}",
    "autoscaler": "there is one machine here and nothing to scale; run the program on a Ray cluster",
    "data": f"Ray Data is a library on top of Ray; {_STAYS}, or use fray.JobContext.map over the files",
    "job_submission": "jobs are started with `fray job submit` or fray.cluster.LocalCluster",
    "llm": f"Ray LLM is a library on top of Ray; {_STAYS}",
    "rllib": f"RLlib is a library on top of Ray; {_STAYS}",
    "serve": f"Ray Serve is a library on top of Ray; {_STAYS}",
    "train": f"Ray Train is a library on top of Ray; {_STAYS}, or start replicas with `fray job submit --replicas`",
    "tune": f"Ray Tune is a library on top of Ray; {_STAYS}, or run the trials as tasks",
    "util.collective": "pass arrays as refs, which are shared memory, or use torch.distributed between the actors",
    "workflow": "Ray itself has removed workflows; run the steps as tasks",
}
"""Libraries of Ray that are no part of its core."""


def refuse_library(name: str) -> NoReturn:
    """Raise ImportError for a library of Ray."""
    text = f"ray.{name} is not part of fray.ray, which is Ray's core API on one machine: {LIBRARIES[name]}"
    raise ModuleNotFoundError(text, name=f"ray.{name}")


def refuse_name(module: str, name: str) -> NoReturn:
    """Raise for an attribute that a module of Ray does not have."""
    full = f"{module}.{name}".removeprefix("ray.")
    if full == "workflow":
        raise RuntimeError(f"ray.workflow: {LIBRARIES[full]}")
    hint = f"; {LIBRARIES[full]}" if full in LIBRARIES else ""
    raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)
