"""Where the agent of a Ray that a test starts listens: its usual port may be another Ray's."""

from __future__ import annotations

from typing import Any

from ray._private.parameter import RayParams

__all__ = ["set_agent_port"]


def set_agent_port(port: int) -> None:
    """Let the agent of the head that this process starts listen at `port`."""
    make = RayParams.__init__

    def make_with_port(self: RayParams, *args: Any, **keywords: Any) -> None:
        make(self, *args, **keywords)
        self.dashboard_agent_listen_port = port

    RayParams.__init__ = make_with_port  # type: ignore[method-assign]
