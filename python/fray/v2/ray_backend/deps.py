"""Older path of `fray.backend.ray.environment`, whose module this is."""

import sys

import fray.backend.ray.environment

__all__: list[str] = []  # those of the module itself

sys.modules[__name__] = fray.backend.ray.environment
