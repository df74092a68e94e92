"""Small packages for tests, made on the spot: nothing is fetched."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["make_wheel"]


def make_wheel(
    folder: Path, name: str, version: str, code: str, requires: Sequence[str] = (), script: str | None = None
) -> Path:
    """Write a wheel with one module, named like the package; `script` names a program that calls its main()."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"{name}-{version}.dist-info"
    requirements = "".join(f"Requires-Dist: {line}\n" for line in requires)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", code)
        archive.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requirements}"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        if script is not None:
            archive.writestr(f"{about}/entry_points.txt", f"[console_scripts]\n{script} = {name}:main\n")
        archive.writestr(f"{about}/RECORD", "")
    return path
