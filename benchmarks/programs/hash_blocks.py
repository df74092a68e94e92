"""Calls `hash_blocks(BLOCKS)` COUNT times for each line read, and answers with the seconds that took."""

import sys
import time

from benchmarks.steady_work import hash_blocks

blocks, count = int(sys.argv[1]), int(sys.argv[2])
print(flush=True)
for _ in sys.stdin:
    start = time.perf_counter()
    for _ in range(count):
        hash_blocks(blocks)
    print(time.perf_counter() - start, flush=True)
