"""`ray._private`: the few modules that benchmarks and examples of Ray import."""

from fray.ray._private import internal_api

__all__ = ["internal_api"]
