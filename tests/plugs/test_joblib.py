"""Joblib and scikit-learn run on Fray."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from pathlib import Path

import fray
import fray.joblib
import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed

from tests.conformance.gates import Gate, Journal


@pytest.fixture(autouse=True)
def backend(native: fray.JobContext) -> Iterator[None]:
    fray.joblib.register()
    with joblib.parallel_config("fray", n_jobs=2):
        yield


def pid_after(_: int) -> int:
    return os.getpid()


def fail_at(number: int, bad: int) -> int:
    if number == bad:
        raise ValueError(f"number {number}")
    return number


def test_calls_run_in_workers_and_come_back_in_order() -> None:
    assert Parallel()(delayed(divmod)(number, 7) for number in range(500)) == [divmod(n, 7) for n in range(500)]
    assert os.getpid() not in Parallel()(delayed(pid_after)(number) for number in range(20))


def test_short_calls_are_batched() -> None:
    with Parallel() as parallel:
        parallel(delayed(abs)(number) for number in range(3000))
        assert parallel._backend._effective_batch_size > 1


def test_one_job_runs_here() -> None:
    assert set(Parallel(n_jobs=1)(delayed(pid_after)(number) for number in range(3))) == {os.getpid()}


def test_exception_comes_as_itself_with_the_traceback_of_the_worker() -> None:
    with pytest.raises(ValueError, match="number 20") as caught:
        Parallel()(delayed(fail_at)(number, 20) for number in range(100))
    assert isinstance(caught.value.__cause__, fray.RemoteTraceback)
    assert Parallel()(delayed(abs)(number) for number in (-1, -2)) == [1, 2]


def wait_or_fail(gate: Gate | None, journal: Journal) -> None:
    if gate is None:
        raise ValueError("no gate")
    journal.add("began")
    try:
        time.sleep(60)
    finally:
        journal.add("ended")


def test_an_error_stops_what_runs(tmp_path: Path) -> None:
    gate, journal = Gate(str(tmp_path / "gate")), Journal(str(tmp_path / "journal"))
    started = time.monotonic()
    with Parallel(batch_size=1) as parallel:
        with pytest.raises(ValueError, match="no gate"):
            parallel(delayed(wait_or_fail)(each, journal) for each in (gate, None, gate, gate))
        assert parallel([delayed(abs)(-1)]) == [1], "it can be used again"
    while len(journal.lines()) % 2:
        time.sleep(0.01)
    assert time.monotonic() - started < 30


def test_timeout_ends_the_call() -> None:
    with pytest.raises(multiprocessing.TimeoutError):  # joblib's own choice
        Parallel(timeout=0.1)(delayed(time.sleep)(60) for _ in range(2))
    assert Parallel()(delayed(abs)(number) for number in (-1, -2)) == [1, 2]


def test_results_can_be_taken_while_others_run() -> None:
    results = Parallel(return_as="generator")(delayed(abs)(-number) for number in range(50))
    assert [next(results), next(results)] == [0, 1]
    assert list(results) == list(range(2, 50))
    unordered = Parallel(return_as="generator_unordered")(delayed(abs)(-number) for number in range(50))
    assert sorted(unordered) == list(range(50))


def address(array: np.ndarray, other: np.ndarray, *, factor: int) -> tuple[bool, bool, float]:
    return array.flags.writeable, array is other, float(array[-1]) * factor


def test_large_arrays_are_put_once(native: fray.JobContext, monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.arange(1 << 18, dtype=np.float64)
    puts = []
    put = native.put
    monkeypatch.setattr(native, "put", lambda value: puts.append(value) or put(value))
    results = Parallel()(delayed(address)(array, array, factor=number) for number in range(40))
    assert len(puts) == 1
    assert results == [(False, True, float(array[-1]) * number) for number in range(40)]


def outer(number: int) -> list[int]:
    return Parallel(n_jobs=2)(delayed(abs)(-number - inner) for inner in range(4))


def test_nested_calls_run_without_waiting_for_their_own_place() -> None:
    expected = [[number + inner for inner in range(4)] for number in range(6)]
    assert Parallel()(delayed(outer)(number) for number in range(6)) == expected


def threads() -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")


def test_inner_threads_are_limited() -> None:
    with joblib.parallel_config("fray", n_jobs=2, inner_max_num_threads=3):
        assert Parallel()(delayed(threads)() for _ in range(2)) == ["3", "3"]


def test_grid_search_of_scikit_learn_gives_what_it_gives_alone() -> None:
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GridSearchCV

    features, classes = load_iris(return_X_y=True)
    grid = {"n_estimators": [3, 5], "max_depth": [2, 3]}

    def search() -> GridSearchCV:
        return GridSearchCV(RandomForestClassifier(random_state=0, n_jobs=2), grid, cv=3).fit(features, classes)

    found = search()
    with joblib.parallel_config("sequential"):
        alone = search()
    assert found.best_params_ == alone.best_params_
    assert list(found.cv_results_["mean_test_score"]) == list(alone.cv_results_["mean_test_score"])


@pytest.mark.parametrize("asked", [-1, -2, 3])
def test_number_of_jobs_follows_the_context(asked: int) -> None:
    assert joblib.effective_n_jobs(asked) == {-1: 2, -2: 1, 3: 3}[asked]
    with pytest.raises(ValueError, match="no meaning"):
        Parallel(n_jobs=0)([delayed(abs)(1)])
