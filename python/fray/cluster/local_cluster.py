"""Older path of `fray.cluster`."""

from fray.backend.native.cluster import LocalClient, LocalCluster

__all__ = ["LocalClient", "LocalCluster"]
