"""Joblib and scikit-learn run on Fray."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fray
import fray.joblib
import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed

from tests.chaos.test_functions import loose_module
from tests.conformance.gates import Gate, Journal
from tests.waiting import eventually


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


@pytest.mark.parametrize(("n_jobs", "seconds"), [(2, 0.02), (10, 0.03), (64, 0.1)])
def test_batches_are_short_where_few_workers_take_them(n_jobs: int, seconds: float) -> None:
    with Parallel(n_jobs=n_jobs) as parallel:
        assert parallel(delayed(abs)(number) for number in range(3)) == [0, 1, 2]
        assert pytest.approx(seconds) == parallel._backend.MIN_IDEAL_BATCH_DURATION


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
    try:
        journal.add("began")
        time.sleep(100)
    finally:
        journal.add("ended")


def test_an_error_stops_what_runs(tmp_path: Path) -> None:
    gate, journal = Gate(str(tmp_path / "gate")), Journal(str(tmp_path / "journal"))
    started = time.monotonic()
    with Parallel(batch_size=1) as parallel:
        with pytest.raises(ValueError, match="no gate"):
            parallel(delayed(wait_or_fail)(each, journal) for each in (gate, None, gate, gate))
        assert parallel([delayed(abs)(-1)]) == [1], "it can be used again"
    eventually(lambda: (lines := journal.lines()).count("ended") >= lines.count("began"))
    assert time.monotonic() - started < 60, "what runs would have slept for longer"


def test_timeout_ends_the_call() -> None:
    with pytest.raises(multiprocessing.TimeoutError):  # joblib's own choice
        Parallel(timeout=0.1)(delayed(time.sleep)(60) for _ in range(2))
    assert Parallel()(delayed(abs)(number) for number in (-1, -2)) == [1, 2]


def test_results_are_there_when_the_last_batch_ends_not_when_joblib_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_again(seconds: float) -> None:
        raise AssertionError(f"joblib would look again in {seconds} s")

    monkeypatch.setattr(joblib.parallel, "time", SimpleNamespace(time=time.time, sleep=look_again))
    assert Parallel()(delayed(time.sleep)(0.02) for _ in range(6)) == [None] * 6
    with Parallel() as parallel:
        assert [parallel(delayed(abs)(-number) for number in range(n)) for n in (0, 1, 50)] == [
            list(range(n)) for n in (0, 1, 50)
        ]
        with pytest.raises(ValueError, match="number 3"):
            parallel(delayed(fail_at)(number, 3) for number in range(50))


def test_items_that_cannot_be_taken_end_the_call_at_once(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "journal"))
    gate = Gate(str(tmp_path / "gate"))

    def items() -> Iterator[tuple]:
        yield delayed(wait_or_fail)(gate, journal)
        yield delayed(journal.add)("began")
        yield from (delayed(abs)(-number) for number in range(2))
        raise ZeroDivisionError("no more")

    started = time.monotonic()
    with pytest.raises(ZeroDivisionError, match="no more"):
        Parallel(batch_size=1, pre_dispatch=2)(items())
    assert time.monotonic() - started < 60, "the first call would have slept for longer"


def interrupt(pid: int) -> None:
    os.kill(pid, signal.SIGINT)


def test_an_interrupt_ends_the_wait_for_the_results() -> None:
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        Parallel()([delayed(time.sleep)(60), delayed(interrupt)(os.getpid())])
    assert time.monotonic() - started < 30
    assert Parallel()(delayed(abs)(number) for number in (-1, -2)) == [1, 2]


def test_calls_in_tasks_on_threads_lend_the_threads_that_wait() -> None:
    def total(number: int) -> int:
        with joblib.parallel_config("fray", n_jobs=2, context=context):
            return sum(Parallel()(delayed(abs)(-each) for each in range(number)))

    with fray.ThreadContext(max_workers=2) as context:
        assert context.get([context.run(total, number) for number in range(6)], timeout=30) == [0, 0, 1, 3, 6, 10]


def test_a_function_of_the_main_script_is_loaded_once_and_again_when_it_has_changed() -> None:
    names = loose_module(
        "import os\nDATA = [str(number) for number in range(50_000)]\n"
        "def look(number):\n    return os.getpid(), id(DATA), len(DATA), DATA[number]\n"
        "def other(number):\n    return DATA[-1], number\n"
    )
    look, other, data = names["look"], names["other"], names["DATA"]
    for _ in range(3):
        seen = [one for _ in range(2) for one in Parallel(batch_size=3)(delayed(look)(n) for n in range(60))]
        assert [value for *_, value in seen] == 2 * data[:60]
        assert {length for _, _, length, _ in seen} == {len(data)}
        assert len({place[:2] for place in seen}) == len({place[0] for place in seen})
        mixed = Parallel(batch_size=2)(delayed(other if n % 2 else abs)(n) for n in range(20))
        assert mixed == [(data[-1], n) if n % 2 else n for n in range(20)]
        data.append("another")


def test_what_the_program_changes_between_two_batches_is_seen() -> None:
    names = loose_module("DATA = []\ndef read(number):\n    return len(DATA), number\n")

    def calls() -> Iterator[Any]:
        for number in range(20):
            names["DATA"].append(number)
            yield delayed(names["read"])(number)

    seen = Parallel(batch_size=1, pre_dispatch=2)(calls())
    assert [number for _, number in seen] == list(range(20))
    assert all(length > number for length, number in seen) and seen[0][0] < 20  # joblib takes some items ahead


@pytest.mark.parametrize("batch_size", ["auto", 1, 4])
def test_closures_lambdas_and_methods_of_the_script_can_be_called(batch_size: Any) -> None:
    array, factor = np.arange(300_000.0), 3

    class Scaled:
        def by(self, number: int) -> float:
            return float(array[number]) * factor

    def scaled(number: int, *, more: Any = 0) -> float:
        return float(array[number]) * factor + np.sum(more)

    parallel = Parallel(batch_size=batch_size)
    expected = [3.0 * number for number in range(12)]
    assert parallel(delayed(scaled)(number) for number in range(12)) == expected
    assert parallel(delayed(scaled)(number, more=np.zeros(200_000)) for number in range(12)) == expected
    assert parallel(delayed(scaled)(number, more=[np.zeros(200_000), {}][:1]) for number in range(12)) == expected
    assert parallel(delayed(lambda n: array[n] * factor)(number) for number in range(12)) == expected
    assert parallel(delayed(partial(scaled, more=0))(number) for number in range(12)) == expected
    assert parallel(delayed(Scaled().by)(number) for number in range(12)) == expected
    with pytest.raises(ZeroDivisionError):
        parallel(delayed(lambda n: 1 // n)(number) for number in range(12))


def test_results_can_be_taken_while_others_run() -> None:
    results = Parallel(return_as="generator")(delayed(abs)(-number) for number in range(50))
    assert [next(results), next(results)] == [0, 1]
    assert list(results) == list(range(2, 50))
    unordered = Parallel(return_as="generator_unordered")(delayed(abs)(-number) for number in range(50))
    assert sorted(unordered) == list(range(50))


def test_results_that_are_still_being_taken_can_be_the_items_of_the_next_call() -> None:
    first = Parallel(return_as="generator")(delayed(abs)(-number) for number in range(200))
    second = Parallel(return_as="generator_unordered")(delayed(pow)(number, 2) for number in first)
    assert sorted(Parallel()(delayed(abs)(number) for number in second)) == [number**2 for number in range(200)]


def test_a_call_between_two_calls_of_an_open_parallel_leaves_it_open() -> None:
    with Parallel() as parallel:
        found = [call(delayed(abs)(-number) for number in range(5)) for call in (parallel, Parallel(), parallel)]
    assert found == [list(range(5))] * 3


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


class Model:
    def __init__(self, weights: np.ndarray, small: np.ndarray) -> None:
        self.weights = weights
        self.small = small

    def predict(self, factor: int) -> float:
        return float(self.weights[-1] + self.small[-1]) * factor


def in_others(model: Model, parts: dict[str, tuple[np.ndarray, int]]) -> tuple[bool, bool, float]:
    weights, number = parts["weights"]
    return weights.flags.writeable, weights is model.weights, model.predict(number)


def test_large_arrays_inside_of_other_arguments_are_put_once(
    native: fray.JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = np.arange(1 << 18, dtype=np.float64)
    model = Model(array, np.ones(3))
    puts = []
    put = native.put
    monkeypatch.setattr(native, "put", lambda value: puts.append(value) or put(value))
    results = Parallel()(delayed(in_others)(model, {"weights": (array, number)}) for number in range(40))
    assert len(puts) == 1
    assert results == [(False, True, float(array[-1] + 1) * number) for number in range(40)]
    expected = [float(array[-1] + 1) * number for number in range(8)]
    assert Parallel()(delayed(model.predict)(number) for number in range(8)) == expected
    assert Parallel()(delayed(lambda of, n: of.predict(n))(model, number) for number in range(8)) == expected
    assert len(puts) == 3, "once for each call, also where what is called travels by value"


class Counted:
    """Counts how often it is pickled."""

    times = 0

    def __reduce__(self) -> tuple[type, tuple[()]]:
        Counted.times += 1
        return Counted, ()


def test_batches_that_hold_the_name_of_the_main_module_are_pickled_once() -> None:
    Counted.times = 0
    assert Parallel(batch_size=1)(delayed(len)([Counted(), "__main__"]) for _ in range(4)) == [2] * 4
    assert Counted.times == 4


def test_refs_among_the_arguments_travel_with_arrays_beside_them(native: fray.JobContext) -> None:
    array = np.arange(1 << 18, dtype=np.float64)

    def last_and_value(pair: list) -> tuple[float, int]:
        return float(pair[0][-1]), fray.get_job_context().get(pair[1])

    ref = native.put(7)
    assert Parallel()(delayed(last_and_value)([array, ref]) for _ in range(4)) == [(float(array[-1]), 7)] * 4


def test_large_arrays_are_freed_with_the_call_that_they_were_put_for(native: fray.JobContext) -> None:
    array = np.zeros(1 << 21)

    def used_bytes() -> int:
        return native.engine.status()["store"]["used_bytes"]

    before = used_bytes()  # by earlier tests of this context, whose memory is kept for reuse
    gc.disable()  # nothing may be left to it
    try:
        for number in range(8):
            assert Parallel()(delayed(address)(array, array, factor=number) for _ in range(4))[0][1]
        eventually(lambda: used_bytes() < before + 4 * array.nbytes, what="room for two calls")
    finally:
        gc.enable()


def outer(number: int) -> list[int]:
    return Parallel(n_jobs=2)(delayed(abs)(-number - inner) for inner in range(4))


def test_nested_calls_run_without_waiting_for_their_own_place() -> None:
    expected = [[number + inner for inner in range(4)] for number in range(6)]
    assert Parallel()(delayed(outer)(number) for number in range(6)) == expected


def note_running(journal: Journal, number: int) -> int:
    journal.add("began")
    time.sleep(0.02)
    journal.add("ended")
    return number


def note_all(journal: Journal, number: int) -> list[int]:
    return Parallel(n_jobs=2, batch_size=1)(delayed(note_running)(journal, number + inner) for inner in range(4))


def test_nested_calls_run_on_no_more_than_the_cpus_that_there_are(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "journal"))
    expected = [[number + inner for inner in range(4)] for number in range(6)]
    assert Parallel(batch_size=1)(delayed(note_all)(journal, number) for number in range(6)) == expected
    running = [0]
    for line in journal.lines():
        running.append(running[-1] + (1 if line == "began" else -1))
    assert len(running) == 1 + 2 * 24
    assert max(running) <= 2


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
