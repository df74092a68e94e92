"""What becomes of the blocks of document 000, on Ray's runtime environments in local tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fray
import pytest
from fray import Entrypoint, JobRequest, JobStatus, ResourceConfig, create_environment

from tests.snippets.declared import assert_has, function_of, methods_of
from tests.snippets.programs import Around, Book, Names
from tests.snippets.reading import Block

book = Book("000")

WAIT_SECONDS = 90


def request(**options: Any) -> JobRequest:
    """Return a request for a job whose function is not `print`: Ray replaces that one at the first line of a log."""
    return JobRequest("job", Entrypoint.from_callable(os.getpid), **options)


def write_project(around: Around) -> None:
    """Make the folder a project whose packages uv can list without a network."""
    (around.folder / "pyproject.toml").write_text(
        '[project]\nname = "p"\nversion = "0"\nrequires-python = ">=3.11"\n'
        "[project.optional-dependencies]\ntpu = []\n[tool.uv]\npackage = false\n"
    )
    around.patch.setenv("UV_CACHE_DIR", str(around.folder / "cache"))
    around.patch.setenv("UV_PYTHON", sys.executable)
    around.patch.setenv("UV_OFFLINE", "1")


# ---- 000.1: the two paths


def environment_names(environment: fray.EnvironmentConfig) -> Names:
    from fray.v2.ray.deps import build_runtime_env_for_packages

    variables = {**fray.CpuConfig().default_env_vars(), **environment.env_vars}
    return {
        "environment": environment,
        "extras": list(environment.extras),
        "env_vars": variables,
        "build_runtime_env_for_packages": build_runtime_env_for_packages,
    }


def heavy(around: Around) -> Names:
    write_project(around)
    return environment_names(create_environment(pip_packages=["apple==1.0"], extras=["tpu"], env_vars={"A": "1"}))


@book.runs("000.1", "plain Python", heavy, "heavy", fills=("environment.pip_packages", "env_vars"))
def is_the_heavy_path(around: Around, names: Names) -> None:
    from fray.v2.ray.backend import build_runtime_env

    found = names["runtime_env"]
    assert found == build_runtime_env(request(environment=names["environment"]), "ray")
    assert Path(found["pip"]["packages"]).read_text() == "apple==1.0\n"
    assert found["working_dir"] == str(around.folder)
    assert found["config"] == {"setup_timeout_seconds": 1800}


def light(around: Around) -> Names:
    return environment_names(create_environment(env_vars={"A": "1"}))


@book.runs("000.1", "plain Python", light, "light", fills=("environment.pip_packages", "env_vars"))
def is_the_light_path(around: Around, names: Names) -> None:
    from fray.v2.ray.backend import build_runtime_env

    assert names["runtime_env"] == build_runtime_env(request(environment=names["environment"]), "ray")
    assert names["runtime_env"]["env_vars"]["A"] == "1"


# ---- Ray, started as the document says


def ray_alone(around: Around) -> Names:
    import ray

    return {"ray": ray}


@book.runs("000.2", "Ray itself", ray_alone)
def is_on_ray(around: Around, names: Names) -> None:
    assert names["ray"].is_initialized()


book.leaves_out(
    "000.3",
    "the function is Zephyr's and in no version of Fray; the class that it makes an object of, `RayBackendContext`, "
    "imports from `fray.v2.ray.context`",
)


@book.runs("000.4", "a Ray of its own", lambda around: {**ray_alone(around), "os": os}, long=True)
def driver_of_integration_tests_runs_jobs(around: Around, names: Names) -> None:
    assert names["ray"].cluster_resources()["head_node"] == 1
    client = fray.RayClient(local=True)
    with fray.set_current_client(client):
        job = fray.current_client().launch(request())
        assert client.wait(job, timeout=WAIT_SECONDS).status is JobStatus.SUCCEEDED


# ---- option A


@book.declares("000.5", "`fray.v2.ray.backend.build_runtime_env`")
def build_runtime_env_takes_local(block: Block) -> None:
    from fray.v2.ray.backend import build_runtime_env

    assert_has(function_of(block), build_runtime_env)


def types_of_requests(around: Around) -> Names:
    return {"JobRequest": fray.JobRequest, "create_environment": fray.create_environment}


@book.runs("000.6", "plain Python", types_of_requests)
def a_local_ray_gets_variables_alone(around: Around, names: Names) -> None:
    from fray.v2.ray.backend import build_runtime_env

    asked = request(environment=create_environment(pip_packages=["apple"], extras=["tpu"], env_vars={"A": "1"}))
    sketch, own = (each(asked, "ray", local=True) for each in (names["build_runtime_env"], build_runtime_env))
    left_out = {"JAX_PLATFORMS": "cpu"}  # the document's "existing logic"
    assert own == {"env_vars": {**sketch["env_vars"], **left_out}}
    assert_has(function_of(around.block), build_runtime_env)


@book.runs("000.7", "plain Python")
def a_client_remembers_that_it_is_local(around: Around, names: Names) -> None:
    sketch = names["RayClient"]
    for given in ((), ("auto", "namespace", True)):
        assert fray.RayClient(*given)._local is sketch(*given)._local  # type: ignore[attr-defined]
    assert_has(methods_of(around.block)["__init__"], fray.RayClient.__init__)


def a_local_client(around: Around) -> Names:
    from fray.v2.ray.backend import build_runtime_env

    environment = create_environment(pip_packages=["apple"], env_vars={"A": "1"})
    asked = request(environment=environment, resources=ResourceConfig.with_gpu("H100"))
    return {"request": asked, "self": fray.RayClient(local=True), "build_runtime_env": build_runtime_env}


@book.runs("000.8", "plain Python", a_local_client)
def a_clients_flag_reaches_the_environment(around: Around, names: Names) -> None:
    assert set(names["runtime_env"]) == {"env_vars"}
    assert names["runtime_env"]["env_vars"]["A"] == "1"


book.leaves_out("000.9", "a mention of the call, with its arguments left out; 000.2, 000.4 and 004.23 make it")


@book.runs("000.10", "plain Python", lambda around: {"RayClient": fray.RayClient})
def a_local_client_is_made(around: Around, names: Names) -> None:
    assert isinstance(names["_"], fray.RayCluster)
    assert names["_"]._local is True


# ---- option B


@book.runs("000.11", "plain Python", lambda around: {**types_of_requests(around), "os": os})
def a_variable_switches_environments_off(around: Around, names: Names) -> None:
    from fray.v2.ray.backend import build_runtime_env

    write_project(around)
    asked = request(environment=create_environment(pip_packages=["apple"], env_vars={"A": "1"}))
    assert_has(function_of(around.block), build_runtime_env)
    for value, off in (("1", True), ("True", True), ("TRUE", True), ("0", False), ("", False), ("yes", False)):
        around.patch.setenv("MARIN_CI_DISABLE_RUNTIME_ENVS", value)
        assert (names["build_runtime_env"](asked, "ray") is not None) is off
        assert ("pip" not in build_runtime_env(asked, "ray")) is off


# ---- tests that use a client


def for_a_fixture(around: Around) -> Names:
    return {**ray_alone(around), "pytest": pytest, "RayClient": fray.RayClient}


@book.runs("000.12", "Ray itself", for_a_fixture)
def a_test_gets_the_client(around: Around, names: Names) -> None:
    test = (
        "import os\n\nimport pytest\nimport ray\nfrom fray import Entrypoint, JobRequest, RayClient\n\n"
        f"{around.block.code}\n\n"
        "def test_runs_a_job(ray_client):\n"
        '    job = ray_client.launch(JobRequest("job", Entrypoint.from_callable(os.getpid)))\n'
        f'    assert ray_client.wait(job, timeout={WAIT_SECONDS}).status == "succeeded"\n'
    )
    (around.folder / "test_it.py").write_text(test)
    environment = {**os.environ, "RAY_ADDRESS": around.resource("initialised_ray").address}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(command, cwd=around.folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def for_a_client(around: Around) -> Names:
    return {"RayClient": fray.RayClient, "set_current_client": fray.set_current_client}


@book.runs("000.13", "RayCluster", for_a_client)
def the_client_is_the_current_one(around: Around, names: Names) -> None:
    client = fray.current_client()
    assert isinstance(client, fray.RayClient)
    job = client.launch(request())
    assert client.wait(job, timeout=WAIT_SECONDS).status is JobStatus.SUCCEEDED
    assert client is fray.current_cluster()
