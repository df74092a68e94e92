"""Ports for programs that must be told their port before they listen."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

__all__ = ["free_port"]


def free_port() -> int:
    """Return a port that nobody listens at.

    It is below those that the system hands out, so no connection of other tests takes it meanwhile.
    """
    while True:
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", random.randrange(20_000, 30_000)))
            return probe.getsockname()[1]
