"""Queues that a node keeps: items that are pushed, leased and done over HTTP."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from benchmarks.bench import Bench
from benchmarks.engines.job_clusters import started_node
from benchmarks.measurement import Measurement
from benchmarks.row import Round, Row
from benchmarks.target import AtLeast
from benchmarks.timing import seconds_of

CLIENTS = 2
BATCH = 1000


def queue_http(bench: Bench) -> Round:
    """Items a second that two clients push, lease and are done with, each answer being on the disk."""
    from fray.queue import HttpQueue

    node = bench.closing.enter_context(started_node())
    count = bench.size(20_000, 2_000)
    queues = [HttpQueue[int](node.url, f"queue-{i}", node.token_file, create=True) for i in range(CLIENTS)]
    pool = bench.closing.enter_context(ThreadPoolExecutor(CLIENTS))

    def pass_items(queue: HttpQueue[int]) -> int:
        passed = 0
        for first in range(0, count, BATCH):
            queue.push_many(range(first, first + BATCH))
            leases = queue.pop_many(BATCH)
            queue.done_many(leases)
            passed += len(leases)
        return passed

    def all_clients() -> None:
        passed = sum(pool.map(pass_items, queues))
        if passed != CLIENTS * count:
            raise RuntimeError(f"{passed} items came of {CLIENTS * count}")

    def one_round() -> Measurement:
        return Measurement(CLIENTS * count / seconds_of(all_clients), {"batch": BATCH})

    return one_round


ROWS = (
    Row(
        "queue_http",
        "1/s",
        "higher",
        "items pushed, popped and done over HTTP, two clients, batches of 1000",
        queue_http,
        peers=("fray",),
        targets=(AtLeast(10_000),),
        timeout_seconds=120,
    ),
)
