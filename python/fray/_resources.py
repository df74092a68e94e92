"""What a task or an actor may ask for: ``{"CPU": 2, "memory": 4 << 30, "TPU": 4}``.

Keys are ``CPU`` (fractions allowed), ``GPU`` and ``TPU`` (devices: whole ones, or a fraction of one), ``memory`` (whole
bytes) and any other text, a resource that the node declares itself. Whether the node has them is the node's business;
here only the form is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from fray._units import is_finite

__all__ = ["DEVICE_KINDS", "check_resources"]

DEVICE_KINDS = ("GPU", "TPU")
"""Resources whose units have indices."""

_MEANT = {
    "cpu": "CPU",
    "cpus": "CPU",
    "num_cpu": "CPU",
    "num_cpus": "CPU",
    "gpu": "GPU",
    "gpus": "GPU",
    "num_gpu": "GPU",
    "num_gpus": "GPU",
    "memory": "memory",
    "mem": "memory",
    "ram": "memory",
    "memory_bytes": "memory",
}
_ALLOWED = "allowed are 'CPU', 'GPU', 'memory' (bytes) and the names of custom resources"


def check_resources(resources: object, owner: str) -> dict[str, float]:
    """Return a copy of `resources`; `owner` opens the messages, such as ``"TaskOptions"``.

    Raises:
        TypeError: not a mapping of text to numbers.
        ValueError: a misspelt key, or an amount that is negative, NaN, infinite or a fraction of a byte.
    """
    if not isinstance(resources, Mapping):
        raise TypeError(f"{owner}: resources must be a dict such as {{'CPU': 1}}, got {resources!r}")
    checked: dict[str, float] = {}
    for key, amount in cast("Mapping[object, object]", resources).items():
        name = _check_key(key, owner)
        checked[name] = _check_amount(name, amount, owner)
    return checked


def _check_key(key: object, owner: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{owner}: a resource is named by text, got {key!r}; {_ALLOWED}")
    meant = _MEANT.get(key.lower())
    if meant is not None and key != meant:
        raise ValueError(f"{owner}: unknown resource {key!r}: did you mean {meant!r}? {_ALLOWED}")
    if not key or key != key.strip():
        raise ValueError(f"{owner}: the resource name {key!r} is empty or has spaces around it; {_ALLOWED}")
    return key


def _check_amount(name: str, amount: Any, owner: str) -> float:
    if isinstance(amount, bool) or not hasattr(amount, "__float__"):
        raise TypeError(f"{owner}: the amount of {name!r} must be a number, got {amount!r}")
    if not is_finite(amount) or float(amount) < 0:
        raise ValueError(f"{owner}: the amount of {name!r} must be a finite number of at least 0, got {amount!r}")
    number = amount if isinstance(amount, (int, float)) else float(amount)
    if name in DEVICE_KINDS and number > 1 and number != int(number):
        raise ValueError(f"{owner}: {name!r} must be a whole number of devices or a fraction of one, got {amount!r}")
    if name == "memory":
        if number != int(number):
            raise ValueError(f"{owner}: 'memory' is a whole number of bytes, got {amount!r}")
        return int(number)
    return number
