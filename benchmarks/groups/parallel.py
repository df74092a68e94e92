"""How much of two cores real work gets."""

from __future__ import annotations

import statistics

from benchmarks.bench import Bench
from benchmarks.engines import CPUS
from benchmarks.measurement import Measurement
from benchmarks.program import Program
from benchmarks.row import Round, Row
from benchmarks.steady_work import hash_blocks
from benchmarks.target import AtLeast
from benchmarks.timing import seconds_of

_PROBE_BLOCKS = 1_000


def efficiency_200us(bench: Bench) -> Round:
    """Tasks that are so short that what comes with each of them counts."""
    return _efficiency(bench, 200e-6, bench.size(2000, 200))


def efficiency_20ms(bench: Bench) -> Round:
    """Tasks that are so long that only what the engine does meanwhile counts."""
    return _efficiency(bench, 20e-3, bench.size(400, 10))


def _efficiency(bench: Bench, seconds: float, count: int) -> Round:
    """Percent of what two bare processes do that have half of the work each, just before and just after."""
    blocks = _blocks_for(seconds)
    bare = [
        bench.closing.enter_context(
            Program("hash_blocks", str(blocks), str(count // CPUS), environment=bench.environment())
        )
        for _ in range(CPUS)
    ]
    for program in bare:
        program.answer()
    engine = bench.engine()
    submit = engine.bind(hash_blocks)

    def run_all() -> None:
        engine.get([submit(blocks) for _ in range(count)])

    def one_round() -> Measurement:
        before = _together(bare)
        actual = seconds_of(run_all)
        ideal = statistics.mean([before, _together(bare)])
        return Measurement(100 * ideal / actual, {"ideal_ms": ideal * 1e3, "actual_ms": actual * 1e3})

    return one_round


def _blocks_for(seconds: float) -> int:
    fastest = min(seconds_of(hash_blocks, _PROBE_BLOCKS) for _ in range(10))
    return round(_PROBE_BLOCKS * seconds / fastest)


def _together(programs: list[Program]) -> float:
    """Let all work at once; return the mean of their times, which perfect balance would give."""
    for program in programs:
        program.ask()
    return statistics.mean(float(program.answer()) for program in programs)


ROWS = (
    Row(
        "efficiency_200us",
        "%",
        "higher",
        "2000 tasks of 200 us on 2 workers, against two bare processes",
        efficiency_200us,
        peers=("fray", "ray", "pool"),
        targets=(AtLeast(95),),
    ),
    Row(
        "efficiency_20ms",
        "%",
        "higher",
        "400 tasks of 20 ms on 2 workers, against two bare processes",
        efficiency_20ms,
        peers=("fray", "ray", "pool"),
        targets=(AtLeast(99),),
    ),
)
