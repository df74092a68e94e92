"""Amounts as people write them: ``"4GiB"`` to bytes, and bytes to ``"4.0 GiB"``."""

from __future__ import annotations

import math
import re

__all__ = ["amount_text", "bytes_text", "is_finite", "parse_bytes"]

_FACTORS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "k": 2**10,
    "m": 2**20,
    "g": 2**30,
    "t": 2**40,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_PATTERN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")


def bytes_text(amount: float) -> str:
    """Return bytes as they are read: ``"512 B"``, ``"23.5 GiB"``."""
    size, unit = float(amount), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if abs(size) < 1024 or unit == "EiB":
            break
        size /= 1024
    return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"


def amount_text(resource: str, amount: float) -> str:
    """Return an amount of a resource: bytes where it is ``memory``, else a number without an exponent."""
    return bytes_text(amount) if resource == "memory" else f"{amount:.4f}".rstrip("0").rstrip(".")


def parse_bytes(amount: int | float | str, what: str, *, binary: bool = False) -> int:
    """Return a positive number of bytes given as a number or as text such as ``"512MiB"``.

    With `binary`, KB, MB, GB and TB are powers of two as well.

    Raises:
        ValueError: the text has no such form, or the amount is not a positive whole number of bytes.
        TypeError: `amount` is neither a number nor text.
    """
    if isinstance(amount, bool) or not isinstance(amount, (int, float, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{what} must be a number of bytes or text such as '4GiB', got {amount!r}")
    if isinstance(amount, str):
        match = _PATTERN.fullmatch(amount)
        unit = match[2].lower() if match else ""
        factor = _FACTORS.get(unit[:1] if binary and len(unit) == 2 and unit[1] == "b" else unit)
        if match is None or factor is None:
            raise ValueError(f"{what} must be a number of bytes or text such as '4GiB' or '512MB', got {amount!r}")
        value = float(match[1]) * factor if "." in match[1] else int(match[1]) * factor
    else:
        value = amount
    if not is_finite(value) or value <= 0:
        raise ValueError(f"{what} must be more than zero bytes, got {amount!r}")
    return int(value)


def is_finite(number: float) -> bool:
    """Return whether a number is finite as a float, for which whole numbers may be too large."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
