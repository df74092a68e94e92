"""Functions of a main script arrive as cloudpickle would bring them; what only cloudpickle can pickle is left to it."""

from __future__ import annotations

import functools
import inspect
import pickle
import subprocess
import sys
import textwrap
from typing import Any

import cloudpickle
import pytest
from fray._functions import is_generator_function
from fray._functions_by_value import dumps

SCRIPT = """
import functools, json, math, typing, xml, threading
import xml.etree.ElementTree
from collections.abc import Callable

TIMES = 3
WORDS = ["a", "b"]
counted = 0

def times(x): return x * TIMES
def calls_another(x=2): return times(x) + math.floor(1.5)
def recursive(n=5): return 1 if n < 2 else n * recursive(n - 1)
def even(n=8): return True if n == 0 else odd(n - 1)
def odd(n=7): return False if n == 0 else even(n - 1)
def keyword(a: int | None = 1, *, b: typing.Optional[str] = None) -> tuple[int, ...]: return a, b
def typed(x: list[int] = [1], y: "Callable[[int], int] | None" = None) -> dict[str, int]:
    "The words."
    return {"x": sum(x), **typed.__annotations__}
def logged(fn):
    @functools.wraps(fn)
    def inner(*args): return "logged", fn(*args)
    return inner
@logged
def wrapped(): "Of the function."; return wrapped.__wrapped__(), wrapped.__doc__, wrapped.__name__
wrapped.__wrapped__ = lambda: TIMES
def outer():
    seen = []
    def inner(x=1):
        seen.append(x)
        return list(seen), inner.__qualname__
    return inner
closure = outer()
def empty():
    if False: later = 1
    return lambda: later
unset = empty()
def submodule(): return xml.etree.ElementTree.fromstring("<a/>").tag
def nested(): return [word for word in (lambda: WORDS)()], (lambda: json.dumps(TIMES))()
def who(): return who.__module__, who.__qualname__, who.__doc__, __name__, __builtins__ is not None
def attribute(): return attribute.limit
attribute.limit = 4
def generator(): yield from (times(n) for n in range(3))
def partly(): return functools.partial(times, 4)()
def finds_builtin(): return len(WORDS), sorted(WORDS)
def missing():
    try: return not_there
    except NameError: return "no such name"
def renamed(): return renamed.__name__
renamed.__name__ = "other"
async def coroutine(): return TIMES
def awaits():
    try: coroutine().send(None)
    except StopIteration as end: return end.value
def bump():
    global counted
    counted += 1
    return counted
def bumped(): return bump(), bump(), counted

class Own: pass
an_own = Own()
Alias = typing.NewType("Alias", int)
Kind = typing.TypeVar("Kind")
lock = threading.Lock()
many = list(range(100_000))
def makes_own(): return Own()
def has_own(): return an_own
def has_lock(): return lock
def has_alias(x): return Alias(x)
def has_kind(x): return Kind
def has_main(): return main
def has_many(): return many
def names_attribute(thing): return thing.many
"""
PLAIN = [
    "calls_another",
    "recursive",
    "even",
    "odd",
    "keyword",
    "typed",
    "wrapped",
    "closure",
    "submodule",
    "nested",
    "who",
    "attribute",
    "generator",
    "partly",
    "finds_builtin",
    "missing",
    "renamed",
    "awaits",
    "bumped",
]


@pytest.fixture(scope="module")
def main() -> dict[str, Any]:
    inside: dict[str, Any] = {"__name__": "__main__", "__file__": "script.py", "main": sys.modules["__main__"]}
    exec(compile(SCRIPT, "script.py", "exec"), inside)
    return inside


def test_generator_functions_are_told_as_inspect_tells_them(main: dict[str, Any]) -> None:
    class Partial(functools.partial[Any]):
        pass

    class Tool:
        def items(self) -> Any:
            yield self

    generator = main["generator"]
    made = [generator, functools.partial(generator), Partial(functools.partial(generator)), Tool().items, Tool.items]
    others = [main["times"], main["coroutine"], functools.partial(main["times"]), len, int, Tool(), Tool, None]
    for fn in [*made, *others, functools.partial(Tool().items)]:
        assert is_generator_function(fn) == inspect.isgeneratorfunction(fn), fn


def called(fn: Any) -> Any:
    value = fn()
    return list(value) if hasattr(value, "__next__") else value


@pytest.mark.parametrize("name", PLAIN)
def test_a_function_does_what_that_of_cloudpickle_does(main: dict[str, Any], name: str) -> None:
    payload = dumps(main[name])
    assert payload is not None
    assert b"cloudpickle" not in payload
    arrived, expected = pickle.loads(payload), pickle.loads(cloudpickle.dumps(main[name]))
    assert called(arrived) == called(expected)
    assert called(arrived) == called(expected), "the second time"
    for what in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__"):
        assert getattr(arrived, what) == getattr(expected, what), what
    assert arrived.__annotations__ == expected.__annotations__
    assert arrived.__code__ == expected.__code__
    assert arrived.__globals__ is not main, "it has globals of its own"


def test_an_empty_cell_stays_empty(main: dict[str, Any]) -> None:
    arrived = pickle.loads(dumps(main["unset"]) or b"")
    with pytest.raises(NameError, match="later"):
        arrived()


def test_functions_of_one_pickle_share_their_globals_and_those_of_two_do_not(main: dict[str, Any]) -> None:
    both = pickle.loads(dumps([main["bump"], main["bumped"]]) or b"")
    assert both[0]() == 1
    assert both[1]() == (2, 3, 3)
    assert pickle.loads(dumps(main["bump"]) or b"")() == 1
    assert main["counted"] == 0


def test_a_value_with_functions_in_it_keeps_its_buffers_outside(main: dict[str, Any]) -> None:
    buffers: list[pickle.PickleBuffer] = []
    value = (main["times"], bytearray(8), pickle.PickleBuffer(b"large"))
    payload = dumps(value, 5, buffers.append)
    times, array, large = pickle.loads(payload or b"", buffers=buffers)
    assert (times(2), array, bytes(large)) == (6, bytearray(8), b"large")


@pytest.mark.parametrize("name", ["makes_own", "has_own"])
def test_classes_of_the_script_come_with_the_function(main: dict[str, Any], name: str) -> None:
    arrived = pickle.loads(dumps(main[name]) or b"")
    assert type(arrived()) is main["Own"], "which is here already"


def test_large_values_come_with_the_function_that_reads_them_and_with_no_other(main: dict[str, Any]) -> None:
    assert pickle.loads(dumps(main["has_many"]) or b"")() == main["many"]
    assert len(dumps(main["names_attribute"]) or b"") < 1000


@pytest.mark.parametrize("name", ["has_lock", "has_alias", "has_kind", "has_main"])
def test_what_more_there_is_is_left_to_cloudpickle(main: dict[str, Any], name: str) -> None:
    assert dumps(main[name]) is None


def test_modules_that_are_to_travel_by_value_are_left_to_cloudpickle(main: dict[str, Any]) -> None:
    cloudpickle.register_pickle_by_value(textwrap)
    try:
        assert dumps(main["times"]) is None
    finally:
        cloudpickle.unregister_pickle_by_value(textwrap)


def test_a_script_of_functions_imports_no_cloudpickle_in_the_program_nor_in_its_workers(tmp_path: Any) -> None:
    script = tmp_path / "script.py"
    script.write_text("""
import sys
import fray

LIBRARIES = ("cloudpickle", "dataclasses", "inspect", "logging")

def square(x): return x * x
def task(x): return square(x), [name for name in LIBRARIES if name in sys.modules]

if __name__ == "__main__":
    with fray.init(cpus=2) as ctx:
        print(ctx.get(ctx.run(task, 3)), list(ctx.map(square, range(4))), [n for n in LIBRARIES if n in sys.modules])
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "(9, []) [0, 1, 4, 9] []\n"
