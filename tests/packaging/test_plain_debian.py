"""The users' wheel on a Debian 12 that has Python and nothing of what Fray is built with."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, newest_wheel
from tests.packaging.test_installed import code_blocks

pytestmark = pytest.mark.long

SUITE, PYTHON = "bookworm", "311"
CACHE = ROOT / "build" / "plain-debian"
HOME = "/srv/user"
PROGRAM = f"{HOME}/venv/bin/python"


@dataclass(frozen=True)
class Debian:
    """A root file system that stays as it is: programs see it read-only, with `home` as the home folder."""

    root: Path
    home: Path

    def run(self, *command: str, code: int = 0, timeout: int = 120) -> subprocess.CompletedProcess[str]:
        """Run a program in it, with mounts, processes and a network of its own."""
        root = str(self.root)
        script = f"""
            set -e
            root=$1 home=$2; shift 2
            mount --bind "$root" "$root"
            mount --bind "$home" "$root{HOME}"
            mount -t proc proc "$root/proc"
            for folder in tmp var/tmp dev; do mount -t tmpfs tmpfs "$root/$folder"; done
            for device in null zero urandom random; do
              touch "$root/dev/$device"
              mount --bind "/dev/$device" "$root/dev/$device"
            done
            mkdir "$root/dev/shm"
            mount -t tmpfs tmpfs "$root/dev/shm"
            mount -o remount,bind,ro "$root"
            ip link set lo up 2>/dev/null || true
            chroot "$root" /usr/bin/env -i HOME={HOME} PATH={HOME}/venv/bin:/usr/bin:/bin LANG=C.UTF-8 \\
              /bin/sh -c 'cd && exec "$@"' sh "$@" || exit $?
            exit 0  # this shell is the first process in there; a program would lose signals in its place
        """
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net"]
        done = subprocess.run(
            [*apart, "sh", "-c", script, "sh", root, str(self.home), *command],
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == code, f"exit code {done.returncode} of {command}:\n{done.stdout}\n{done.stderr}"
        return done

    def write(self, name: str, text: str) -> str:
        """Return the path in it of a file of the home folder."""
        (self.home / name).write_text(text)
        return f"{HOME}/{name}"


def bootstrap(root: Path) -> None:
    """Install Debian with Python, once; what is half done lies beside it and goes with the next try."""
    if root.exists():
        return
    half = root.with_suffix(".half")
    if half.exists():
        shutil.rmtree(half)
    half.parent.mkdir(parents=True, exist_ok=True)
    command = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=python3", SUITE, str(half)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    if done.returncode != 0:
        shutil.rmtree(half, ignore_errors=True)
        last = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        pytest.skip(f"mmdebstrap could not install Debian ({last}); is there a network?")
    (half / HOME.lstrip("/")).mkdir()
    half.rename(root)


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Debian]:
    """Plain Debian with the wheel and what it depends on, installed by a pip that comes from here."""
    if os.geteuid() != 0:
        pytest.skip("needs root: it mounts a root file system")
    for program in ("mmdebstrap", "unshare"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed; `apt-get install {program}` brings it")
    wheel = newest_wheel("dist", version=PYTHON)
    if wheel is None:
        pytest.skip("dist/ has no wheel for Debian 12's Python 3.11; `make wheels PYTHONS=3.11` builds it")
    bootstrap(CACHE / SUITE)
    wheels = CACHE / "wheels"
    download(wheel, wheels)
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o755)
    debian = Debian(CACHE / SUITE, home)
    import pip

    shutil.copytree(Path(pip.__file__).parent, home / "pip" / "pip", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(wheels, home / "wheels")
    shutil.copy(wheel, home / "wheels")
    debian.run("python3", "-m", "venv", "--without-pip", f"{HOME}/venv")
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--find-links", f"{HOME}/wheels", "fray"]
    debian.run("env", f"PYTHONPATH={HOME}/pip", PROGRAM, *install)
    shutil.rmtree(home / "pip")
    shutil.rmtree(home / "wheels")
    yield debian


def download(wheel: Path, folder: Path) -> None:
    """Have the wheels of what Fray depends on in `folder`: they are fetched once."""
    if folder.exists():
        return
    half = folder.with_suffix(".half")
    if half.exists():
        shutil.rmtree(half)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--python-version", PYTHON]
    command += ["--platform", f"manylinux_2_17_{platform.machine()}", "--dest", str(half)]
    needed = [line for line in dependencies() if line]
    done = subprocess.run([*command, *needed], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        shutil.rmtree(half, ignore_errors=True)
        pytest.skip(f"pip could not fetch what {wheel.name} depends on; is there a network?")
    half.rename(folder)


def dependencies() -> list[str]:
    import tomllib

    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]


def test_it_has_nothing_of_what_fray_is_built_with(debian: Debian) -> None:
    for name in ("g++", "cmake", "gdb", "uv", "pip"):
        assert not any((debian.root / folder / name).exists() for folder in ("usr/bin", "usr/local/bin"))
    found = debian.run("python3", "-c", "import importlib.util as u; print(u.find_spec('numpy'), u.find_spec('ray'))")
    assert found.stdout == "None None\n"


def test_readme_program_runs(debian: Debian) -> None:
    (source,) = code_blocks(ROOT / "README.md", "python")
    done = debian.run(PROGRAM, debian.write("readme.py", source))
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["[6, 4]", "10", "[18, 20]"]


def test_job_is_submitted_and_its_output_comes_back(debian: Debian) -> None:
    source = "import fray\nwith fray.init() as ctx:\n    print('sum', ctx.get(ctx.run(sum, [1, 2, 3])))\n"
    # Processes end with the command that started them here, so one shell has the whole story.
    script = f"fray submit -- python {debian.write('job.py', source)}; code=$?; fray stop >&2; exit $code"
    done = debian.run("sh", "-c", script)
    assert "sum 6" in done.stdout, done


def test_doctor_finds_nothing_wrong_that_hinders(debian: Debian) -> None:
    assert "3.11" in debian.run("fray", "doctor").stdout


def test_plug_without_its_package_says_what_to_install(debian: Debian) -> None:
    for name in ("dask", "joblib"):
        done = debian.run(PROGRAM, "-c", f"import fray.{name}", code=1)
        assert done.stderr.splitlines()[-1].endswith(f"pip install 'fray[{name}]'")


def test_cpp_program_that_was_compiled_against_it_runs(debian: Debian, tmp_path: Path) -> None:
    """The compiler is this machine's; all of Fray that it sees is the wheel's."""
    if newer_than_debian_12():
        pytest.skip("what this machine's compiler makes needs a newer system than Debian 12")
    (source,) = [block for block in code_blocks(ROOT / "docs" / "guides" / "cpp.md", "cpp") if "// hello.cc" in block]
    package = debian.home / "venv" / "lib" / "python3.11" / "site-packages" / "fray" / "_cpp"
    (tmp_path / "hello.cc").write_text(source)
    command = ["g++", "-std=c++20", str(tmp_path / "hello.cc"), "-o", str(debian.home / "hello")]
    where = f"{HOME}/venv/lib/python3.11/site-packages/fray/_cpp/lib"
    command += [f"-I{package / 'include'}", f"-L{package / 'lib'}", "-lfray", "-rdynamic", f"-Wl,-rpath,{where}"]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=100)
    assert debian.run(f"{HOME}/hello").stdout == "7\n"


def newer_than_debian_12() -> bool:
    version = re.fullmatch(r"2\.(\d+)", os.confstr("CS_GNU_LIBC_VERSION").split()[1])  # type: ignore[union-attr]
    return version is None or int(version[1]) > 36
