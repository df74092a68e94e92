#!/usr/bin/env bash
# tools/setup.sh STEP: installs what a step of the Makefile needs and the machine lacks: Debian packages (as root), then
# Python packages into .venv. STEP is build, demo, dashboard, test, bench, check, docs or sanitizers. Safe to run again; what is there is
# left alone, and what an interrupted run left half-done is made anew.
#
# What goes wrong outside of this repository ends with one sentence that begins with "fray: " and names the command that
# helps, and with exit code 3.
set -euo pipefail
cd "$(dirname "$0")/.."
step=$1
umask 022
mkdir -p build/log

fail() {
  printf 'fray: %s\n' "$*"
  exit 3
}

# ---- Debian packages

systems_python=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo 3.11)
listed() {
  awk -v step="$1" -v python="$systems_python" '
    /^\[/ { on = $0 == "[" step "]" }
    on && /^[a-z]/ { sub(/@PYTHON@/, python); print }' tools/debian-packages.txt
}

wanted=$(listed build)
[[ $step == build ]] || wanted+=" $(listed "$step")"
missing=()
if command -v dpkg-query >/dev/null; then
  # dpkg-query fails when it has never heard of one of them, and still lists the others.
  # shellcheck disable=SC2086
  installed=$({ dpkg-query -W -f '${Package} ${Status}\n' $wanted 2>/dev/null || true; } |
    awk '/install ok installed/ { print $1 }')
  for package in $wanted; do
    grep -qx -- "$package" <<<"$installed" || missing+=("$package")
  done
else
  echo "This is not a Debian system. Make sure that the equivalents of tools/debian-packages.txt are installed."
fi

install_debian_packages() {
  ((${#missing[@]})) || return 0
  local command="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  ((EUID == 0)) || fail "The Debian packages ${missing[*]} are missing and only root may install them; run as root: $command"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q -o DPkg::Lock::Timeout=300 -o APT::Update::Error-Mode=any update ||
    fail "The lists of Debian packages could not be fetched; check the network (apt-get update), then run make again."
  apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}" ||
    fail "The Debian packages ${missing[*]} could not be installed; run $command to see why, then run make again."
}

# ---- Python

# The extras of pyproject.toml that each step needs. Ray is in `bench`; a part of the tests runs on it too.
declare -A extras=([build]="" [demo]="numpy" [test]="test bench" [bench]="test bench" [check]="test bench dev" [docs]="docs"
  [sanitizers]="test" [dashboard]="")
# Its Node.js comes from there where the machine has none.
[[ $step != dashboard ]] || tools/dashboard.sh find >/dev/null || extras[dashboard]="dashboard-build"

# The first of these that is at least 3.11; `python3` first, so that the user's own choice on PATH wins.
find_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  fail "Fray needs Python 3.11 or newer and found $(python3 --version 2>&1 || echo none); install one, on Debian 12 or later with: apt-get install -y python3"
}

venv_works() { .venv/bin/python -c 'import pip' 2>/dev/null; }

make_venv() {
  venv_works && return
  rm -rf .venv
  local python
  python=$(find_python) || { echo "$python"; exit 3; }
  "$python" -m venv .venv && venv_works && return
  rm -rf .venv
  fail "$python cannot make virtual environments; on Debian run as root: apt-get install -y python3-venv"
}

install_python_packages() {
  make_venv
  # shellcheck disable=SC2086
  .venv/bin/python tools/python_packages.py ${extras[$step]} >".venv/packages-$step.txt"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r ".venv/packages-$step.txt" ||
    fail "The Python packages could not be installed; check the network, then try: .venv/bin/python -m pip install -r .venv/packages-$step.txt"
}

# ---- What cannot be installed from here

check_disk() {
  local free_mib needed_mib=1500
  [[ $step == build ]] || needed_mib=5000
  free_mib=$(df -Pm . | awk 'NR == 2 { print $4 }')
  ((free_mib >= needed_mib)) ||
    fail "This step needs about $needed_mib MiB of disk and $PWD has $free_mib MiB left; make room (make clean removes build/), then run make again."
}

check_compiler() {
  local compiler=${CXX:-c++} version
  command -v "${compiler%% *}" >/dev/null || fail "There is no compiler $compiler; install one, on Debian with: apt-get install -y g++"
  # shellcheck disable=SC2086
  printf '#include <concepts>\n#include <span>\nint main() { return std::span<int>().size(); }\n' |
    $compiler -std=c++20 -fsyntax-only -x c++ - 2>/dev/null ||
    fail "The compiler $compiler ($($compiler --version | head -n 1)) does not know C++20; run make with a newer one, for example: CXX=g++-12 make demo"
  version=$(cmake --version 2>/dev/null | awk 'NR == 1 { print $3 }')
  [[ $(printf '3.25\n%s\n' "${version:-0}" | sort -V | head -n 1) == 3.25 ]] ||
    fail "Fray needs CMake 3.25 or newer and found ${version:-none}; put a newer one on PATH, for example with: python3 -m pip install --user cmake"
}

check_disk
# The two downloads run side by side, unless Python itself comes with the Debian packages.
if venv_works || python3 -c 'import ensurepip, venv' 2>/dev/null; then
  install_python_packages >build/log/python-packages.log 2>&1 &
  install_debian_packages
  wait $! || { code=$?; tail -n 40 build/log/python-packages.log; exit "$code"; }
else
  install_debian_packages
  install_python_packages
fi
check_compiler
touch ".venv/.ready-$step"
