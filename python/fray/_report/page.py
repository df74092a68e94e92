"""The HTML page of a report: self-contained, so that it opens anywhere and asks no network for anything."""

from __future__ import annotations

import datetime
import html
import os
from collections import Counter
from collections.abc import Iterable, Sequence

from fray._recording import RanTasks, Recording
from fray._report import figures
from fray._report.summary import FunctionSummary, TaskRun, runs_of, summarize
from fray._units import bytes_text
from fray._version import VERSION
from fray._whole_file import whole_file
from fray.job.context import JobContext

__all__ = ["report"]

_MOST_FAILURES = 100
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 2em auto; max-width: 1180px;
       padding: 0 1em }
h1 { font-size: 1.5em; margin: 0 } h2 { font-size: 1.15em; margin: 2em 0 .4em }
.about { color: #555 } .tiles { display: flex; flex-wrap: wrap; gap: 1em; margin-top: 1em }
.tile { border: 1px solid #ddd; border-radius: 6px; padding: .6em 1em; min-width: 7em }
.tile b { display: block; font-size: 1.3em } .tile.failed b { color: #b00020 }
table { border-collapse: collapse; width: 100% } th, td { padding: .25em .6em; border-bottom: 1px solid #e5e5e5 }
th { text-align: right; font-weight: 600 } td { text-align: right; font-variant-numeric: tabular-nums }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere } .wide { overflow-x: auto }
details { border-bottom: 1px solid #e5e5e5; padding: .3em 0 } summary { cursor: pointer; overflow-wrap: anywhere }
pre { background: #f6f6f6; padding: .8em; overflow-x: auto; font-size: 13px }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.5em } .pair > div { min-width: 0 }
@media (max-width: 800px) { .pair { grid-template-columns: 1fr } }
"""
# Allow only scripts and styles inside this file, and images that plotly makes of its own figures.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def report(path: str | os.PathLike[str], *, context: JobContext | None = None) -> Recording:
    """Write a report about the tasks that have run to `path`, as one HTML file, and return the number of tasks.

    It has the timeline, the use of the CPUs, each task's CPU time, peak memory and bytes in and out, a table by
    function and the failures. It draws with plotly: ``pip install 'fray[report]'``. Only the latest tasks are
    remembered. ``with fray.report(path):`` writes it anew at the end of the block, about the tasks that ended inside.

    Args:
        path: file to write; an existing one is replaced as a whole.
        context: the context of the tasks; by default the current one. No context is started for a report.

    Raises:
        UnsupportedError: plotly is not installed, or the context does not remember its tasks.
    """
    return Recording(_write, path, context)


def _write(path: str, ran: RanTasks) -> int:
    runs = runs_of(ran.events)
    with whole_file(path) as partial, open(partial, "w", encoding="utf-8") as file:
        file.writelines(_page(runs, ran.failures))
    return len(runs)


def _page(runs: Sequence[TaskRun], failures: Sequence[tuple[str, int, str]]) -> Iterable[str]:
    functions = summarize(runs)
    now = datetime.datetime.now().astimezone()
    yield "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
    yield "<meta name='viewport' content='width=device-width, initial-scale=1'>"
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield f"<title>Fray report</title><style>{_STYLE}</style>"
    yield f"<script>{figures.library_source()}</script></head><body>"
    yield f"<h1>Fray report</h1><div class='about'>written {now:%Y-%m-%d %H:%M:%S %z} by Fray {VERSION}</div>"
    yield _tiles(runs, functions, len(failures))
    if runs:
        yield f"<h2>What ran when</h2>{figures.timeline(runs, functions)}"
        yield f"<h2>Tasks and CPUs over time</h2>{figures.usage(runs)}"
        yield f"<h2>Functions</h2>{_table(functions)}<div class='pair'>"
        for title, picture in figures.task_costs(runs, functions):
            yield f"<div><h2>{title}</h2>{picture}</div>"
        yield "</div>"
    else:
        yield "<p>No task has run.</p>"
    yield f"<h2>Failures</h2>{_failures(failures)}</body></html>\n"


def _tiles(runs: Sequence[TaskRun], functions: Sequence[FunctionSummary], failed: int) -> str:
    elapsed = max((run.end for run in runs), default=0.0)
    cpu = sum(one.cpu_seconds for one in functions)
    peak = max((one.peak_memory for one in functions if one.peak_memory is not None), default=None)
    tiles = [
        ("tasks", f"{len(runs):,}", ""),
        ("from first to last", _seconds(elapsed), ""),
        ("in tasks", _seconds(sum(one.seconds for one in functions)), ""),
        ("CPU time", ("" if all(one.cpu_is_whole for one in functions) else "≥ ") + _seconds(cpu), ""),
        ("largest task", _bytes(peak), ""),
        ("failed", f"{failed:,}", "failed" if failed else ""),
    ]
    cells = "".join(f"<div class='tile {kind}'><b>{value}</b>{label}</div>" for label, value, kind in tiles)
    return f"<div class='tiles'>{cells}</div>"


def _table(functions: Sequence[FunctionSummary]) -> str:
    heads = ("function", "tasks", "failed", "time", "mean", "95 %", "longest", "CPU", "peak memory", "in", "out")
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{cell}</td>"
            for cell in (
                html.escape(one.name),
                f"{one.count:,}",
                f"{one.failed:,}",
                _seconds(one.seconds),
                _seconds(one.mean_seconds),
                _seconds(one.p95_seconds),
                _seconds(one.max_seconds),
                ("" if one.cpu_is_whole else "≥ ") + _seconds(one.cpu_seconds),
                _bytes(one.peak_memory),
                _bytes(one.bytes_in),
                _bytes(one.bytes_out),
            )
        )
        + "</tr>"
        for one in functions
    )
    return (
        f"<div class='wide'><table id='functions'><thead><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>"
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _failures(failures: Sequence[tuple[str, int, str]]) -> str:
    if not failures:
        return "<p>None.</p>"
    counts = Counter((name, _last_line(text)) for name, _, text in failures)
    full = {(name, _last_line(text)): text for name, _, text in reversed(failures)}
    items = "".join(
        f"<details><summary>{count:,} &times; {html.escape(name)}: {html.escape(line)}</summary>"
        f"<pre>{html.escape(full[name, line])}</pre></details>"
        for (name, line), count in counts.most_common(_MOST_FAILURES)
    )
    return f"<div id='failures'>{items}</div>"


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _seconds(seconds: float) -> str:
    if seconds >= 120:
        return f"{seconds / 60:.1f} min"
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def _bytes(amount: int | None) -> str:
    return "not measured" if amount is None else bytes_text(amount)
