#!/usr/bin/env bash
# Installs what Fray is built and tested with: Debian packages (when run as root), then .venv with the Python packages
# that pyproject.toml names. Safe to run again; what is there already is left alone.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
if command -v dpkg-query >/dev/null; then
  while read -r package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done < <(grep -v '^#' tools/debian-packages.txt)
else
  echo "This is not a Debian system. Make sure that the equivalents of tools/debian-packages.txt are installed."
fi
if ((${#missing[@]})); then
  if ((EUID != 0)); then
    printf 'These Debian packages are missing:\n'
    printf '  %s\n' "${missing[@]}"
    printf 'Install them as root, then run make again:\n  apt-get update && apt-get install -y %s\n' "${missing[*]}"
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q -o DPkg::Lock::Timeout=300 update
  apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}"
fi

# The newest of these that is at least 3.11; `python3` first, so that the user's own choice on PATH wins.
python=""
for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [[ -z $python ]]; then
  echo "Fray needs Python 3.11 or newer; found: $(python3 --version 2>&1 || echo none)."
  echo "Put one on PATH as python3 (Debian 12 and later have it), then run make again."
  exit 1
fi

[[ -x .venv/bin/python ]] || "$python" -m venv .venv
.venv/bin/python tools/python_packages.py >.venv/packages.txt
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r .venv/packages.txt
touch .venv/.ready
