"""Where the dashboard of a Ray is, and whether that Ray is this machine's own."""

from __future__ import annotations

import os
import sys

from fray import errors
from fray.job.surroundings import is_ray_worker

__all__ = ["dashboard_url", "initialise", "is_local_ray", "refuse_name"]


def is_local_ray() -> bool:
    """Return whether this process started the Ray that it uses, so that everything of it runs on this machine."""
    if sys.modules.get("ray") is None:
        return False
    from fray.backend.ray.library import global_worker, ray

    if not ray.is_initialized():
        return False
    node = global_worker.node
    return node is not None and node.is_head()


def refuse_name(cluster: str | None) -> None:
    """Raise UnsupportedError where a cluster is named instead of its address."""
    if cluster is not None:
        raise errors.UnsupportedError(
            f"ray?cluster={cluster}: names of clusters and files of `ray up` are not looked up, for what they lead to "
            "depends on the cloud; give the address of the head: ray?address=HOST:6379"
        )


def dashboard_url(address: str = "auto") -> str:
    """Return the URL of the dashboard of the initialised Ray, of the one at `address`, or of that which variables name.

    Raises:
        NodeDiedError: there is no Ray, or it has no dashboard.
        UnsupportedError: only Ray itself could find it, and it is not installed.
    """
    named = os.environ.get("RAY_API_SERVER_ADDRESS") or os.environ.get("RAY_ADDRESS", "")
    if address == "auto" and named.startswith("http"):
        return named
    try:
        initialise(address)
    except ImportError as error:
        raise errors.UnsupportedError(
            f"{error}; without it give the URL of the cluster's dashboard: ray?address=http://HOST:8265"
        ) from None
    from fray.backend.ray.library import ray

    if is_ray_worker():  # a worker assumes Ray's default port, even where the head has another one
        host = ray._private.services.get_webui_url_from_internal_kv()
    else:
        host = ray._private.worker.get_dashboard_url()
    if not host:
        raise errors.NodeDiedError(
            "this Ray has no dashboard, and jobs are submitted through it; start it with include_dashboard=True"
        )
    return host if "://" in host else f"http://{host}"


def initialise(address: str | None) -> None:
    """Make sure that this process uses Ray."""
    from fray.backend.ray.connection import connect

    connect(None if address == "auto" else address, None)
