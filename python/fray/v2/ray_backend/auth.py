"""Older path of `fray.backend.ray.auth`, whose module this is."""

import sys

import fray.backend.ray.auth

sys.modules[__name__] = fray.backend.ray.auth
