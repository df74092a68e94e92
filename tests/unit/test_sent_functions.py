"""`SentFunctions`: what was made of a function is found until the function could be another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fray._function_state import state_of
from fray._sent_functions import SentFunctions


@pytest.fixture
def table() -> SentFunctions[str]:
    return SentFunctions(4, lambda key, made: 1)


def adder(number: Any) -> Callable[[int], Any]:
    return lambda other: number + other


def note(table: SentFunctions[str], fn: Any, made: str) -> None:
    state = state_of(fn)
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


def test_a_function_that_could_change_unseen_by_now_is_not_found(table: SentFunctions[str]) -> None:
    fn: Any = adder(1)
    note(table, fn, "made")
    fn.__closure__[0].cell_contents = [1]
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


def test_a_key_that_cannot_be_hashed_is_an_error_of_the_caller(table: SentFunctions[str]) -> None:
    with pytest.raises(TypeError):
        table.find(adder(1), [1])
