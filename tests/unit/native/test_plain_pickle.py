"""`plain_pickle` makes pickles of plain data that arrive as those of Python's pickler do."""

from __future__ import annotations

import collections
import datetime
import gc
import pickle
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from fray._native import plain_pickle

WIDE = ["", "a", "é" * 300, "語", "\ud800", "x" * 70_000, "\0", "a" * 255, "b" * 256]
NUMBERS = [0, 1, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -1, -(2**31), -(2**31) - 1, 2**63 - 1, -(2**63)]
REALS = [0.0, -0.0, 1.5, float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308]


def loaded(value: Any) -> Any:
    made = plain_pickle(value)
    assert isinstance(made, bytes)
    return pickle.loads(made)


def same(one: Any, other: Any) -> bool:
    """Return whether two values have the same shape: equal parts, and one object where the other one has one."""
    pairs: dict[int, Any] = {}
    back: dict[int, Any] = {}
    to_do = [(one, other)]
    while to_do:
        left, right = to_do.pop()
        if type(left) is not type(right):
            return False
        if not isinstance(left, (list, tuple, dict, set, frozenset)):
            if left != right or repr(left) != repr(right):
                return False
            if isinstance(left, (str, bytes)) and len(left) > 1 and pairs.setdefault(id(left), right) is not right:
                return False
            continue
        if isinstance(left, (tuple, frozenset)) and not left:  # of which there may be one, or many
            if left != right:
                return False
            continue
        if id(left) in pairs:
            if pairs[id(left)] is not right:
                return False
            continue
        if len(left) != len(right) or back.setdefault(id(right), left) is not left:
            return False
        pairs[id(left)] = right
        if isinstance(left, dict):
            to_do += [*zip(left, right, strict=True), *zip(left.values(), right.values(), strict=True)]
        elif isinstance(left, (set, frozenset)):
            members = {member: member for member in right}
            to_do += [(member, members[member]) for member in left]
        else:
            to_do += zip(left, right, strict=True)
    return True


@pytest.mark.parametrize(
    "value",
    [
        [],
        (),
        {},
        set(),
        frozenset(),
        [None, True, False],
        NUMBERS,
        REALS,
        WIDE,
        [text.encode("utf-8", "surrogatepass") for text in WIDE],
        [bytes(n) for n in (0, 1, 255, 256, 70_000)],
        [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        [[1], {1: 2}, {1}, frozenset({1, (2, "a")})],
        {("a", 1): [{"b": (None, {1, 2})}], 2.5: b"x", None: True, False: {}},
        [["ab"] * 5, ["ab"]],
        [list(range(n)) for n in (999, 1000, 1001, 2000, 2001)],
        [dict.fromkeys(range(n)) for n in (999, 1000, 1001, 2000)],
        [set(range(n)) for n in (999, 1000, 1001, 2000)],
        [tuple(range(3000))],
        [str(n) * 3 for n in range(400)] * 2,
    ],
    ids=lambda value: str(value)[:20].encode("ascii", "replace").decode(),
)
def test_plain_data_arrives_as_it_is(value: Any) -> None:
    assert same(value, loaded(value))


def test_not_a_number_arrives() -> None:
    (number,) = loaded([float("nan")])
    assert number != number


@pytest.mark.parametrize(
    "value",
    [
        1,
        "text",
        [2**63],
        [-(2**63) - 1],
        [1j],
        [object()],
        [1, [datetime.date(2026, 1, 1)]],
        {"a": numpy.zeros(3)},
        [numpy.float64(1)],
        [bytearray(1)],
        [len],
        collections.OrderedDict(a=1),
        [collections.Counter("a")],
        [type("Text", (str,), {})("a")],
        [type("Number", (int,), {})(1)],
        [...],
    ],
    ids=lambda value: f"{type(value).__name__} {str(value)[:20]}",
)
def test_anything_else_is_left_to_python(value: Any) -> None:
    assert plain_pickle(value) is None


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_what_is_nested_very_deeply_is_left_to_python() -> None:
    assert same(nested(200), loaded(nested(200)))
    assert plain_pickle(nested(201)) is None
    assert plain_pickle(nested(100_000)) is None


def test_a_container_in_itself_arrives() -> None:
    value: list[Any] = [1, {"a": "text"}]
    value.append(value)
    value[1]["all"] = value
    value.append(value[1])
    assert same(value, loaded(value))


def test_a_tuple_in_itself_is_left_to_python() -> None:
    inner: list[Any] = []
    value = (1, inner)
    inner.append(value)
    assert plain_pickle(value) is None
    assert plain_pickle([value, value]) is None
    alone = loaded([1, inner[:0], (1, 2), (1, 2)])
    assert alone == [1, [], (1, 2), (1, 2)]


def test_a_set_from_which_members_were_removed_arrives() -> None:
    value = set(range(1000)) | {str(n) for n in range(1000)}
    for member in list(value)[::3]:
        value.remove(member)
    assert same([value, frozenset(value)], loaded([value, frozenset(value)]))


def test_texts_that_come_again_are_written_once() -> None:
    text = "x" * 1000
    assert len(plain_pickle([text] * 1000)) < 8000
    assert len({id(each) for each in loaded([text] * 1000)}) == 1


def test_a_pickle_is_no_larger_than_that_of_python() -> None:
    rows = [{"id": n, "name": str(n), "tags": ["a", "bc"], "score": n / 7, "big": n << 40} for n in range(2000)]
    assert len(plain_pickle(rows)) < 1.1 * len(pickle.dumps(rows, 5))


class Maker:
    """Makes values at random, with parts that come again and containers that are in themselves."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.made: list[Any] = []
        self.keys: list[Any] = []

    def leaf(self) -> Any:
        choices: list[Callable[[], Any]] = [
            lambda: None,
            lambda: self.random.random(),
            lambda: self.random.choice(NUMBERS),
            lambda: "".join(self.random.choices("abé語", k=self.random.randrange(300))),
            lambda: self.random.randbytes(self.random.randrange(300)),
            lambda: self.random.choice(self.keys) if self.keys else True,
        ]
        made = self.random.choice(choices)()
        self.keys.append(made)
        return made

    def key(self, depth: int) -> Any:
        if depth > 0 and self.random.random() < 0.3:
            kind = self.random.choice([tuple, frozenset])
            made = kind(self.key(depth - 1) for _ in range(self.random.randrange(5)))
            self.keys.append(made)
            return made
        return self.leaf()

    def value(self, depth: int) -> Any:
        chance = self.random.random()
        if self.made and chance < 0.15:
            return self.random.choice(self.made)
        if depth == 0 or chance < 0.5:
            return self.key(1)
        count = self.random.choice([0, 1, 2, 3, 5, 30])
        kind = self.random.choice([list, dict, set, tuple])
        if kind is tuple:
            return tuple(self.value(depth - 1) for _ in range(count))
        made: Any = kind()
        self.made.append(made)
        for _ in range(count):
            if kind is list:
                made.append(self.value(depth - 1))
            elif kind is dict:
                made[self.key(2)] = self.value(depth - 1)
            else:
                made.add(self.key(2))
        return made


@pytest.mark.parametrize("first", range(0, 2000, 200))
def test_values_made_at_random_arrive_as_with_pythons_pickler(first: int) -> None:
    plain = 0
    for seed in range(first, first + 200):
        value = [Maker(seed).value(4)]
        made = plain_pickle(value)
        if made is not None:
            plain += 1
            assert same(value, pickle.loads(made)), seed
            assert same(pickle.loads(pickle.dumps(value)), pickle.loads(made)), seed
    assert plain > 150


def test_no_references_are_left_behind() -> None:
    text, inner = "some text", [1, 2]
    value = [text, inner, text, (inner, frozenset({text})), {text: inner}]
    gc.collect()
    before = sys.getrefcount(text), sys.getrefcount(inner)
    for _ in range(10):
        plain_pickle(value)
        plain_pickle([*value, object()])
    assert (sys.getrefcount(text), sys.getrefcount(inner)) == before
