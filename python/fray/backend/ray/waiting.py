"""`wait_for`: splits refs into ready ones and others, also where Ray does not know that some are ready."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fray import _traces
from fray.backend.ray.library import ray

__all__ = ["split", "wait_for"]


def wait_for(
    refs: list[Any], num_returns: int, timeout: float | None, is_known_ready: Callable[[Any], bool]
) -> tuple[list[Any], list[Any]]:
    """Do as `Engine.wait` says; what Ray raises is raised.

    Args:
        is_known_ready: whether a ref is ready although Ray does not know.
    """
    at_once = {id(ref) for ref in refs if is_known_ready(ref)}
    if not at_once:
        return _wait(refs, num_returns, timeout)
    others = [ref for ref in refs if id(ref) not in at_once]
    missing = num_returns - len(at_once)
    if others:
        found, _ = _wait(others, max(1, missing), timeout if missing > 0 else 0)
        at_once |= {id(ref) for ref in found}
    chosen = [ref for ref in refs if id(ref) in at_once][:num_returns]
    picked = {id(ref) for ref in chosen}
    return chosen, [ref for ref in refs if id(ref) not in picked]


def _wait(refs: list[Any], num_returns: int, timeout: float | None) -> tuple[list[Any], list[Any]]:
    raws = [ref.waitable() for ref in refs]
    with _traces.waiting("wait", f"{len(refs)} result{'s' if len(refs) > 1 else ''}"):
        ready, others = ray.wait(raws, num_returns=num_returns, timeout=timeout, fetch_local=False)
    return split(refs, raws, ready, others)


def split(refs: list[Any], raws: list[Any], ready: list[Any], not_ready: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return (ready, others) of `refs`, both in their order; `ready` and `not_ready` are `raws` as Ray splits them."""
    if len(ready) == 1:
        # Binary search for the one ref that is ready: before its place both lists are equal, behind it they differ.
        low, high = 0, len(not_ready)
        while low < high:
            middle = (low + high) // 2
            if raws[middle] is not_ready[middle]:
                low = middle + 1
            else:
                high = middle
        return [refs[low]], refs[:low] + refs[low + 1 :]
    found: list[Any] = []
    others: list[Any] = []
    left = iter(ready)
    expected = next(left, None)
    for ref, raw in zip(refs, raws, strict=True):
        if raw is expected:
            found.append(ref)
            expected = next(left, None)
        else:
            others.append(ref)
    return found, others
