"""Older path of `fray.backend.ray.resources`, whose module this is."""

import sys

import fray.backend.ray.resources

sys.modules[__name__] = fray.backend.ray.resources
