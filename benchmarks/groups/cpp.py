"""C++ programs: tasks and actors between C++ processes, and the time to their first result."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable

from benchmarks.bench import Bench
from benchmarks.groups.limits import find_program, socket_pingpong
from benchmarks.groups.startup import true_start
from benchmarks.measurement import Measurement
from benchmarks.row import Row
from benchmarks.target import AtLeast, AtMost, TimesPeer


def _rate(name: str) -> Callable[[Bench], Callable[[], Measurement]]:
    def workload(bench: Bench) -> Callable[[], Measurement]:
        command, environment = _command(bench, name)

        def one_round() -> Measurement:
            # Ray's library writes lines of its own to the output; the answer is the last.
            output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
            answer = json.loads(output.splitlines()[-1])
            return Measurement(answer.pop("value"), answer)

        return one_round

    return workload


def first_result(bench: Bench) -> Callable[[], Measurement]:
    """Milliseconds from the start of the process to its printed result; Ray's cluster is up before."""
    command, environment = _command(bench, "first")

    def one_round() -> Measurement:
        start = time.perf_counter()
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        ) as process:
            assert process.stdout is not None
            found = any(line == "42\n" for line in process.stdout)
            elapsed = time.perf_counter() - start
        if not found:
            raise RuntimeError(f"{command[0]} ended with code {process.returncode}")
        return Measurement(elapsed * 1e3)

    return one_round


def _command(bench: Bench, row: str) -> tuple[list[str], dict[str, str]]:
    """Return the peer's program for a row, and its environment."""
    if bench.peer != "ray":
        return [str(find_program("cpp_bench")), row, str(bench.seconds)], dict(os.environ)
    from benchmarks.engines.ray_engine import ENVIRONMENT

    program = find_program("ray_cpp_bench")
    environment = {**os.environ, **ENVIRONMENT, "RAY_ADDRESS": bench.ray_address()}
    return [str(program), row, str(bench.seconds), str(program.parent / "ray_cpp_tasks")], environment


_SLOWER_THAN_A_SOCKET = 1 / 1.5  # at most 1.5 times the time of a bare round trip

ROWS = (
    Row(
        "cpp_roundtrip",
        "1/s",
        "higher",
        "C++: get(submit(next, 1)), one at a time",
        _rate("roundtrip"),
        peers=("fray", "ray"),
        limit=socket_pingpong,
        targets=(TimesPeer(_SLOWER_THAN_A_SOCKET, "limit"),),
    ),
    Row(
        "cpp_async",
        "1/s",
        "higher",
        "C++: 1000 x submit(next, i), then one get",
        _rate("async"),
        peers=("fray", "ray"),
        targets=(AtLeast(1_000_000),),
    ),
    Row(
        "cpp_actor_roundtrip",
        "1/s",
        "higher",
        "C++: get(adder.call(&Adder::add, 1)), one at a time",
        _rate("actor_roundtrip"),
        peers=("fray", "ray"),
        limit=socket_pingpong,
        targets=(TimesPeer(_SLOWER_THAN_A_SOCKET, "limit"),),
    ),
    Row(
        "cpp_actor_async",
        "1/s",
        "higher",
        "C++: 1000 x adder.call(&Adder::add, i), then one get",
        _rate("actor_async"),
        peers=("fray", "ray"),
        targets=(AtLeast(1_000_000),),
    ),
    Row(
        "cpp_first_result",
        "ms",
        "lower",
        "C++: fresh process, from its start to the printed result of its first task",
        first_result,
        peers=("fray", "ray"),
        limit=true_start,
        targets=(AtMost(30),),
        rounds={"fray": 20, "limit": 20},
    ),
)
