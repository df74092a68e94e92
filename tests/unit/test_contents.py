"""`snapshot_of` looks into lists, arrays and objects: a change anywhere in them is seen, nothing else is one."""

from __future__ import annotations

import array
import collections
import ctypes
import dataclasses
import datetime
import decimal
import enum
import gc
import ipaddress
import mmap
import os
import re
import subprocess
import sys
import threading
import typing
import weakref
import zoneinfo
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
from fray._snapshots import snapshot_of, state_of


def reader(value: Any) -> Callable[[], Any]:
    return lambda: value


def holds(value: Any, change: Callable[[Any], object]) -> bool:
    """Return whether a snapshot of a function that reads the value still holds after the change."""
    state = snapshot_of(reader(value))
    assert state is not None
    assert state.holds() and state.holds()
    change(value)
    return state.holds()


class Plain:
    kind = "plain"

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Referred(Slotted):
    """Objects with a slot of their own, one of the class above, and one for weak references."""

    __slots__ = ("__own", "__weakref__")

    def __init__(self, value: Any, own: Any) -> None:
        super().__init__(value)
        self.__own = own

    def set_own(self, own: Any) -> None:
        self.__own = own


class Opaque:
    """Objects that say themselves what of them is pickled."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __reduce__(self) -> Any:
        return Opaque, self.parts


@dataclasses.dataclass
class Record:
    name: str
    values: list[int]


@dataclasses.dataclass(frozen=True, slots=True)
class Fixed:
    values: list[int]


class Pair(typing.NamedTuple):
    first: Any
    second: Any


class Color(enum.Enum):
    RED = 1


class Same(type):
    """Its classes equal everything."""

    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return 1


class Strange(metaclass=Same):
    def __init__(self) -> None:
        self.value = 1


class Counted(dict[str, Any]):
    note: Any


def with_note(value: Counted, note: Any) -> Counted:
    value.note = note
    return value


def structured() -> Any:
    return numpy.zeros(3, [("Odd", "f8"), ("n", "i4")])


def change_far_down(value: Any) -> None:
    (inner,) = value[0]["a"][0][1][0]
    inner[1].second[1].append(4)


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "an item of a long list": (lambda: list(range(100_000)), lambda value: value.__setitem__(77_777, -1)),
    "an item for an equal one": (lambda: [1.0, 2.0], lambda value: value.__setitem__(0, 1)),
    "the order of a list": (lambda: ["a", "b"], lambda value: value.reverse()),
    "a list far down": (lambda: [{"a": ({1: [[(1, Pair(1, (2, [3])))]]},)}], change_far_down),
    "an entry of a large dict": (lambda: {n: str(n) for n in range(50_000)}, lambda value: value.update({7: "x"})),
    "an entry that goes": (lambda: dict.fromkeys(range(5000)), lambda value: value.pop(4999)),
    "a member of a set": (lambda: set(range(5000)), lambda value: value.symmetric_difference_update({1, -5})),
    "a member for an equal one": (lambda: {1.0}, lambda value: (value.clear(), value.add(1))),
    "a byte": (lambda: bytearray(5000), lambda value: value.__setitem__(4321, 1)),
    "an element": (lambda: numpy.zeros(1 << 18), lambda value: value.__setitem__(200_000, 1e-300)),
    "the sign of a zero": (lambda: numpy.zeros(4), lambda value: numpy.negative(value, out=value)),
    "an element of a view": (lambda: numpy.zeros((8, 8))[::2, 1:3], lambda value: value.__setitem__((1, 1), 1)),
    "an element in columns": (lambda: numpy.zeros((8, 8), order="F"), lambda value: value.__setitem__((1, 1), 1)),
    "an element behind a view": (lambda: numpy.zeros(9)[2:5], lambda value: value.base.__setitem__(3, 1)),
    "a field": (structured, lambda value: value["n"].__setitem__(1, 7)),
    "a time": (lambda: numpy.zeros(3, "M8[s]"), lambda value: value.__setitem__(1, numpy.datetime64(5, "s"))),
    "an object in an array": (lambda: numpy.array([[1], [2]], object), lambda value: value[1].__setitem__(0, [5])),
    "a text in an array": (lambda: numpy.array(["a", "bc"]), lambda value: value.__setitem__(0, "d")),
    "a number without dimensions": (lambda: numpy.array(1.5), lambda value: value.fill(2)),
    "the shape": (lambda: numpy.zeros(6), lambda value: setattr(value, "shape", (2, 3))),
    "the type of elements": (lambda: numpy.zeros(6), lambda value: setattr(value, "dtype", "i8")),
    "whether it can be written": (lambda: numpy.zeros(6), lambda value: value.setflags(write=False)),
    "an array in a dict": (lambda: {"w": [numpy.zeros(9)]}, lambda value: value["w"][0].__setitem__(1, 1)),
    "an array of the standard library": (lambda: array.array("d", [1, 2]), lambda value: value.append(3)),
    "a cell of a frame": (
        lambda: pandas.DataFrame({"a": numpy.zeros(5000), "b": ["x"] * 5000}),
        lambda value: value.__setitem__("a", value["a"] + 1),
    ),
    "a text of a frame": (
        lambda: pandas.DataFrame({"a": numpy.zeros(50), "b": ["x"] * 50}),
        lambda value: value.loc.__setitem__((3, "b"), "y"),
    ),
    "an attribute": (lambda: Plain(a=1), lambda value: setattr(value, "a", 2)),
    "an attribute more": (lambda: Plain(a=1), lambda value: setattr(value, "b", 2)),
    "an attribute that goes": (lambda: Plain(a=1), lambda value: delattr(value, "a")),
    "all attributes": (lambda: Plain(a=1), lambda value: setattr(value, "__dict__", {"a": 1.0})),
    "an attribute far down": (lambda: [Plain(a=Plain(b=[1]))], lambda value: value[0].a.b.append(2)),
    "the class of an object": (lambda: Plain(a=1), lambda value: setattr(value, "__class__", Record)),
    "a slot": (lambda: Slotted(1), lambda value: setattr(value, "value", 2)),
    "what a slot holds": (lambda: [Slotted([1])], lambda value: value[0].value.append(2)),
    "a field of a record": (lambda: [Record("a", [1])], lambda value: value[0].values.append(2)),
    "what a frozen record holds": (lambda: Fixed([1]), lambda value: value.values.append(2)),
    "what a named tuple holds": (lambda: [Pair(1, [2])], lambda value: value[0].second.append(2)),
    "an entry of a subclass of dict": (lambda: Counted(a=1), lambda value: value.update(a=2)),
    "an attribute of a subclass of dict": (lambda: Counted(a=1), lambda value: setattr(value, "note", 1)),
    "a list in a subclass of dict": (lambda: Counted(a=[1]), lambda value: value["a"].append(2)),
    "a list in an attribute of a subclass of dict": (
        lambda: with_note(Counted(a=1), [1]),
        lambda value: value.note.append(2),
    ),
    "an entry of an ordered dict": (lambda: collections.OrderedDict(a=1), lambda value: value.update(a=2)),
    "the order of an ordered dict": (
        lambda: collections.OrderedDict(a=1, b=2),
        lambda value: value.move_to_end("a"),
    ),
    "a queue": (lambda: collections.deque([1]), lambda value: value.append(2)),
    "an object of an odd class": (lambda: [Strange()], lambda value: setattr(value[0], "value", 2)),
    "a list that a method belongs to": (lambda: [1].append, lambda value: value(2)),
    "an unset slot": (lambda: blank(Slotted), lambda value: setattr(value, "value", None)),
    "a slot that goes": (lambda: Slotted(None), lambda value: delattr(value, "value")),
    "a slot beside others": (lambda: [Referred(1, 2)], lambda value: value[0].set_own(2.0)),
    "a slot of a base class": (lambda: [Referred(1, 2)], lambda value: setattr(value[0], "value", 1.0)),
    "the class of an object with slots": (lambda: blank(Slotted), lambda value: setattr(value, "__class__", Alike)),
    "a count": (lambda: collections.Counter("abca"), lambda value: value.update("a")),
    "an entry for keys that were missing": (
        lambda: collections.defaultdict(list, {1: [2]}),
        lambda value: value[3],
    ),
    "a list in an entry": (lambda: collections.defaultdict(list, {1: [2]}), lambda value: value[1].append(3)),
    "what makes entries": (
        lambda: collections.defaultdict(list, {1: [2]}),
        lambda value: setattr(value, "default_factory", None),
    ),
    "what an entry is made with": (
        lambda: collections.defaultdict(partial(list, [1])),
        lambda value: value.default_factory.args[0].append(2),
    ),
    "the order of a queue": (lambda: collections.deque([1, 2, 3], 5), lambda value: value.rotate()),
    "a list in a queue": (lambda: collections.deque([[1]]), lambda value: value[0].append(2)),
    "an argument of a partial object": (lambda: partial(print, [1], end=""), lambda value: value.args[0].append(2)),
    "a keyword of a partial object": (
        lambda: [partial(print, end="")],
        lambda value: value[0].keywords.update(end="x"),
    ),
    "an attribute of a partial object": (lambda: partial(print), lambda value: setattr(value, "note", 1)),
    "all of a partial object": (
        lambda: partial(print, 1),
        lambda value: value.__setstate__((print, (1.0,), {}, None)),
    ),
    "a text in an array of objects": (
        lambda: numpy.array([f"text {n}" for n in range(50_000)], object),
        lambda value: value.__setitem__(44_444, "other"),
    ),
    "an object for an equal one": (lambda: numpy.array([1, 2], object), lambda value: value.__setitem__(0, 1.0)),
    "nothing in an array of objects": (lambda: numpy.array([1, 2], object), lambda value: value.__setitem__(0, None)),
    "an object in columns": (
        lambda: numpy.array([["a", "b"], ["c", "d"]], object, order="F"),
        lambda value: value.__setitem__((1, 0), "b"),
    ),
    "an object of a view": (lambda: numpy.array(list("abcdef"), object)[::2], lambda value: value.__setitem__(1, "x")),
    "the shape of an array of objects": (
        lambda: numpy.array(list("abcd"), object),
        lambda value: setattr(value, "shape", (2, 2)),
    ),
    "whether an array of objects can be written": (
        lambda: numpy.array(list("abcd"), object),
        lambda value: value.setflags(write=False),
    ),
    "a text in a column of objects": (
        lambda: pandas.DataFrame({"a": range(50), "b": pandas.Series(["x"] * 50, dtype=object)}),
        lambda value: value.loc.__setitem__((3, "b"), "y"),
    ),
    "a list in a column of objects": (
        lambda: pandas.DataFrame({"a": [[1], [2]]}),
        lambda value: value["a"][1].append(3),
    ),
    "a name in an index": (
        lambda: pandas.Series(range(4), index=pandas.Index(list("abcd"), dtype=object)),
        lambda value: setattr(value, "index", list("abce")),
    ),
    "one of many texts of an object": (
        lambda: Opaque([f"text {n}" for n in range(300_000)]),
        lambda value: value.parts[0].__setitem__(222_222, "other"),
    ),
    "one of very many lists": (lambda: [[n] for n in range(150_000)], lambda value: value[140_000].append(1)),
    "a list in itself": (lambda: in_itself([1]), lambda value: value[1].__setitem__(0, 2)),
}


class Alike:
    __slots__ = ("value",)


def blank(cls: type[Any]) -> Any:
    return cls.__new__(cls)


def in_itself(value: list[Any]) -> list[Any]:
    value.append(value)
    return value


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_seen_of(what: str) -> None:
    make, change = CHANGES[what]
    assert not holds(make(), change)


@pytest.mark.parametrize(
    "value",
    [
        [datetime.date(2026, 1, 2), decimal.Decimal("1.5"), Color.RED, numpy.float32(1), 1j, range(3), ...] * 1000,
        [Pair(n, (str(n), None)) for n in range(5000)],
        [Record(str(n), [n]) for n in range(5000)],
        [Slotted(n) for n in range(5000)],
        [Fixed([n]) for n in range(5000)],
        [Referred(n, [n]) for n in range(5000)],
        [partial(print, [n], end=str(n)) for n in range(5000)],
        [Counted(a=n, b=[n]) for n in range(5000)],
        [*map(Path, "abc"), *map(ipaddress.ip_address, range(3)), zoneinfo.ZoneInfo("UTC")] * 1000,
        [pandas.Timestamp(2026, 1, 1), pandas.Timedelta(1, "s"), pandas.NaT, pandas.NA] * 1000,
        collections.Counter(str(n % 500) for n in range(5000)),
        collections.defaultdict(lambda: [0], {n: [n] for n in range(5000)}),
        collections.deque([n] for n in range(5000)),
        numpy.array([str(n) for n in range(50_000)], object),
        numpy.array([decimal.Decimal(1), None, pandas.Timestamp(2026, 1, 1)], object),
        pandas.DataFrame({"a": pandas.Series([str(n) for n in range(200_000)], dtype=object), "b": range(200_000)}),
        Opaque([str(n) for n in range(200_000)]),
        {str(n): {"n": [n]} for n in range(60_000)},
        {str(n): {"n": [n]} for n in range(5000)},
        pandas.DataFrame({"a": numpy.zeros(300_000)}),
        {"len": len, "dumps": collections.OrderedDict},
    ],
    ids=lambda value: f"{type(value).__name__} of {type(value[0] if isinstance(value, list) else None).__name__}",
)
def test_what_is_as_it_was_counts_as_unchanged(value: Any) -> None:
    assert holds(value, lambda _: gc.collect())


@pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, numpy.zeros(4)], ids=lambda value: type(value).__name__)
def test_a_change_that_was_taken_back_counts_as_none(value: Any) -> None:
    def there_and_back(value: Any) -> None:
        if isinstance(value, set):
            value.add(2)
            value.discard(2)
        else:
            key = "a" if isinstance(value, dict) else 0
            before = value[key]
            value[key] = 5
            value[key] = before

    assert holds(value, there_and_back)


class Endless:
    def __reduce__(self) -> Any:
        return Endless, ([bytes(1000) for _ in range(100_000)],)


class Refusing:
    def __reduce__(self) -> Any:
        raise RuntimeError("not this one")


@pytest.mark.parametrize(
    "value",
    [
        threading.Lock(),
        [1, [threading.Lock()]],
        Refusing(),
        Endless(),
        [Opaque(n) for n in range(1001)],
        [[] for _ in range(1_000_001)],
        (item for item in ()),
    ],
    ids=["lock", "lock in a list", "refusing", "too large", "too many objects", "too many lists", "generator"],
)
def test_what_cannot_be_compared_has_no_snapshot(value: Any) -> None:
    assert snapshot_of(reader(value)) is None


def test_a_text_at_the_address_of_an_earlier_one_is_a_change() -> None:
    value = numpy.array(["0"], object)
    state = snapshot_of(reader(value))
    assert state is not None
    for number in range(1, 1000):
        value[0] = f"{number}"
        assert not state.holds()


def test_items_of_an_array_of_objects_are_held_no_longer_than_the_snapshot() -> None:
    item = pandas.Timestamp(2026, 1, 1)
    references = sys.getrefcount(item)
    state = snapshot_of(reader(numpy.array([item] * 3, object)))
    assert state is not None and state.holds()
    del state
    gc.collect()
    assert sys.getrefcount(item) == references


def test_lists_in_lists_are_followed_as_deep_as_they_go() -> None:
    innermost: list[Any] = []
    value = innermost
    for _ in range(50_000):
        value = [value]
    assert not holds(value, lambda _: innermost.append(1))
    while value:  # freed one by one: all at once would take the stack of C
        value = value.pop() if value[0] != 1 else []


def test_an_interrupt_while_an_object_is_pickled_is_raised() -> None:
    class Interrupted:
        def __reduce__(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        snapshot_of(reader(Interrupted()))


@pytest.mark.parametrize("make", [lambda: numpy.zeros(5), lambda: Plain(a=1), lambda: pandas.DataFrame({"a": [1]})])
def test_an_array_or_object_that_the_program_drops_is_not_kept(make: Callable[[], Any]) -> None:
    inside: dict[str, Any] = {"__name__": "__main__", "value": make()}
    exec("def read(): return value", inside)
    state = snapshot_of(inside["read"])
    assert state is not None and state.holds()
    gone = weakref.ref(inside["value"])
    inside["value"] = None
    gc.collect()
    assert gone() is None
    assert not state.holds()


def test_an_array_can_be_resized_in_place_although_functions_read_it() -> None:
    inside: dict[str, Any] = {"__name__": "__main__", "value": numpy.zeros(5)}
    exec("def read(): return value", inside)
    state = snapshot_of(inside["read"])
    assert state is not None and state.holds()
    inside["value"].resize(10)
    assert not state.holds()


def test_an_array_that_two_functions_name_is_compared_for_both() -> None:
    inside: dict[str, Any] = {"__name__": "__main__", "value": numpy.zeros(5)}
    exec("def other(): return value\ndef read(more=value): return other(), value", inside)
    state = snapshot_of(inside["read"])
    assert state is not None and state.holds()
    inside["value"][1] = 2
    assert not state.holds()
    state = snapshot_of(inside["read"])
    assert state is not None and state.holds()
    inside["value"] = inside["value"].copy()
    assert not state.holds(), "it is the default no more"


def test_functions_and_classes_in_containers_are_looked_into() -> None:
    inside: dict[str, Any] = {"__name__": "__main__"}
    source = "limit = 1\ndef one(): return limit\nclass Two: size = 1\nways = {'one': one, 'two': [Two()]}"
    exec(f"{source}\ndef read(): return ways", inside)
    state = snapshot_of(inside["read"])
    assert state is not None and state.holds()
    assert state.classes() == [inside["Two"]]
    inside["limit"] = 2
    assert not state.holds()
    state = snapshot_of(inside["read"])
    assert state is not None
    inside["Two"].size = 2
    assert not state.holds()


SHARING = """
rows, table, nested = [1], {"a": 1}, []
outer = [nested]
dispatch = {"helper": lambda: 1}
registry = {}
array = numpy.arange(3)
def helper(): return rows
class Row:
    def use(self): return helper(), array
class Child(Row): pass
class Own:
    items = []
class SameAsGlobal:
    items = table
class Nested:
    def use(self): return nested
class Dispatches:
    def use(self): return dispatch["helper"]()
class Registered:
    def use(self): return registry
registry["one"] = Registered
class Counts:
    def use(self):
        global rows
        rows = 2
def closure():
    kept = []
    def inner(): return kept
    class Closed:
        def use(self): return kept
    return inner, Closed
inner, Closed = closure()
def one(): return Row()
def with_helper(): return Row(), helper(), array
def two(): return Row(), Own(), rows
def inherits(): return Child(), rows
def in_two_ways(): return SameAsGlobal(), table
def in_another(): return Nested(), outer
def has_functions(): return Dispatches(), dispatch
def has_its_class(): return Registered(), registry
def in_a_closure(): return Closed(), inner()
def in_a_default(kept=rows): return Row(), kept
def assigns(): return Counts()
@dataclasses.dataclass
class Plain:
    name: str
def with_plain_class(): return Plain("a"), outer, nested, dispatch
"""


def test_functions_and_classes_may_have_in_common_what_can_come_by_itself() -> None:
    inside: dict[str, Any] = {"__name__": "__main__", "numpy": numpy, "dataclasses": dataclasses}
    exec(SHARING, inside)
    told = {name for name, value in inside.items() if callable(value) and snapshot_of(value) is not None}
    apart = {"in_two_ways", "in_another", "has_functions", "has_its_class", "in_a_closure", "in_a_default", "assigns"}
    classes = {"Plain", "Row", "Child", "Own", "SameAsGlobal", "Nested", "Closed"}
    assert told == {"helper", "inner", "closure", "one", "with_helper", "two", "inherits", "with_plain_class", *classes}
    assert not told & apart


CLASS = """
import datetime, enum, functools, logging, numpy, re
rows = [1]
table = numpy.arange(3)
pattern = re.compile("b")
log = logging.getLogger("x")
stamps = [datetime.date(2026, 1, 1)]
limit = 4
class Level(enum.Enum):
    A = 1
    B = 2
level = Level.A
class Config:
    def __init__(self): self.limit = 3
config = Config()
@functools.cache
def fast(x=1): return limit
fast.note = 3
class Row:
    items = {"a": [1]}
    table = numpy.zeros(3)
    def use(self): return rows, table, pattern, log, stamps, level, config, fast
    @functools.cached_property
    def ready(self, x=None): return 1
    @functools.lru_cache
    def slow(self, x=1): return 1
"""


@pytest.mark.parametrize(
    "change",
    [
        "rows.append(2)",
        "Row.items['b'] = 2",
        "Row.items['a'][0] = 5",
        "table[0] = 7",
        "config.limit = 4",
        "stamps[0] = 1",
        "Row.table[0] = 3",
        "level = Level.B",
        "pattern = re.compile('c')",
        "fast.__wrapped__.__defaults__ = (5,)",
        "Row.slow.__wrapped__.__defaults__ = (5,)",
        "fast.note = 4",
        "limit = 5",
        "Row.ready.func.__defaults__ = (None, 1)",
    ],
)
def test_a_change_in_what_a_class_reads_is_seen(change: str) -> None:
    inside: dict[str, Any] = {"__name__": "__main__"}
    exec(CLASS, inside)
    state = snapshot_of(inside["Row"])
    assert state is not None
    assert state.holds()
    exec(change, inside)
    assert not state.holds()


CONSTANTS = """
import contextvars, datetime, decimal, enum, logging, numpy, pandas, pathlib, re, struct, threading, uuid
from numpy import add, dot, where
class Level(enum.Enum):
    A = 1
level = Level.A
log, root = logging.getLogger("x"), logging.getLogger()
pattern, day, price = re.compile("b"), datetime.date(2026, 1, 1), decimal.Decimal(1)
number, here, variable = numpy.float64(2), threading.local(), contextvars.ContextVar("v")
layout, path, moment = struct.Struct("i"), pathlib.Path("a"), pandas.Timestamp(2026, 1, 1)
def use(): return level, log, root, pattern, day, price, number, here, variable, layout, path, moment, add, dot, where
"""


def test_what_is_known_by_its_name_or_cannot_change_is_no_content() -> None:
    inside: dict[str, Any] = {"__name__": "__main__"}
    exec(CONSTANTS, inside)
    state = snapshot_of(inside["use"])
    assert state is not None
    assert not state.has_contents()
    assert [cls.__name__ for cls in state.classes()] == ["Level"]
    inside["Level"].extra = 1
    assert not state.holds()


def test_objects_that_refer_to_their_snapshot_are_collected() -> None:
    class Holder:
        state: Any = None

    holder = Holder()
    holder.state = snapshot_of(reader([holder]))
    assert holder.state is not None
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


def test_a_thread_that_changes_what_is_compared_does_no_harm() -> None:
    value: dict[Any, Any] = {"list": list(range(1000)), "set": set(range(1000)), "array": numpy.zeros(1 << 17)}
    end = threading.Event()

    def change() -> None:
        while not end.is_set():
            value["list"].append(len(value["list"]))
            value["set"].add(len(value["set"]))
            value[len(value)] = []
            value["array"][0] += 1
            if len(value) > 500:
                for key in [key for key in value if isinstance(key, int)]:
                    del value[key]
                value["list"].clear()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(30):
            state = snapshot_of(reader(value))
            assert state is None or state.holds() in (True, False)
    finally:
        end.set()
        thread.join()


LARGE = 3 << 20
"""Bytes of an array whose memory is watched, once it was compared."""


def in_private_memory() -> numpy.ndarray:
    memory = mmap.mmap(-1, LARGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:] = b"x" * LARGE
    return numpy.frombuffer(memory, numpy.uint8)


MAP_FIXED = 0x10
"""From Linux's `mman.h`: a mapping takes the place of what is there."""


def map_memory(address: int | None, flags: int, file: int) -> int:
    """Map `LARGE` bytes that may be read and written; return their address."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_size_t
    place = ctypes.c_void_p(address)
    return libc.mmap(place, ctypes.c_size_t(LARGE), mmap.PROT_READ | mmap.PROT_WRITE, flags, file, ctypes.c_long(0))


def unmap_memory(address: int) -> None:
    ctypes.CDLL(None).munmap(ctypes.c_void_p(address), ctypes.c_size_t(LARGE))


def read_a_file_into(value: numpy.ndarray) -> None:
    with open("/dev/zero", "rb", buffering=0) as file:
        file.readinto(memoryview(value)[100:200])


def write_in_a_thread(value: numpy.ndarray) -> None:
    thread = threading.Thread(target=value.fill, args=(7,))
    thread.start()
    thread.join()


@pytest.mark.parametrize(
    ("make", "change"),
    {
        "the first byte": (lambda: numpy.ones(LARGE // 8), lambda value: value.__setitem__(0, 2)),
        "the last byte": (lambda: numpy.ones(LARGE // 8), lambda value: value.__setitem__(-1, 2)),
        "one in between": (lambda: numpy.ones(LARGE // 8), lambda value: value.__setitem__(99_999, 2)),
        "a view": (lambda: numpy.ones((LARGE // 800, 100)), lambda value: value[7].__setitem__(5, 2)),
        "an operation in place": (lambda: numpy.ones(LARGE // 8), lambda value: value.__iadd__(1)),
        "memory": (
            lambda: numpy.ones(LARGE // 8),
            lambda value: ctypes.memset(value.ctypes.data + LARGE // 2, 1, 1),
        ),
        "a read of a file": (lambda: numpy.ones(LARGE, numpy.uint8), read_a_file_into),
        "another thread": (lambda: numpy.ones(LARGE // 8), write_in_a_thread),
        "the size": (lambda: numpy.ones(LARGE // 8), lambda value: value.resize(LARGE // 8 + 1, refcheck=False)),
        "what memory is given back": (in_private_memory, lambda value: value.base.obj.madvise(mmap.MADV_DONTNEED)),
        "a bytearray": (lambda: bytearray(LARGE), lambda value: value.__setitem__(-5000, 1)),
        "a frame": (
            lambda: pandas.DataFrame(numpy.ones((LARGE // 80, 10))),
            lambda value: value.iloc.__setitem__((9, 9), 2),
        ),
    }.values(),
)
def test_a_change_in_large_memory_is_seen(make: Callable[[], Any], change: Callable[[Any], object]) -> None:
    value = make()
    for _ in range(3):
        fresh = snapshot_of(reader(value))
        assert fresh is not None and fresh.holds() and fresh.holds() and fresh.holds()
    assert not holds(value, change)


def test_large_memory_that_changes_again_and_again_is_compared_each_time() -> None:
    value = numpy.zeros(LARGE // 8)
    for number in range(1, 20):
        state = snapshot_of(reader(value))
        assert state is not None
        for _ in range(number % 4):
            assert state.holds()
        value[number * 1000] = number
        assert not state.holds()
        value[number * 1000] = 0
        assert state.holds()


def test_a_change_by_another_process_to_a_shared_file_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(bytes(LARGE))
    value = numpy.memmap(path, numpy.uint8, "r+")
    write = "import sys; file = open(sys.argv[1], 'r+b'); file.seek(1 << 20); file.write(b'x')"
    change = partial(subprocess.run, [sys.executable, "-c", write, str(path)], check=True)
    assert not holds(numpy.asarray(value), lambda _: change())


def test_a_shared_file_is_compared_each_time_where_there_was_an_array_of_the_same_content(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(bytes(LARGE))
    address = map_memory(None, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)
    array_before = numpy.frombuffer((ctypes.c_char * LARGE).from_address(address), numpy.uint8)
    state = snapshot_of(reader(array_before))
    assert state is not None
    with open(path, "r+b") as file:
        assert map_memory(address, mmap.MAP_SHARED | MAP_FIXED, file.fileno()) == address
        assert state.holds() and state.holds()
        file.seek(1 << 20)
        file.write(b"x")
    assert not state.holds()
    unmap_memory(address)


def test_parts_of_one_large_array_are_compared_each() -> None:
    whole = numpy.zeros(LARGE // 4)
    parts = [whole, whole[:-1000], whole[1000:], whole[: LARGE // 8]]
    for place, changes in ((0, (0, 1, 3)), (len(whole) - 1, (0, 2)), (LARGE // 8 + 5000, (0, 1, 2))):
        states = [snapshot_of(reader(part)) for part in parts]
        assert all(state.holds() for _ in range(3) for state in states if state)
        whole[place] += 1
        assert [number for number, state in enumerate(states) if state and not state.holds()] == list(changes)


def test_a_child_process_has_large_memory_of_its_own() -> None:
    value = numpy.zeros(LARGE // 8)
    state = snapshot_of(reader(value))
    assert state is not None and state.holds() and state.holds()
    child = os.fork()
    if child == 0:
        sees = state.holds() and state.holds()
        value[5000] = 1
        os._exit(0 if sees and not state.holds() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert state.holds()


def test_large_memory_is_not_read_again_while_nobody_writes_to_it() -> None:
    if not watches_memory():
        pytest.skip("the kernel has no asynchronous write protection (Linux 6.7)")
    value = numpy.zeros(LARGE // 8)
    state = snapshot_of(reader(value))
    assert state is not None and state.holds()
    assert "uw" in flags_of_memory(value.ctypes.data + LARGE // 2)


def watches_memory() -> bool:
    """Return whether the kernel does for an ordinary process what it takes (`os/memory/write_watch.h`)."""
    release = tuple(int(number) for number in os.uname().release.split(".")[:2])
    descriptor = ctypes.CDLL(None).syscall(323, os.O_CLOEXEC | 1) if os.uname().machine == "x86_64" else -1
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor >= 0 and release >= (6, 7)


def flags_of_memory(address: int) -> list[str]:
    """Return the flags of the map with this address, of which "uw" says that its pages are protected."""
    is_inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            is_inside = int(found[1], 16) <= address < int(found[2], 16)
        elif is_inside and line.startswith("VmFlags:"):
            return line.split()[1:]
    raise AssertionError(f"no map has the address {address:x}")


SEPARATE = """
import functools, numpy, re
table = list(range(2000))
names = {str(n): n for n in range(2000)}
seen = {1, 2}
index = {"table": table}
twice = [names, names]
in_itself = [*range(2000)]
in_itself.append(in_itself)
array = numpy.zeros(2000)
with_array = [array, *range(2000)]
ways = {"helper": lambda: table, **dict.fromkeys(range(2000))}
class Holder:
    def __reduce__(self): return Holder, (), {"table": table}
class Plain:
    def __init__(self): self.table = table
holder, plain = Holder(), Plain()
def helper(): return table
def alone(): return table, names, seen, array
def by_a_helper(): return helper(), names
def in_another(): return table, index
def in_another_twice(): return twice, names
def also_a_default(given=table): return table, names
def also_an_attribute(): return table, names
also_an_attribute.note = table
def also_in_a_default(given=(1, [names])): return table, names
def also_in_a_helper(): return also_a_default(), names
def also_of_an_object(): return table, names, plain
def perhaps_in_a_pickle(): return table, holder
def beside_functions(): return table, ways
def of_itself(): return in_itself
def beside_an_array(): return table, with_array
def small(): return seen
def also_in_a_cell():
    own = table
    def inside(): return own, table, names
    return inside
also_in_a_cell = also_in_a_cell()
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        "alone": {"table", "names", "seen", "array"},
        "by_a_helper": {"table", "names"},
        "in_another": set(),
        "in_another_twice": set(),
        "also_a_default": {"names"},
        "also_an_attribute": {"names"},
        "also_in_a_default": set(),
        "also_in_a_helper": {"names"},
        "also_of_an_object": set(),
        "perhaps_in_a_pickle": set(),
        "beside_functions": set(),
        "of_itself": {"in_itself"},
        "beside_an_array": {"table", "with_array"},
        "small": set(),
        "also_in_a_cell": {"names"},
    }.items(),
)
def test_what_is_a_global_and_nowhere_else_is_pickled_by_itself(name: str, expected: set[str]) -> None:
    inside: dict[str, Any] = {"__name__": "__main__"}
    exec(SEPARATE, inside)
    state = state_of(inside[name])
    names = {id(value): name for name, value in inside.items()}
    assert {names[one] for one in (state.separate if state else ())} == expected
