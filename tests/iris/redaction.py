"""What Iris hides when it shows the variables of a job: what has a telling name, and what looks like a key."""

from __future__ import annotations

import math
import re
from collections import Counter

_HIDDEN = "[REDACTED]"
_TELLING = re.compile(
    "api[_-]?key|secret|token|password|passwd|pwd|auth|credential|private[_-]?key|access[_-]?key|bearer|session",
    re.IGNORECASE,
)
_KEY = re.compile(r"[\w+/-]{24,}={0,2}", re.ASCII)
_KEY_INSIDE = re.compile(r"[\w+/-]{32,}={0,2}", re.ASCII)
_LEAST_BITS = 3.5
"""Of a character, for something to be a key."""


def shown(name: str, value: str) -> str:
    if _TELLING.search(name) or (_KEY.fullmatch(value) and _bits(value) >= _LEAST_BITS):
        return _HIDDEN
    return _KEY_INSIDE.sub(lambda found: _HIDDEN if _bits(found[0]) >= _LEAST_BITS else found[0], value)


def _bits(text: str) -> float:
    """Shannon's entropy of a character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())
