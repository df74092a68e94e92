#!/usr/bin/env bash
# tools/fuzz.sh SECONDS: runs each fuzz target of build/fuzz. New inputs are kept in build/fuzz/corpus/; one that fails
# is kept in build/fuzz/ and belongs into the target's corpus folder together with the fix.
set -euo pipefail
seconds=$1
cd "$(dirname "$0")/../build/fuzz"
failed=0
while read -r name corpus; do
  [[ -n $name ]] || continue
  mkdir -p "corpus/$name"
  folders=("corpus/$name")
  [[ -d $corpus ]] && folders+=("$corpus")
  printf '==> %s for %s s\n' "$name" "$seconds"
  # Long inputs from the start: those that play processes need them.
  "src/$name" -max_total_time="$seconds" -timeout=10 -len_control=0 -max_len=2048 -artifact_prefix="$name-" \
    "${folders[@]}" >"$name.log" 2>&1 || {
    failed=1
    tail -n 40 "$name.log"
  }
  grep -E '^Done|^stat::' "$name.log" || true
done <fuzzers.txt
exit "$failed"
