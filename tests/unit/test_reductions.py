"""Things of the standard library that pickle refuses arrive as they are made, and need nothing of Fray to be loaded."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tokenize
from collections.abc import Callable
from typing import Any

import pytest
from fray import _by_value, _functions_by_value

SCRIPT = """
import contextvars, functools, struct, threading, weakref

@functools.lru_cache(maxsize=7, typed=True)
def recursive(n):
    "What it says."
    return 1 if n < 2 else n * recursive(n - 1)
recursive.note = "kept"
@functools.cache
def one(n): return 0 if n == 0 else other(n - 1)
@functools.cache
def other(n): return 1 if n == 0 else one(n - 1)
class Thing:
    @functools.cached_property
    def value(self):
        "The value."
        return [type(self).__name__, Thing.value.attrname]
    @functools.lru_cache
    def times(self, n): return n * recursive(n)
    @staticmethod
    @functools.cache
    def static(n): return n
@functools.singledispatch
def shown(x): return "any"
shown.register(int, lambda x: "int")
@functools.cache
class Single:
    "One for all."
    kind = "single"
    def __init__(self): self.value = 3
    def one(self): return Single() is self
local = threading.local()
local.kept = 1
variable = contextvars.ContextVar("variable", default=4)
bare = contextvars.ContextVar("bare")
layout = struct.Struct("<i")
weak = weakref.WeakKeyDictionary({Thing: 5})
weak_values = weakref.WeakValueDictionary({"thing": Thing})

def uses_cached():
    return recursive(5), recursive.__doc__, recursive.note, recursive.cache_parameters(), recursive.__name__
def uses_two(): return one(9), other(9), one.__wrapped__(9)
def uses_empty_cache(): return other.cache_info().currsize
def uses_class():
    thing = Thing()
    return thing.value, thing.value is thing.value, thing.times(3), Thing.static(2), Thing.value.__doc__
def uses_single(): return Single().one(), Single().value, Single.kind, Single.__doc__
def uses_dispatch(): return shown(1), shown("1")
def uses_local(): return hasattr(local, "kept")
def uses_variables(): return variable.get(), bare.get(None), variable.name
def uses_layout(): return layout.pack(1), layout.format
def uses_weak(): return weak[Thing], weak_values["thing"]().times(2)
"""
EXPECTED = {
    "uses_cached": (120, "What it says.", "kept", {"maxsize": 7, "typed": True}, "recursive"),
    "uses_two": (1, 0, 1),
    "uses_empty_cache": 0,
    "uses_class": (["Thing", "value"], True, 18, 2, "The value."),
    "uses_single": (True, 3, "single", "One for all."),
    "uses_dispatch": ("int", "any"),
    "uses_local": False,
    "uses_variables": (4, None, "variable"),
    "uses_layout": (b"\x01\x00\x00\x00", "<i"),
    "uses_weak": (5, 4),
}
WAYS: dict[str, Callable[[object], bytes]] = {
    "functions": lambda value: _functions_by_value.dumps(value) or _by_value.dumps(value),
    "cloudpickle": _by_value.dumps,
}


@pytest.fixture
def main() -> dict[str, Any]:
    inside: dict[str, Any] = {"__name__": "__main__"}
    exec(SCRIPT, inside)
    inside["other"](9)
    return inside


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", EXPECTED)
def test_what_a_function_uses_arrives(main: dict[str, Any], name: str, way: Callable[[object], bytes]) -> None:
    pickled = way(main[name])
    del main
    assert pickle.loads(pickled)() == EXPECTED[name]


def test_a_cached_function_needs_nothing_of_fray_to_be_loaded(main: dict[str, Any]) -> None:
    pickled = _by_value.dumps([main["recursive"], main["uses_class"]])
    program = f"import pickle, sys; print(pickle.loads({pickled!r})[0](4), 'fray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["24", "False"]


def test_a_cached_function_arrives_once_for_all_who_use_it(main: dict[str, Any]) -> None:
    for way in WAYS.values():
        one, other = pickle.loads(way([main["recursive"], main["recursive"]]))
        assert one is other and one.__wrapped__.__globals__["recursive"] is one


def test_a_cached_function_of_a_module_goes_by_its_name() -> None:
    for way in WAYS.values():
        assert pickle.loads(way(tokenize._compile)) is tokenize._compile  # type: ignore[attr-defined]
