from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.fill_page import BESIDE, RUN, filled
from benchmarks.machine import describe_machine
from benchmarks.measurement import Measurement
from benchmarks.registry import select
from benchmarks.report import report_as_json, row_as_json, write_report
from benchmarks.runner import RowResult, rotated
from benchmarks.summary import summarize
from benchmarks.table import markdown_table, number, text_table


@pytest.fixture
def result() -> RowResult:
    rounds = {"fray": [60_000.0, 50_000.0, 40_000.0], "ray": [500.0]}
    peers = {peer: summarize([Measurement(v, {"p99_us": 90.0}) for v in values]) for peer, values in rounds.items()}
    return RowResult(select(["tasks_sync"])[0], peers, {"pool": "round took longer than 60 s"})


def test_a_row_names_peers_targets_and_errors(result: RowResult):
    row = row_as_json(result)
    assert row["name"] == "tasks_sync"
    assert (row["unit"], row["better"]) == ("1/s", "higher")
    assert {key: row["fray"][key] for key in ("median", "min", "max")} == {"median": 5e4, "min": 4e4, "max": 6e4}
    assert "pool" not in row
    assert "limit" not in row
    assert row["advantage"] == {"ray": 100.0}
    assert [target["met"] for target in row["targets"]] == [True, True]
    assert row["errors"] == {"pool": "round took longer than 60 s"}


def test_the_report_is_json_with_machine_run_and_rows(result: RowResult, tmp_path: Path):
    path = tmp_path / "new" / "bench.json"
    write_report(report_as_json(describe_machine(), {"rounds": 3}, [result]), path)
    report = json.loads(path.read_text())
    assert list(report) == ["machine", "run", "rows"]
    assert report["machine"]["cpus"] >= 1
    assert [row["name"] for row in report["rows"]] == ["tasks_sync"]
    assert list(path.parent.iterdir()) == [path]


def test_tables_show_values_failures_and_what_is_met(result: RowResult):
    rows = [row_as_json(result)]
    text = text_table(rows)
    assert "50,000 [40,000 - 60,000]" in text
    assert "FAILED tasks_sync, pool: round took longer than 60 s" in text
    assert "tasks_sync, fray: p99_us 90" in text
    line = markdown_table(rows).splitlines()[2]
    assert [cell.strip() for cell in line.strip("|").split("|")][3:7] == ["500", "failed", "", ""]


def test_a_page_gets_the_run_between_its_marks(result: RowResult):
    report = report_as_json(describe_machine(), {"rounds": 3, "quick": False}, [result])
    page = filled(f"before\n{RUN.start}\nold\n{RUN.end}\nafter\n", report)
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    assert "old" not in page
    assert "| tasks_sync | 1/s | 50,000" in page
    assert filled(page, report) == page
    with pytest.raises(ValueError, match="bench: start"):
        filled("no marks", report)


def test_a_page_gets_a_few_rows_beside_other_libraries_where_it_has_the_marks_for_that(result: RowResult):
    report = report_as_json(describe_machine(), {"rounds": 3, "quick": False}, [result])
    page = filled(f"before\n{BESIDE.start}\nold\n{BESIDE.end}\nafter\n", report)
    assert "old" not in page
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == ["", "Fray", "Ray", "Pool", "joblib"]
    assert [cell.strip() for cell in lines[2].strip("|").split("|")][1:] == ["50,000", "500", "", ""]
    assert len(lines) == 3
    assert describe_machine()["date"][:10] in page
    assert filled(page, report) == page


@pytest.mark.parametrize(
    ("value", "text"), [(1234567.8, "1,234,568"), (999.4, "999"), (0.01234, "0.0123"), (0, "0"), (12.0, "12")]
)
def test_numbers_are_short(value: float, text: str):
    assert number(value) == text


def test_every_peer_goes_first_in_turn():
    assert [rotated(["a", "b", "c"], number)[0] for number in range(4)] == ["a", "b", "c", "a"]
    assert rotated([], 3) == []
