"""Connects to the node of FRAY_HOME. For each line read it runs TASKS tasks, ten at a time, and answers with the
seconds to the first result and to the last."""

import sys
import time

import fray

from benchmarks.payloads import identity

AT_ONCE = 10

tasks = int(sys.argv[1])
context = fray.init(address="auto")
print(flush=True)
for _ in sys.stdin:
    start = time.perf_counter()
    context.get(context.run(identity, 0))
    first = time.perf_counter() - start
    for done in range(0, tasks, AT_ONCE):
        context.get([context.run(identity, number) for number in range(done, done + AT_ONCE)])
    print(first, time.perf_counter() - start, flush=True)
