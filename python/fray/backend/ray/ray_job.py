"""Names of the Ray backend inside a job, old ones among them."""

from fray.backend.ray.context import RayJobContext
from fray.job.actors import ActorHandle as RayActorHandle

RayContext = RayJobContext
RayBackendContext = RayJobContext

__all__ = ["RayActorHandle", "RayBackendContext", "RayContext", "RayJobContext"]
