"""Older path of `fray.backend.ray.ray_job`, whose module this is."""

import sys

import fray.backend.ray.ray_job

__all__: list[str] = []  # those of the module itself

sys.modules[__name__] = fray.backend.ray.ray_job
