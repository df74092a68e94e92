"""Older path of `fray.backend.ray.cluster`, whose module this is."""

import sys

import fray.backend.ray.cluster

sys.modules[__name__] = fray.backend.ray.cluster
