"""A `RuntimeEnv` in the form that the node reads; its environment variables are sent separately."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Literal

from fray._installed import all_installed
from fray.backend.native.launch import search_path
from fray.backend.native.programs import fray_program
from fray.errors import RuntimeEnvError
from fray.types import RuntimeEnv

__all__ = ["describe"]

_PACKAGE = Path(__file__).resolve().parents[2]


def describe(env: RuntimeEnv, purpose: Literal["worker", "job"] = "worker") -> str:
    """Return the description as src/model/runtime_env_spec.h reads it; empty when the driver has all that is asked for.

    A snapshot of the working folder is taken now: later changes to the folder do not reach the task.

    Raises:
        RuntimeEnvError: there is no such folder or archive, or no snapshot can be taken of it.
    """
    spec: dict[str, object] = {}
    if env.container_image:
        if env.package_requirements or env.conda:
            warnings.warn(
                f"RuntimeEnv: package_requirements and conda do not apply in the container {env.container_image!r}; "
                "its image has to have the packages",
                stacklevel=6,
            )
        spec["container_image"] = env.container_image
        spec["variables"] = sorted(env.env)
    elif env.conda:
        spec["conda"] = list(env.conda)
    elif env.package_requirements and not all_installed(env.package_requirements):
        spec["packages"] = [_with_whole_path(line) for line in env.package_requirements]
    if env.working_dir is not None:
        folder = os.path.abspath(os.path.expanduser(env.working_dir))
        spec["working_dir"] = folder
        spec["snapshot"] = _snapshot(folder)
    if not spec:
        return ""
    return json.dumps(
        {
            **spec,
            "python": sys.executable,
            "site_packages": [
                entry for entry in search_path("") if entry.endswith(("/site-packages", "/dist-packages"))
            ],
            "purpose": purpose,
            "home": str(_PACKAGE.parent),
        }
    )


def _with_whole_path(line: str) -> str:
    """Return a requirement line with the absolute path of the file or folder that it names: uv runs elsewhere."""
    line = line.strip()
    if line.startswith(("./", "../", "~")):
        return os.path.abspath(os.path.expanduser(line))
    option, space, value = line.partition(" ")
    if option == "--find-links" and space and "://" not in value:
        return f"{option} {os.path.abspath(os.path.expanduser(value.strip()))}"
    return line


def _snapshot(folder: str) -> str:
    done = subprocess.run(
        [fray_program(), "env", "snapshot", "--", folder], capture_output=True, text=True, check=False
    )
    if done.returncode != 0 or not done.stdout:  # a program that ignores SIGCHLD is told 0 whatever happened
        raise RuntimeEnvError(f"RuntimeEnv: {done.stderr.strip().removeprefix('fray env snapshot: ')}")
    return done.stdout.strip()
