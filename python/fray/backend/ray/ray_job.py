"""Names of the Ray backend inside a job, old ones among them."""

from fray.backend.ray.context import RayJobContext
from fray.job.actors import ActorHandle as RayActorHandle
from fray.job.surroundings import ray_is_initialized as is_ray_initialized

RayContext = RayJobContext
RayBackendContext = RayJobContext

__all__ = ["RayActorHandle", "RayBackendContext", "RayContext", "RayJobContext", "is_ray_initialized"]
