"""The cluster that a program launches jobs on when it names none.

In this order: the one set in this flow of control, the one set for the process, then what was chosen once from the
surroundings: the node of the job that this process runs in, an initialised Ray, ``FRAY_CLUSTER_SPEC``, the Ray or the
Iris that started this program, else this machine.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from types import TracebackType
from typing import cast

from fray.backend import BACKENDS, loaded
from fray.cluster.cluster import Cluster
from fray.errors import SettingsError, UnsupportedError
from fray.job.factory import resolve
from fray.job.spec import Spec, parse_spec

__all__ = ["create_cluster", "current_client", "current_cluster", "set_current_client", "set_current_cluster"]

_flow: ContextVar[Cluster | None] = ContextVar("fray_cluster", default=None)
_lock = threading.RLock()


class _Process:
    explicit: Cluster | None = None
    chosen: Cluster | None = None


def current_cluster() -> Cluster:
    """Return the cluster that jobs are launched on; the first call chooses one where none is set, and it is kept."""
    cluster = _flow.get() or _Process.explicit
    if cluster is not None:
        return cluster
    with _lock:
        if _Process.chosen is None or getattr(_Process.chosen, "closed", False):
            _Process.chosen = _build(resolve())
        return _Process.chosen


class _Restore:
    """What `set_current_cluster` returns: restores the previous cluster at the end of a ``with`` block."""

    def __init__(self, cluster: Cluster | None, before: tuple[Cluster | None, Cluster | None]) -> None:
        self._cluster = cluster
        self._before = before

    def __enter__(self) -> Cluster | None:
        return self._cluster

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        flow, explicit = self._before
        _flow.set(flow)  # not reset(): a fixture may end in another flow of control than it began in
        with _lock:
            _Process.explicit = explicit


def set_current_cluster(cluster: Cluster | None) -> _Restore:
    """Make `cluster` the current one, here and for the process; used in a ``with`` statement, until its end.

    None removes the clusters that were set and the one that was chosen.
    """
    if cluster is not None and not hasattr(cluster, "launch"):
        raise TypeError(f"set_current_cluster needs a Cluster or None, got {cluster!r}")
    with _lock:
        before = (_flow.get(), _Process.explicit)
        _flow.set(cluster)
        _Process.explicit = cluster
        if cluster is None:
            _Process.chosen = None
    return _Restore(cluster, before)


def current_client() -> Cluster:
    """Return the same as `current_cluster`."""
    return current_cluster()


def set_current_client(client: Cluster | None) -> _Restore:
    """Do as `set_current_cluster` does."""
    return set_current_cluster(client)


def create_cluster(spec: str) -> Cluster:
    """Return a new cluster: ``local``, ``local?address=auto``, ``ray?namespace=x``, ``iris?controller=http://...``.

    Raises:
        SettingsError: unknown scheme or key, with the known ones listed.
        UnsupportedError: this build of Fray has no such cluster.
    """
    return _build(parse_spec(spec))


def _build(spec: Spec) -> Cluster:
    place = spec.backend.cluster
    if place is None:
        known = ", ".join(name for name, backend in BACKENDS.items() if backend.cluster is not None)
        raise SettingsError(f"{spec.scheme!r} runs tasks in this process and starts no jobs; use one of {known}")
    try:
        cluster_class = loaded(place)
    except ImportError as error:
        raise UnsupportedError(f"this build of Fray cannot start jobs on {spec.scheme!r}: {error}") from error
    return cast("Cluster", cluster_class(**spec.settings))
