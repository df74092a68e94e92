"""Runtime environments: packages and working folders of tasks and actors, and what can go wrong with them."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fray
import numpy
import psutil
import pytest
from fray import ActorOptions, RuntimeEnv, TaskOptions
from fray.backend.native import NativeJobContext

from tests.chaos.tasks import fork_server
from tests.chaos.wheels import make_wheel
from tests.waiting import eventually

FRAY = str(Path(fray.__file__).parent / "_bin" / "fray")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test."""
    monkeypatch.delenv("FRAY_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    return tmp_path / "cache" / "fray"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A folder with packages: alpha 1.0 and 2.0, beta that needs alpha and numpy."""
    folder = tmp_path / "index"
    folder.mkdir()
    for version in ("1.0", "2.0"):
        code = f"VERSION = {version!r}\ndef main():\n    print('alpha', VERSION)\n"
        make_wheel(folder, "fray_test_alpha", version, code, script="fray-test-alpha")
    make_wheel(folder, "fray_test_beta", "1.0", "import fray_test_alpha\n", ["fray_test_alpha==1.0", "numpy>=1"])
    return folder


@pytest.fixture
def packages(index: Path) -> Callable[..., RuntimeEnv]:
    """Make runtime environments of packages in the index."""

    def make(*lines: str, **more: Any) -> RuntimeEnv:
        return RuntimeEnv(package_requirements=[*lines, "--no-index", f"--find-links {index}"], **more)

    return make


def installed_version() -> str:
    import fray_test_alpha  # pyright: ignore[reportMissingImports]

    return fray_test_alpha.VERSION


def has_alpha() -> bool:
    import importlib.util

    return importlib.util.find_spec("fray_test_alpha") is not None


def where_numpy_is() -> str:
    import numpy

    return numpy.__file__


def env_list() -> list[dict[str, Any]]:
    return json.loads(subprocess.check_output([FRAY, "env", "list", "--json"]))["environments"]


# ---- packages


def test_a_task_has_its_packages_and_the_driver_does_not(
    ctx: NativeJobContext, packages: Callable[..., RuntimeEnv]
) -> None:
    before = sorted(os.listdir(sysconfig.get_path("purelib")))
    options = TaskOptions(runtime_env=packages("fray-test-alpha"))
    assert ctx.get(ctx.create_task(installed_version, options=options)) == "2.0"
    assert not has_alpha()
    assert ctx.get(ctx.run(has_alpha)) is False
    assert sorted(os.listdir(sysconfig.get_path("purelib"))) == before


def test_modules_of_folders_on_the_python_path_of_an_environment_are_found(
    ctx: NativeJobContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fray_test_alpha.py").write_text("VERSION = 'on the path'\n")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    env = RuntimeEnv(env={"PYTHONPATH": f"{tmp_path}:/nowhere/else"})
    assert ctx.get(ctx.create_task(installed_version, options=TaskOptions(runtime_env=env))) == "on the path"

    class Asker:
        def ask(self) -> tuple[str, bool]:
            child = subprocess.run([sys.executable, "-c", "import fray_test_alpha"], check=False)
            return installed_version(), child.returncode == 0

    assert ctx.get(ctx.create_actor(Asker, options=ActorOptions(runtime_env=env)).ask()) == ("on the path", True)
    assert not ctx.get(ctx.run(has_alpha))


def test_different_environments_do_not_see_each_other(
    ctx: NativeJobContext, packages: Callable[..., RuntimeEnv]
) -> None:
    versions = {}
    for version in ("1.0", "2.0"):
        options = TaskOptions(runtime_env=packages(f"fray-test-alpha=={version}"))
        versions[version] = ctx.create_task(installed_version, options=options)
    assert {version: ctx.get(ref) for version, ref in versions.items()} == {"1.0": "1.0", "2.0": "2.0"}


def test_dependencies_are_installed_and_what_the_driver_has_is_not(
    ctx: NativeJobContext, packages: Callable[..., RuntimeEnv]
) -> None:
    options = TaskOptions(runtime_env=packages("fray-test-beta"))
    assert ctx.get(ctx.create_task(installed_version, options=options)) == "1.0"
    assert ctx.get(ctx.create_task(where_numpy_is, options=options)) == numpy.__file__
    (entry,) = env_list()
    assert entry["kind"] == "packages"
    assert sorted(entry["content"].split(", ")) == ["fray-test-alpha==1.0", "fray-test-beta==1.0"]
    assert entry["in_use"] is True


def test_an_actor_has_its_packages(ctx: NativeJobContext, packages: Callable[..., RuntimeEnv]) -> None:
    class Reader:
        def version(self) -> str:
            return installed_version()

    actor = ctx.create_actor(Reader, options=ActorOptions(runtime_env=packages("fray-test-alpha==1.0")))
    assert ctx.get(actor.version()) == "1.0"


def test_programs_of_packages_are_on_the_path_and_children_see_the_packages(
    ctx: NativeJobContext, packages: Callable[..., RuntimeEnv]
) -> None:
    def run_both() -> tuple[str, str]:
        program = subprocess.check_output(["fray-test-alpha"], text=True)
        child = subprocess.check_output(
            [sys.executable, "-c", "import fray_test_alpha as a; print(a.VERSION)"], text=True
        )
        return program.strip(), child.strip()

    options = TaskOptions(runtime_env=packages("fray-test-alpha"))
    assert ctx.get(ctx.create_task(run_both, options=options)) == ("alpha 2.0", "2.0")


def test_an_environment_that_the_driver_satisfies_costs_nothing(ctx: NativeJobContext, cache: Path) -> None:
    pid = ctx.get(ctx.run(fork_server))
    for env in (RuntimeEnv(), RuntimeEnv(package_requirements=["numpy>=1", "cloudpickle"])):
        assert ctx.get(ctx.create_task(fork_server, options=TaskOptions(runtime_env=env))) == pid
    assert not cache.exists()


def test_a_second_engine_uses_what_the_first_one_made(
    engine: Callable[..., NativeJobContext], packages: Callable[..., RuntimeEnv], index: Path
) -> None:
    options = TaskOptions(runtime_env=packages("fray-test-alpha"))
    first = engine()
    assert first.get(first.create_task(installed_version, options=options)) == "2.0"
    for wheel in index.iterdir():
        wheel.unlink()
    second = engine()
    assert second.get(second.create_task(installed_version, options=options)) == "2.0"


def test_many_engines_that_ask_at_once_build_once(
    engine: Callable[..., NativeJobContext], packages: Callable[..., RuntimeEnv], tmp_path: Path, cache: Path
) -> None:
    options = TaskOptions(runtime_env=packages("fray-test-alpha"))
    contexts = [engine(cpus=1) for _ in range(4)]
    refs = [ctx.create_task(installed_version, options=options) for ctx in contexts]
    assert [ctx.get(ref) for ctx, ref in zip(contexts, refs, strict=True)] == ["2.0"] * 4
    assert len(list((cache / "entries").iterdir())) == 1
    assert not list((cache / "tmp").iterdir())


def test_a_task_in_an_environment_can_start_others_in_it(
    ctx: NativeJobContext, packages: Callable[..., RuntimeEnv]
) -> None:
    def outer() -> str:
        inner = fray.get_job_context()
        return inner.get(inner.run(installed_version))

    assert ctx.get(ctx.create_task(outer, options=TaskOptions(runtime_env=packages("fray-test-alpha")))) == "2.0"


# ---- failures


def test_a_package_that_does_not_exist_fails_the_tasks_that_asked(
    ctx: NativeJobContext, packages: Callable[..., RuntimeEnv], cache: Path
) -> None:
    options = TaskOptions(runtime_env=packages("fray-test-nowhere"))
    refs = [ctx.create_task(pow, (2, 3), options=options) for _ in range(5)]
    for ref in refs:
        with pytest.raises(fray.RuntimeEnvError, match="fray-test-nowhere") as caught:
            ctx.get(ref)
        assert "No solution found" in str(caught.value)
    assert ctx.get(ctx.run(pow, 2, 3)) == 8
    assert not list((cache / "entries").iterdir())
    assert not list((cache / "tmp").iterdir())


def test_requirements_that_contradict_each_other_say_so(
    ctx: NativeJobContext, packages: Callable[..., RuntimeEnv]
) -> None:
    options = TaskOptions(runtime_env=packages("fray-test-alpha==1.0", "fray-test-alpha==2.0"))
    with pytest.raises(fray.RuntimeEnvError, match=r"unsatisfiable|conflict"):
        ctx.get(ctx.create_task(pow, (2, 3), options=options))


def test_an_actor_whose_environment_cannot_be_made_is_dead_with_the_reason(
    ctx: NativeJobContext, packages: Callable[..., RuntimeEnv]
) -> None:
    class Plain:
        def number(self) -> int:
            return 1

    actor = ctx.create_actor(Plain, options=ActorOptions(runtime_env=packages("fray-test-nowhere")))
    with pytest.raises(fray.ActorDiedError, match="fray-test-nowhere") as caught:
        ctx.get(actor.number())
    assert isinstance(caught.value.__cause__, fray.RuntimeEnvError)


def test_what_failed_is_tried_again_by_the_next_task(
    ctx: NativeJobContext, packages: Callable[..., RuntimeEnv], index: Path
) -> None:
    options = TaskOptions(runtime_env=packages("fray-test-late"))
    with pytest.raises(fray.RuntimeEnvError):
        ctx.get(ctx.create_task(pow, (2, 3), options=options))
    make_wheel(index, "fray_test_late", "1.0", "")
    assert ctx.get(ctx.create_task(pow, (2, 3), options=options)) == 8


def test_passwords_of_an_index_are_in_no_error_and_no_list(
    ctx: NativeJobContext, index: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = "hunter2-canary"
    address = f"--index-url http://me:{secret}@127.0.0.1:9/simple"
    env = RuntimeEnv(package_requirements=["fray-test-alpha", address])
    with pytest.raises(fray.RuntimeEnvError) as caught:
        ctx.get(ctx.create_task(pow, (2, 3), options=TaskOptions(runtime_env=env)))
    assert secret not in str(caught.value)
    assert secret not in json.dumps(env_list())
    output = capfd.readouterr()
    assert secret not in output.out + output.err


# ---- waiting


@pytest.fixture
def held_up(cache: Path, packages: Callable[..., RuntimeEnv]) -> Iterator[tuple[RuntimeEnv, Callable[[], None]]]:
    """An environment whose lock is held, as by another process that makes it, and what lets go of it."""
    env = packages("fray-test-alpha")
    with NativeJobContext(cpus=1) as first:
        first.get(first.create_task(installed_version, options=TaskOptions(runtime_env=env)))
    (entry,) = (cache / "entries").iterdir()
    eventually(lambda: not env_list()[0]["in_use"])
    subprocess.run([FRAY, "env", "prune", "--all"], check=True, capture_output=True)
    with open(cache / "locks" / entry.name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield env, lambda: fcntl.flock(lock, fcntl.LOCK_UN)


def waits_for_another(ctx: NativeJobContext) -> bool:
    rows = json.loads(ctx._client.status())["waiting"]
    return any("another process makes the same environment" in row["reason"] for row in rows)


def preparers() -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        words = process.info["cmdline"] or []
        if (
            words[1:3] == ["env", "prepare"]
            and (process.info["environ"] or {}).get("XDG_CACHE_HOME") == os.environ["XDG_CACHE_HOME"]
        ):
            found.append(process)
    return found


def test_a_task_that_waits_for_its_environment_says_so_and_others_go_on(
    ctx: NativeJobContext, held_up: tuple[RuntimeEnv, Callable[[], None]]
) -> None:
    env, let_go = held_up
    ref = ctx.create_task(installed_version, options=TaskOptions(runtime_env=env))
    eventually(lambda: waits_for_another(ctx))
    assert ctx.get(ctx.run(pow, 2, 3)) == 8
    let_go()
    assert ctx.get(ref) == "2.0"


def test_an_actor_that_waits_for_its_environment_says_so(
    ctx: NativeJobContext, held_up: tuple[RuntimeEnv, Callable[[], None]]
) -> None:
    class Plain:
        def number(self) -> int:
            return 1

    env, let_go = held_up
    actor = ctx.create_actor(Plain, options=ActorOptions(runtime_env=env))

    def reasons() -> str:
        return str([row.get("reason") for row in json.loads(ctx._client.status())["actors"]])

    eventually(lambda: "another process makes the same environment" in reasons())
    let_go()
    assert ctx.get(actor.number()) == 1


def test_a_killed_preparation_fails_the_tasks_and_the_next_one_tries_again(
    ctx: NativeJobContext, held_up: tuple[RuntimeEnv, Callable[[], None]]
) -> None:
    env, let_go = held_up
    ref = ctx.create_task(installed_version, options=TaskOptions(runtime_env=env))
    eventually(lambda: waits_for_another(ctx))
    (process,) = preparers()
    process.kill()
    with pytest.raises(fray.RuntimeEnvError, match="has died"):
        ctx.get(ref)
    let_go()
    assert ctx.get(ctx.create_task(installed_version, options=TaskOptions(runtime_env=env))) == "2.0"


def test_an_engine_that_ends_takes_its_preparation_along(
    ctx: NativeJobContext, held_up: tuple[RuntimeEnv, Callable[[], None]]
) -> None:
    env, _ = held_up
    ref = ctx.create_task(installed_version, options=TaskOptions(runtime_env=env))
    eventually(lambda: waits_for_another(ctx))
    assert len(preparers()) == 1
    ctx.close()
    eventually(lambda: not preparers())
    with pytest.raises(fray.FrayError):
        ref.result()


def test_a_full_disk_is_an_error_and_leaves_nothing(
    ctx: NativeJobContext, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", small], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        monkeypatch.setenv("XDG_CACHE_HOME", str(small))
        (project / "large.dat").write_bytes(b"x" * 1_000_000)
        with pytest.raises(fray.RuntimeEnvError, match="No space left on device"):
            ctx.create_task(pow, (2, 3), options=TaskOptions(runtime_env=RuntimeEnv(working_dir=str(project))))
        assert not list((small / "fray" / "tmp").iterdir())
        assert not list((small / "fray" / "entries").iterdir())
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_cancelled_task_does_not_wait_for_its_environment(
    ctx: NativeJobContext, packages: Callable[..., RuntimeEnv]
) -> None:
    ref = ctx.create_task(installed_version, options=TaskOptions(runtime_env=packages("fray-test-alpha")))
    ctx.cancel(ref)
    with pytest.raises(fray.TaskCancelledError):
        ctx.get(ref)


# ---- working_dir


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)
    (folder / "project_module.py").write_text("TEXT = 'first'\n")
    (folder / "data" / "rows.txt").write_text("rows")
    (folder / "data" / "big.bin").write_text("big")
    (folder / ".gitignore").write_text("*.bin\n")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref")
    return folder


def look_around() -> tuple[str, str, list[str]]:
    import project_module  # pyright: ignore[reportMissingImports]

    found = sorted(str(path.relative_to(".")) for path in Path(".").rglob("*") if "__pycache__" not in path.parts)
    return os.getcwd(), project_module.TEXT, found


def test_a_task_works_in_a_snapshot_of_its_working_dir(ctx: NativeJobContext, project: Path) -> None:
    env = RuntimeEnv(working_dir=str(project))
    ref = ctx.create_task(look_around, options=TaskOptions(runtime_env=env))
    (project / "project_module.py").write_text("TEXT = 'second'\n")
    folder, text, found = ctx.get(ref)
    assert folder != str(project) and text == "first"
    assert found == [".gitignore", "data", "data/rows.txt", "project_module.py"]
    assert os.getcwd() != folder


def test_equal_folders_have_one_snapshot(engine: Callable[..., NativeJobContext], project: Path, cache: Path) -> None:
    options = TaskOptions(runtime_env=RuntimeEnv(working_dir=str(project)))
    first, second = engine(), engine()
    folders = {ctx.get(ctx.create_task(os.getcwd, options=options)) for ctx in (first, second)}
    assert len(folders) == 1
    assert len(list((cache / "entries").iterdir())) == 1


def test_an_archive_is_unpacked(ctx: NativeJobContext, project: Path, tmp_path: Path) -> None:
    import shutil

    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", project)
    env = RuntimeEnv(working_dir=archive)
    _, text, found = ctx.get(ctx.create_task(look_around, options=TaskOptions(runtime_env=env)))
    assert text == "first" and "data/big.bin" in found


def test_a_hostile_archive_is_refused_and_writes_nothing_outside(ctx: NativeJobContext, tmp_path: Path) -> None:
    import io
    import tarfile

    archive = tmp_path / "hostile.tar"
    with tarfile.open(archive, "w") as tar:
        member = tarfile.TarInfo("../../../outside.txt")
        member.size = 4
        tar.addfile(member, io.BytesIO(b"evil"))
    with pytest.raises(fray.RuntimeEnvError, match="is no path inside a folder"):
        ctx.create_task(pow, (2, 3), options=TaskOptions(runtime_env=RuntimeEnv(working_dir=str(archive))))
    assert not list(tmp_path.rglob("outside.txt"))


def test_a_working_dir_that_does_not_exist_is_an_error_on_the_line_that_has_it(ctx: NativeJobContext) -> None:
    with pytest.raises(fray.RuntimeEnvError, match="/nowhere/at/all does not exist"):
        ctx.create_task(pow, (2, 3), options=TaskOptions(runtime_env=RuntimeEnv(working_dir="/nowhere/at/all")))


# ---- conda and containers


def test_conda_without_conda_says_what_to_do(ctx: NativeJobContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(fray.RuntimeEnvError, match="neither micromamba nor mamba nor conda"):
        ctx.get(ctx.create_task(pow, (2, 3), options=TaskOptions(runtime_env=RuntimeEnv(conda=["six"]))))


def test_conda_makes_an_environment_with_the_drivers_python(
    ctx: NativeJobContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packages: Callable[..., RuntimeEnv]
) -> None:
    # A stand-in for the program, which is not to be had here: it makes a virtual environment at the prefix.
    folder = tmp_path / "conda-bin"
    folder.mkdir()
    script = folder / "conda"
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\nexec {sys.executable} -m venv --without-pip "$5"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    env = RuntimeEnv(conda=["six>=1"], env={"FRAY_TEST_CONDA": "yes"})

    def look() -> tuple[str, str | None, str]:
        return sys.prefix, os.environ.get("CONDA_PREFIX"), os.environ["FRAY_TEST_CONDA"]

    prefix, variable, own = ctx.get(ctx.create_task(look, options=TaskOptions(runtime_env=env)))
    assert prefix == variable and prefix != sys.prefix and own == "yes"
    words = (tmp_path / "words").read_text().split()
    assert words[:4] == ["create", "--yes", "--quiet", "--prefix"]
    assert words[5:] == [f"python={sys.version_info.major}.{sys.version_info.minor}", "six>=1"]


def test_an_image_without_an_engine_says_what_to_do(ctx: NativeJobContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    env = RuntimeEnv(container_image="localhost/nothing")
    with pytest.raises(fray.RuntimeEnvError, match="neither podman nor docker"):
        ctx.get(ctx.create_task(pow, (2, 3), options=TaskOptions(runtime_env=env)))


# ---- the cache


def test_prune_leaves_what_is_in_use(ctx: NativeJobContext, packages: Callable[..., RuntimeEnv]) -> None:
    options = TaskOptions(runtime_env=packages("fray-test-alpha"))
    assert ctx.get(ctx.create_task(installed_version, options=options)) == "2.0"
    removed = json.loads(subprocess.check_output([FRAY, "env", "prune", "--all", "--json"]))["removed"]
    assert removed == []
    ctx.close()
    eventually(lambda: not env_list()[0]["in_use"])
    removed = json.loads(subprocess.check_output([FRAY, "env", "prune", "--all", "--json"]))["removed"]
    assert [row["kind"] for row in removed] == ["packages"]
    assert env_list() == []
