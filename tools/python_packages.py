"""Prints the Python packages that a step needs, one a line, as pyproject.toml lists them.

python_packages.py STEP    `build`, or what is added for `test`, `bench`, `check`, `docs` or `sanitizers`
"""

import sys
import tomllib
from pathlib import Path

# The extras of pyproject.toml that a step needs. Ray is in `bench`; a part of the tests runs on it too.
EXTRAS = {
    "build": [],
    "test": ["test", "bench"],
    "bench": ["test", "bench"],
    "check": ["test", "bench", "dev"],
    "docs": ["docs"],
    "sanitizers": ["test"],
}

pyproject = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
project = pyproject["project"]
packages = [*pyproject["build-system"]["requires"], *project["dependencies"]]
for extra in EXTRAS[sys.argv[1]]:
    packages += project["optional-dependencies"][extra]
print("\n".join(packages))
