"""Tells whether packages are installed in this environment, with everything that they need."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution

__all__ = ["all_installed"]


def all_installed(lines: Iterable[str]) -> bool:
    """Return whether this interpreter has what these requirement lines ask for, dependencies included.

    Lines that name no package by its name and version (options, addresses, files) count as not installed.
    """
    # Imported here, so that only programs that name packages pay for the import.
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        open_ones = [(Requirement(line), "") for line in lines]
    except InvalidRequirement:
        return False
    seen: set[tuple[str, str, str]] = set()
    while open_ones:
        wanted, extra = open_ones.pop()
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        known = (canonicalize_name(wanted.name), ",".join(sorted(wanted.extras)), str(wanted.specifier))
        if known in seen:
            continue
        seen.add(known)
        if wanted.url is not None:
            return False
        try:
            found = distribution(wanted.name)
        except PackageNotFoundError:
            return False
        if not wanted.specifier.contains(found.version, prereleases=True):
            return False
        for line in found.requires or ():
            for each in ("", *wanted.extras):
                open_ones.append((Requirement(line), each))
    return True
