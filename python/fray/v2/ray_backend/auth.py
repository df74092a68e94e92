"""Older path of `fray.backend.ray.auth`, whose module this is."""

import sys

import fray.backend.ray.auth

__all__: list[str] = []  # those of the module itself

sys.modules[__name__] = fray.backend.ray.auth
