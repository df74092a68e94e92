"""Runtime environments of whole jobs on Ray: `build_runtime_env` and its parts.

There are three kinds, tried in this order. Local: Ray's workers share the driver's disk and packages, so there are
variables only. Heavy: with packages or extras, Ray builds an environment and gets the packed workspace. Light:
variables only, among them a ``PYTHONPATH`` with the workspace's own code.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from fray._checks import check_env, check_text, text_list
from fray.backend.ray.package_files import with_whole_paths
from fray.cluster import CpuConfig, EnvironmentConfig, GpuConfig, JobRequest, TpuConfig, create_environment
from fray.errors import UnsupportedError

__all__ = [
    "EXCLUDES",
    "SETUP_TIMEOUT_SECONDS",
    "build_python_path",
    "build_runtime_env",
    "build_runtime_env_for_packages",
    "check_pip",
    "disabled_by_environment",
]

EXCLUDES = [".git", "tests/", "docs/", "**/*.pack"]
"""What is left out of a workspace that is packed."""
SETUP_TIMEOUT_SECONDS = 1800
"""How long Ray may build an environment."""
_DISABLE = "MARIN_CI_DISABLE_RUNTIME_ENVS"
_SKIP_EXTRAS = "MARIN_SKIP_RUNTIME_EXTRAS"
_UV_SECONDS = 300
_NOT_INSTALLED = ("ray", "marin")
"""Packages that Ray's workers have already, or get as source."""
_TORCH_INDEX = "https://download.pytorch.org/whl/"
_LOG = logging.getLogger("fray")


def build_runtime_env(request: JobRequest, cluster_spec: str | None = None, *, local: bool = False) -> dict[str, Any]:
    """Return Ray's runtime env for a job.

    Args:
        request: the job. A TPU adds the extra ``tpu`` to its environment, GPUs the extra ``gpu``.
        cluster_spec: spec of the cluster of the job. It is not put into the job's variables, because a program on an
            initialised Ray finds that Ray by itself.
        local: Ray runs on this machine: nothing is installed or packed. ``MARIN_CI_DISABLE_RUNTIME_ENVS=1`` in this
            process says the same.

    Raises:
        UnsupportedError: uv is needed and not there, or it fails.
    """
    environment = request.environment if request.environment is not None else create_environment()
    env_vars = _with_device_defaults(request, environment.env_vars)
    extras = _with_device_extra(request, environment)
    if local or disabled_by_environment():
        if environment.pip_packages:
            _LOG.warning(
                "job %s: its pip_packages are not installed, for Ray is local; install them into this environment",
                request.name,
            )
        return {"env_vars": env_vars}
    if environment.docker_image is not None:
        _warn_of_image(request.name, environment, extras)
        return {"env_vars": env_vars, "container": {"image": environment.docker_image}}
    workspace = cast("str", environment.workspace)
    if environment.pip_packages or extras:
        runtime_env = build_runtime_env_for_packages(
            extra=extras, pip_packages=environment.pip_packages, env_vars=env_vars, workspace=workspace
        )
        runtime_env["working_dir"] = workspace
        runtime_env["excludes"] = list(EXCLUDES)
        runtime_env["config"] = {"setup_timeout_seconds": SETUP_TIMEOUT_SECONDS}
        return runtime_env
    return {"env_vars": {**env_vars, **_python_path(workspace, env_vars, absolute=True)}}


def build_runtime_env_for_packages(
    extra: Sequence[str] | None = None,
    pip_packages: Sequence[str] | None = None,
    env_vars: Mapping[str, str] | None = None,
    *,
    workspace: str | os.PathLike[str] | None = None,
    package: str | None = None,
    conda: str | Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return Ray's runtime env with the workspace's locked packages and further ones.

    ``uv export`` lists what the lock file says; Ray's workers install exactly that, from a file in the folder for
    temporary files that is named after its content.

    Args:
        extra: optional dependency groups of the package.
        pip_packages: requirement lines beside those that are locked; relative paths are those of this process's folder.
        env_vars: variables; ``PYTHONPATH`` goes behind the workspace's own folders.
        workspace: folder of the project; by default this process's.
        package: the project's member to export; by default ``marin`` where there is one, else the project itself.
        conda: name of a conda environment, or its definition, instead of the locked packages. `pip_packages` go into a
            definition; a name takes none, and neither takes extras.

    Raises:
        ValueError: conda together with packages or extras that it does not allow.
        UnsupportedError: uv is needed and not there, or it fails.
    """
    folder = Path(os.getcwd() if workspace is None else workspace)
    extras = sorted(set(text_list(extra or [], "build_runtime_env_for_packages: extra")))
    packages = with_whole_paths(text_list(pip_packages or [], "build_runtime_env_for_packages: pip_packages"))
    variables = check_env(env_vars or {}, "build_runtime_env_for_packages: env_vars")
    found: dict[str, Any] = {"env_vars": {**variables, **_python_path(folder, variables, absolute=False)}}
    if conda is not None:
        found["conda"] = _conda(conda, extras, packages)
        return found
    locked = _export(folder, package, extras) if (folder / "pyproject.toml").exists() or extras else []
    found["pip"] = {"packages": _write_requirements(_requirements(locked, packages, extras))}
    return found


def build_python_path(workspace: str | os.PathLike[str] | None = None, *, absolute: bool = True) -> list[str]:
    """Return the folders of a workspace that hold importable code, of those that exist.

    They are ``experiments``, ``src``, ``lib/*/src``, ``submodules/*`` and ``submodules/*/src``.

    Args:
        workspace: folder of the project; by default this process's.
        absolute: whole paths, for workers that share this disk; else relative ones, for a workspace that is packed.
    """
    root = Path(os.getcwd() if workspace is None else workspace).absolute()
    found = [root / "experiments", root / "src", *sorted(root.glob("lib/*/src"))]
    for module in sorted(root.glob("submodules/*")):
        found += [module, module / "src"]
    return [str(path if absolute else path.relative_to(root)) for path in found if path.is_dir()]


def disabled_by_environment() -> bool:
    """Return whether ``MARIN_CI_DISABLE_RUNTIME_ENVS`` is set, so that no environments are built."""
    return os.environ.get(_DISABLE, "").lower() in ("1", "true")


def check_pip() -> None:
    """Raise where Ray on this machine could not install packages.

    Raises:
        UnsupportedError: this environment, which Ray's workers share, has no pip.
    """
    if importlib.util.find_spec("pip") is None:
        raise UnsupportedError(
            "packages cannot be installed: Ray's workers on this machine use the pip of this environment, and it has "
            "none; run `uv pip install pip`, or install the packages here and ask for none"
        )


# ---- variables


def _with_device_defaults(request: JobRequest, given: Mapping[str, str]) -> dict[str, str]:
    device = request.resources.device
    variables = {**device.default_env_vars(), **given}
    platform = variables.get("JAX_PLATFORMS")
    if isinstance(device, CpuConfig) and platform != "cpu":
        _LOG.warning(
            "job %s asks for no accelerator, but its environment sets JAX_PLATFORMS to another platform", request.name
        )
    return variables


def _python_path(workspace: str | os.PathLike[str], given: Mapping[str, str], absolute: bool) -> dict[str, str]:
    folders = build_python_path(workspace, absolute=absolute)
    folders += [path for path in given.get("PYTHONPATH", "").split(os.pathsep) if path]
    return {"PYTHONPATH": os.pathsep.join(folders)} if folders else {}


# ---- packages


def _with_device_extra(request: JobRequest, environment: EnvironmentConfig) -> list[str]:
    extras = list(environment.extras)
    skip = environment.env_vars.get(_SKIP_EXTRAS) or os.environ.get(_SKIP_EXTRAS, "")
    if skip.lower() in ("1", "true", "yes"):
        return extras
    device = request.resources.device
    needed = "tpu" if isinstance(device, TpuConfig) else "gpu" if isinstance(device, GpuConfig) else None
    return extras if needed is None or needed in extras else [*extras, needed]


def _warn_of_image(name: str, environment: EnvironmentConfig, extras: Iterable[str]) -> None:
    ignored = [*environment.pip_packages, *(f"extra {extra}" for extra in extras)]
    if ignored:
        _LOG.warning(
            "job %s runs in the image %s, and Ray installs nothing into images; left out: %s",
            name,
            environment.docker_image,
            ", ".join(ignored),
        )


def _conda(conda: object, extras: Sequence[str], packages: Sequence[str]) -> Any:
    if extras:
        raise ValueError(f"conda and extras are both given ({', '.join(extras)}); put the packages into the definition")
    if isinstance(conda, str):
        check_text(conda, "build_runtime_env_for_packages: conda")
        if packages:
            raise ValueError(
                f"conda={conda!r} names an environment that exists, and pip_packages ({', '.join(packages)}) cannot be "
                "added to it; give its definition as a dict"
            )
        return conda
    if not isinstance(conda, Mapping):
        raise TypeError(f"build_runtime_env_for_packages: conda must be a name or a dict, got {type(conda).__name__}")
    definition = dict(cast("Mapping[str, Any]", conda))
    if packages:
        definition["dependencies"] = [*definition.get("dependencies", []), "pip", {"pip": list(packages)}]
    return definition


def _export(folder: Path, package: str | None, extras: Sequence[str]) -> list[str]:
    """Return what ``uv export`` lists for the project in `folder`."""
    project = package or _project_of(folder)
    uv = shutil.which("uv") or _own_uv()
    if uv is None:
        raise UnsupportedError(
            "uv is needed to list the workspace's locked packages, and it is not in PATH; run `pip install uv`, or "
            "name the packages in pip_packages and leave out extras"
        )
    command = [uv, "export", "--package", project, "--no-default-groups"]
    command += ["--no-annotate", "--no-hashes", "--no-header", "--prune", "ray"]
    command += [word for extra in extras for word in ("--extra", extra)]
    try:
        answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_UV_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise UnsupportedError(f"`uv export` in {folder} took longer than {_UV_SECONDS} s") from None
    if answer.returncode != 0:
        last = "\n".join(answer.stderr.strip().splitlines()[-10:])
        raise UnsupportedError(f"`uv export` in {folder} failed with code {answer.returncode}:\n{last}")
    return answer.stdout.splitlines()


def _own_uv() -> str | None:
    """Return the uv that is installed as a package beside Fray."""
    try:
        return str(importlib.import_module("uv").find_uv_bin())
    except (ImportError, FileNotFoundError):
        return None


def _project_of(folder: Path) -> str:
    if (folder / "lib" / "marin" / "pyproject.toml").exists():
        return "marin"
    try:
        name: Any = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["name"]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise UnsupportedError(
            f"the project in {folder} has no name to export the packages of ({type(error).__name__}: {error}); "
            "extras need a pyproject.toml with [project] name"
        ) from None
    return str(name)


def _requirements(locked: Iterable[str], packages: Sequence[str], extras: Sequence[str]) -> str:
    """Return the file of requirements: locked packages, then further ones, those of torch last, behind their index."""
    lines = [line.strip() for line in locked]
    specs = [line for line in lines if line and not line.startswith(("#", "./", "-e ", "../"))]
    specs = [spec for spec in specs if _name_of(spec) not in _NOT_INSTALLED] + list(packages)
    torch = [spec for spec in specs if _name_of(spec).startswith("torch")]
    kept = [spec for spec in specs if spec not in torch]
    if torch:
        kind = "cu128" if {"gpu", "vllm"} & set(extras) and "tpu" not in extras else "cpu"
        kept += [f"--extra-index-url {_TORCH_INDEX}{kind}", *torch]
    return "".join(f"{line}\n" for line in kept)


def _name_of(spec: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", spec)
    return found.group().lower() if found else ""


def _write_requirements(text: str) -> str:
    """Write the file, whole or not at all, under a name made of its content."""
    name = f"ray_reqs_{hashlib.sha256(text.encode()).hexdigest()[:16]}.txt"
    path = os.path.join(tempfile.gettempdir(), name)
    with tempfile.NamedTemporaryFile("w", dir=tempfile.gettempdir(), prefix="ray_reqs_", delete=False) as file:
        file.write(text)
    os.replace(file.name, path)
    return path
