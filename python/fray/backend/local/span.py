"""When tasks ran: what timelines are made of."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Span"]


class Span(NamedTuple):
    """When one task ran; seconds of `time.monotonic`."""

    name: str
    start: float
    end: float
    thread_id: int
    ended_well: bool
