"""The environment of a job in the form that the node reads; its environment variables are sent separately."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fray.backend.native.environments import describe
from fray.backend.native.launch import current_folder
from fray.cluster.environment import EnvironmentConfig
from fray.types import RuntimeEnv

__all__ = ["describe_job", "requirements_of_extras"]


def describe_job(environment: EnvironmentConfig, image: str | None = None) -> str:
    """Return the description; empty when this process has all that is asked for.

    Args:
        environment: what the job asks for. Its workspace is used where it lies.
        image: container image of the resources, where the environment names none.

    Raises:
        ValueError: an extra that the workspace's package does not have.
        RuntimeEnvError: the workspace has no package.
    """
    workspace = environment.workspace or current_folder()
    wanted = RuntimeEnv(
        package_requirements=[*environment.pip_packages, *requirements_of_extras(workspace, environment.extras)],
        env=environment.env_vars,
        container_image=environment.docker_image or image,
    )
    return describe(wanted, "job")


def requirements_of_extras(workspace: str, extras: Sequence[str]) -> list[str]:
    """Return the requirement lines of the optional dependencies of the package in a folder.

    Raises:
        ValueError: the folder has no package, or its package has no such extra; the message lists those there are.
    """
    if not extras:
        return []
    file = Path(workspace) / "pyproject.toml"
    try:
        project: dict[str, Any] = tomllib.loads(file.read_text()).get("project", {})
    except FileNotFoundError:
        raise ValueError(
            f"EnvironmentConfig: extras {', '.join(extras)} are asked for, but the workspace has no {file}; "
            "put the requirements into pip_packages, or name the folder of the package as workspace"
        ) from None
    known: dict[str, list[str]] = project.get("optional-dependencies", {})
    unknown = [extra for extra in extras if extra not in known]
    if unknown:
        raise ValueError(
            f"EnvironmentConfig: {file} has no extra {', '.join(unknown)}; it has {', '.join(sorted(known)) or 'none'}"
        )
    return [line for extra in extras for line in known[extra]]
