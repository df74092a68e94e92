"""Older path of `fray.backend.ray.cluster`, whose module this is."""

import sys

import fray.backend.ray.cluster

__all__: list[str] = []  # those of the module itself

sys.modules[__name__] = fray.backend.ray.cluster
