"""What `fray top` shows: two documents of a node's dashboard, and their figures as lines and rows of text.

Nothing is computed here: each figure stands in a document (docs/formats/dashboard.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fray._node_http import NodeHttp
from fray._units import bytes_text

__all__ = ["COLUMNS", "Column", "Picture", "as_text", "columns_for", "figure_lines", "look", "row_of", "waiting_lines"]

_MOST_FUNCTIONS = 200
_HISTORY_SECONDS = 120
_MOST_REASONS = 4


class Column(NamedTuple):
    """A column of the table of functions."""

    key: str
    """The field of the document, by which the node sorts."""
    title: str
    shown_from: int
    """The least width of the terminal, in characters, at which the column is shown."""


COLUMNS = (
    Column("name", "function", 0),
    Column("per_second", "a second", 0),
    Column("running", "running", 40),
    Column("count", "ended", 50),
    Column("failed", "failed", 60),
    Column("seconds_p50", "half within", 72),
    Column("seconds_p99", "99 % within", 86),
    Column("seconds_total", "all together", 100),
    Column("cpu_seconds", "CPU time", 112),
    Column("peak_memory_bytes", "memory at most", 128),
)


class Picture(NamedTuple):
    """The figures of a node at one moment."""

    address: str
    session: Mapping[str, Any]
    now: Mapping[str, Any]
    functions: list[dict[str, Any]]


def look(node: NodeHttp, sort: str = "seconds_total", descending: bool = True) -> Picture:
    """Ask a node for its figures.

    Raises:
        NodeDiedError: the node does not answer.
        UnsupportedError: the node has no dashboard.
    """
    base = "/api/v1/dashboard"
    order = "desc" if descending else "asc"
    functions = node.ask("GET", f"{base}/functions?sort={sort}&order={order}&limit={_MOST_FUNCTIONS}")["functions"]
    now = node.ask("GET", f"{base}/now?history={_HISTORY_SECONDS}")
    return Picture(node.address(), node.ask("GET", f"{base}/session"), now, functions)


def columns_for(width: int) -> list[Column]:
    """Return the columns for which a line of so many characters has room."""
    return [column for column in COLUMNS if width >= column.shown_from]


# ---- texts


def title(picture: Picture) -> str:
    """Return the line above all others."""
    up = _duration(picture.session["time"] - picture.session["started"])
    return f"Fray {picture.session['release']} at {picture.address}, up for {up}"


def figure_lines(now: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the figures, each a name and a text."""
    cpus, gpus, memory, store, tasks = (now[part] for part in ("cpus", "gpus", "memory", "store", "tasks"))
    lines = [("CPUs", f"{_number(cpus['leased'])} of {_number(cpus['total'])} leased, {cpus['busy']:.1f} busy")]
    if gpus["total"]:
        lines.append(("GPUs", f"{_number(gpus['leased'])} of {_number(gpus['total'])} leased"))
    lines += [
        ("memory", f"{bytes_text(memory['used_bytes'])} of {bytes_text(memory['limit_bytes'])}"),
        (
            "store",
            f"{bytes_text(store['used_bytes'])} of {bytes_text(store['limit_bytes'])}, "
            f"{bytes_text(store['spilled_bytes'])} spilled, {_count(store['objects'], 'shared object')}",
        ),
        (
            "tasks",
            f"{tasks['per_second']:,.0f} a second, {tasks['running']:,} running, "
            f"{tasks['waiting']:,} waiting for workers, {tasks['unfinished']:,} unfinished",
        ),
        ("ended", f"{tasks['ended']:,}, {tasks['failed']:,} of them failed"),
        ("workers", _states(now["workers"])),
        (
            "others",
            f"{_count(now['drivers'], 'program')}, {_count(now['actors'], 'actor')}, "
            f"{_count(now['jobs']['running'], 'job')} running and {now['jobs']['pending']:,} pending",
        ),
    ]
    return lines


def waiting_lines(now: Mapping[str, Any]) -> list[str]:
    """Return what waits, by reason, each with a hint what to do."""
    groups = now["waiting"]
    lines = [f"{_waiter(group)}: {group['reason']}. {group['way_on']}" for group in groups[:_MOST_REASONS]]
    if len(groups) > _MOST_REASONS:
        lines.append(f"and {len(groups) - _MOST_REASONS} more reasons")
    return lines


def row_of(function: Mapping[str, Any], columns: list[Column]) -> list[str]:
    """Return a function's cells."""
    return [_cell(column.key, function[column.key]) for column in columns]


def as_text(picture: Picture) -> str:
    """Return all figures as plain text, for output that is not a terminal."""
    lines = [title(picture)]
    lines += [f"{name:<9}{text}" for name, text in figure_lines(picture.now)]
    lines += [f"waits    {line}" for line in waiting_lines(picture.now)]
    if picture.functions:
        columns = list(COLUMNS)
        rows = [[column.title for column in columns], *(row_of(each, columns) for each in picture.functions)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(columns))]
        lines.append("")
        lines += ["  ".join(_aligned(row, widths)).rstrip() for row in rows]
    return "\n".join(lines)


def _aligned(row: list[str], widths: list[int]) -> list[str]:
    first, *others = zip(row, widths, strict=True)
    return [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]


def _cell(key: str, value: Any) -> str:
    if value is None:
        return ""
    if key == "name":
        return " ".join(str(value).split())  # no character that moves the cursor
    if key.endswith("_bytes"):
        return bytes_text(value)
    if "seconds" in key:
        return _duration(value)
    return f"{value:,.1f}" if key == "per_second" else f"{value:,}"


def _waiter(group: Mapping[str, Any]) -> str:
    if group["kind"] == "tasks":
        return _count(group["count"], "task")
    return f"{group['kind']} {group.get('name') or group.get('id') or ''}".rstrip()


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _states(workers: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {state}" for state, count in workers.items() if state != "total" and count) or "none"


def _number(amount: float) -> str:
    return f"{amount:g}"


def _duration(seconds: float) -> str:
    for limit, unit, factor in ((1e-3, "µs", 1e6), (1, "ms", 1e3), (100, "s", 1)):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    minutes = seconds / 60
    for limit, unit, part in ((120, "min", 1.0), (48 * 60, "h", 60.0)):
        if minutes < limit:
            return f"{minutes / part:.0f} {unit}"
    return f"{minutes / 1440:.0f} days"
