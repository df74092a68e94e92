"""`ray.util.pdb`: a breakpoint; `fray.init(debug=True)` or `fray debug` attach to it."""

from __future__ import annotations

__all__ = ["post_mortem", "set_trace"]


def set_trace(breakpoint_uuid: object = None) -> None:
    """Stop here where a debugger is attached."""
    del breakpoint_uuid
    breakpoint()


def post_mortem() -> None:
    """Look at what was raised last."""
    import pdb

    pdb.post_mortem()
