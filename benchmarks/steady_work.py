"""Work that takes as long in one process as in another, to half a per cent, for rows that tell single per cents.

A loop of Python does not: on one machine it took 403 ms in one of ten processes and 200 to 203 in the others, as its
objects happened to lie in memory.
"""

from __future__ import annotations

import hashlib

_BLOCK = bytes(range(256)) * 7
"""Less than the 2,048 bytes from which on hashlib gives the interpreter's lock away: it is held, as in a loop."""


def hash_blocks(count: int) -> bytes:
    """Keep a core busy for a time that `count` sets; it does not look at the clock, so being preempted costs."""
    digest = hashlib.sha256()
    for _ in range(count):
        digest.update(_BLOCK)
    return digest.digest()
