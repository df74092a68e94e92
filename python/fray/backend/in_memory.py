"""Older path of `fray.backend.local`."""

from fray.backend.local.sync import LocalJobContext

__all__ = ["LocalJobContext"]
