"""Older path of `fray.job.actors`, whose module this is."""

import sys

import fray.job.actors

__all__: list[str] = []  # those of the module itself

sys.modules[__name__] = fray.job.actors
