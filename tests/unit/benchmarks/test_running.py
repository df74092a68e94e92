"""Rows as they really run, in processes, on contexts that start in no time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.measurement import Measurement
from benchmarks.peer_process import PeerFailedError, PeerProcess
from benchmarks.processes import cpu_seconds, processes_of, pss_bytes
from benchmarks.registry import select
from benchmarks.runner import RowResult, compare_results, run_row
from benchmarks.settings import Settings
from tests.waiting import eventually

QUICK = Settings(quick=True, rounds=2, fray_context="thread")


@pytest.fixture(autouse=True)
def quick_children(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BENCH_QUICK", "1")
    monkeypatch.setenv("BENCH_FRAY_CONTEXT", "thread")


def test_peers_take_turns_and_are_summarized(tmp_path: Path):
    result = run_row(select(["tasks_sync"])[0], ["fray", "pool", "joblib"], QUICK, tmp_path, None)
    assert result.errors == {}
    assert {peer: len(summary.rounds) for peer, summary in result.peers.items()} == {"fray": 2, "pool": 2, "joblib": 2}
    assert all(summary.value.min > 0 for summary in result.peers.values())
    assert result.peers["fray"].figure("p99_us")


def test_a_peer_that_fails_is_reported_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BENCH_PROGRAMS", str(tmp_path))
    result = run_row(select(["tasks_sync"])[0], ["limit", "fray"], QUICK, tmp_path, None)
    assert list(result.peers) == ["fray"]
    assert "socket_pingpong is not built" in result.errors["limit"]


def test_a_program_tells_its_first_call_and_its_memory_and_comes_to_the_same_with_every_peer(tmp_path: Path):
    result = run_row(select(["real_texts"])[0], ["fray", "pool"], QUICK, tmp_path, None)
    assert result.errors == {}
    for summary in result.peers.values():
        assert summary.figure("first_s")
        assert summary.figure("peak_mb")


def test_a_peer_that_comes_to_another_result_has_failed(tmp_path: Path):
    row = select(["tasks_sync"])[0]
    result = RowResult(row)
    rounds = {"fray": ["a", "a"], "pool": ["a", "b"], "joblib": ["a", "a"], "ray": ["c", "c"], "limit": []}
    found = {peer: [Measurement(1.0, {}, each) for each in results] for peer, results in rounds.items()}
    compare_results(found, result)
    assert set(result.errors) == {"pool", "ray"}
    assert "a, b" in result.errors["pool"]


def test_a_child_that_takes_too_long_is_killed(tmp_path: Path):
    child = PeerProcess("tasks_sync", "pool", 0.0, tmp_path / "log", None)
    with pytest.raises(PeerFailedError, match="set-up took longer than 0 s"):
        child.ready()
    child.close()


def test_a_child_that_dies_is_reported_with_its_code(tmp_path: Path):
    child = PeerProcess("tasks_sync", "pool", 60.0, tmp_path / "log", None)
    child.ready()
    child.kill()
    with pytest.raises(PeerFailedError, match="ended with code -9"):
        child.measure()
    child.close()


def test_processes_are_found_by_mark_and_by_parent():
    environment = {**os.environ, "BENCH_MARK": "a-mark-of-this-test"}
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], env=environment, stdin=subprocess.PIPE)
    try:
        eventually(lambda: sleeper.pid in processes_of(1 << 30, "a-mark-of-this-test"))
        assert sleeper.pid in processes_of(os.getpid(), "a mark that nobody has")
        assert pss_bytes([sleeper.pid]) > 0
        eventually(lambda: cpu_seconds([sleeper.pid]) > 0)  # it has begun
    finally:
        sleeper.communicate()
    assert pss_bytes([sleeper.pid]) == 0
