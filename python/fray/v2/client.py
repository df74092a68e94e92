"""Older path of `fray.cluster`."""

from fray.cluster import *  # noqa: F403
