"""`RuntimeEnv`: the environment of a task, an actor or a job."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from fray._checks import check_env, check_text, text_list
from fray._passwords import without_passwords
from fray.job.options import Options

__all__ = ["RuntimeEnv"]

_ALLOWED_OPTIONS = ("--index-url", "--extra-index-url", "--find-links", "--no-index", "--pre")
"""Options of requirements files that `RuntimeEnv.package_requirements` may have."""


@dataclass(frozen=True, slots=True, repr=False)
class RuntimeEnv(Options):
    """The environment of a task, an actor or a job.

    Args:
        package_requirements: requirement lines such as ``"numpy>=2"``. Packages that the driver's environment has are
            used from there; missing ones are installed beside it, once, before the code runs.
        env: environment variables added to those of the driver.
        container_image: container image that the code runs in; packages do not apply then.
        conda: specs of conda packages, such as ``"numpy=2"``, instead of `package_requirements`.
        working_dir: folder or archive; the current folder of the code is a snapshot of it.
    """

    package_requirements: Sequence[str] = field(default_factory=list[str])
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    container_image: str | None = None
    conda: Sequence[str] = field(default_factory=list[str])
    working_dir: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "package_requirements", _requirement_lines(self.package_requirements))
        object.__setattr__(self, "conda", text_list(self.conda, "RuntimeEnv: conda"))
        if self.conda and self.package_requirements:
            raise ValueError(
                "RuntimeEnv: package_requirements and conda both say which packages there are; give one of them"
            )
        object.__setattr__(self, "env", check_env(self.env, "RuntimeEnv: env"))
        image = cast("object", self.container_image)
        if image is not None and (not isinstance(image, str) or not image):
            raise TypeError(f"RuntimeEnv: container_image must be the name of an image or None, got {image!r}")
        if image is not None and (image.startswith("-") or any(letter.isspace() for letter in image)):
            raise ValueError(f"RuntimeEnv: container_image must be the name of an image, got {image!r}")
        if isinstance(self.working_dir, os.PathLike):
            object.__setattr__(self, "working_dir", os.fspath(cast("os.PathLike[str]", self.working_dir)))
        if self.working_dir is not None:
            check_text(self.working_dir, "RuntimeEnv: working_dir")

    def __repr__(self) -> str:
        """Show neither the values of the variables nor the passwords of addresses, which may be secrets."""
        names = ", ".join(f"{name!r}: ..." for name in self.env)
        requirements = [without_passwords(line) for line in self.package_requirements]
        return (
            f"RuntimeEnv(package_requirements={requirements!r}, env={{{names}}}, "
            f"container_image={self.container_image!r}, conda={self.conda!r}, working_dir={self.working_dir!r})"
        )


def _requirement_lines(values: object) -> list[str]:
    lines = text_list(values, "RuntimeEnv: package_requirements")
    for line in lines:
        check_text(line, "RuntimeEnv: package_requirements: an item")
        if "\n" in line or "\r" in line:
            raise ValueError(f"RuntimeEnv: package_requirements: one requirement an item, got {line!r}")
        option = line.strip().split(maxsplit=1)[0].split("=")[0]
        if option.startswith("-") and option not in _ALLOWED_OPTIONS:
            raise ValueError(
                f"RuntimeEnv: package_requirements: {option!r} is not allowed, only requirements and "
                f"{', '.join(_ALLOWED_OPTIONS)}; write the lines of a requirements file here"
            )
    return lines
