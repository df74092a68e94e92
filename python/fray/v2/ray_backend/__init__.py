"""Older path of `fray.v2.ray`, whose modules this package has."""

from fray.v2.ray import __path__ as __path__

__all__: list[str] = []
