"""`ray.cloudpickle`: the package cloudpickle, which Ray brings along."""

from __future__ import annotations

import sys

import cloudpickle

__all__: list[str] = []

sys.modules[__name__] = cloudpickle
