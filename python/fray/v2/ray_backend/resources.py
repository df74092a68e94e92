"""Older path of `fray.backend.ray.resources`, whose module this is."""

import sys

import fray.backend.ray.resources

__all__: list[str] = []  # those of the module itself

sys.modules[__name__] = fray.backend.ray.resources
