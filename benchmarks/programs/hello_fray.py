"""Prints a task's result and the seconds since `import fray`, then those of each step; with an argument it stays."""

import os
import sys
import time

start = time.perf_counter()

import fray  # noqa: E402

imported = time.perf_counter()


def hello():
    return "hello"


threads = os.environ.get("BENCH_FRAY_CONTEXT") == "thread"
context = fray.ThreadContext(max_workers=2) if threads else fray.init(cpus=2)
begun = time.perf_counter()
ref = context.run(hello)
submitted = time.perf_counter()
print(context.get(ref), flush=True)
print(time.perf_counter() - start, flush=True)
print(imported - start, begun - imported, submitted - begun, time.perf_counter() - submitted, flush=True)
if len(sys.argv) > 1:
    sys.stdin.read()
