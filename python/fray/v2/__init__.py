"""Older path of `fray`."""

from fray import *  # noqa: F403
