"""C++ programs: tasks and actors between C++ processes, and the time to their first result."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable

from benchmarks.bench import Bench
from benchmarks.groups.limits import find_program, socket_pingpong
from benchmarks.groups.startup import true_start
from benchmarks.measurement import Measurement
from benchmarks.row import Row
from benchmarks.target import AtLeast, AtMost, TimesPeer

_PROGRAM = "cpp_bench"


def _rate(name: str) -> Callable[[Bench], Callable[[], Measurement]]:
    def workload(bench: Bench) -> Callable[[], Measurement]:
        command = [str(find_program(_PROGRAM)), name, str(bench.seconds)]

        def one_round() -> Measurement:
            answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            return Measurement(answer.pop("value"), answer)

        return one_round

    return workload


def first_result(bench: Bench) -> Callable[[], Measurement]:
    """Milliseconds from the start of the process to its printed result."""
    del bench
    command = [str(find_program(_PROGRAM)), "first"]

    def one_round() -> Measurement:
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            elapsed = time.perf_counter() - start
        if line != "42\n":
            raise RuntimeError(f"{_PROGRAM} ended with code {process.returncode}")
        return Measurement(elapsed * 1e3)

    return one_round


_SLOWER_THAN_A_SOCKET = 1 / 1.5  # at most 1.5 times the time of a bare round trip

ROWS = (
    Row(
        "cpp_roundtrip",
        "1/s",
        "higher",
        "C++: get(submit(next, 1)), one at a time",
        _rate("roundtrip"),
        peers=("fray",),
        limit=socket_pingpong,
        targets=(TimesPeer(_SLOWER_THAN_A_SOCKET, "limit"),),
    ),
    Row(
        "cpp_async",
        "1/s",
        "higher",
        "C++: 1000 x submit(next, i), then one get",
        _rate("async"),
        peers=("fray",),
        targets=(AtLeast(1_000_000),),
    ),
    Row(
        "cpp_actor_roundtrip",
        "1/s",
        "higher",
        "C++: get(adder.call(&Adder::add, 1)), one at a time",
        _rate("actor_roundtrip"),
        peers=("fray",),
        limit=socket_pingpong,
        targets=(TimesPeer(_SLOWER_THAN_A_SOCKET, "limit"),),
    ),
    Row(
        "cpp_actor_async",
        "1/s",
        "higher",
        "C++: 1000 x adder.call(&Adder::add, i), then one get",
        _rate("actor_async"),
        peers=("fray",),
        targets=(AtLeast(1_000_000),),
    ),
    Row(
        "cpp_first_result",
        "ms",
        "lower",
        "C++: fresh process, from its start to the printed result of its first task",
        first_result,
        peers=("fray",),
        limit=true_start,
        targets=(AtMost(30),),
        rounds={"fray": 20, "limit": 20},
    ),
)
