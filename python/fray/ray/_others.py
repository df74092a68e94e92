"""Names that packages import and programs seldom use; `fray.ray._modules` says which modules of Ray have them."""

from __future__ import annotations

import enum
import logging
from dataclasses import dataclass, field
from typing import Any, NoReturn

from fray.job.factory import worker_context
from fray.ray import _session

# fmt: off
__all__ = [
    "LOCAL_MODE", "OPTIMIZED", "RESOURCE_CONSTRAINT_PREFIX", "RESTORE_WORKER_MODE", "SCRIPT_MODE", "SPILL_WORKER_MODE",
    "WORKER_MODE", "BaseContext", "ClientBuilder", "Deprecated", "DeveloperAPI", "JobConfig", "Language",
    "LoggingConfig", "PublicAPI", "RayDeprecationWarning", "client", "cpp_function", "disable_log_once_globally",
    "enable_periodic_logging", "free", "global_worker", "is_tracing_enabled", "java_actor_class", "java_function",
    "main", "memory_summary", "nothing", "post_mortem", "set_trace", "show_in_dashboard",
]
# fmt: on

SCRIPT_MODE, WORKER_MODE, LOCAL_MODE, SPILL_WORKER_MODE, RESTORE_WORKER_MODE = range(5)
OPTIMIZED = 1
RESOURCE_CONSTRAINT_PREFIX = "accelerator_type:"
"""The prefix of the resource that stands for a type of accelerator."""
BaseContext = _session.RayContext


class Language(enum.Enum):
    """The languages of remote functions."""

    PYTHON = 0
    JAVA = 1
    CPP = 2


@dataclass
class LoggingConfig:
    """Settings that `init` takes; it leaves logging as it is."""

    encoding: str = "TEXT"
    log_level: str = "INFO"
    additional_log_standard_attrs: list[str] = field(default_factory=list[str])
    logger: logging.Logger | None = None


class JobConfig:
    """The namespace and the runtime environment that `init` may take from one object; it keeps other settings."""

    def __init__(self, runtime_env: Any = None, ray_namespace: str | None = None, **settings: Any) -> None:
        self.runtime_env = runtime_env
        self.ray_namespace = ray_namespace
        self.__dict__.update(settings)

    def set_ray_namespace(self, ray_namespace: str) -> None:
        self.ray_namespace = ray_namespace

    def set_runtime_env(self, runtime_env: Any, validate: bool = False) -> None:
        del validate
        self.runtime_env = runtime_env


class _Worker:
    """The facts that programs ask of this process."""

    @property
    def connected(self) -> bool:
        return _session.is_initialized()

    @property
    def mode(self) -> int:
        return SCRIPT_MODE if worker_context() is None else WORKER_MODE

    @property
    def current_job_id(self) -> Any:
        return _session.job_id()

    @property
    def namespace(self) -> str:
        return _session.context().namespace

    def check_connected(self) -> None:
        """Begin a session where there is none."""
        _session.context()


global_worker = _Worker()


def memory_summary(*args: object, **kwargs: object) -> str:
    """Return in a sentence how much memory objects hold."""
    store = _session.context().engine.status()["store"]
    return f"{store['used_bytes']} of {store['limit_bytes']} bytes of shared memory hold objects"


def nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing: an object is freed with its last ref, no transport is asked, and there is no dashboard of Ray."""


free = show_in_dashboard = disable_log_once_globally = enable_periodic_logging = nothing
_global_is_tracing_enabled = False


def is_tracing_enabled() -> bool:
    """Return False: Ray's own tracing is never on."""
    return _global_is_tracing_enabled


def set_trace(breakpoint_uuid: object = None) -> None:
    """Stop here where a debugger is attached: by ``fray.init(debug=True)`` or ``fray debug``."""
    breakpoint()


def post_mortem() -> None:
    """Look at the exception that was raised last."""
    import pdb

    pdb.post_mortem()


def main(results: list[Any] | None = None) -> list[Any]:
    """Return the results as they are: Ray's micro-benchmark measures its remote client last, and there is none."""
    return results or []


class RayDeprecationWarning(DeprecationWarning):
    """A part of Ray's API that will be removed is used."""


def _mark(*args: Any, **kwargs: Any) -> Any:
    """Decorate a function or a class that says how stable it is: return it as it is."""
    return args[0] if len(args) == 1 and callable(args[0]) else lambda target: target  # pyright: ignore


PublicAPI = DeveloperAPI = Deprecated = _mark

# ---- other languages, and clusters

_CPP = "fray.cpp_function(library, name) is a function of C++"


def _refusal(name: str, why: str) -> Any:
    def refuse(*args: Any) -> NoReturn:
        raise NotImplementedError(f"ray.{name}{args}: {why}")

    return refuse


java_function = _refusal("java_function", f"there is no Java here; {_CPP}")
java_actor_class = _refusal("java_actor_class", "there is no Java here")
cpp_function = _refusal("cpp_function", f"{_CPP}, which fray.JobContext runs")


def client(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse: there is no cluster to connect to."""
    raise NotImplementedError("ray.client: Ray's remote client is for clusters; fray.ray runs on one machine")


ClientBuilder = client
