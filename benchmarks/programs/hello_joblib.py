"""Prints a task's result and, on the next line, the seconds since the import; with an argument it stays."""

import sys
import time

start = time.perf_counter()

from joblib import Parallel, delayed  # noqa: E402


def hello():
    return "hello"


if __name__ == "__main__":
    with Parallel(n_jobs=2, backend="loky") as parallel:
        print(parallel([delayed(hello)()])[0], flush=True)
        print(time.perf_counter() - start, flush=True)
        if len(sys.argv) > 1:
            sys.stdin.read()
