"""The wheel that was built last, and a new virtual environment that has nothing but it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Installed:
    """A virtual environment with Fray from its wheel, and a home folder that was empty."""

    folder: Path
    home: Path

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TZ") if name in os.environ}
        return {**kept, "HOME": str(self.home), "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "CI": "true"}

    def run(self, *command: str, code: int = 0, **options: object) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, in the empty home, and check its exit code."""
        done = subprocess.run(
            [str(self.folder / "bin" / command[0]), *command[1:]],
            env=self.environment(),
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=100,
            **options,  # type: ignore[call-overload]
        )
        assert done.returncode == code, done
        return done

    def python(self, source: str, *arguments: str) -> str:
        return self.run("python", "-c", source, *arguments).stdout


def newest_wheel(*folders: str, version: str) -> Path | None:
    """The newest wheel for a Python, such as "311", in these folders."""
    found = [path for folder in folders for path in (ROOT / folder).glob(f"fray-*-cp{version}-cp{version}-*.whl")]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


OWN_VERSION = f"{sys.version_info.major}{sys.version_info.minor}"


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The newest wheel that was built for this Python."""
    found = newest_wheel("build/wheel", "dist", version=OWN_VERSION)
    assert found is not None, "there is no wheel; run `make build`"
    return found


@pytest.fixture(scope="session")
def users_wheel() -> Path:
    """The wheel for this Python that users get."""
    found = newest_wheel("dist", version=OWN_VERSION)
    if found is None:
        pytest.skip("dist/ has no wheel for this Python; `make wheels` builds it")
    return found


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Fray in a fresh virtual environment, without a network.

    Its one dependency is copied from here; that it is the only one is a test of its own.
    """
    import cloudpickle

    base = tmp_path_factory.mktemp("fresh")
    folder, home = base / "venv", base / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment.pop("PYTHONPATH", None)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, env=environment)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, str(wheel)], check=True, env=environment)
    where = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True)
    source = Path(cloudpickle.__file__).parent
    shutil.copytree(source, Path(where.strip()) / "cloudpickle", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(home)
    home.mkdir()
    return Installed(folder, home)
