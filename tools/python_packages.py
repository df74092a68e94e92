"""Prints the Python packages that a checkout needs, one a line, as pyproject.toml lists them.

python_packages.py [EXTRA ...]     what Fray needs to be built and to run, and these extras
"""

import sys
import tomllib
from pathlib import Path

pyproject = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
project = pyproject["project"]
packages = [*pyproject["build-system"]["requires"], *project["dependencies"]]
for extra in sys.argv[1:]:
    packages += project["optional-dependencies"][extra]
print("\n".join(packages))
