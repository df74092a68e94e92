"""Which callables travel by name, which by value, and when a pickle may be used again."""

from __future__ import annotations

import functools
import gc
import operator
import os.path
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from fray import SerializationError, StoreFullError, _native
from fray._ref_outside import RefOutsideError
from fray.backend.native.detours import HoldsRefs
from fray.backend.native.functions import FunctionTable

GLOBAL = 1


def by_name() -> int:
    return GLOBAL


class Tool:
    def method(self) -> None:
        pass

    @staticmethod
    def static() -> None:
        pass

    @classmethod
    def of_class(cls) -> None:
        pass

    def __call__(self) -> None:
        pass


Stored = list[tuple[bytes, list[bytes]]]


@pytest.fixture
def stored() -> Stored:
    """The pickle of each function that became an object, and the memory outside of it."""
    return []


@pytest.fixture
def table(stored: Stored) -> FunctionTable:
    def store(pickled: bytes, memory: list[memoryview], label: str, max_calls: int) -> _native.Function:
        stored.append((pickled, [bytes(part) for part in memory]))
        return _native.make_function(_native.FunctionKind.PICKLE, pickled + b"".join(memory), label, max_calls)

    return FunctionTable(store)


def same_handle(table: FunctionTable, fn: Any) -> bool:
    return table.handle(fn, None, 0)[0] is table.handle(fn, None, 0)[0]


@pytest.mark.parametrize(
    "fn",
    [by_name, pow, print, operator.add, os.path.join, Tool, Tool.static, int],
    ids=lambda fn: fn.__name__,
)
def test_what_workers_can_import_is_sent_once(table: FunctionTable, fn: Any) -> None:
    assert same_handle(table, fn)


def test_a_closure_over_immutable_values_is_pickled_once(table: FunctionTable) -> None:
    factor, names, pair = 3, ("a", "b"), frozenset({1})

    def scale() -> object:
        return factor, names, pair, len(names)

    assert same_handle(table, scale)


@pytest.mark.parametrize("held", [[1], {"a": 1}, {1}, bytearray(b"a"), ([1],)], ids=lambda held: type(held).__name__)
def test_a_closure_over_a_small_container_is_pickled_again_when_its_content_has_changed(
    table: FunctionTable, held: Any
) -> None:
    def read() -> object:
        return held

    assert same_handle(table, read)
    before = table.handle(read, None, 0)[0]
    (held[0] if isinstance(held, tuple) else held).clear()
    assert table.handle(read, None, 0)[0] is not before
    assert same_handle(table, read)


@pytest.mark.parametrize(
    "held",
    [Tool(), list(range(5000)), [numpy.zeros(4)], {"a": {"b": numpy.zeros(3000)}}, numpy.zeros(1000)],
    ids=lambda held: type(held).__name__,
)
def test_a_closure_over_a_container_or_an_object_is_pickled_once(table: FunctionTable, held: object) -> None:
    def read() -> object:
        return held

    assert same_handle(table, read)


def test_a_closure_over_what_can_change_unseen_is_pickled_every_time(table: FunctionTable) -> None:
    class Items(list[int]):
        pass

    held = Items()

    def read() -> object:
        return held

    assert not same_handle(table, read)


def of_calls(table: FunctionTable, fn: Any, carrier: Any = max) -> Any:
    return table.for_calls(fn, carrier, "name", 0)


def loads_once(stored: Stored, pickles: list[bytes], calls: Callable[[], object]) -> bool:
    """Return whether what `calls` does makes one function for workers, or an object, in all."""
    stored.clear()
    pickles.clear()
    calls()
    return len(stored) + len(pickles) == 1


@pytest.fixture
def pickles(table: FunctionTable, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The pickles of functions that did not become objects."""
    made: list[bytes] = []
    make = table._made
    monkeypatch.setattr(table, "_made", lambda pickled, *others: (made.append(pickled), make(pickled, *others))[1])
    return made


def test_single_calls_and_those_of_maps_share_a_pickle_until_their_function_has_changed(
    table: FunctionTable, stored: Stored, pickles: list[bytes]
) -> None:
    held = [1]

    def read() -> object:
        return held

    def calls() -> None:
        assert of_calls(table, read)[1] == (max,) and of_calls(table, read, min)[1] == (min,)
        assert of_calls(table, read, None)[1] == () and same_handle(table, read)

    assert loads_once(stored, pickles, calls)
    held.append(2)
    assert loads_once(stored, pickles, calls)


def test_a_carrier_that_workers_cannot_import_comes_with_the_function(
    table: FunctionTable, pickles: list[bytes]
) -> None:
    held = [1]

    def read() -> object:
        return held

    def carry(fn: Any) -> Any:
        return fn()

    assert of_calls(table, read, carry)[1] == () == of_calls(table, read, carry)[1] and len(pickles) == 1


def test_a_function_with_a_large_array_becomes_an_object_until_it_has_changed(
    table: FunctionTable, stored: Stored, pickles: list[bytes]
) -> None:
    held = {"small": numpy.zeros(100), "large": numpy.zeros(1_000_000), "in steps": numpy.zeros(20_000)[::2]}

    def read() -> object:
        return held

    def calls() -> None:
        assert of_calls(table, read) is not None and same_handle(table, read)

    assert loads_once(stored, pickles, calls) and [len(part) for part in stored[0][1]] == [8_000_000]
    held["large"][7] = 1
    assert loads_once(stored, pickles, calls) and stored[0][1] == [held["large"].tobytes()]


def test_a_function_with_a_large_pickle_becomes_an_object(
    table: FunctionTable, stored: Stored, pickles: list[bytes]
) -> None:
    texts = [f"text {number}" for number in range(200_000)]
    assert loads_once(stored, pickles, lambda: of_calls(table, lambda: texts)) and stored


def test_a_large_table_is_pickled_by_itself_and_is_the_same_for_all_functions_that_read_it(
    table: FunctionTable, stored: Stored, pickles: list[bytes]
) -> None:
    inside: dict[str, Any] = {"__name__": "__main__", "texts": [f"text {number}" for number in range(200_000)]}
    exec("def first(): return texts\ndef read(): return texts, first()", inside)
    with pytest.warns(UserWarning, match="'texts'"):
        table.handle(inside["read"], None, 0)
    ((pickled, memory),) = stored
    assert len(pickled) < 5000 and len(memory) == 1
    fn = pickle.loads(pickled, buffers=memory)
    one, other = fn()
    assert one == inside["texts"] and one is other is fn.__globals__["texts"]


def test_a_function_that_is_pickled_for_each_call_never_becomes_an_object(
    table: FunctionTable, stored: Stored, pickles: list[bytes]
) -> None:
    class Items(list[int]):
        pass

    held = Items(), numpy.zeros(1_000_000)

    def read() -> object:
        return held

    with pytest.warns(UserWarning, match="held"):
        assert not same_handle(table, read)
    assert pickles[0] == pickles[1] and not stored


def test_a_function_that_the_store_has_no_room_for_is_pickled() -> None:
    def store(*given: object) -> _native.Function:
        raise StoreFullError("there is no room")

    array = numpy.arange(1_000_000)
    handle, _ = FunctionTable(store).handle(lambda: array, None, 0)
    assert handle.__sizeof__() > array.nbytes


def test_a_large_array_of_a_closure_is_not_kept_when_its_map_is_over(table: FunctionTable) -> None:
    def mapped() -> weakref.ref[Any]:
        array = numpy.zeros(5_000_000)
        assert of_calls(table, lambda: array) is not None
        return weakref.ref(array)

    gone = mapped()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("fn", [len, numpy.dot, Tool, Tool.static], ids=lambda fn: fn.__name__)
def test_what_workers_can_import_is_sent_by_its_name_for_many_calls_too(table: FunctionTable, fn: Any) -> None:
    assert of_calls(table, fn) is None


def test_what_cannot_be_pickled_is_left_to_who_says_why(table: FunctionTable) -> None:
    lock = threading.Lock()
    assert of_calls(table, lambda: lock) is None


def loose(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "a_module_that_is_not_there"}
    exec(source, names)
    return names


CHANGES: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "a global": ("X = 1\ndef f():\n    return X", lambda names: names.update(X=2)),
    "an equal global of another type": ("X = 1\ndef f():\n    return X", lambda names: names.update(X=True)),
    "a global that was missing": ("def f():\n    return X", lambda names: names.update(X=2)),
    "a global of a lambda inside": ("X = 1\ndef f():\n    return (lambda: X)()", lambda names: names.update(X=2)),
    "a builtin that is shadowed": ("def f():\n    return len('')", lambda names: names.update(len=2)),
    "the code": ("def f():\n    return 1", lambda names: setattr(names["f"], "__code__", (lambda: 2).__code__)),
    "the defaults": ("def f(x=1):\n    return x", lambda names: setattr(names["f"], "__defaults__", (2,))),
    "a keyword default": ("def f(*, x=1):\n    return x", lambda names: names["f"].__kwdefaults__.update(x=2)),
    "an attribute": ("def f():\n    return f.x\nf.x = 1", lambda names: setattr(names["f"], "x", 2)),
    "a helper": (
        "def g():\n    return 1\ndef f():\n    return g()",
        lambda names: exec("def g():\n    return 2", names),
    ),
    "a helper's code": (
        "def g():\n    return 1\ndef f():\n    return g()",
        lambda names: setattr(names["g"], "__code__", (lambda: 2).__code__),
    ),
    "a helper's global": (
        "X = 1\ndef g():\n    return X\ndef f():\n    return g()",
        lambda names: names.update(X=2),
    ),
    "a class": (
        "class C:\n    x = 1\ndef f():\n    return C.x",
        lambda names: setattr(names["C"], "x", 2),
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_function_is_pickled_again_when_something_changed(table: FunctionTable, what: str) -> None:
    source, change = CHANGES[what]
    names = loose(source)
    before = table.handle(names["f"], None, 0)[0]
    change(names)
    assert table.handle(names["f"], None, 0)[0] is not before


def test_a_cell_that_is_bound_anew_is_seen(table: FunctionTable) -> None:
    value = 1

    def read() -> int:
        return value

    before = table.handle(read, None, 0)[0]
    value = 2
    assert table.handle(read, None, 0)[0] is not before


def test_a_cell_that_is_empty_is_no_error_of_the_cache(table: FunctionTable) -> None:
    def make() -> Any:
        def read() -> Any:
            return later

        handle = table.handle(read, None, 0)
        later = 1
        return handle, later

    assert make()[1] == 1


def test_names_and_max_calls_make_functions_of_their_own(table: FunctionTable) -> None:
    plain = table.handle(by_name, None, 0)[0]
    assert table.handle(by_name, "other", 0)[0] is not plain
    assert table.handle(by_name, None, 2)[0] is not plain


def test_a_generator_function_is_known_as_one(table: FunctionTable) -> None:
    def items() -> Any:
        yield 1

    assert table.handle(items, None, 0)[1]
    assert not table.handle(by_name, None, 0)[1]


@pytest.mark.parametrize(
    "fn",
    [functools.partial(pow, 2), Tool(), Tool().method, Tool.of_class],
    ids=["partial", "instance", "method", "classmethod"],
)
def test_callables_that_are_no_functions_can_be_sent(table: FunctionTable, fn: Any) -> None:
    assert table.handle(fn, None, 0)[0] is not None


def test_an_unhashable_callable_can_be_sent(table: FunctionTable) -> None:
    class Unhashable:
        def __eq__(self, other: object) -> bool:
            return self is other

        def __call__(self) -> None:
            pass

    assert table.handle(Unhashable(), None, 0)[0] is not None


def test_a_captured_variable_that_cannot_be_pickled_is_named(table: FunctionTable) -> None:
    my_lock = threading.Lock()

    def use() -> None:
        my_lock.acquire()

    with pytest.raises(SerializationError, match="my_lock"):
        table.handle(use, None, 0)


def test_a_function_that_carries_megabytes_is_warned_about_with_the_variable(table: FunctionTable) -> None:
    small, big_table = b"x", bytes(2 << 20)

    def use() -> int:
        return len(small) + len(big_table)

    with pytest.warns(UserWarning, match="big_table"):
        table.handle(use, None, 0)


def test_the_warning_names_what_is_copied_and_not_the_array_that_is_shared(table: FunctionTable) -> None:
    shared, copied, small = numpy.zeros(2_000_000), [str(number) for number in range(300_000)], [1]

    def use() -> int:
        return len(shared) + len(copied) + len(small)

    with pytest.warns(UserWarning, match="'copied'"):
        table.handle(use, None, 0)


def test_the_warning_names_the_value_of_a_helper(table: FunctionTable) -> None:
    own, of_the_helper = [1], [str(number) for number in range(300_000)]

    def helper() -> int:
        return len(of_the_helper)

    def use() -> int:
        return len(own) + helper()

    with pytest.warns(UserWarning, match="'of_the_helper'"):
        table.handle(use, None, 0)


def test_closures_that_come_and_go_do_not_stay(table: FunctionTable) -> None:
    living: weakref.WeakSet[Any] = weakref.WeakSet()

    def another(number: int) -> Callable[[], int]:
        data = bytes(100_000)
        return lambda: len(data) + number

    for number in range(1_000):
        fn = another(number)
        table.handle(fn, None, 0)
        living.add(fn)
        del fn
    gc.collect()
    assert len(living) < 400


OUTSIDE_WORDS = "a ref can only be pickled by Fray: pass it as an argument, return it, or put it inside a value"


class Refuses:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> str:
        raise self.error


def test_a_captured_ref_is_told_by_its_error_and_not_by_the_words_of_another(table: FunctionTable) -> None:
    ref, other = Refuses(RefOutsideError("in whatever words")), Refuses(TypeError(OUTSIDE_WORDS))
    with pytest.raises(HoldsRefs):
        table.handle(lambda: ref, None, 0)
    with pytest.raises(SerializationError):
        table.handle(lambda: other, None, 0)
