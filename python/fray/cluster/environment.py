"""Where a job's code and packages come from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, cast

from fray._checked_keywords import CheckedKeywords
from fray._checks import check_env, check_text, text_list

__all__ = ["EnvironmentConfig", "create_environment"]

_DEFAULTS = {"HF_DATASETS_TRUST_REMOTE_CODE": "1", "TOKENIZERS_PARALLELISM": "false"}
_CAPTURED = ("HF_TOKEN", "WANDB_API_KEY", "MARIN_CI_DISABLE_RUNTIME_ENVS")
"""Variables that a job gets from this process where they are set."""


@dataclass(frozen=True, slots=True, repr=False)
class EnvironmentConfig(CheckedKeywords):
    """Where a job's code and packages come from: a folder or a container image, and what is added to it.

    `create_environment` fills in the defaults.

    Args:
        workspace: folder with the job's code.
        docker_image: container image with the code. Give either this or `workspace`.
        pip_packages: requirement lines such as ``"numpy>=2"``.
        env_vars: environment variables; their values are never shown.
        extras: optional dependency groups of the workspace's own package.
    """

    KEYWORD_HINTS: ClassVar[Mapping[str, str]] = {
        "env": "env_vars={...}",
        "image": "docker_image='...'",
        "container_image": "docker_image='...'",
        "working_dir": "workspace='...'",
        "pip": "pip_packages=[...]",
        "package_requirements": "pip_packages=[...]",
        "extra_dependency_groups": "extras=[...]",
    }

    workspace: str | None = None
    docker_image: str | None = None
    pip_packages: Sequence[str] = field(default_factory=list[str])
    env_vars: Mapping[str, str] = field(default_factory=dict[str, str])
    extras: Sequence[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        if isinstance(self.workspace, os.PathLike):
            object.__setattr__(self, "workspace", os.fspath(cast("os.PathLike[str]", self.workspace)))
        if self.workspace is not None and self.docker_image is not None:
            raise ValueError("Cannot specify both workspace and docker_image")
        if self.docker_image is not None:
            check_text(self.docker_image, "EnvironmentConfig: docker_image")
        elif self.workspace is not None:
            check_text(self.workspace, "EnvironmentConfig: workspace")
        else:
            raise ValueError("Must specify either workspace or docker_image")
        object.__setattr__(self, "pip_packages", _lines(self.pip_packages, "EnvironmentConfig: pip_packages"))
        object.__setattr__(self, "env_vars", check_env(self.env_vars, "EnvironmentConfig: env_vars"))
        object.__setattr__(self, "extras", _lines(self.extras, "EnvironmentConfig: extras"))

    def __repr__(self) -> str:
        """Show the names of the variables, never their values, which may be secrets."""
        names = ", ".join(f"{name!r}: ..." for name in self.env_vars)
        return (
            f"EnvironmentConfig(workspace={self.workspace!r}, docker_image={self.docker_image!r}, "
            f"pip_packages={self.pip_packages!r}, env_vars={{{names}}}, extras={self.extras!r})"
        )

    @staticmethod
    def create(
        workspace: str | os.PathLike[str] | None = None,
        docker_image: str | None = None,
        pip_packages: Sequence[str] | None = None,
        env_vars: Mapping[str, str | None] | None = None,
        extras: Sequence[str] | None = None,
    ) -> EnvironmentConfig:
        """Do as `create_environment` does."""
        return create_environment(workspace, docker_image, pip_packages, env_vars, extras)


def create_environment(
    workspace: str | os.PathLike[str] | None = None,
    docker_image: str | None = None,
    pip_packages: Sequence[str] | None = None,
    env_vars: Mapping[str, str | None] | None = None,
    extras: Sequence[str] | None = None,
) -> EnvironmentConfig:
    """Return an environment with the defaults filled in; a job that names no environment has the same defaults.

    The workspace is this process's folder unless an image is given. ``HF_TOKEN``, ``WANDB_API_KEY`` and
    ``MARIN_CI_DISABLE_RUNTIME_ENVS`` of this process are passed on, ``TOKENIZERS_PARALLELISM`` is ``false`` and
    ``HF_DATASETS_TRUST_REMOTE_CODE`` is ``1``; `env_vars` replace these; the value None leaves a variable out.
    """
    if workspace is None and docker_image is None:
        workspace = os.getcwd()
    captured = {name: os.environ[name] for name in _CAPTURED if name in os.environ}
    if env_vars is not None and not isinstance(env_vars, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"EnvironmentConfig: env_vars must be a dict of text to text, got a {type(env_vars).__name__}")
    merged = {**_DEFAULTS, **captured, **(env_vars or {})}
    return EnvironmentConfig(
        workspace=os.fspath(workspace) if workspace is not None else None,
        docker_image=docker_image,
        pip_packages=pip_packages if pip_packages is not None else [],
        env_vars={name: value for name, value in merged.items() if value is not None},
        extras=extras if extras is not None else [],
    )


def _lines(values: object, what: str) -> list[str]:
    lines = text_list(values, what)
    for line in lines:
        check_text(line, f"{what}: an item")
    return lines
