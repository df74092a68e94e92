"""A function that was sent by value is never run as it was before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fray import Executor
from fray.backend.native import NativeJobContext

from tests.chaos.harness import run_driver


def loose_module(source: str) -> dict[str, Any]:
    """Return the names of a module that workers cannot import, so that its functions travel by value."""
    names: dict[str, Any] = {"__name__": "module_that_is_not_there"}
    exec(source, names)
    return names


@pytest.mark.parametrize("values", [(1, 2), (1, True), (0.0, -0.0), ("a", b"a"), ((1,), (1.0,))], ids=repr)
def test_a_changed_cell_is_seen(ctx: NativeJobContext, values: tuple[object, object]) -> None:
    held: object = None

    def read() -> tuple[str, object]:
        return type(held).__name__, held

    for held in values * 3:
        assert repr(ctx.get(ctx.run(read))) == repr((type(held).__name__, held))


def test_a_changed_default_is_seen(ctx: NativeJobContext) -> None:
    def read(value: int = 1, *, other: int = 10) -> int:
        return value + other

    assert ctx.get(ctx.run(read)) == 11
    read.__defaults__ = (2,)
    assert ctx.get(ctx.run(read)) == 12
    read.__kwdefaults__["other"] = 20
    assert ctx.get(ctx.run(read)) == 22


def test_a_changed_global_is_seen(ctx: NativeJobContext) -> None:
    names = loose_module("VALUE = 0\ndef read():\n    return VALUE\n")
    for value in range(20):
        names["VALUE"] = value
        assert ctx.get(ctx.run(names["read"])) == value


def test_a_global_used_only_by_an_inner_function_is_seen(ctx: NativeJobContext) -> None:
    names = loose_module("VALUE = 0\ndef read():\n    return [(lambda: VALUE)() for _ in range(1)][0]\n")
    for value in range(5):
        names["VALUE"] = value
        assert ctx.get(ctx.run(names["read"])) == value


def test_a_changed_helper_is_seen(ctx: NativeJobContext) -> None:
    names = loose_module("def helper():\n    return 0\ndef read():\n    return helper()\n")
    assert ctx.get(ctx.run(names["read"])) == 0
    exec("def helper():\n    return 1\n", names)
    assert ctx.get(ctx.run(names["read"])) == 1
    names["helper"].__code__ = (lambda: 2).__code__
    assert ctx.get(ctx.run(names["read"])) == 2


@pytest.mark.parametrize(
    ("held", "change"),
    [
        ([0], lambda held: held.append(1)),
        ({"n": 0}, lambda held: held.update(n=1)),
        ({0}, lambda held: held.add(1)),
        (bytearray(b"0"), lambda held: held.extend(b"1")),
        (([0],), lambda held: held[0].append(1)),
    ],
    ids=["list", "dict", "set", "bytearray", "list in a tuple"],
)
def test_a_mutable_captured_value_is_seen_as_it_is(
    ctx: NativeJobContext, held: Any, change: Callable[[Any], None]
) -> None:
    def read() -> str:
        return repr(held)

    assert ctx.get(ctx.run(read)) == repr(held)
    change(held)
    assert ctx.get(ctx.run(read)) == repr(held)


def test_an_attribute_of_a_captured_object_is_seen(ctx: NativeJobContext) -> None:
    class Holder:
        value = 0

    holder = Holder()

    def read() -> int:
        return holder.value

    for value in range(5):
        holder.value = value
        assert ctx.get(ctx.run(read)) == value


def test_a_changed_class_attribute_is_seen(ctx: NativeJobContext) -> None:
    class Holder:
        value = 0

    def read() -> int:
        return Holder.value

    for value in range(5):
        Holder.value = value
        assert ctx.get(ctx.run(read)) == value


def test_a_changed_code_object_is_run(ctx: NativeJobContext) -> None:
    def answer() -> int:
        return 1

    assert ctx.get(ctx.run(answer)) == 1
    answer.__code__ = (lambda: 2).__code__
    assert ctx.get(ctx.run(answer)) == 2


def test_a_name_bound_anew_in_a_loop_runs_what_it_names_now(ctx: NativeJobContext) -> None:
    refs = []
    for number in range(300):

        def answer(number: int = number) -> int:
            return number

        refs.append(ctx.run(answer))
    assert ctx.get(refs) == list(range(300))


def test_closures_made_and_dropped_in_a_loop_never_meet_in_the_cache(ctx: NativeJobContext) -> None:
    """A new function often gets the address of the one before."""

    def make(number: int) -> Callable[[], int]:
        return lambda: number

    assert [ctx.get(ctx.run(make(number))) for number in range(1500)] == list(range(1500))


STATE = """
import array, collections, dataclasses, enum, functools, typing, warnings
from concurrent.futures import as_completed
import numpy as np
import pandas as pd
import fray

@dataclasses.dataclass
class Record:
    name: str
    values: list

class Pair(typing.NamedTuple):
    a: int
    b: list

class Slotted:
    __slots__ = ("value",)
    def __init__(self, value):
        self.value = value

class Level(enum.Enum):
    LOW = 1

def double(x):
    return 2 * x

NUMBERS = list(range(50_000))
TABLE = {n: str(n) for n in range(20_000)}
ARRAY = np.zeros(50_000)
FRAME = pd.DataFrame({"a": np.zeros(2000), "b": ["x"] * 2000})
RECORDS = [Record(str(n), [n]) for n in range(500)]
PAIRS = [Pair(n, [n]) for n in range(500)]
SLOTTED = [Slotted([1])]
WAYS = {"double": double, "level": Level.LOW}
WEIGHTS = {"first": [np.ones(5000)]}
SLOTS = [Slotted([n]) for n in range(2000)]
COUNTS = collections.Counter(str(n % 300) for n in range(1000))
GROUPS = collections.defaultdict(list, {n: [n] for n in range(300)})
LATEST = collections.deque(range(100), maxlen=100)
SCALED = [functools.partial(pow, 2)]
TEXTS = pd.DataFrame({"text": pd.Series([f"text {n}" for n in range(40_000)], dtype=object)})

def total(_=None):
    return (sum(NUMBERS), len(TABLE), TABLE.get(7), float(ARRAY.sum()), float(FRAME["a"].sum()), FRAME["b"][3],
            sum(map(sum, (record.values for record in RECORDS))), sum(pair.b[0] for pair in PAIRS),
            WAYS["double"](4), WAYS["level"].value, float(WEIGHTS["first"][0].sum()), len(WAYS), others())

def others():
    return (sum(one.value[0] for one in SLOTS), COUNTS["7"], COUNTS["none"], GROUPS[7], GROUPS.default_factory,
            sum(LATEST), SCALED[0](3), TEXTS["text"][39_999], TEXTS.shape)

def slotted(_=None):
    return SLOTTED[0].value, total()

def writes(_=None):
    ARRAY[0] += 1
    NUMBERS[0] += 1
    return ARRAY.flags.writeable

CHANGES = [
    lambda: NUMBERS.__setitem__(4711, -1),
    lambda: NUMBERS.append(5),
    lambda: TABLE.update({7: "seven"}),
    lambda: TABLE.pop(8),
    lambda: ARRAY.__setitem__(-1, 2.5),
    lambda: globals().update(ARRAY=np.ones(10)),
    lambda: FRAME.__setitem__("a", FRAME["a"] + 1),
    lambda: FRAME.loc.__setitem__((3, "b"), "y"),
    lambda: RECORDS[77].values.append(1000),
    lambda: setattr(RECORDS[78], "values", [3000]),
    lambda: PAIRS[3].b.__setitem__(0, 100),
    lambda: SLOTTED[0].value.append(2),
    lambda: globals().update(double=lambda x: 3 * x) or WAYS.update(double=double),
    lambda: WEIGHTS["first"][0].__setitem__(1, 9.0),
    lambda: NUMBERS.__delitem__(slice(5, None)),
    lambda: setattr(SLOTS[1234], "value", [5000]),
    lambda: COUNTS.update(["7", "none"]),
    lambda: GROUPS[7].append(8),
    lambda: setattr(GROUPS, "default_factory", dict),
    lambda: LATEST.append(1000),
    lambda: SCALED.__setitem__(0, functools.partial(pow, 3)),
    lambda: TEXTS.loc.__setitem__((39_999, "text"), "another"),
]
"""


@pytest.mark.parametrize("start_method", ["fork", "forkserver"])
def test_changes_anywhere_in_the_state_of_a_script_are_seen_by_every_way_to_call(start_method: str) -> None:
    program = f"""{STATE}
if __name__ == "__main__":
    warnings.simplefilter("ignore")  # the functions are large
    with NativeJobContext(cpus=2, start_method={start_method!r}) as ctx, fray.Executor(context=ctx) as pool:
        for change in [lambda: None, *CHANGES, *CHANGES[2::2]]:
            change()
            ways = {{
                "run": ctx.get([ctx.run(total) for _ in range(3)]),
                "map": list(ctx.map(total, range(5))),
                "map of refs": list(ctx.map(total, [ctx.put(1)])),
                "unordered": list(ctx.map(total, range(3), ordered=False)),
                "submit": [pool.submit(total).result()],
                "chunks": list(pool.map(total, range(5), chunksize=2)),
                "task": [ctx.get(ctx.create_task(total))],
            }}
            for way, results in ways.items():
                assert all(result == total() for result in results), (way, results, total())
            assert ctx.get(ctx.run(slotted)) == list(ctx.map(slotted, [1]))[0] == slotted()
        assert ctx.get([ctx.run(writes) for _ in range(3)]) == [True] * 3
        assert list(ctx.map(writes, range(3))) == [True] * 3
"""
    run_driver(program).ok()


@pytest.mark.parametrize("data", ["[0]", "Opaque([0])", "[bytearray(2 << 20), 0]", "[numpy.zeros(200_000), 0]"])
def test_all_items_of_a_map_see_what_there_was_at_its_first_batch(ctx: NativeJobContext, data: str) -> None:
    source = "import numpy\nclass Opaque(list):\n    __slots__ = ()\n"
    names = loose_module(f"{source}DATA = {data}\ndef read(_):\n    return DATA[-1]\n")
    for first in (0, 40):
        seen = []
        for value in ctx.map(names["read"], range(40), batch=1, max_in_flight=1):
            seen.append(value)
            names["DATA"].append(first + len(seen))
        assert seen == [first] * 40


def test_all_ways_to_call_a_function_see_what_has_changed_in_its_large_array(ctx: NativeJobContext) -> None:
    names = loose_module(
        "import numpy\nDATA = numpy.zeros(2_000_000)\n"
        "def read(step):\n    return DATA.flags.writeable, DATA[step]\n"
        "def stream(step):\n    yield DATA[step]\n"
    )
    for number in range(3):
        names["DATA"][5] = number
        assert list(ctx.map(names["read"], range(10)))[5] == (True, number)
        assert list(ctx.map(names["stream"], range(10)))[5] == [number]
        assert ctx.get(ctx.run(names["read"], 5)) == (True, number)
        with Executor(context=ctx) as pool:
            assert list(pool.map(names["read"], range(10)))[5][1] == number
            assert list(pool.map(names["read"], range(10), chunksize=3))[5][1] == number
        with Executor(context=ctx, initializer=print, initargs=("begins",)) as pool:
            assert list(pool.map(names["read"], range(10), chunksize=3))[5][1] == number
            assert pool.submit(names["read"], 5).result()[1] == number


def test_calls_of_a_map_have_the_name_of_their_function(ctx: NativeJobContext) -> None:
    held = [1]

    def read(_: int) -> list[int]:
        return held

    with Executor(context=ctx) as pool:
        assert list(pool.map(read, range(3))) == [[1]] * 3
        assert pool.submit(read, 1).result() == [1]
    assert list(ctx.map(read, range(3))) == [[1]] * 3
    names = {run[0] for run in ctx.engine.client.timeline()}
    assert names == {"test_calls_of_a_map_have_the_name_of_their_function.read", "read"}


def test_changes_made_after_the_submission_are_not_seen(ctx: NativeJobContext) -> None:
    held = [0]

    def read() -> int:
        return held[0]

    refs = []
    for number in range(100):
        held[0] = number
        refs.append(ctx.run(read))
    assert ctx.get(refs) == list(range(100))


def test_a_function_of_the_main_program_runs_as_it_is_at_each_submission() -> None:
    finished = run_driver(
        """
        FACTOR = 1
        def scale(n):
            return n * FACTOR
        with NativeJobContext(cpus=2) as ctx:
            answers = []
            for FACTOR in (1, 2, 3):
                answers.append(ctx.get(ctx.run(scale, 10)))
            def scale(n):
                return -n
            answers.append(ctx.get(ctx.run(scale, 10)))
            print(answers)
        """
    )
    assert finished.ok() == "[10, 20, 30, -10]\n"
