"""Older path of `fray.job.context`, whose module this is."""

import sys

import fray.job.context

sys.modules[__name__] = fray.job.context
