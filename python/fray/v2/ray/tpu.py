"""Older path of `fray.backend.ray.tpu`, whose module this is."""

import sys

import fray.backend.ray.tpu

__all__: list[str] = []  # those of the module itself

sys.modules[__name__] = fray.backend.ray.tpu
