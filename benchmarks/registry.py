"""All rows, in the order of the report. A new group is a module in groups/ with `ROWS`, and a line here."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from benchmarks.groups import (
    actors,
    corpus_map,
    cpp,
    crowd,
    dashboard,
    environments,
    event_loops,
    executors,
    faults,
    iris,
    jobs,
    large,
    limits,
    memory,
    objects,
    parallel,
    queues,
    ray_api,
    ray_overhead,
    ray_submit,
    real,
    startup,
    tasks,
    waits,
)
from benchmarks.row import Row

ROWS: tuple[Row, ...] = (
    *tasks.ROWS,
    *executors.ROWS,
    *event_loops.ROWS,
    *objects.ROWS,
    *waits.ROWS,
    *actors.ROWS,
    *cpp.ROWS,
    *corpus_map.ROWS,
    *startup.ROWS,
    *environments.ROWS,
    *memory.ROWS,
    *parallel.ROWS,
    *large.ROWS,
    *real.ROWS,
    *jobs.ROWS,
    *queues.ROWS,
    *dashboard.ROWS,
    *crowd.ROWS,
    *iris.ROWS,
    *ray_api.ROWS,
    *ray_overhead.ROWS,
    *ray_submit.ROWS,
    *faults.ROWS,
    *limits.ROWS,
)


def select(names: Sequence[str], rows: Sequence[Row] = ROWS) -> list[Row]:
    """Return the rows named, in the order of the report; all of them where none is named.

    A name may have the wildcards of a shell: `real_*` is all rows of real programs.

    Raises:
        ValueError: a name that no row has.
    """
    known = [row.name for row in rows]
    unknown = [name for name in names if not fnmatch.filter(known, name)]
    if unknown:
        raise ValueError(f"BENCH_ONLY: no row {', '.join(unknown)}; there are {', '.join(known)}")
    return [row for row in rows if not names or any(fnmatch.fnmatchcase(row.name, name) for name in names)]
