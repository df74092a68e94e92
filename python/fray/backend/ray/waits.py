"""What Ray's ``wait`` returns, as refs of Fray's. Pure; needs no Ray."""

from __future__ import annotations

from typing import Any

__all__ = ["split"]


def split(refs: list[Any], raws: list[Any], ready: list[Any], not_ready: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return (ready, others) of `refs`, both in their order; `ready` and `not_ready` are `raws`, split alike."""
    if len(ready) == 1:
        # Before the place of the one that is missing both lists are the same, behind it they never are.
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
