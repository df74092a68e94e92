"""What the machine allows: sockets, memory and pickle without an engine."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.payloads import small
from benchmarks.row import Round, Row
from benchmarks.sizes import LARGE_ELEMENTS
from benchmarks.timing import rate_of

_BUILD = Path(__file__).resolve().parents[2] / "build" / "bench"
_FOLDERS = (_BUILD / "benchmarks", _BUILD / "limits", _BUILD)


def socket_pingpong(bench: Bench) -> Round:
    """Round trips a second of 64 bytes between two processes that block on a Unix socket."""
    return _program(bench, "socket_pingpong", str(bench.seconds), "0")


def socket_pingpong_1_per_ms(bench: Bench) -> Round:
    """Median microseconds of a round trip, one a millisecond."""
    answers = _program(bench, "socket_pingpong", str(bench.seconds), "1000")

    def one_round() -> Measurement:
        more = answers().more
        return Measurement(more["p50_us"], more)

    return one_round


def memfd_copy_800mb(bench: Bench) -> Round:
    """GB/s of two threads that copy into shared memory that was touched before."""
    return _program(bench, "memfd_copy", str(8 * bench.size(*LARGE_ELEMENTS)), "warm")


def memfd_copy_800mb_cold(bench: Bench) -> Round:
    """GB/s of two threads that write into shared memory segments that nobody has touched."""
    return _program(bench, "memfd_copy", str(8 * bench.size(*LARGE_ELEMENTS)), "cold")


def pickled_int(bench: Bench) -> Round:
    """Times a second that an int is pickled and unpickled."""
    return lambda: Measurement(rate_of(_through_pickle, (0,), bench.seconds))


def pickled_calls(bench: Bench) -> Round:
    """Times a second that a call and its result are pickled and unpickled in one process."""

    def call() -> None:
        function, args = _through_pickle((7, ()))
        del function
        _through_pickle(small(*args))

    return lambda: Measurement(rate_of(call, (), bench.seconds))


def _through_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value, 5))


def _program(bench: Bench, name: str, *args: str) -> Callable[[], Measurement]:
    del bench
    command = [str(find_program(name)), *args]

    def one_round() -> Measurement:
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return Measurement(answer.pop("value"), answer)

    return one_round


def find_program(name: str) -> Path:
    """Return a program that benchmarks/CMakeLists.txt builds.

    Raises:
        FileNotFoundError: it was not built.
    """
    folders = (Path(os.environ["BENCH_PROGRAMS"]),) if "BENCH_PROGRAMS" in os.environ else _FOLDERS
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"{name} is not built: cmake --preset bench && cmake --build build/bench")


ROWS = (
    Row(
        "raw_socket_pingpong",
        "1/s",
        "higher",
        "64 bytes there and back, two C++ processes, blocking Unix socket",
        None,
        limit=socket_pingpong,
    ),
    Row(
        "pickle_roundtrip",
        "1/s",
        "higher",
        "a call and its result, pickled and unpickled in one process",
        None,
        limit=pickled_calls,
    ),
)
