"""What becomes of the blocks of document 002, on jobs that are scripts."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

import fray
import pytest
from fray import JobStatus, RuntimeEnv

from tests.chaos.wheels import make_wheel
from tests.snippets.blocks import ROOT, blocks
from tests.snippets.declared import assert_has, function_of, methods_of
from tests.snippets.document_000 import WAIT_SECONDS, write_project
from tests.snippets.programs import RAY_PLACES, Around, Book, Names, Refusal
from tests.snippets.reading import Block

book = Book("002")

CLUSTERS = ("LocalCluster", "RayCluster")
NEW = "9999.0"
"""A version that no index has, of packages that the tests make."""


def output(around: Around, job_id: str) -> str:
    """Return what a job has printed, once it has succeeded."""
    info = around.cluster.wait(job_id, timeout=WAIT_SECONDS)
    logs = around.cluster.logs(job_id)
    assert info.status is JobStatus.SUCCEEDED, (info, logs)
    return logs


# ---- functions are refused, commands are taken


def for_a_function(around: Around) -> Names:
    return {"JobContext": fray.JobContext, "RuntimeEnv": RuntimeEnv, "cluster": around.cluster}


@book.runs(
    "002.1",
    CLUSTERS,
    for_a_function,
    refusals=(Refusal("cluster.create_job(my_function", TypeError, "create_job needs a shell command"),),
)
def a_function_is_no_entrypoint(around: Around, names: Names) -> None:
    assert inspect_first_parameter(names["my_function"]) is fray.JobContext


def inspect_first_parameter(function: Any) -> Any:
    return next(iter(get_type_hints(function).values()))


IMAGE_ENGINE = """#!/bin/sh
# Stands for docker: runs in this machine's own files what is to run in the image, and says so.
for word in "$@"; do
  shift
  [ "$word" = -- ] && break
done
image=$1
[ $# -gt 1 ] || exit 0
shift
[ "$1" = true ] && exit 0
echo "in $image"
exec "$@"
"""


def write_image_engine(around: Around) -> None:
    """Put a stand-in for docker into a PATH that has no real one."""
    programs = around.folder / "bin"
    programs.mkdir()
    (programs / "docker").write_text(IMAGE_ENGINE)
    (programs / "docker").chmod(0o755)
    around.patch.setenv("PATH", os.pathsep.join([str(programs), str(Path(sys.executable).parent)]))


def write_packages(around: Around, *names: str) -> None:
    """Make packages of these names, which are then the only ones that uv, or the pip of the tests' Ray, finds."""
    if around.place in RAY_PLACES:
        for name in names:
            make_wheel(around.resource("initialised_ray").wheels, name, NEW, "")
        return
    wheels = around.folder / "wheels"
    wheels.mkdir()
    for name in names:
        make_wheel(wheels, name, NEW, "")
    around.patch.setenv("XDG_CACHE_HOME", str(around.folder / "cache"))
    around.patch.setenv("UV_CACHE_DIR", str(around.folder / "uv"))
    around.patch.setenv("UV_FIND_LINKS", str(wheels))
    around.patch.setenv("UV_OFFLINE", "1")


def write_trainer(around: Around) -> None:
    (around.folder / "train.py").write_text(
        "import sys\nfrom importlib.metadata import PackageNotFoundError, version\n\n"
        "for package in ('torch', 'jax'):\n"
        "    try:\n        print(package, version(package))\n"
        "    except PackageNotFoundError:\n        print('no', package)\n"
        "print(*sys.argv[1:])\n"
    )


def for_a_trainer(around: Around) -> Names:
    write_packages(around, "torch", "jax")
    write_image_engine(around)
    write_trainer(around)
    return {"RuntimeEnv": RuntimeEnv, "cluster": around.cluster}


def version_in_a_job(package: str) -> str:
    """A job that asks for any version takes the one that is installed beside Fray."""
    try:
        return version(package)
    except PackageNotFoundError:
        return NEW


@book.runs(
    "002.2",
    "LocalCluster",
    for_a_trainer,
    elsewhere={"RayCluster": "Ray's worker for the second job would start in podman, from an image of a registry"},
    note="`docker` is a stand-in that runs the command outside of any image; torch and jax are packages of the test",
)
def scripts_run_with_packages_and_in_images(around: Around, names: Names) -> None:
    first, second = (info.job_id for info in around.cluster.list_jobs())
    versions = "".join(f"{name} {version_in_a_job(name)}\n" for name in ("torch", "jax"))
    assert output(around, first) == f"{versions}--config config.yaml\n"
    assert output(around, second).startswith("in gcr.io/my-project/trainer:v1\n")


@book.runs("002.3", "plain Python", lambda around: {"Callable": Callable})
def entry_points_are_of_this_type(around: Around, names: Names) -> None:
    from fray.types import EntryPoint

    assert names["EntryPoint"] == EntryPoint


# ---- the interface


def for_an_interface(around: Around) -> Names:
    return {"ABC": ABC, "RuntimeEnv": RuntimeEnv, "abstractmethod": abstractmethod}


@book.runs("002.4", "plain Python", for_an_interface)
def the_interface_is_frays(around: Around, names: Names) -> None:
    own = fray.ClusterContext
    assert issubclass(own, ABC)
    for name, declared in methods_of(around.block).items():
        assert_has(declared, getattr(own, name))
        assert getattr(own, name).__isabstractmethod__
        assert get_type_hints(getattr(own, name)) == get_type_hints(getattr(names["ClusterContext"], name))
    for cluster in (fray.Cluster, fray.LocalCluster, fray.RayClusterContext, fray.LocalClusterContext):
        assert issubclass(cluster, own)


def for_a_ray_cluster(around: Around) -> Names:
    import ray

    around.resource("initialised_ray")
    return {
        "Any": Any,
        "ClusterContext": fray.ClusterContext,
        "RuntimeEnv": RuntimeEnv,
        "os": os,
        "ray": ray,
        "time": time,
    }


@book.runs("002.5", "RayCluster", for_a_ray_cluster)
def the_documents_class_and_frays_do_the_same(around: Around, names: Names) -> None:
    """The class of the document starts a job on Ray, and Fray's, which has all that it has, sees and ends it."""
    for name, declared in methods_of(around.block).items():
        assert_has(declared, getattr(fray.RayClusterContext, name))
    own = fray.RayClusterContext()
    sketch = names["RayClusterContext"](dashboard_address=around.resource("initialised_ray").dashboard)
    variables = {"WANDB_API_KEY": "xxx"}
    for env in (RuntimeEnv(), RuntimeEnv(env=variables), RuntimeEnv(["torch", "wandb"], variables)):
        assert sketch._build_ray_runtime_env(env) == own._build_ray_runtime_env(env)
    ids = [cluster.create_job("sleep 100", RuntimeEnv(env=variables)) for cluster in (sketch, own)]
    assert {job_id.split("-")[0] for job_id in ids} == {"fray"}
    sketch.delete_job(ids[1])
    own.delete_job(ids[0])
    found = around.cluster.wait(ids, timeout=WAIT_SECONDS)
    assert [info.status for info in found] == [JobStatus.STOPPED] * 2
    listed = [job for job in own.list_jobs() if job["id"] in ids]
    assert [set(job) for job in listed] == [{"id", "status", "submission_time"}] * 2


def for_a_refusing_cluster(around: Around) -> Names:
    return {"ClusterContext": fray.ClusterContext, "RuntimeEnv": RuntimeEnv}


@book.runs("002.6", "plain Python", for_a_refusing_cluster)
def the_cluster_in_memory_refuses_in_these_words(around: Around, names: Names) -> None:
    assert_has(methods_of(around.block)["create_job"], fray.LocalClusterContext.create_job)
    said: list[str] = []
    for create_job in (names["LocalClusterContext"].create_job, fray.LocalClusterContext.create_job):
        with pytest.raises(NotImplementedError) as caught:
            create_job(None, "python script.py", RuntimeEnv())
        said.append(str(caught.value).split(". ")[0])
    assert said == ["In-memory backend doesn't support create_job with string entrypoints"] * 2


def for_a_subprocess(around: Around) -> Names:
    return {"RuntimeEnv": RuntimeEnv, "subprocess": subprocess, "threading": threading}


@book.runs(
    "002.7", "plain Python", for_a_subprocess, note="an option that the document advises against; Fray takes 002.6"
)
def the_other_option_runs_a_command(around: Around, names: Names) -> None:
    before = set(threading.enumerate())
    cluster = SimpleNamespace(_job_counter=0, _jobs={})
    job_id = names["create_job"](cluster, "echo $WORD > said", RuntimeEnv(env={"WORD": "hello"}))
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert (around.folder / "said").read_text() == "hello\n"
    assert cluster._jobs[job_id]["status"] == "running"
    assert_has(function_of(around.block), fray.ClusterContext.create_job)


def in_a_project(around: Around) -> Names:
    write_project(around)
    return {}


@book.runs("002.8", "plain Python", in_a_project)
def packages_of_a_project_are_listed(around: Around, names: Names) -> None:
    assert names["runtime_env"]["env_vars"] == {"WANDB_PROJECT": "my-project"}
    assert Path(names["runtime_env"]["pip"]["packages"]).read_text() == ""


# ---- the tests that the document shows


class Clock:
    """`time`, whose sleep ends when Ray has done what the document gives it that time for, be it sooner or later."""

    def __init__(self, around: Around) -> None:
        self._cluster = around.cluster
        self._known = {info.job_id for info in self._cluster.list_jobs()}

    def sleep(self, seconds: float) -> None:
        """Wait until the newest job runs, for the two seconds that it has to start, else until it has ended."""
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            started = [info for info in self._cluster.list_jobs() if info.job_id not in self._known]
            if all(info.status != "pending" if seconds == 2 else JobStatus.finished(info.status) for info in started):
                return
            time.sleep(0.1)


def for_a_test(around: Around) -> Names:
    return {
        "Path": Path,
        "RayClusterContext": fray.RayClusterContext,
        "RuntimeEnv": RuntimeEnv,
        "time": Clock(around),
    }


@book.runs("002.9", "RayCluster", for_a_test, note="`time.sleep` waits for the job instead of for some seconds")
def scripts_end_and_are_ended(around: Around, names: Names) -> None:
    cluster = around.resource("initialised_ray")
    known = {info.job_id for info in around.cluster.list_jobs()}
    try:
        names["test_create_job_with_script"](cluster)
        (job_id,) = {info.job_id for info in around.cluster.list_jobs()} - known
        assert "Job executed successfully" in output(around, job_id)
        names["time"] = Clock(around)
        names["test_delete_job"](cluster)
    finally:
        for script in ("/tmp/test_script.py", "/tmp/long_job.py"):
            Path(script).unlink(missing_ok=True)


def for_a_test_in_memory(around: Around) -> Names:
    return {"LocalClusterContext": fray.LocalClusterContext, "RuntimeEnv": RuntimeEnv, "pytest": pytest}


@book.runs("002.10", "plain Python", for_a_test_in_memory)
def the_test_of_the_cluster_in_memory_passes(around: Around, names: Names) -> None:
    names["test_in_memory_create_job_not_supported"]()


# ---- from functions to scripts


def for_a_migration(around: Around) -> Names:
    return {"cluster": around.cluster, "env": RuntimeEnv()}


@book.runs(
    "002.11",
    CLUSTERS,
    for_a_migration,
    refusals=(Refusal("cluster.create_job(my_job, env)", TypeError, "create_job needs a shell command"),),
)
def the_script_finds_its_context(around: Around, names: Names) -> None:
    assert output(around, names["_"]).splitlines()[-1] == "42"


def for_marin(around: Around) -> Names:
    """The document's host `ray` is the suite's head."""
    head = around.resource("initialised_ray")
    write_packages(around, "torch", "transformers")
    (around.folder / "experiments").mkdir()
    (around.folder / "experiments" / "train_llama.py").write_text(
        "import os, sys\nfrom importlib.metadata import version\n"
        "print(version('torch'), version('transformers'), os.environ['CUDA_VISIBLE_DEVICES'], *sys.argv[1:])\n"
    )

    class RayClusterContext(fray.RayClusterContext):
        def __init__(self, dashboard_address: str) -> None:
            assert dashboard_address == "http://ray:8265"
            super().__init__(dashboard_address=head.dashboard)

    return {"RayClusterContext": RayClusterContext, "RuntimeEnv": RuntimeEnv}


@book.runs(
    "002.12",
    "RayCluster",
    for_marin,
    long=True,
    note="the host `ray` is the tests' Ray; torch and transformers are packages of the test",
)
def marins_script_runs_with_its_packages(around: Around, names: Names) -> None:
    last = output(around, names["job_id"]).splitlines()[-1]
    assert last == f"{NEW} {NEW} 0,1,2,3 --config configs/70b.yaml"


def tests_of_scripts(block: Block) -> None:
    path = ROOT / "tests" / "on_ray" / "test_script_jobs.py"
    tests = {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
    listed = {line.removesuffix("()") for line in block.code.splitlines()}
    assert listed <= tests, f"{path.name} has no {sorted(listed - tests)}"


for number in (13, 14):
    book.declares(f"002.{number}", "the tests of these names in `tests/on_ray/test_script_jobs.py`")(tests_of_scripts)

book.leaves_out(
    "002.15", "the signature that the document abolishes; 002.16 takes its place and 002.1 shows it refused"
)


@book.declares("002.16", "`create_job` of `ClusterContext` and of every cluster")
def create_job_takes_a_command(block: Block) -> None:
    clusters = (fray.ClusterContext, fray.Cluster, fray.LocalCluster, fray.RayCluster, fray.RayClusterContext)
    for cluster in (*clusters, fray.LocalClusterContext):
        assert_has(function_of(block), cluster.create_job)


def for_a_script(around: Around) -> Names:
    """`my_job.py` is what the block says that it is, between two of its comments."""
    text = blocks()["002.17"].code.partition("# my_job.py:\n")[2].partition("# Submit:")[0]
    (around.folder / "my_job.py").write_text(f"{text.replace('...', TASK)}print(ctx.get({RESULT}))\n")
    return {"cluster": around.cluster, "env": RuntimeEnv()}


TASK = "lambda: 42"
RESULT = "ctx.create_task(lambda: 43)"


@book.runs(
    "002.17",
    CLUSTERS,
    for_a_script,
    fills=(TASK, TASK),
    refusals=(Refusal("cluster.create_job(my_job, env)", TypeError, "create_job needs a shell command"),),
)
def what_was_a_function_is_a_script(around: Around, names: Names) -> None:
    assert names["ctx"].get(names["ctx"].create_task(lambda: 44)) == 44
    assert output(around, names["_"]).splitlines()[-1] == "43"
