"""The report as a table, for a terminal and for Markdown. Works on the data of bench.json."""

from __future__ import annotations

from typing import Any

from benchmarks.settings import PEERS

HEADER = ("row", "unit", "Fray [min - max]", "Ray", "Pool", "joblib", "Dask", "limit", "x Ray", "asked", "met")
_MET = {True: "yes", False: "NO", None: "?"}


def cells(row: dict[str, Any]) -> list[str]:
    """Return one line's cells."""
    ours = row.get("fray")
    factor = row["advantage"].get("ray")
    return [
        row["name"],
        row["unit"],
        f"{number(ours['median'])} [{number(ours['min'])} - {number(ours['max'])}]" if ours else _absent(row, "fray"),
        *(number(row[peer]["median"]) if peer in row else _absent(row, peer) for peer in PEERS[1:]),
        "" if factor is None else number(factor),
        "; ".join(target["asked"] for target in row["targets"]),
        ", ".join(_MET[target["met"]] for target in row["targets"]),
    ]


def text_table(rows: list[dict[str, Any]]) -> str:
    """Return the table for a terminal, its further figures and its failures below."""
    lines = [list(HEADER), *(cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*text, *_further_lines(rows), *failure_lines(rows)])


def markdown_table(rows: list[dict[str, Any]]) -> str:
    """Return the table for a page."""
    lines = [list(HEADER), ["---"] * len(HEADER), *(cells(row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def further_figures(row: dict[str, Any]) -> dict[str, str]:
    """Return peer to its further figures, such as latencies, for the peers that have any."""
    figures: dict[str, str] = {}
    for peer in PEERS:
        more: dict[str, dict[str, float]] = row[peer]["more"] if peer in row else {}
        if more:
            figures[peer] = ", ".join(f"{name} {number(spread['median'])}" for name, spread in more.items())
    return figures


def failure_lines(rows: list[dict[str, Any]]) -> list[str]:
    """Return a line for each peer that failed in a row."""
    return [f"FAILED {row['name']}, {peer}: {error}" for row in rows for peer, error in row["errors"].items()]


def number(value: float) -> str:
    """Return a number with three significant digits at least, thousands apart."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _absent(row: dict[str, Any], peer: str) -> str:
    return "failed" if peer in row["errors"] else ""


def _further_lines(rows: list[dict[str, Any]]) -> list[str]:
    lines = [f"  {row['name']}, {peer}: {text}" for row in rows for peer, text in further_figures(row).items()]
    return ["", "Further figures (medians of the rounds):", *lines] if lines else []
