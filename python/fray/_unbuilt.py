"""Runtime environments in contexts that build none: installed packages suffice; one warning names everything else."""

from __future__ import annotations

import warnings

from fray._installed import all_installed
from fray.types import RuntimeEnv

__all__ = ["not_applied", "warn_of_packages", "warn_of_rest"]

_said: set[str] = set()


def warn_of_packages(env: RuntimeEnv, where: str) -> None:
    """Warn, once for the same packages, of those that this environment lacks; `where` says why none is installed."""
    missing = _missing(env)
    if missing:
        _say(f"{where}, so these packages are not installed: {', '.join(missing)}; install them into this environment")


def warn_of_rest(env: RuntimeEnv, where: str) -> None:
    """Warn, once for the same settings, of settings other than packages that do not apply here."""
    rest = not_applied(env)
    if rest:
        _say(f"{where}, so this does not apply: {', '.join(rest)}")


def not_applied(env: RuntimeEnv) -> list[str]:
    """Return the settings that need a process of their own, each as text."""
    fields = {"container_image": env.container_image, "working_dir": env.working_dir}
    return [f"RuntimeEnv.{name}={value!r}" for name, value in fields.items() if value is not None]


def _missing(env: RuntimeEnv) -> list[str]:
    if env.container_image is not None:
        return []  # the image has its own packages
    packages = [line for line in env.package_requirements if not all_installed([line])]
    return [*packages, *(f"{spec} (conda)" for spec in env.conda)]


def _say(text: str) -> None:
    if text not in _said:
        _said.add(text)
        warnings.warn(text, stacklevel=6)
