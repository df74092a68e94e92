"""The pictures of a report, drawn with plotly (the extra ``fray[report]``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from fray._extras import needs
from fray._report.summary import FunctionSummary, TaskRun, merge_segments, occupancy
from fray.errors import UnsupportedError

__all__ = ["library_source", "task_costs", "timeline", "usage"]

_PIXELS = 1600
_MOST_NAMES = 10
_MOST_TASKS = 3000
_COLOURS = (
    "#1f77b4",
    "#ff7f0e",
    "#2ca02c",
    "#9467bd",
    "#8c564b",
    "#e377c2",
    "#17becf",
    "#bcbd22",
    "#393b79",
    "#e7969c",
)
_REST_COLOUR, _FAILED_COLOUR = "#7f7f7f", "#d62728"
_CONFIG = {"displaylogo": False, "responsive": True}


def _plotly() -> Any:
    try:
        with needs("report", "plotly", "fray.report"):
            import plotly.graph_objects  # pyright: ignore
            import plotly.offline  # pyright: ignore
    except ModuleNotFoundError as error:
        raise UnsupportedError(str(error)) from None
    return plotly  # pyright: ignore


def library_source() -> str:
    """Return the script that the pictures need."""
    return _plotly().offline.get_plotlyjs()


def timeline(runs: Sequence[TaskRun], names: Sequence[FunctionSummary]) -> str:
    """Draw which worker ran what, and when."""
    end = max((run.end for run in runs), default=0.0)
    colours = _colours(names)
    points: dict[str, tuple[list[Any], list[Any], list[Any]]] = defaultdict(lambda: ([], [], []))
    for segment in merge_segments(runs, end / _PIXELS):
        label = segment.name if segment.name in colours else "other"
        x, y, text = points[label]
        x += [segment.start, max(segment.end, segment.start + end / _PIXELS), None]
        y += [segment.lane, segment.lane, None]
        about = f"{segment.name}: {segment.tasks} tasks, {segment.end - segment.start:.4g} s"
        text += [about, about, None]
    objects = _plotly().graph_objects
    traces = [
        objects.Scatter(
            x=x,
            y=y,
            text=text,
            hoverinfo="text",
            mode="lines",
            name=label,
            line={"color": colours.get(label, _REST_COLOUR), "width": 14},
        )
        for label, (x, y, text) in points.items()
    ]
    failed = [run for run in runs if run.status != "succeeded"][:_MOST_TASKS]
    if failed:
        traces.append(
            objects.Scatter(
                x=[run.end for run in failed],
                y=[run.lane for run in failed],
                text=[f"{run.name}: {run.status}" for run in failed],
                hoverinfo="text",
                mode="markers",
                name="not succeeded",
                marker={"color": _FAILED_COLOUR, "symbol": "x", "size": 9},
            )
        )
    lanes = len({run.lane for run in runs})
    return _html(traces, "timeline", height=100 + 28 * max(lanes, 2), x_title="seconds", y_range=[-0.6, lanes - 0.4])


def usage(runs: Sequence[TaskRun]) -> str:
    """Draw how many tasks ran and how many CPUs they kept busy, over time."""
    x, running, busy = occupancy(runs, 300)
    objects = _plotly().graph_objects
    traces = [
        objects.Scatter(x=x, y=running, mode="lines", name="tasks running", line={"shape": "hv", "color": "#1f77b4"}),
        objects.Scatter(
            x=x, y=busy, mode="lines", name="CPUs busy", fill="tozeroy", line={"shape": "hv", "color": "#2ca02c"}
        ),
    ]
    return _html(traces, "usage", height=260, x_title="seconds")


def task_costs(runs: Sequence[TaskRun], names: Sequence[FunctionSummary]) -> list[tuple[str, str]]:
    """Draw each task's CPU time, peak memory and bytes, for the costliest tasks only; return (title, picture) pairs."""
    colours = _colours(names)
    pictures: list[tuple[str, str, str, list[float | None]]] = [
        ("CPU time of each task", "seconds", "cpu", [run.cpu_seconds for run in runs]),
        ("Peak memory of each task", "MiB", "memory", [_mebibytes(run.peak_memory) for run in runs]),
        ("Bytes into each task", "MiB", "bytes-in", [_mebibytes(run.bytes_in) for run in runs]),
        ("Bytes out of each task", "MiB", "bytes-out", [_mebibytes(run.bytes_out) for run in runs]),
    ]
    return [(title, _scatter(runs, colours, amounts, key, unit)) for title, unit, key, amounts in pictures]


def _mebibytes(amount: int | None) -> float | None:
    return None if amount is None else amount / (1 << 20)


def _scatter(
    runs: Sequence[TaskRun], colours: dict[str, str], amounts: Sequence[float | None], key: str, unit: str
) -> str:
    known = [(run, amount) for run, amount in zip(runs, amounts, strict=True) if amount is not None]
    known.sort(key=lambda pair: -pair[1])
    by_label: dict[str, list[tuple[TaskRun, float]]] = defaultdict(list)
    for run, amount in known[:_MOST_TASKS]:
        by_label[run.name if run.name in colours else "other"].append((run, amount))
    traces = [
        _plotly().graph_objects.Scatter(
            x=[run.start for run, _ in pairs],
            y=[amount for _, amount in pairs],
            text=[f"{run.name}: {amount:.4g} {unit} in {run.seconds:.4g} s" for run, amount in pairs],
            hoverinfo="text",
            mode="markers",
            name=label,
            marker={"color": colours.get(label, _REST_COLOUR), "size": 5},
        )
        for label, pairs in by_label.items()
    ]
    return _html(traces, key, height=260, y_title=unit, x_title="started at, seconds")


def _colours(names: Sequence[FunctionSummary]) -> dict[str, str]:
    return {summary.name: colour for summary, colour in zip(names[:_MOST_NAMES], _COLOURS, strict=False)}


def _html(
    traces: list[Any], key: str, *, height: int, x_title: str, y_title: str = "", y_range: list[float] | None = None
) -> str:
    layout = {
        "height": height,
        "margin": {"l": 90, "r": 20, "t": 36, "b": 44},
        "template": "plotly_white",
        "xaxis": {"title": {"text": x_title}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": y_title}, "automargin": True, "range": y_range},
        "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
        "showlegend": True,
    }
    figure = _plotly().graph_objects.Figure(data=traces, layout=layout)
    return figure.to_html(full_html=False, include_plotlyjs=False, div_id=key, config=_CONFIG)
