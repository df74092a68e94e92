"""Older path of `fray.types`."""

from fray.types import *  # noqa: F403
