"""`ray.util.debug`: saying a thing once, and turning logs off."""

from __future__ import annotations

from fray.ray.util import log_once

__all__ = ["disable_log_once_globally", "enable_periodic_logging", "log_once"]


def disable_log_once_globally() -> None:
    """Do nothing."""


def enable_periodic_logging() -> None:
    """Do nothing."""
