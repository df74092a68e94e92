"""Older path of `fray.v2.local`, whose module this is."""

import sys

import fray.v2.local

sys.modules[__name__] = fray.v2.local
