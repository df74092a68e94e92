"""Prints a task's result and, on the next line, the seconds since the import; with an argument it stays."""

import sys
import time

start = time.perf_counter()

from multiprocessing import Pool  # noqa: E402


def hello():
    return "hello"


with Pool(2) as pool:
    print(pool.apply(hello), flush=True)
    print(time.perf_counter() - start, flush=True)
    if len(sys.argv) > 1:
        sys.stdin.read()
