"""What becomes of the blocks of document 001, on Ray's runtime environments."""

from __future__ import annotations

from typing import Any

from fray import RuntimeEnv
from fray.backend.ray.ray_cluster import RayClusterContext

from tests.snippets.programs import Around, Book, Names

book = Book("001")


def ray_alone(around: Around) -> Names:
    import ray

    return {"ray": ray}


def as_fray_writes_it(env: RuntimeEnv) -> dict[str, Any]:
    return RayClusterContext(dashboard_address="http://127.0.0.1:1")._build_ray_runtime_env(env)


@book.runs("001.1", "Ray itself", ray_alone, note="defined; not called, for it asks www.google.com")
def packages_are_written_as_ray_takes_them(around: Around, names: Names) -> None:
    given = names["my_task"]._default_options["runtime_env"]
    assert given == as_fray_writes_it(RuntimeEnv(package_requirements=["requests"]))


book.leaves_out("001.2", "a Dockerfile: no program of Fray or Ray")
book.leaves_out("001.3", "a shell command that builds an image from 001.2: no program of Fray or Ray")


@book.runs("001.4", "Ray itself", ray_alone, note="defined; its call is a comment in the document, for want of an image")
def images_are_written_as_ray_takes_them(around: Around, names: Names) -> None:
    given = names["f_in_container"]._default_options["runtime_env"]
    env = RuntimeEnv(container_image="my-ray-app-env:latest", package_requirements=["emoji"])
    assert given == as_fray_writes_it(env), "other keys such as pip do not apply in an image"
