"""`ray.util.tracing`: never on here."""

from __future__ import annotations

__all__: list[str] = []
