"""The version of this package, which is that of its engine."""

__all__ = ["VERSION"]

VERSION = "0.1.0"
