"""What becomes of the blocks of document 001, on Ray's runtime environments."""

from __future__ import annotations

import pytest
from fray import RuntimeEnv
from fray.backend.ray.ray_cluster import RayClusterContext

from tests.snippets.programs import Around, Book, Names

book = Book("001")


def ray_alone(around: Around) -> Names:
    import ray

    return {"ray": ray}


def assert_is_as_fray_writes_it(names: Names, function: str, env: RuntimeEnv) -> None:
    """Assert that Ray makes the same of the document's dict and of the one that Fray makes of `env`."""
    own = RayClusterContext(dashboard_address="http://127.0.0.1:1")._build_ray_runtime_env(env)
    given, made = names[function], names["ray"].remote(runtime_env=own)(print_nothing)
    assert given._default_options["runtime_env"] == made._default_options["runtime_env"]


def print_nothing() -> None:
    """Do nothing: the options alone matter."""


@book.runs("001.1", "Ray itself", ray_alone, note="defined; not called, for it asks www.google.com")
def packages_are_written_as_ray_takes_them(around: Around, names: Names) -> None:
    assert_is_as_fray_writes_it(names, "my_task", RuntimeEnv(package_requirements=["requests"]))


book.leaves_out("001.2", "a Dockerfile: no program of Fray or Ray")
book.leaves_out("001.3", "a shell command that builds an image from 001.2: no program of Fray or Ray")


@book.runs(
    "001.4", "Ray itself", ray_alone, note="defined; its call is a comment in the document, for want of an image"
)
def images_are_written_as_ray_takes_them(around: Around, names: Names) -> None:
    env = RuntimeEnv(container_image="my-ray-app-env:latest", package_requirements=["emoji"])
    with pytest.warns(UserWarning, match="packages are left out"):
        assert_is_as_fray_writes_it(names, "f_in_container", env)
