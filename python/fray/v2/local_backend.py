"""Older path of `fray.v2.local`, whose module this is."""

import sys

import fray.v2.local

__all__: list[str] = []  # those of the module itself

sys.modules[__name__] = fray.v2.local
