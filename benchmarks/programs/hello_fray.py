"""Prints a task's result and, on the next line, the seconds since `import fray`; with an argument it stays."""

import os
import sys
import time

start = time.perf_counter()

import fray  # noqa: E402


def hello():
    return "hello"


threads = os.environ.get("BENCH_FRAY_CONTEXT") == "thread"
context = fray.ThreadContext(max_workers=2) if threads else fray.init(cpus=2)
print(context.get(context.run(hello)), flush=True)
print(time.perf_counter() - start, flush=True)
if len(sys.argv) > 1:
    sys.stdin.read()
