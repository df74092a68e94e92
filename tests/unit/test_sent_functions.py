"""`SentFunctions`: what was made of a function is found until the function could be another one."""

from __future__ import annotations

import gc
import pickle
import textwrap
import threading
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
from fray._functions import globals_of
from fray._sent_functions import SentFunctions
from fray._snapshots import snapshot_of


@pytest.fixture
def table() -> SentFunctions[str]:
    return SentFunctions(4, lambda key, made: 1)


def adder(number: Any) -> Callable[[int], Any]:
    return lambda other: number + other


def note(table: SentFunctions[str], fn: Any, made: str) -> None:
    state = snapshot_of(fn)
    assert state is not None
    table.note(fn, state, made)


def test_what_was_made_is_found_while_its_function_is_as_it_was(table: SentFunctions[str]) -> None:
    fn: Any = adder(1)
    assert table.find(fn, fn) is None
    note(table, fn, "made")
    assert table.find(fn, fn) == "made"
    fn.__closure__[0].cell_contents = 2
    assert table.find(fn, fn) is None
    note(table, fn, "made again")
    assert table.find(fn, fn) == "made again"


scale = 2


def scaled(number: int, by: int = 1) -> int:
    return number * by * scale


CHANGES: dict[str, Callable[[Any], None]] = {
    "its code": lambda fn: setattr(fn, "__code__", (lambda number, by=1: number).__code__),
    "its defaults": lambda fn: setattr(fn, "__defaults__", (3,)),
    "keyword defaults": lambda fn: setattr(fn, "__kwdefaults__", {"by": 2}),
    "an attribute": lambda fn: setattr(fn, "mark", 1),
    "a global": lambda fn: fn.__globals__.update(scale=3),
    "a global that goes": lambda fn: fn.__globals__.pop("scale") and None,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_function_is_not_found_after_a_change_of(table: SentFunctions[str], change: Callable[[Any], None]) -> None:
    fn: Any = FunctionType(scaled.__code__, {"scale": 2}, "scaled", scaled.__defaults__)
    note(table, fn, "made")
    assert table.find(fn, fn) == "made"
    change(fn)
    assert table.find(fn, fn) is None


HELPERS = """
import functools

limit = 1
items = []

def helper(): return limit
def logged(fn):
    @functools.wraps(fn)
    def inner(): return fn()
    return inner

class Tool:
    size = 1
    def use(self): return helper()
    @property
    def twice(self): return 2 * limit
class Other(Tool): pass

def calls(): return helper()
@logged
def wrapped(): return helper()
def uses(): return Other()
def typed(tool: Tool, *, size=1): return tool
def reads_attribute(tool): return tool.items
"""
CHANGES_ELSEWHERE = [
    ("calls", "limit = 2"),
    ("calls", "helper.__defaults__ = (1,)"),
    ("calls", "def helper(): return 3"),
    ("wrapped", "limit = 2"),
    ("wrapped", "wrapped.more = 1"),
    ("uses", "Tool.size = 2"),
    ("uses", "Tool.more = 2"),
    ("uses", "del Tool.size"),
    ("uses", "limit = 2"),
    ("uses", "Tool.use = Tool.twice.fget"),
    ("typed", "Tool.size = 2"),
    ("typed", "typed.__kwdefaults__['size'] = 2"),
]


@pytest.mark.parametrize(("name", "change"), CHANGES_ELSEWHERE)
def test_a_function_is_not_found_after_a_change_of_what_it_refers_to(
    table: SentFunctions[str], name: str, change: str
) -> None:
    inside: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HELPERS, "helpers", "exec", dont_inherit=True), inside)
    fn: Any = inside[name]
    note(table, fn, "made")
    exec("items = [1]; Tool.use.__doc__ = 'other'", inside)
    assert table.find(fn, fn) == "made", "it refers to none of this"
    exec(change, inside)
    assert table.find(fn, fn) is None


def test_names_of_attributes_are_no_globals() -> None:
    inside: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HELPERS, "helpers", "exec", dont_inherit=True), inside)
    assert snapshot_of(inside["reads_attribute"]) is not None


def test_a_global_far_down_in_long_code_is_found() -> None:
    lines = "".join(f" name{number}\n" for number in range(300))
    inside: dict[str, Any] = {"__name__": "__main__"}
    exec(f"def fn():\n{lines} last.name0\n", inside)
    assert globals_of(inside["fn"].__code__).names == (*(f"name{number}" for number in range(300)), "last")


CONTAINERS: list[tuple[Any, Callable[[Any], object]]] = [
    ([1], lambda value: value.append(2)),
    ([1], lambda value: value.__setitem__(0, True)),
    ({"a": [1]}, lambda value: value["a"].append(2)),
    ({"a": 1, "b": 2}, lambda value: value.update(a=value.pop("a"))),
    ({1}, lambda value: value.add(2)),
    (bytearray(b"1"), lambda value: value.extend(b"2")),
    ([None], lambda value: value.append(lambda: 1)),
    ([(1, [2])], lambda value: value[0][1].clear()),
]


@pytest.mark.parametrize(("value", "change"), CONTAINERS)
def test_a_function_is_not_found_when_the_content_of_a_container_has_changed(
    table: SentFunctions[str], value: Any, change: Callable[[Any], object]
) -> None:
    for fn in (adder(value), adder((1, value))):
        value_before = pickle.dumps(value)
        note(table, fn, "made")
        assert table.find(fn, fn) == table.find(fn, fn) == "made"
        change(value)
        assert table.find(fn, fn) is None
        value.clear()
        (value.update if hasattr(value, "update") else value.extend)(pickle.loads(value_before))


OF_MAIN = type("OfMain", (list,), {"__module__": "__main__", "__slots__": ("value",)})


@pytest.mark.parametrize("value", [[OF_MAIN()], threading.Lock(), (number for number in ())])
def test_what_could_change_unseen_has_no_state(value: Any) -> None:
    assert snapshot_of(adder(value)) is None


@pytest.mark.parametrize("value", [len, int.from_bytes, textwrap, textwrap.dedent, (1, ("a", None)), dict])
def test_what_cannot_change_has_one(value: Any) -> None:
    assert snapshot_of(adder(value)) is not None


def test_a_function_with_an_empty_cell_is_not_found(table: SentFunctions[str]) -> None:
    fn: Any = adder(1)
    note(table, fn, "made")
    del fn.__closure__[0].cell_contents
    assert table.find(fn, fn) is None


def test_a_function_is_not_found_when_what_it_names_cannot_be_imported_any_more(
    table: SentFunctions[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for held in (textwrap.dedent, (1, textwrap.dedent)):
        fn: Any = adder(held)
        note(table, fn, "made")
        assert table.find(fn, fn) == "made"
        with monkeypatch.context() as patched:
            patched.setattr(textwrap, "dedent", None)
            assert table.find(fn, fn) is None
        assert table.find(fn, fn) == "made"


def test_a_function_that_could_change_unseen_by_now_is_not_found(table: SentFunctions[str]) -> None:
    fn: Any = adder(1)
    note(table, fn, "made")
    fn.__closure__[0].cell_contents = object()
    assert table.find(fn, fn) is None


def test_what_goes_by_name_is_found_whatever_it_refers_to(table: SentFunctions[str]) -> None:
    fn: Any = adder(1)
    assert table.note(fn, None, "by name") == "by name"
    fn.__closure__[0].cell_contents = [1]
    assert table.find(fn, fn) == "by name"


def test_an_older_function_makes_room_for_newer_ones(table: SentFunctions[str]) -> None:
    functions: list[Any] = [adder(number) for number in range(20)]
    for fn in functions:
        note(table, fn, "made")
    found = [fn for fn in functions if table.find(fn, fn) is not None]
    assert functions[-1] in found and len(found) <= 6


def test_globals_that_hold_the_table_of_their_functions_are_collected() -> None:
    class Mark:
        pass

    table: SentFunctions[str] = SentFunctions(4, lambda key, made: 1)
    inside: dict[str, Any] = {"__name__": "__main__", "table": table, "mark": Mark()}
    exec(HELPERS, inside)
    for name in ("calls", "wrapped", "uses", "typed"):
        note(table, inside[name], "made")
    mark = weakref.ref(inside["mark"])
    del table, inside
    gc.collect()
    assert mark() is None


def test_a_key_that_cannot_be_hashed_is_an_error_of_the_caller(table: SentFunctions[str]) -> None:
    with pytest.raises(TypeError):
        table.find(adder(1), [1])
