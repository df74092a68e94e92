"""Dask's collections compute on Fray."""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array
import fray
import fray.dask
import numpy as np
import pytest
from dask.callbacks import Callback
from dask.diagnostics import ProgressBar

from tests.conformance.gates import Journal


@pytest.fixture(autouse=True)
def scheduler(native: fray.JobContext) -> Iterator[None]:
    with dask.config.set(scheduler=fray.dask.get):
        yield


def increment(number: int) -> int:
    return number + 1


def fail(number: int) -> int:
    raise ValueError(f"number {number}")


def test_delayed_graph_computes_in_workers() -> None:
    parts = [dask.delayed(increment)(number) for number in range(100)]
    total = dask.delayed(sum)(parts)
    assert total.compute() == 5050
    assert dask.compute(total, parts[3], {"a": parts[4]}) == (5050, 4, {"a": 5})
    assert dask.delayed(os.getpid)().compute() != os.getpid()


def test_arrays_compute_what_numpy_does() -> None:
    plain = np.random.default_rng(0).random((300, 200))
    array = dask.array.from_array(plain, chunks=(100, 50))
    np.testing.assert_allclose((array @ array.T).compute(), plain @ plain.T)
    np.testing.assert_allclose(array[::3].mean(axis=0).compute(), plain[::3].mean(axis=0))
    np.testing.assert_allclose(dask.array.linalg.svd(array.rechunk((100, 200)))[1].compute(), np.linalg.svd(plain)[1])


def test_results_may_be_written_to() -> None:
    result = dask.array.ones((300, 300), chunks=300).compute()
    result[0, 0] = 5
    assert result.sum() == 300 * 300 + 4


def test_frames_compute_what_pandas_does() -> None:
    import dask.dataframe
    import pandas

    plain = pandas.DataFrame({"key": np.arange(1000) % 7, "value": np.arange(1000.0), "text": ["a", "b"] * 500})
    frame = dask.dataframe.from_pandas(plain, npartitions=6)
    found = frame.groupby("key").value.sum().compute().sort_index()
    pandas.testing.assert_series_equal(found, plain.groupby("key").value.sum(), check_index_type=False)
    joined = frame.merge(frame, on="key").value_x.count().compute()
    assert joined == len(plain.merge(plain, on="key"))
    shuffled = frame.shuffle("key").compute()
    shuffled.loc[0, "value"] = -1.0
    assert len(shuffled) == 1000


def test_both_formats_of_graphs_are_understood() -> None:
    old = {"x": 1, "y": (increment, "x"), "z": (operator.add, "y", 10), ("t", 0): (sum, ["x", "y", "z"]), "w": "z"}
    assert fray.dask.get(old, "z") == 12
    assert fray.dask.get(old, [["x", "y"], [("t", 0), "w"]]) == ((1, 2), (15, 12))
    with pytest.raises(KeyError, match="nothing"):
        fray.dask.get(old, "nothing")


def test_exception_comes_as_itself_with_key_and_traceback_and_ends_the_rest(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "journal"))

    def late(*waits: Any) -> None:
        journal.add("ran")

    bad = dask.delayed(fail)(3)
    graph = [dask.delayed(late)(bad) for _ in range(5)]
    with pytest.raises(ValueError, match="number 3") as caught:
        dask.compute(*graph)
    assert isinstance(caught.value.__cause__, fray.RemoteTraceback)
    assert "in fail" in str(caught.value.__cause__)
    assert any("in the Dask task 'fail" in note for note in caught.value.__notes__)
    assert journal.lines() == []


def test_intermediate_results_do_not_come_to_the_driver(
    native: fray.JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[Any] = []
    get = native.get
    monkeypatch.setattr(native, "get", lambda refs, *rest: got.append(get(refs, *rest)) or got[-1])
    array = dask.array.ones((4000, 1000), chunks=(500, 1000))
    assert array.sum().compute() == 4_000_000
    sizes = [value.nbytes for values in got if isinstance(values, list) for value in values]
    assert sizes == [8]
    assert all(values is None for values in got if not isinstance(values, list))


def test_what_was_begun_ends_before_more_is_begun(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "journal"))

    def load(number: int) -> np.ndarray:
        journal.add(f"load {number}")
        time.sleep(0.02)
        return np.ones(10)

    def reduce(array: np.ndarray, number: int) -> float:
        journal.add(f"reduce {number}")
        return float(array.sum())

    parts = [dask.delayed(reduce)(dask.delayed(load)(number), number) for number in range(30)]
    assert dask.delayed(sum)(parts).compute(optimize_graph=False) == 300
    held = most = 0
    for line in journal.lines():
        held += 1 if line.startswith("load") else -1
        most = max(most, held)
    assert most <= 8


def test_progress_bars_and_other_callbacks_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []
    callback = Callback(
        start=lambda graph: seen.append("start"),
        pretask=lambda key, graph, state: seen.append("before"),
        posttask=lambda key, value, graph, state, worker: seen.append(value),
        finish=lambda graph, state, failed: seen.append(failed),
    )
    with callback, ProgressBar():
        dask.delayed(increment)(dask.delayed(increment)(0)).compute(optimize_graph=False)
    assert seen[0] == "start"
    assert seen[-1] is False
    assert [value for value in seen if isinstance(value, int) and value is not False] == [1, 2]
    assert "100% Completed" in capsys.readouterr().out


def test_number_of_workers_is_a_limit(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "journal"))

    def note(number: int) -> None:
        journal.add("in")
        time.sleep(0.005)
        journal.add("out")

    dask.compute(*[dask.delayed(note)(number) for number in range(6)], num_workers=1)
    assert journal.lines() == ["in", "out"] * 6


@pytest.mark.parametrize("kind", ["sync", "thread"])
def test_other_contexts_compute_it_too(kind: str) -> None:
    with fray.create_job_ctx(kind, max_workers=2) as context:
        array = dask.array.ones((40, 40), chunks=10)
        assert array.sum().compute(scheduler=fray.dask.get, context=context) == 1600


def note_tasks(context: fray.JobContext, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that the arguments of each task come to from now on."""
    sent: list[Any] = []
    create = context.create_task
    monkeypatch.setattr(context, "create_task", lambda *args, **options: sent.append(args) or create(*args, **options))
    return sent


def pid_beside(number: int, *others: Any) -> tuple[int, ...]:
    return (*(pid for other in others for pid in other), os.getpid())


def test_a_chain_runs_in_one_worker_as_one_task(native: fray.JobContext, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = note_tasks(native, monkeypatch)
    chains = []
    for number in range(3):
        node = dask.delayed(pid_beside)(number)
        for _ in range(9):
            node = dask.delayed(pid_beside)(number, node)
        chains.append(node)
    found = dask.compute(*chains, optimize_graph=False)
    assert [len(pids) for pids in found] == [10, 10, 10]
    assert all(len(set(pids)) == 1 for pids in found)
    assert len(sent) == 3


@pytest.mark.parametrize(
    "options",
    [fray.TaskOptions(timeout=60), fray.TaskOptions(max_calls=9), fray.TaskOptions(retry_exceptions=True)],
    ids=["timeout", "max_calls", "retry_exceptions"],
)
def test_options_that_count_for_each_call_keep_the_calls_of_a_chain_apart(
    native: fray.JobContext, monkeypatch: pytest.MonkeyPatch, options: fray.TaskOptions
) -> None:
    sent = note_tasks(native, monkeypatch)
    node = dask.delayed(increment)(dask.delayed(increment)(dask.delayed(increment)(0)))
    assert node.compute(optimize_graph=False, options=options) == 3
    assert len(sent) == 3


def test_a_function_chooses_the_options_of_each_key(native: fray.JobContext) -> None:
    def options_of(key: Hashable) -> fray.TaskOptions:
        return fray.TaskOptions(runtime_env=fray.RuntimeEnv(env={"FRAY_TEST_PLACE": str(key)[-1]}))

    graph = {f"place-{number}": (os.getenv, "FRAY_TEST_PLACE") for number in range(3)}
    keys = list(graph)
    assert fray.dask.get(graph, keys, context=native, options=options_of) == ("0", "1", "2")


def test_calls_that_could_run_at_the_same_time_are_joined_only_in_large_graphs(
    native: fray.JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = note_tasks(native, monkeypatch)

    def tree(leaves: int) -> Any:
        level = [dask.delayed(increment)(number) for number in range(leaves)]
        while len(level) > 1:
            level = [dask.delayed(operator.add)(level[at], level[at + 1]) for at in range(0, len(level), 2)]
        return level[0]

    assert tree(8).compute(optimize_graph=False) == 36
    assert len(sent) == 15
    sent.clear()
    assert tree(1024).compute(optimize_graph=False, num_workers=2) == 1024 * 1025 // 2
    assert 2 * 16 < len(sent) < 1000
    sent.clear()
    with Callback(pretask=lambda *args: None):
        assert tree(1024).compute(optimize_graph=False, num_workers=2) == 1024 * 1025 // 2
    assert len(sent) == 2047  # who listens is told of each


def test_graphs_of_any_shape_come_to_what_dask_itself_computes() -> None:
    for seed in range(3):
        random = np.random.default_rng(seed)
        nodes = [dask.delayed(increment)(number) for number in range(3)]
        for number in range(400):
            picked = random.choice(len(nodes), random.integers(1, 4), p=_late(len(nodes)))
            nodes.append(dask.delayed(operator.mod)(dask.delayed(sum)([nodes[at] for at in picked], number), 10_007))
        wanted = [nodes[at] for at in random.choice(len(nodes), 20)]
        expected = dask.compute(*wanted, scheduler="synchronous", optimize_graph=False)
        assert dask.compute(*wanted, optimize_graph=False, num_workers=1 + seed % 3) == expected


def _late(count: int) -> Any:
    """Return chances that prefer the last ones, so that there are chains and triangles."""
    weights = 0.7 ** np.arange(count)[::-1] + 1e-3
    return weights / weights.sum()


def test_exception_in_the_middle_of_a_chain_names_its_own_key() -> None:
    node = dask.delayed(increment)(dask.delayed(increment)(dask.delayed(fail)(3)))
    with pytest.raises(ValueError, match="number 3") as caught:
        node.compute(optimize_graph=False)
    notes = [note for note in caught.value.__notes__ if "Dask task" in note]
    assert len(notes) == 1
    assert notes[0].startswith("in the Dask task 'fail")
