"""The peers behind one small set of bare callables, so that a workload is written once and costs the same for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

CPUS = 2
"""CPUs that every peer gets."""


def _missing(*args: Any) -> Any:
    del args
    raise NotImplementedError("this peer has no such call")


@dataclass(frozen=True)
class Engine:
    """A running peer. The callables are the peer's own, not wrapped, wherever its API allows it.

    Attributes:
        bind: function to a callable that submits it with the arguments given and returns a ref.
        bind_retrying: the same, and the task is retried at least three times when its worker dies.
        get: value of a ref, values of a list of refs.
        put: value to ref.
        wait: list of refs to (ready, others), for one ready.
        empty: shape and dtype to an uninitialised array in the store.
        actor: class, arguments and options to the handle of a new actor, which holds no CPU.
        kill: end an actor by its handle.

    Not every peer has all of these. How the methods of a handle are called is in `benchmarks.actors`.
    """

    bind: Callable[[Callable[..., Any]], Callable[..., Any]]
    bind_retrying: Callable[[Callable[..., Any]], Callable[..., Any]]
    get: Callable[[Any], Any]
    put: Callable[..., Any] = _missing
    wait: Callable[..., tuple[list[Any], list[Any]]] = _missing
    empty: Callable[..., Any] = _missing
    actor: Callable[..., Any] = _missing
    kill: Callable[[Any], None] = _missing


@contextmanager
def open_engine(peer: str, fray_context: str, ray_address: str | None) -> Iterator[Engine]:
    """Start a peer and close it at the end.

    Args:
        peer: "fray", "ray", "pool" or "joblib".
        fray_context: "native" or "thread".
        ray_address: of the Ray to connect to; None for one of its own.
    """
    if peer == "fray":
        from benchmarks.engines.fray_engine import open_fray

        opened = open_fray(fray_context)
    elif peer == "ray":
        from benchmarks.engines.ray_engine import open_ray

        opened = open_ray(ray_address)
    elif peer == "pool":
        from benchmarks.engines.pool_engine import open_pool

        opened = open_pool()
    elif peer == "joblib":
        from benchmarks.engines.joblib_engine import open_joblib

        opened = open_joblib()
    else:
        raise LookupError(f"no such peer: {peer}")
    with opened as engine:
        yield engine
