"""The runtime environment of one task or actor on Ray, as far as it depends on the Ray that is there."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
from dataclasses import replace
from typing import Any, TypeVar

from fray._unbuilt import warn_of_packages
from fray.backend.ray.dashboard import is_local_ray
from fray.backend.ray.environment import check_pip, disabled_by_environment
from fray.backend.ray.library import ray
from fray.types import ActorOptions, RuntimeEnv, TaskOptions

__all__ = ["buildable", "on_this_machine", "with_sent_folder"]

_Options = TypeVar("_Options", TaskOptions, ActorOptions)


def buildable(options: _Options) -> _Options:
    """Return the options without packages where Ray is to build no environment.

    No environment is built on a Ray that this process has started, whose workers use this environment's packages, nor
    with ``MARIN_CI_DISABLE_RUNTIME_ENVS``; missing packages are then named by one warning.

    Raises:
        UnsupportedError: Ray would install packages with a pip that is not there.
    """
    env = options.runtime_env
    if env is None or not (env.package_requirements or env.conda):
        return options
    where = _why_nothing_is_built()
    if where:
        warn_of_packages(env, where)
        return replace(options, runtime_env=_without_packages(env))
    if env.package_requirements and env.container_image is None and on_this_machine():
        check_pip()
    return options


def _why_nothing_is_built() -> str:
    if disabled_by_environment():
        return "MARIN_CI_DISABLE_RUNTIME_ENVS is set"
    return "this program's own Ray shares its environment" if is_local_ray() else ""


def _without_packages(env: RuntimeEnv) -> RuntimeEnv:
    return replace(env, package_requirements=[], conda=[])


def on_this_machine() -> bool:
    """Return whether all living nodes of the initialised Ray are on this machine and so share its environment."""
    here = socket.gethostname()
    return all(node["NodeManagerHostname"] == here for node in ray.nodes() if node["Alive"])


def with_sent_folder(keywords: dict[str, Any]) -> dict[str, Any]:
    """Send the working folder to the cluster; return the keywords with its address, which Ray wants for tasks."""
    env = keywords.get("runtime_env", {})
    folder = env.get("working_dir")
    if folder is None or "://" in folder:
        return keywords
    from ray._private.runtime_env.working_dir import upload_working_dir_if_needed

    whole = {**env, "working_dir": os.path.abspath(os.path.expanduser(folder))}
    with tempfile.TemporaryDirectory(prefix="fray-package-") as scratch:
        sent: Any = upload_working_dir_if_needed(whole, True, scratch, logging.getLogger("fray"))
    return {**keywords, "runtime_env": sent}
