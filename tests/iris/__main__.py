"""Starts a stand-in for Iris's controller, to try things by hand: ``python -m tests.iris``, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import threading

from tests.iris.controller import Controller
from tests.iris.times import Times
from tests.iris.worker import Worker, slice_of


def _workers(options: argparse.Namespace) -> list[Worker]:
    workers = [
        Worker(f"worker-{i}", cpu_millicores=int(options.cpus * 1000), attributes={"region": options.region})
        for i in range(options.workers)
    ]
    workers += slice_of("slice-0", options.tpu_vms)
    return workers


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.iris", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 for any")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--cpus", type=float, default=8, help="of each worker")
    parser.add_argument("--region", default="here")
    parser.add_argument("--tpu-vms", type=int, default=0, help="machines of a slice v5litepod-16")
    parser.add_argument("--token", action="append", default=[], metavar="TOKEN=USER", help="a static token")
    parser.add_argument("--admin", action="append", default=[], metavar="USER")
    parser.add_argument("--scale", type=float, default=1.0, help="of Iris's own delays")
    parser.add_argument("--setup", action="store_true", help="run setup commands, as in a container")
    options = parser.parse_args()
    ended = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: ended.set())
    with Controller(
        _workers(options),
        Times().scaled(options.scale),
        tokens=dict(token.rpartition("=")[::2] for token in options.token),
        admins=frozenset(options.admin),
        port=options.port,
        runs_setup=options.setup,
    ) as controller:
        print(f"Iris's stand-in is at {controller.url}; Ctrl-C ends it, with all that runs on it", flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
