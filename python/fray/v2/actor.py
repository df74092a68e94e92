"""Older path of `fray.job.actors`, whose module this is."""

import sys

import fray.job.actors

sys.modules[__name__] = fray.job.actors
