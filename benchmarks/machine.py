"""What the run ran on, and with which versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import time
from pathlib import Path
from typing import Any


def describe_machine() -> dict[str, Any]:
    """Return the machine's part of the report; nothing in it names the host or a user."""
    return {
        "cpu": _first(r"^model name\s*: (.+)$", Path("/proc/cpuinfo")) or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": int(_first(r"^MemTotal:\s+(\d+) kB$", Path("/proc/meminfo")) or 0) * 1024,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("fray", "ray", "joblib", "numpy")},
        "date": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "load_1m_at_start": os.getloadavg()[0],
    }


def version(package: str) -> str | None:
    """Return the version of an installed package, None where it is missing."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _first(pattern: str, path: Path) -> str | None:
    match = re.search(pattern, path.read_text(), re.MULTILINE)
    return match[1] if match else None
