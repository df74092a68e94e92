"""The most memory that this process has had."""

from __future__ import annotations

import re
from pathlib import Path

_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


def peak_megabytes() -> float:
    """Return it, in MB."""
    match = _PEAK.search(Path("/proc/self/status").read_text())
    return int(match[1]) * 1024 / 1e6 if match else 0.0
