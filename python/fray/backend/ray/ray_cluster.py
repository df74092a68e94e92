"""Older path of `fray.backend.ray.cluster`."""

from fray.backend.ray.cluster import RayClient, RayCluster, RayClusterContext

__all__ = ["RayClient", "RayCluster", "RayClusterContext"]
