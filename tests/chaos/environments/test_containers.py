"""Tasks and actors in containers, with an image that is made of this machine's own packages."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which

import fray
import pytest
from fray import ActorOptions, RuntimeEnv, TaskOptions
from fray.backend.native import NativeJobContext

from tests.chaos.harness import eventually

IMAGE = "localhost/fray-test-python"
PACKAGES = (
    "coreutils dash libacl1 libattr1 libbz2-1.0 libc6 libexpat1 libffi8 libgcc-s1 libgmp10 liblzma5 libpcre2-8-0 "
    "libpython3.11-minimal libpython3.11-stdlib libselinux1 libssl3 libstdc++6 libuuid1 python3.11-minimal zlib1g"
)


def why_not() -> str:
    if which("podman") is None:
        return "podman is not installed"
    if which("dpkg") is None or not Path("/usr/bin/python3.11").exists():
        return "the image is made of Debian's packages of Python 3.11, which are not installed"
    if sys.version_info[:2] != (3, 11):
        return "the image has Python 3.11 and these tests run with another one"
    return ""


pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    pytest.mark.not_under_asan("is not in the image"),
]


def write_root(path: Path) -> None:
    """Write a tar of what the packages installed here, as the root of an image."""
    words = ["dpkg", "-L", *PACKAGES.split()]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    files = {os.path.join(os.path.realpath(os.path.dirname(name)), os.path.basename(name)) for name in listed}
    with tarfile.open(path, "w") as archive:
        links = {"/bin", "/lib", "/lib64", "/sbin"}
        for link in sorted(links):
            archive.add(link, recursive=False)
        for name in sorted((files | {"/usr/bin/python3"}) - links):
            if os.path.islink(name) or (os.path.isfile(name) and "/share/" not in name):
                archive.add(name, recursive=False)


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Storage for images of its own, with the image in it."""
    folder = tmp_path_factory.mktemp("containers")
    settings = folder / "storage.conf"
    settings.write_text(f'[storage]\ndriver = "overlay"\nrunroot = "{folder}/run"\ngraphroot = "{folder}/graph"\n')
    variables = {"CONTAINERS_STORAGE_CONF": str(settings)}
    environment = {**os.environ, **variables}
    root = folder / "root.tar"
    write_root(root)
    made = subprocess.run(
        ["podman", "import", root, IMAGE], env=environment, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    root.unlink()
    yield variables
    for words in (["rm", "--force", "--all"], ["rmi", "--force", "--all"]):
        subprocess.run(["podman", *words], env=environment, capture_output=True, check=False)


@pytest.fixture
def container(
    storage: dict[str, str], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., RuntimeEnv]:
    """Make runtime environments of the image, or skip where no container can be run."""
    for name, value in storage.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "container-cache"))
    return lambda **more: RuntimeEnv(container_image=IMAGE, **more)


@pytest.fixture
def ctx(engine: Callable[..., NativeJobContext], container: Callable[..., RuntimeEnv]) -> NativeJobContext:
    context = engine()
    try:
        context.get(context.create_task(pow, (2, 3), options=TaskOptions(runtime_env=container())))
    except fray.RuntimeEnvError as error:
        pytest.skip(f"no container can be run here: {error}")
    return context


def test_a_task_runs_in_the_image(
    ctx: NativeJobContext, container: Callable[..., RuntimeEnv], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_DRIVER", "not seen")

    def look_around() -> tuple[bool, str, str | None, str | None]:
        return os.path.exists("/etc/os-release"), sys.prefix, os.environ.get("OWN"), os.environ.get("OF_DRIVER")

    env = container(env={"OWN": "seen"})
    inside = ctx.get(ctx.create_task(look_around, options=TaskOptions(runtime_env=env)))
    assert inside == (False, "/usr", "seen", None)
    assert ctx.get(ctx.run(os.path.exists, "/etc/os-release")) is True


def test_large_objects_go_in_and_out_through_shared_memory(
    ctx: NativeJobContext, container: Callable[..., RuntimeEnv]
) -> None:
    def double(data: bytes) -> bytes:
        return data + data

    data = os.urandom(3_000_000)
    ref = ctx.create_task(double, (ctx.put(data),), options=TaskOptions(runtime_env=container()))
    assert ctx.get(ref) == data + data


def test_an_actor_in_the_image_keeps_its_state_and_tasks_in_it_start_others(
    ctx: NativeJobContext, container: Callable[..., RuntimeEnv]
) -> None:
    class Counter:
        def __init__(self) -> None:
            self.value = 0

        def add(self) -> int:
            self.value += 1
            return self.value

    counter = ctx.create_actor(Counter, options=ActorOptions(runtime_env=container()))
    assert ctx.get([counter.add() for _ in range(3)]) == [1, 2, 3]

    def outer() -> int:
        inner = fray.get_job_context()
        return inner.get(inner.run(pow, 3, 3))

    assert ctx.get(ctx.create_task(outer, options=TaskOptions(runtime_env=container()))) == 27


def test_a_dead_worker_in_a_container_is_noticed_and_told(
    ctx: NativeJobContext, container: Callable[..., RuntimeEnv]
) -> None:
    options = TaskOptions(runtime_env=container(), max_retries=0)
    with pytest.raises(fray.WorkerDiedError, match=r"signal 9|SIGKILL"):
        ctx.get(ctx.create_task(lambda: os.kill(os.getpid(), 9), options=options))
    assert ctx.get(ctx.create_task(pow, (2, 3), options=options)) == 8


def test_packages_do_not_apply_and_that_is_said(ctx: NativeJobContext, container: Callable[..., RuntimeEnv]) -> None:
    env = container(package_requirements=["fray-test-nowhere"])
    with pytest.warns(UserWarning, match="do not apply in the container"):
        ref = ctx.create_task(pow, (2, 3), options=TaskOptions(runtime_env=env))
    assert ctx.get(ref) == 8


def test_the_working_dir_is_seen_inside(
    ctx: NativeJobContext, container: Callable[..., RuntimeEnv], tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "inside_module.py").write_text("TEXT = 'inside'\n")

    def read() -> tuple[str, bool]:
        import inside_module  # pyright: ignore[reportMissingImports]

        return inside_module.TEXT, os.path.exists("inside_module.py")

    env = container(working_dir=str(project))
    assert ctx.get(ctx.create_task(read, options=TaskOptions(runtime_env=env))) == ("inside", True)


def test_an_absent_image_is_an_error_that_names_it(ctx: NativeJobContext) -> None:
    env = RuntimeEnv(container_image="localhost/fray-test-nowhere")
    with pytest.raises(fray.RuntimeEnvError, match="localhost/fray-test-nowhere is not on this machine"):
        ctx.get(ctx.create_task(pow, (2, 3), options=TaskOptions(runtime_env=env)))


def test_nothing_of_a_container_is_left_after_the_session(
    ctx: NativeJobContext, container: Callable[..., RuntimeEnv]
) -> None:
    pid = ctx.get(ctx.create_task(os.getpid, options=TaskOptions(runtime_env=container())))
    ctx.close()
    eventually(lambda: not os.path.exists(f"/proc/{pid}"))
