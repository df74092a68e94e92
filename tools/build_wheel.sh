#!/usr/bin/env bash
# tools/build_wheel.sh BUILD OUT: builds the wheel for .venv's Python from the objects in BUILD, as `make build` installs
# it: optimised, with asserts.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf "$2"
exec .venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$2" \
  -C build-dir="$1" -C cmake.build-type=Develop -C cmake.define.Python_EXECUTABLE="$PWD/.venv/bin/python" \
  -C install.strip=false .
