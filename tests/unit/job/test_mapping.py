"""How `map` sizes its batches; times are those that a fake function reports."""

from __future__ import annotations

import itertools
import threading

import pytest
from fray import LocalJobContext
from fray.job import batches, mapping


class Recorder(LocalJobContext):
    """Remembers the sizes of the batches that were submitted."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.submit, self.engine.submit = self.engine.submit, self.counted  # type: ignore[method-assign]

    def counted(self, fn, args, kwargs, options):
        self.sizes.append(len(args[3]) or 1)
        return self.submit(fn, args, kwargs, options)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    """A clock that only tasks move."""
    now = [0.0]
    monkeypatch.setattr(batches.time, "perf_counter", lambda: now[0])

    def taking(seconds):
        def work(item):
            now[0] += seconds(item) if callable(seconds) else seconds
            return item

        return work

    return taking


def test_first_item_is_alone_and_slow_items_stay_alone(clock):
    context = Recorder()
    assert list(context.map(clock(1.0), range(5))) == list(range(5))
    assert context.sizes == [1] * 5


def test_batches_of_quick_items_grow_to_the_target(clock):
    context = Recorder()
    assert list(context.map(clock(1 / 1024), range(200))) == list(range(200))
    assert context.sizes[:4] == [1, 4, 16, 20]
    assert max(context.sizes) <= mapping.TARGET_SECONDS * 1024


def test_batches_shrink_towards_the_end_so_that_workers_end_together(clock, monkeypatch: pytest.MonkeyPatch):
    context = Recorder()
    monkeypatch.setattr(type(context.engine), "parallelism", 2)
    work = clock(1 / 2048)
    assert list(context.map(work, range(400))) == list(range(400))
    assert max(context.sizes) == 40
    assert context.sizes[-1] <= mapping.LAST_SECONDS * 2048
    assert context.sizes.index(40) < len(context.sizes) - 5
    unknown = Recorder()
    assert list(unknown.map(work, (number for number in range(400)))) == list(range(400))
    assert unknown.sizes[-2] == 40


def test_batch_that_turns_slow_is_cut_and_sent_again(clock):
    context = Recorder()
    work = clock(lambda item: 0.001 if item < 50 else 1.0)
    assert list(context.map(work, range(80))) == list(range(80))
    assert context.sizes[-10:] == [1] * 10


def test_worker_that_has_run_many_tiny_items_meets_few_slow_ones_before_it_gives_back_the_rest(clock):
    result = batches.run_batch(clock(lambda item: 0.0 if item < 1000 else 1.0), None, 0.1, list(range(2000)))
    assert 1000 < len(result.values) <= 1000 + batches.MAX_STEP


def test_generator_that_fails_ends_its_batch_at_its_place():
    def items(number):
        yield number
        if number == 70:
            raise ValueError("seventy")

    result = batches.run_batch(lambda n: items(n) if n >= 66 else n, None, 1.0, list(range(100)))
    assert result.values == [*range(66), *([n] for n in range(66, 70))]
    assert result.failure is not None


def test_stop_iteration_of_an_item_is_a_failure_at_its_place_and_no_end_of_the_items():
    result = batches.run_batch(lambda n: next(iter(())) if n == 70 else n, None, 1.0, list(range(100)))
    assert result.values == [*range(70)]
    assert result.failure is not None


def test_fixed_batch_is_never_cut(clock):
    context = Recorder()
    assert list(context.map(clock(1.0), range(10), batch=5)) == list(range(10))
    assert context.sizes == [5, 5]


def test_in_order_context_takes_no_item_ahead():
    taken = []
    items = (taken.append(n) or n for n in itertools.count())
    results = LocalJobContext().map(lambda x: x, items, batch=1)
    next(results)
    next(results)
    assert taken == [0, 1]


@pytest.mark.parametrize("max_in_flight", [None, 10])
def test_a_closed_iterator_gives_no_more_of_the_batch_that_it_was_in(max_in_flight):
    results = LocalJobContext().map(abs, range(20), batch=5, max_in_flight=max_in_flight)
    assert next(results) == 0
    results.close()
    assert list(results) == []


@pytest.mark.parametrize("leave", [lambda results: results.pop().close(), lambda results: results.clear()])
def test_leaving_early_cancels_the_rest(leave):
    from fray import ThreadContext

    stop = threading.Event()
    ran = []

    def work(item):
        ran.append(item)
        if item:
            stop.wait()
        return item

    with ThreadContext(max_workers=1) as context:
        results = [context.map(work, range(10), batch=1)]
        assert next(results[0]) == 0
        leave(results)
        stop.set()
        assert context.get(context.run(abs, -1)) == 1
    assert ran in ([0], [0, 1]), "the third was to be cancelled"
