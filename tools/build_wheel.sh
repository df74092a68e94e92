#!/usr/bin/env bash
# tools/build_wheel.sh BUILD OUT: builds the wheel for .venv's Python from the objects in BUILD, as `make build` installs
# it: optimised, with asserts. The option is spelled out because the pip of Debian 12 does not know its short form.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf "$2"
exec .venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$2" \
  --config-settings=build-dir="$1" --config-settings=cmake.build-type=Develop --config-settings=install.strip=false \
  --config-settings=cmake.define.Python_EXECUTABLE="$PWD/.venv/bin/python" .
