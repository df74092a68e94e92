#!/usr/bin/env bash
# Installs what only `make docs` needs: the Python packages of the extra `docs`, into .venv, and doxygen. What is there
# already is left alone; a run that was cut short is gone on with by the next one.
set -euo pipefail
cd "$(dirname "$0")/../.."

.venv/bin/python -c '
import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' \
  >.venv/docs-packages.txt
if ! cmp -s .venv/docs-packages.txt .venv/.docs-packages-ready; then
  if ! .venv/bin/python -m pip install --quiet --disable-pip-version-check -r .venv/docs-packages.txt; then
    echo "The Python packages of the extra docs could not be installed; with a network and room on the disk, run make docs again."
    exit 1
  fi
  cp .venv/docs-packages.txt .venv/.docs-packages-ready
fi

if ! command -v doxygen >/dev/null; then
  command="apt-get update && apt-get install -y --no-install-recommends doxygen"
  if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    echo "There is no doxygen, which reads the C++ headers. Install it as root, then run make docs again: $command"
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get -q -o DPkg::Lock::Timeout=300 update &&
    apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends doxygen; }; then
    echo "doxygen could not be installed; with a network and room on the disk, run make docs again, or: $command"
    exit 1
  fi
fi
