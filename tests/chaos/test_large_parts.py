"""Large classes, functions and callables are sent once, and arrive as they are at each call."""

from __future__ import annotations

import pytest

from tests.chaos.harness import run_driver

SCRIPT = """
import functools, gc, json, pickle, threading, warnings
import fray
import numpy
from dataclasses import dataclass
from fray import TaskOptions

warnings.filterwarnings("ignore", "function .* when pickled")

N = 20_000
TABLE = {number: f"text {number}" for number in range(N)}
NUMBERS = numpy.arange(200_000)
SEEN = ["start"] * 10_000
COUNT = 0

class Scorer:
    def __init__(self, scale=1):
        self.scale = scale
    def score(self, key):
        return len(TABLE[key]) * self.scale
    def put(self, key, text):
        TABLE[key] = text
        return len(TABLE)

@dataclass
class Predictor:
    table: dict
    def __call__(self, key):
        return len(self.table[key])

def look(key):
    return len(TABLE[key])

def see(value):
    SEEN.append(value)
    return len(SEEN)

def count_seen():
    return len(SEEN)

def number(place):
    return int(NUMBERS[place])

def count():
    global COUNT
    COUNT += 1
    return len(TABLE) + COUNT

def call(fn, *args):
    return fn(*args)

def score(scorer, key):
    return scorer.score(key)

def same(value):
    return value

def bytes_in(ctx, name):
    # Of the tasks of this name, in the order in which they began.
    runs = [run for run in ctx._client.timeline() if run[0] == name]
    return [run[8] for run in sorted(runs, key=lambda run: run[2])]
"""


def check(text: str, start_method: str | None = None, cpus: int = 1) -> None:
    indented = "\n".join("    " + line for line in text.strip().splitlines())
    program = f"{SCRIPT}\nwith NativeJobContext(cpus={cpus}, start_method={start_method!r}) as ctx:\n{indented}\n"
    run_driver(program).ok()


METHODS = pytest.mark.parametrize("start_method", [None, "fork", "forkserver"])


@METHODS
def test_objects_whose_class_reads_a_large_table_are_small(start_method: str | None) -> None:
    check(
        """
scorer = Scorer(2)
for key in range(20):
    assert ctx.get(ctx.run(score, scorer, key)) == len(TABLE[key]) * 2
sizes = bytes_in(ctx, "score")
assert len(sizes) == 20 and max(sizes) < 10_000, sizes
""",
        start_method,
    )


@METHODS
def test_workers_have_a_large_table_of_a_class_as_it_is_at_each_call(start_method: str | None) -> None:
    check(
        """
for number in range(6):
    TABLE[0] = "x" * number
    assert ctx.get(ctx.run(score, Scorer(), 0)) == number
    assert ctx.get(ctx.run(score, [Scorer()][0], 0)) == number
    assert ctx.get(ctx.run(Scorer().score, 0)) == number
    assert list(ctx.map(Scorer(3).score, [0, 0])) == [3 * number] * 2
    assert ctx.get(ctx.run(call, look, 0)) == number
    assert ctx.get(ctx.run(call, Predictor(TABLE), 0)) == number
""",
        start_method,
    )


def test_objects_of_a_class_with_a_large_table_go_on_from_workers() -> None:
    check(
        """
def again(scorer, key):
    inner = fray.get_job_context()
    return inner.get([inner.run(score, scorer, key), inner.run(score, Scorer(5), key)])
def made(scale):
    return Scorer(scale)
refs = [ctx.run(made, scale) for scale in range(4)]
assert [ctx.get(ctx.run(score, ref, 7)) for ref in refs] == [6 * scale for scale in range(4)]
passed = [ctx.run(same, Scorer(scale)) for scale in range(4)]
assert [type(scorer) for scorer in ctx.get(passed)] == [Scorer] * 4
assert [ctx.get(ctx.run(score, ref, 7)) for ref in passed] == [6 * scale for scale in range(4)]
assert ctx.get(ctx.run(again, Scorer(2), 7)) == [12, 30]
""",
        cpus=3,
    )


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_actors_take_objects_and_functions_with_large_tables(kind: str) -> None:
    check(f"""
class Keeper:
    def __init__(self, scorer, fn):
        self.scorer, self.fn = scorer, fn
    {kind} both(self, key):
        return self.scorer.score(key), self.fn(key)
    {kind} given(self, scorer, fn, key):
        return scorer.score(key), fn(key)
for number in range(3):
    TABLE[0] = "x" * number
    keeper = ctx.create_actor(Keeper, Scorer(2), look)
    assert ctx.get(keeper.both(0)) == (2 * number, number)
    for _ in range(2):
        assert ctx.get(keeper.given(Scorer(3), look, 0)) == (3 * number, number)
    calls = [keeper.given(Scorer(3), look, 0) for _ in range(200)]
    assert ctx.get(calls) == [(3 * number, number)] * 200
""")


def test_a_worker_that_is_new_takes_what_the_others_have() -> None:
    check("""
def die(path, scorer, fn):
    if not os.path.exists(path):
        open(path, "w").close()
        os._exit(1)
    return scorer.score(7), fn(7)
import tempfile
assert [ctx.get(ctx.run(call, look, 7)) for _ in range(3)] == [6] * 3
with tempfile.TemporaryDirectory() as folder:
    for number in range(3):
        ref = ctx.create_task(die, (f"{folder}/{number}", Scorer(), look), options=TaskOptions(max_retries=2))
        assert ctx.get(ref) == (6, 6)
""")


def test_contexts_that_follow_one_another_or_live_side_by_side_have_parts_of_their_own() -> None:
    check("""
with NativeJobContext(cpus=1) as other:
    for one in [ctx, other] * 3:
        assert one.get(one.run(call, look, 7)) == 6
        assert one.get(one.run(score, Scorer(), 7)) == 6
        assert one.get(one.run(Scorer().score, 7)) == 6
for _ in range(3):
    with NativeJobContext(cpus=1) as later:
        assert later.get(later.run(call, look, 7)) == 6
        assert later.get(later.run(score, Scorer(), 7)) == 6
    assert ctx.get(ctx.run(call, look, 7)) == 6
""")


def test_what_a_changed_table_leaves_is_given_back() -> None:
    check("""
def objects():
    return json.loads(ctx._client.status())["store"]
scorer = Scorer()
for number in range(30):
    TABLE[0] = "x" * number
    for _ in range(3):
        assert ctx.get(ctx.run(call, look, 0)) == number
        assert ctx.get(ctx.run(score, scorer, 0)) == number
    if number == 5:
        before = objects()
after = objects()
assert after["used_bytes"] < before["used_bytes"] + (2 << 20), (before, after)
""")


def test_a_large_function_in_a_value_is_small_from_the_second_time_on() -> None:
    check("""
for key in range(10):
    assert ctx.get(ctx.run(call, look, key)) == len(TABLE[key])
sizes = bytes_in(ctx, "call")
assert sizes[0] > 100_000 and max(sizes[1:]) < 10_000, sizes
for place in range(10):
    assert ctx.get(ctx.run(call, number, place)) == place
sizes = bytes_in(ctx, "call")[10:]
assert sizes[0] > 1_000_000 and max(sizes[1:]) < 10_000, sizes
NUMBERS[3] = 77
assert ctx.get(ctx.run(call, number, 3)) == 77
""")


def test_functions_of_one_value_have_their_globals_in_common() -> None:
    check("""
def both(pair, value):
    first, second = pair
    before = second()
    first(value)
    return second() - before
def with_list(fn, seen):
    before = len(seen)
    fn(1)
    return len(seen) - before
def of_list(pair):
    fn, seen = pair
    return with_list(fn, seen)
def read_count():
    return COUNT + len(SEEN)
def counts(pair):
    first, second = pair
    before = second()
    first()
    return second() - before
def put_and_look(parts):
    scorer, fn = parts
    scorer.put(7, "abc")
    return fn(7)
for value in range(4):
    assert ctx.get(ctx.run(both, [see, count_seen], value)) == 1
    assert ctx.get(ctx.run(put_and_look, [Scorer(), look])) == 3
    assert ctx.get(ctx.run(of_list, [see, SEEN])) == 1
    assert ctx.get(ctx.run(counts, [count, read_count])) == 1
    assert ctx.get(ctx.run(call, see, value)) > 10_000
    assert ctx.get(ctx.run(call, count)) > N
    assert ctx.get(ctx.run(both, (see, count_seen), value)) == 1
assert len(SEEN) == 10_000 and COUNT == 0
""")


def test_the_refs_of_a_class_are_those_that_it_has_now() -> None:
    check("""
class Keeps:
    ref = ctx.put(0)
    table = TABLE
    def value(self):
        import fray
        return fray.get_job_context().get(type(self).ref)
def read(others, keeps):
    return keeps.value()
refs = [ctx.put(n) for n in range(6)]
for n, ref in enumerate(refs):
    Keeps.ref = ref
    assert ctx.get(ctx.run(read, refs[:n], Keeps())) == n
    assert ctx.get(ctx.run(lambda pair: pair[1].value(), [refs[:n], Keeps()])) == n
    holds = lambda pair: pair[1].value()
    assert ctx.get(ctx.run(holds, [refs, Keeps()])) == n
""")


@METHODS
def test_methods_and_callables_arrive_as_they_are_at_each_call(start_method: str | None) -> None:
    check(
        """
class Holder:
    def __init__(self, table, numbers):
        self.table, self.numbers = table, numbers
    def score(self, key):
        return len(self.table[key]), int(self.numbers[key])
    def __call__(self, key):
        return self.score(key)
    def __eq__(self, other):
        return True
def plus(table, key):
    return len(table[key])
table, numbers = dict(TABLE), NUMBERS.copy()
holder = Holder(table, numbers)
shapes = [
    (holder.score, lambda: (len(holder.table[0]), int(holder.numbers[0]))),
    (holder, lambda: (len(holder.table[0]), int(holder.numbers[0]))),
    (table.get, lambda: table[0]),
    (table.__getitem__, lambda: table[0]),
    (Predictor(table), lambda: len(table[0])),
    (functools.partial(plus, table), lambda: len(table[0])),
    (functools.partial(holder.score, 0), None),
    (functools.partial(numpy.take, numbers), lambda: numbers[0]),
]
for number in range(5):
    for fn, expected in shapes:
        for _ in range(2):
            if expected is None:
                assert ctx.get(ctx.run(fn)) == holder.score(0)
                continue
            assert ctx.get(ctx.run(fn, 0)) == expected()
            assert list(ctx.map(fn, [0, 0])) == [expected()] * 2
    table[0] += "x"
    numbers[0] = number
    if number == 3:
        holder.table = {0: "new"}
""",
        start_method,
    )


def test_a_method_is_compared_and_not_pickled_again() -> None:
    check("""
pickled = []
class Word:
    def __init__(self, text):
        self.text = text
    def __reduce__(self):
        pickled.append(self.text)
        return Word, (self.text,)
class Counted:
    def __init__(self):
        self.table = TABLE
    def score(self, key):
        return len(self.table[key])
counted = Counted()
real, dumped = fray.backend.native.functions.dumps_functions, []
def dumps(value, *args, **kwargs):
    dumped.append(value)
    return real(value, *args, **kwargs)
fray.backend.native.functions.dumps_functions = dumps
for _ in range(20):
    assert ctx.get(ctx.run(counted.score, 7)) == 6
    assert list(ctx.map(counted.score, [7])) == [6]
assert len(dumped) <= 4, len(dumped)
TABLE[7] = "changed text"
assert ctx.get(ctx.run(counted.score, 7)) == 12
""")


def test_objects_that_the_program_drops_are_gone_although_their_methods_were_sent() -> None:
    check("""
import weakref
class Model:
    def __init__(self, number):
        self.number = number
    def score(self):
        return self.number
gone = []
for number in range(200):
    model = Model(number)
    weakref.finalize(model, gone.append, number)
    for _ in range(3):
        assert ctx.get(ctx.run(model.score)) == number
del model
gc.collect()
assert len(gone) == 200, len(gone)
""")


def test_a_callable_at_the_address_of_another_that_is_gone_is_not_taken_for_it() -> None:
    check("""
import collections, decimal, pathlib
Pair = collections.namedtuple("Pair", "a b")
class Pairs(Pair):
    __slots__ = ()
    def both(self):
        return tuple(self)
class Plain:
    def __init__(self, number):
        self.number = number
    def go(self):
        return self.number
shapes = [
    (lambda n: pathlib.PurePosixPath(f"/a/{n}").as_posix, lambda n: f"/a/{n}"),
    (lambda n: f"text {n}".upper, lambda n: f"TEXT {n}"),
    (lambda n: decimal.Decimal(n + 1000).to_integral_value, lambda n: n + 1000),
    (lambda n: Pairs(n + 1000, n).both, lambda n: (n + 1000, n)),
    (lambda n: (n + 1000, n).__len__, lambda n: 2),
    (lambda n: (n + 1000, n).index, None),
    (lambda n: Plain(n).go, lambda n: n),
    (lambda n: [n].copy, lambda n: [n]),
    (lambda n: functools.partial(divmod, n + 1000, 1000), lambda n: divmod(n + 1000, 1000)),
]
for make, expected in shapes:
    for n in range(100):
        got = ctx.get(ctx.run(make(n), n)) if expected is None else ctx.get(ctx.run(make(n)))
        assert got == (1 if expected is None else expected(n)), (n, got)
        if expected is None:
            assert list(ctx.map(make(n), [n + 1000])) == [0]
""")
