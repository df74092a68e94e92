"""Runtime environments of jobs on Ray: which keys there are, and what is never done."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from fray import Entrypoint, JobRequest, ResourceConfig, UnsupportedError, create_environment
from fray.backend.ray import environment
from fray.backend.ray.environment import build_python_path, build_runtime_env, build_runtime_env_for_packages

ENV = {"TOKENIZERS_PARALLELISM": "false", "HF_DATASETS_TRUST_REMOTE_CODE": "1"}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("HF_TOKEN", "WANDB_API_KEY", "MARIN_CI_DISABLE_RUNTIME_ENVS", "MARIN_SKIP_RUNTIME_EXTRAS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch):
    """Fail where a program is started."""

    def refuse(*args: object, **keywords: object):
        raise AssertionError(f"started {args}")

    monkeypatch.setattr(subprocess, "run", refuse)


def request(resources: ResourceConfig | None = None, **options: object) -> JobRequest:
    return JobRequest(
        name="job",
        entrypoint=Entrypoint.from_callable(print),
        resources=resources or ResourceConfig(),
        environment=create_environment(**options) if options else None,  # type: ignore[arg-type]
    )


def test_light_path_is_variables_and_the_workspaces_code(tmp_path: Path, nothing_runs: None):
    for folder in ("experiments", "lib/a/src", "lib/b/src", "submodules/x/src"):
        (tmp_path / folder).mkdir(parents=True)
    found = build_runtime_env(request(workspace=str(tmp_path), env_vars={"MINE": "1", "PYTHONPATH": "/mine"}))
    paths = ["experiments", "lib/a/src", "lib/b/src", "submodules/x", "submodules/x/src"]
    expected = os.pathsep.join([*(str(tmp_path / path) for path in paths), "/mine"])
    assert found == {"env_vars": {"JAX_PLATFORMS": "cpu", **ENV, "MINE": "1", "PYTHONPATH": expected}}


def test_light_path_of_a_bare_folder_is_variables_alone(tmp_path: Path, nothing_runs: None):
    assert build_runtime_env(request(workspace=str(tmp_path))) == {"env_vars": {"JAX_PLATFORMS": "cpu", **ENV}}


def test_no_environment_means_that_of_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_runs: None):
    monkeypatch.chdir(tmp_path)
    assert build_runtime_env(request()) == {"env_vars": {"JAX_PLATFORMS": "cpu", **ENV}}


def test_heavy_path_packs_the_workspace(tmp_path: Path, nothing_runs: None):
    found = build_runtime_env(request(workspace=str(tmp_path), pip_packages=["six==1.17.0"]), "ray")
    requirements = found["pip"].pop("packages")
    assert found == {
        "env_vars": {"JAX_PLATFORMS": "cpu", **ENV},
        "pip": {},
        "working_dir": str(tmp_path),
        "excludes": [".git", "tests/", "docs/", "**/*.pack"],
        "config": {"setup_timeout_seconds": 1800},
    }
    assert Path(requirements).name.startswith("ray_reqs_")
    assert Path(requirements).read_text() == "six==1.17.0\n"


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("value", ["1", "true", "TRUE"])
def test_local_or_disabled_builds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_runs: None, local: bool, value: str
):
    if not local:
        monkeypatch.setenv("MARIN_CI_DISABLE_RUNTIME_ENVS", value)
    (tmp_path / "src").mkdir()
    order = request(ResourceConfig.with_tpu("v4-8"), workspace=str(tmp_path), pip_packages=["six"], extras=["dev"])
    found = build_runtime_env(order, local=local)
    captured = {} if local else {"MARIN_CI_DISABLE_RUNTIME_ENVS": value}
    assert found == {"env_vars": {"JAX_PLATFORMS": "", **ENV, **captured}}


def test_local_packages_are_warned_of(tmp_path: Path, nothing_runs: None, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, "fray"):
        build_runtime_env(request(workspace=str(tmp_path), pip_packages=["six"]), local=True)
    assert "its pip_packages are not installed" in caplog.text


@pytest.mark.parametrize(
    ("resources", "extras"),
    [
        (ResourceConfig(), []),
        (ResourceConfig.with_tpu("v4-8"), ["tpu"]),
        (ResourceConfig.with_gpu("H100"), ["gpu"]),
    ],
)
def test_accelerators_add_their_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resources: ResourceConfig, extras: list[str]
):
    asked: list[list[str]] = []
    monkeypatch.setattr(environment, "_export", lambda folder, package, wanted: asked.append(list(wanted)) or [])
    build_runtime_env(request(resources, workspace=str(tmp_path)))
    assert asked == ([extras] if extras else [])


def test_extras_are_left_out_where_the_environment_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_runs: None
):
    monkeypatch.setenv("MARIN_SKIP_RUNTIME_EXTRAS", "1")
    found = build_runtime_env(request(ResourceConfig.with_gpu("H100"), workspace=str(tmp_path)))
    assert "pip" not in found


def test_user_sets_the_platform_and_is_warned(tmp_path: Path, nothing_runs: None, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, "fray"):
        found = build_runtime_env(request(workspace=str(tmp_path), env_vars={"JAX_PLATFORMS": "tpu-secret"}))
    assert found["env_vars"]["JAX_PLATFORMS"] == "tpu-secret"
    assert "JAX_PLATFORMS" in caplog.text
    assert "tpu-secret" not in caplog.text


def test_image_is_a_container_without_packages(nothing_runs: None, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, "fray"):
        found = build_runtime_env(request(docker_image="trainer:v1", pip_packages=["six"]))
    assert found == {"env_vars": {"JAX_PLATFORMS": "cpu", **ENV}, "container": {"image": "trainer:v1"}}
    assert "installs nothing into images; left out: six" in caplog.text


def test_conda_by_name_or_definition(tmp_path: Path, nothing_runs: None):
    named = build_runtime_env_for_packages(workspace=tmp_path, conda="science", env_vars={"A": "1"})
    assert named == {"env_vars": {"A": "1"}, "conda": "science"}
    defined = build_runtime_env_for_packages(
        ["x"][:0], ["six"], workspace=tmp_path, conda={"dependencies": ["python=3.11"]}
    )
    assert defined["conda"] == {"dependencies": ["python=3.11", "pip", {"pip": ["six"]}]}
    with pytest.raises(ValueError, match="cannot be added"):
        build_runtime_env_for_packages(pip_packages=["six"], workspace=tmp_path, conda="science")
    with pytest.raises(ValueError, match="conda and extras"):
        build_runtime_env_for_packages(extra=["tpu"], workspace=tmp_path, conda="science")


def test_base_environment_without_pip_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match="uv pip install pip"):
        environment.check_pip()


def test_python_path_of_a_packed_workspace_is_relative(tmp_path: Path):
    (tmp_path / "src").mkdir()
    assert build_python_path(tmp_path, absolute=False) == ["src"]
    assert build_python_path(tmp_path) == [str(tmp_path / "src")]


# ---- uv, really run


def write_wheel(folder: Path, name: str, version: str) -> None:
    stem = f"{name}-{version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", "")
        wheel.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{stem}.dist-info/RECORD", "")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose packages lie beside it, so that nothing is fetched."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for name in ("apple", "pear", "torchlike", "ray"):
        write_wheel(wheels, name, "1.0")
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "fruit"\nversion = "0"\nrequires-python = ">=3.11"\ndependencies = ["apple", "ray"]\n'
        '[project.optional-dependencies]\ntpu = ["pear", "torchlike"]\n'
        f'[tool.uv]\npackage = false\nno-index = true\nfind-links = ["{wheels}"]\n'
    )
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_PYTHON", sys.executable)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert shutil.which("uv"), "uv is a package that the tests need"
    return folder


def test_locked_packages_of_a_project_are_exported(project: Path):
    found = build_runtime_env_for_packages(extra=["tpu"], env_vars={"WANDB_PROJECT": "my-project"}, workspace=project)
    assert found["env_vars"] == {"WANDB_PROJECT": "my-project", "PYTHONPATH": "src"}
    assert list(found) == ["env_vars", "pip"]
    lines = Path(found["pip"]["packages"]).read_text().splitlines()
    assert lines == [
        "apple==1.0",
        "pear==1.0",
        "--extra-index-url https://download.pytorch.org/whl/cpu",
        "torchlike==1.0",
    ]


def test_further_packages_come_beside_the_locked_ones(project: Path):
    found = build_runtime_env(request(workspace=str(project), pip_packages=["six==1.17.0"]))
    assert Path(found["pip"]["packages"]).read_text().splitlines() == ["apple==1.0", "six==1.17.0"]
    assert found["working_dir"] == str(project)


def test_unknown_extra_is_told_with_uvs_words(project: Path):
    with pytest.raises(UnsupportedError, match=r"(?s)`uv export` in .* failed with code \d+:\n.*gpu"):
        build_runtime_env_for_packages(extra=["gpu"], workspace=project)


def test_extras_of_no_project_are_refused(tmp_path: Path):
    with pytest.raises(UnsupportedError, match="has no name"):
        build_runtime_env_for_packages(extra=["gpu"], workspace=tmp_path)


def test_missing_uv_says_what_to_do(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setitem(sys.modules, "uv", None)
    with pytest.raises(UnsupportedError, match="pip install uv"):
        build_runtime_env_for_packages(extra=["tpu"], workspace=project)


def test_paths_among_the_packages_are_those_of_this_processs_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of requirements lies elsewhere, so relative paths would mean something else in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "all.txt").write_text("./beta ; python_version > '3'\n")
    found = build_runtime_env_for_packages(
        pip_packages=["./alpha", "-e ./gamma", "-r more/all.txt", "numpy"], workspace=tmp_path
    )
    lines = Path(found["pip"]["packages"]).read_text().splitlines()
    beside = tmp_path / "more" / "beta"
    assert lines == [f"{tmp_path}/alpha", f"-e {tmp_path}/gamma", f"{beside} ; python_version > '3'", "numpy"]
