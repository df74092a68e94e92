"""What a job's environment becomes on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fray.backend.native.job_environment import describe_job, requirements_of_extras
from fray.cluster import EnvironmentConfig

PYPROJECT = """
[project]
name = "train"
version = "1"
[project.optional-dependencies]
tpu = ["libtpu-that-nobody-has>=1", "cloudpickle"]
plots = []
"""


def test_an_environment_that_asks_for_nothing_is_nothing(tmp_path: Path) -> None:
    assert describe_job(EnvironmentConfig(workspace=str(tmp_path), env_vars={"A": "secret"})) == ""


def test_packages_that_this_process_has_are_nothing(tmp_path: Path) -> None:
    assert describe_job(EnvironmentConfig(workspace=str(tmp_path), pip_packages=["cloudpickle"])) == ""


def test_extras_are_the_requirements_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    described = json.loads(describe_job(EnvironmentConfig(workspace=str(tmp_path), extras=["tpu"])))
    assert described["packages"] == ["libtpu-that-nobody-has>=1", "cloudpickle"]
    assert described["purpose"] == "job"


def test_an_unknown_extra_is_an_error_that_lists_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    with pytest.raises(ValueError, match="no extra gpu; it has plots, tpu"):
        requirements_of_extras(str(tmp_path), ["gpu"])


def test_extras_of_a_folder_without_a_package_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"the workspace has no {tmp_path}{os.sep}pyproject.toml"):
        requirements_of_extras(str(tmp_path), ["gpu"])


def test_an_image_of_the_resources_is_used_where_the_environment_names_none(tmp_path: Path) -> None:
    described = json.loads(describe_job(EnvironmentConfig(workspace=str(tmp_path)), "registry/image:1"))
    assert described["container_image"] == "registry/image:1"
