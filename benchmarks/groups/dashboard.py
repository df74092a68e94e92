"""The dashboard: what an open page costs the program and the node, and how large the page is."""

from __future__ import annotations

import http.client
import json
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from urllib.parse import urlsplit

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.payloads import small
from benchmarks.processes import cpu_seconds
from benchmarks.program import Program
from benchmarks.row import Round, Row
from benchmarks.target import AtLeast, AtMost
from benchmarks.timing import rate_of

IN_FLIGHT = 1000
TURNS = 3
SETTLING_SECONDS = 1.0


@dataclass(frozen=True)
class Watched:
    """A program's own node, and a browser's login to it."""

    url: str
    cookie: str

    @contextmanager
    def open_page(self) -> Iterator[None]:
        """Somebody looks within the block, from a process of their own."""
        with Program("look", self.url, self.cookie) as page:
            page.answer()
            yield

    def ask(self, path: str) -> bytes:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc)
        connection.request("GET", f"/api/v1/dashboard/{path}", headers={"Cookie": self.cookie})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body.decode()}")
        return body

    def node_pid(self) -> int:
        return int(json.loads(self.ask("session"))["pid"])


def watched_context(bench: Bench, workers: int = 2):
    """Return a context of a program's own node with a dashboard, and who may look at it."""
    import fray
    from fray.backend.native import NativeJobContext

    context = bench.closing.enter_context(NativeJobContext(cpus=workers, dashboard=True))
    link = urlsplit(str(fray.dashboard(context=context)))
    connection = http.client.HTTPConnection(link.netloc)
    connection.request("GET", f"{link.path}?{link.query}")
    cookie = (connection.getresponse().headers["Set-Cookie"] or "").partition(";")[0]
    return context, Watched(f"http://{link.netloc}", cookie)


def dashboard_tasks_async(bench: Bench) -> Round:
    """The rate of `tasks_async` while a page is open, in percent of that while none is, in turns."""
    context, watched = watched_context(bench)

    def batch() -> None:
        context.get([context.run(small) for _ in range(IN_FLIGHT)])

    def one_round() -> Measurement:
        alone, looked_at = [], []
        for _ in range(TURNS):
            alone.append(IN_FLIGHT * rate_of(batch, (), bench.seconds))
            with watched.open_page():
                looked_at.append(IN_FLIGHT * rate_of(batch, (), bench.seconds))
        shares = [100 * with_page / without for without, with_page in zip(alone, looked_at, strict=True)]
        return Measurement(statistics.median(shares), {"alone_per_s": statistics.median(alone)})

    return one_round


def dashboard_idle_cpu(bench: Bench) -> Round:
    """The node's share of a core while nothing runs and a page is open."""
    context, watched = watched_context(bench)
    context.get([context.run(small) for _ in range(IN_FLIGHT)])
    pid = watched.node_pid()
    window_seconds = bench.size(5.0, 0.5)

    def one_round() -> Measurement:
        with watched.open_page():
            time.sleep(SETTLING_SECONDS)
            before, began = cpu_seconds([pid]), time.monotonic()
            time.sleep(window_seconds)
            return Measurement(100 * (cpu_seconds([pid]) - before) / (time.monotonic() - began))

    return one_round


def dashboard_now(bench: Bench) -> Round:
    """How long the node takes for the state of everything, with many workers that sleep."""
    workers = bench.size(100, 4)
    context, watched = watched_context(bench, workers)
    sleeping = [context.run(time.sleep, 3600) for _ in range(workers)]
    deadline = time.monotonic() + 50
    while b'"running":%d' % workers not in watched.ask("now").partition(b'"tasks"')[2]:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{workers} workers do not run within 50 s")
        time.sleep(0.1)
    bench.closing.callback(lambda: [context.cancel(ref, force=True) for ref in sleeping])
    return lambda: Measurement(1e3 / rate_of(watched.ask, ("now",), bench.seconds), {"workers": workers})


def dashboard_page(bench: Bench) -> Round:
    """How large the page is as it travels: what it needs, compressed where the node sends it so."""
    folder = files("fray").joinpath("_dashboard")
    sizes = {
        name.name: len(name.read_bytes())
        for name in (*folder.iterdir(), *folder.joinpath("assets").iterdir())
        if name.is_file()
    }
    sent = [size for name, size in sizes.items() if not name.endswith(".gz") and f"{name}.gz" not in sizes]
    sent += [size for name, size in sizes.items() if name.endswith(".gz")]
    return lambda: Measurement(sum(sent) / 1000)


ROWS = (
    Row(
        "dashboard_tasks_async",
        "%",
        "higher",
        "tasks_async while a page is open, of that while none is",
        dashboard_tasks_async,
        peers=("fray",),
        targets=(AtLeast(95),),
        timeout_seconds=120,
    ),
    Row(
        "dashboard_idle_cpu",
        "% of a core",
        "lower",
        "the node's, while nothing runs and a page is open",
        dashboard_idle_cpu,
        peers=("fray",),
        targets=(AtMost(2),),
        timeout_seconds=60,
    ),
    Row(
        "dashboard_now",
        "ms",
        "lower",
        "an answer with the state of everything, 100 workers",
        dashboard_now,
        peers=("fray",),
        timeout_seconds=120,
    ),
    Row(
        "dashboard_page",
        "kB",
        "lower",
        "the page, compressed",
        dashboard_page,
        peers=("fray",),
        targets=(AtMost(300),),
        warm=False,
    ),
)
