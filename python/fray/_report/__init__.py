"""`fray.report`: writes what a program's tasks did and cost, as one HTML file."""

from __future__ import annotations

from fray._report.page import report

__all__ = ["report"]
