"""Prints a task's result and, on the next line, the seconds since `import ray`; with an argument it stays."""

import sys
import time

start = time.perf_counter()

from benchmarks.engines.ray_engine import connection  # noqa: E402


def hello():
    return "hello"


with connection(None):
    import ray

    print(ray.get(ray.remote(hello).remote()), flush=True)
    print(time.perf_counter() - start, flush=True)
    if len(sys.argv) > 1:
        sys.stdin.read()
