"""Older path of `fray.device_flops`."""

from fray.device_flops import *  # noqa: F403
