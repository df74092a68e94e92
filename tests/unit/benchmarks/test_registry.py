from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.registry import ROWS, select
from benchmarks.settings import PEERS, Settings, read_settings

# The names that readers of bench.json may rely on.
PROMISED = [
    "tasks_sync",
    "tasks_async",
    "put_small",
    "get_small",
    "put_800mb",
    "get_800mb",
    "put_empty_800mb",
    "wait_1k",
    "wait_only_1k",
    "get_10k_refs",
    "first_result",
    "idle_memory",
    "million_queued",
]


def test_names_are_unique_and_the_promised_ones_are_there():
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert set(PROMISED) <= set(names)


def test_every_row_has_something_to_run_and_knows_its_peers():
    for row in ROWS:
        peers = row.peers_to_run(Settings())
        assert peers, row.name
        for peer in peers:
            assert callable(row.workload_of(peer))
        assert set(row.rounds) <= set(PEERS)


def test_a_row_without_a_peer_refuses_it():
    row = select(["raw_socket_pingpong"])[0]
    assert row.peers_to_run(Settings()) == ["limit"]
    with pytest.raises(LookupError, match="raw_socket_pingpong"):
        row.workload_of("ray")


def test_selection_keeps_the_order_of_the_report_and_names_unknown_rows():
    assert [row.name for row in select(["put_small", "tasks_sync"])] == ["tasks_sync", "put_small"]
    assert select([]) == list(ROWS)
    with pytest.raises(ValueError, match="no row tasks_snyc; there are tasks_sync"):
        select(["tasks_snyc"])


def test_wildcards_select_all_rows_of_a_group():
    assert [row.name for row in select(["real_*"])] == [name for row in ROWS if (name := row.name).startswith("real_")]
    with pytest.raises(ValueError, match=r"no row nothing_\*; there are"):
        select(["nothing_*"])


def test_settings_come_from_the_environment():
    environment = {"BENCH_ONLY": "tasks_sync, put_small,", "BENCH_PEERS": "fray,limit", "BENCH_ROUNDS": "7"}
    settings = read_settings(environment)
    assert settings == Settings(only=("tasks_sync", "put_small"), peers=("fray", "limit"), rounds=7)
    assert read_settings({}) == Settings()
    assert read_settings({"BENCH_QUICK": "1"}).rounds == 2


@pytest.mark.parametrize(
    "environment",
    [{"BENCH_ROUNDS": "0"}, {"BENCH_ROUNDS": "x"}, {"BENCH_PEERS": "spark"}, {"BENCH_FRAY_CONTEXT": "ray"}],
)
def test_settings_that_make_no_sense_are_named(environment: dict[str, str]):
    with pytest.raises(ValueError, match=next(iter(environment))):
        read_settings(environment)


def test_rounds_are_the_rows_own_or_the_runs_and_few_in_a_quick_run():
    row = select(["first_result"])[0]
    assert row.rounds_of("fray", Settings()) >= 20
    assert row.rounds_of("fray", Settings(quick=True, rounds=2)) == 2
    assert select(["tasks_sync"])[0].rounds_of("fray", Settings(rounds=9)) == 9


def test_the_rows_import_no_library_that_a_child_would_weigh_with():
    look = "import sys, benchmarks.registry; print(*sorted({'numpy', 'joblib', 'asyncio', 'ray'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", look], check=True, capture_output=True, text=True).stdout == "\n"
