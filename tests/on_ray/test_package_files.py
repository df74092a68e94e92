"""Program jobs whose packages are files on the submitter's disk, on a Ray that sees none of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fray import Entrypoint, JobRequest, JobStatus, ResourceConfig, create_environment
from fray.backend.ray.cluster import RayCluster

from tests.chaos.wheels import make_wheel
from tests.on_ray.head import RayHead

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.filterwarnings("default"), pytest.mark.timeout(900)]

SHOW = "import fray_alpha, fray_beta; print(fray_alpha.WORD, fray_beta.WORD)"


def by_wheels(packages: Path) -> list[str]:
    """A wheel by its relative path, and one by a line with its name."""
    alpha, beta = wheels(packages)
    return [f"packages/{alpha.name}", f"fray_beta @ file://{beta}"]


def by_folder(packages: Path) -> list[str]:
    """A wheel, and a folder with the source of a package."""
    alpha, _ = wheels(packages)
    source = packages / "beta"
    source.mkdir()
    (source / "fray_beta.py").write_text("WORD = 'beta'\n")
    (source / "pyproject.toml").write_text(
        "[project]\nname = 'fray_beta'\nversion = '1.0'\n"
        "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
    )
    (source / "backend.py").write_text(BACKEND)
    return [str(alpha), "./packages/beta"]


def by_file(packages: Path) -> list[str]:
    """A file of requirements, which names another one beside it."""
    alpha, beta = wheels(packages)
    (packages / "all.txt").write_text(f"# the packages\n./{alpha.name}\n-r more.txt\n")
    (packages / "more.txt").write_text(f"./{beta.name} ; python_version > '3'\n")
    return ["-r packages/all.txt"]


def wheels(packages: Path) -> list[Path]:
    return [make_wheel(packages, f"fray_{word}", "1.0", f"WORD = {word!r}\n") for word in ("alpha", "beta")]


# How a package builds itself where nothing can be fetched to build it with.
BACKEND = """
import zipfile


def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "fray_beta-1.0-py3-none-any.whl"
    about = "fray_beta-1.0.dist-info"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as archive:
        archive.write("fray_beta.py")
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\\nName: fray_beta\\nVersion: 1.0\\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\n")
        archive.writestr(f"{about}/RECORD", "")
    return name
"""


@pytest.mark.parametrize("given", [by_wheels, by_folder, by_file])
def test_packages_on_the_submitters_disk_reach_a_ray_that_does_not_see_them(
    initialised_ray: RayHead, folder: Path, given: Callable[[Path], list[str]]
) -> None:
    """The job imports them after the submitter has deleted its copies, from a folder that is not the submitter's."""
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "here.txt").write_text("in the workspace\n")
    packages = folder / "packages"
    packages.mkdir()
    environment = create_environment(workspace=str(workspace), pip_packages=given(packages))
    request = JobRequest(
        name="packages",
        entrypoint=Entrypoint.from_binary(
            "python", ["-c", f"{SHOW}; import os; print(os.getcwd(), open('here.txt').read())"]
        ),
        environment=environment,
        resources=ResourceConfig(cpu=0, ram="0"),
    )
    cluster = RayCluster(dashboard_address=initialised_ray.dashboard, local=False)
    job_id = cluster.launch(request)
    for path in sorted(packages.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    info = cluster.wait(job_id, timeout=800)
    output = "".join(cluster.logs(job_id))
    assert info.status is JobStatus.SUCCEEDED, (info, output)
    assert "alpha beta" in output
    assert "in the workspace" in output
    assert str(folder) not in output


def test_a_package_that_is_not_on_the_submitters_disk_is_refused_before_anything_is_sent(
    initialised_ray: RayHead, folder: Path
) -> None:
    request = JobRequest(
        name="missing",
        entrypoint=Entrypoint.from_binary(sys.executable, ["-c", ""]),
        environment=create_environment(workspace=str(folder), pip_packages=["./missing-1.0-py3-none-any.whl"]),
    )
    cluster = RayCluster(dashboard_address=initialised_ray.dashboard, local=False)
    with pytest.raises(ValueError, match=r"missing-1\.0.*not there"):
        cluster.launch(request)
