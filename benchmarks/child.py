"""The child process of one peer in one row: ``python -m benchmarks.child ROW PEER RESULT_FD [RAY_ADDRESS]``.

It sets the workload up, says so, and then runs one round for each line on its input. Every answer is one line of JSON
on RESULT_FD: ``{}`` when ready, a measurement, or ``{"error": ...}``. It ends when its input does.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from typing import IO, Any

from benchmarks.bench import Bench
from benchmarks.registry import select
from benchmarks.row import Row
from benchmarks.settings import read_settings

_PR_SET_PDEATHSIG = 1


def serve(row: Row, bench: Bench, orders: IO[str], answers: IO[str]) -> None:
    """Set up, answer, then run a round for each order."""
    with bench:
        one_round = row.workload_of(bench.peer)(bench)
        if row.warm:
            one_round()
        _answer(answers, {})
        for _ in orders:
            measurement = one_round()
            _answer(answers, {"value": measurement.value, "more": measurement.more, "result": measurement.result})


def main(args: list[str]) -> int:
    row_name, peer, result_fd, *address = args
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    os.set_inheritable(int(result_fd), False)
    bench = Bench(peer, read_settings(), address[0] if address else None)
    with open(int(result_fd), "w") as answers:
        try:
            serve(select([row_name])[0], bench, sys.stdin, answers)
        except Exception as error:
            _answer(answers, {"error": f"{type(error).__name__}: {error}"})
            raise
    return 0


def _answer(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
