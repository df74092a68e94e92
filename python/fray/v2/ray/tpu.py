"""Older path of `fray.backend.ray.tpu`, whose module this is."""

import sys

import fray.backend.ray.tpu

sys.modules[__name__] = fray.backend.ray.tpu
