"""Older path of `fray.job.context`, whose module this is."""

import sys

import fray.job.context

__all__: list[str] = []  # those of the module itself

sys.modules[__name__] = fray.job.context
