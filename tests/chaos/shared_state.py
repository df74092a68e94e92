"""``python -m tests.chaos.shared_state SEED COUNT``: random scripts whose functions and classes share their globals.

Each function and method says whether the globals of another are its own. That has to be so within each call, whatever
ran in the worker before, and however the function and the objects of the classes got there.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import fray

VALUES = ["[1]", "{'a': 1}", "Settings()", "numpy.arange(3)", "[[1]]", "set()", "Slots()", "collections.Counter('a')"]
WAYS = ["run", "run", "map", "inside", "argument", "arguments", "method", "given", "together", "readers"]
READERS = 3
CALLS = 14
HEAD = """
import collections, logging, numpy
log = logging.getLogger("shared")
count = 0
class Settings:
    def __init__(self):
        self.values = [1]
class Slots:
    __slots__ = ("value",)
"""


class Script:
    """The text of a script, and how many globals, classes and functions it has."""

    def __init__(self, choice: random.Random) -> None:
        self._choice = choice
        self.globals, self.classes, self.functions = choice.randint(1, 4), choice.randint(1, 4), choice.randint(2, 5)
        parts = [HEAD]
        parts += [f"G{i} = {choice.choice([*VALUES, *([f'[G{i - 1}]'] if i else [])])}" for i in range(self.globals)]
        parts += [self._class(i) for i in range(self.classes)]
        parts += [f"def helper(): return {self._read()}"]
        parts += [self._function(i) for i in range(self.functions)]
        parts += [f"def R{i}(): return {self._read()}" for i in range(READERS)]
        self.text = "\n".join(parts)

    def _is_so(self, chance: float) -> bool:
        return self._choice.random() < chance

    def _some_globals(self) -> list[int]:
        return self._choice.sample(range(self.globals), self._choice.randint(0, self.globals))

    def _read(self) -> str:
        return "{" + ", ".join(f"'G{i}': G{i}" for i in self._some_globals()) + "}"

    def _class(self, number: int) -> str:
        choice = self._choice
        base = f"(C{choice.randrange(number)})" if number and self._is_so(0.3) else ""
        lines = [f"class C{number}{base}:"]
        if self._is_so(0.3):
            own = f"G{choice.randrange(self.globals)}" if self._is_so(0.3) else choice.choice(["[]", "{}"])
            lines.append(f"    items = {own}")
        same = ", ".join(f"others.get('G{i}', G{i}) is G{i}" for i in self._some_globals())
        lines.append(f"    def same(self, others):\n        log.debug('called')\n        return [{same}]")
        through = f"C{choice.randrange(self.classes)}().same(others)" if self._is_so(0.3) else "[]"
        lines.append(f"    def through(self, others): return {through}")
        if self._is_so(0.2):
            lines.append("    def assign(self):\n        global count\n        count += 1")
        return "\n".join(lines)

    def _function(self, number: int) -> str:
        choice = self._choice
        lines = [f"def F{number}(*things):"]
        if self._is_so(0.2):
            lines += ["    global count", "    count += 1"]
        lines.append(f"    own, answers = {self._read()}, []")
        if self._is_so(0.3):
            lines.append("    answers += [value is own.get(name, value) for name, value in helper().items()]")
        for cls in choice.sample(range(self.classes), choice.randint(0, self.classes)):
            lines.append(f"    answers += C{cls}().same(own) + C{cls}().through(own)")
        if number and self._is_so(0.2):
            lines.append(f"    answers += F{choice.randrange(number)}()")
        return "\n".join([*lines, "    for thing in things: thing.same({})", "    return answers"])


def change(value: Any) -> None:
    """Change something in a value of `VALUES`."""
    if isinstance(value, list):
        value.append(1)
    elif isinstance(value, dict):
        value[len(value)] = 1
    elif isinstance(value, set):
        value.add(len(value))
    elif hasattr(value, "values"):
        value.values.append(1)
    elif hasattr(value, "__slots__"):
        value.value = [1]
    else:
        value += 1


def given(parts: list[Any]) -> Any:
    """Call the first part with the others."""
    return parts[0](*parts[1:])


def compared(readers: list[Any], things: list[Any]) -> list[bool]:
    """Return whether functions, and the methods of these objects, have the same globals."""
    found: dict[str, Any] = {}
    answers = [found.setdefault(name, value) is value for reader in readers for name, value in reader().items()]
    return [*answers, *(answer for thing in things for answer in thing.same(found))]


def call(ctx: fray.JobContext, way: str, function: Any, things: list[Any], readers: list[Any]) -> list[bool]:
    """Return the answers of the function, called in one of `WAYS`."""
    if way == "given":
        return ctx.get(ctx.run(given, [function]))
    if way == "together":
        return ctx.get(ctx.run(given, [function, *things]))
    if way == "readers":
        return ctx.get(ctx.run(given, [compared, readers, things[: len(readers) - 1]]))
    if way == "run":
        return ctx.get(ctx.run(function))
    if way == "map":
        return next(iter(ctx.map(function, things[:1])))
    if way == "inside":
        return ctx.get(ctx.run(lambda: function()))
    if way == "method":
        ctx.get(ctx.run(things[0].same, {}))
        return []
    return ctx.get(ctx.run(function, *things[: 1 if way == "argument" else 3]))


def check(ctx: fray.JobContext, seed: int, inside: dict[str, Any]) -> None:
    """Write the script of a seed, and call its functions while its globals and classes change."""
    choice = random.Random(seed)
    script = Script(choice)
    for name in [name for name in inside if name[:1] in "GCFR" and name[1:].isdigit()]:
        del inside[name]
    exec(script.text, inside)
    calls: list[tuple[str, int]] = []
    for step in range(CALLS):
        number, way = choice.randrange(script.functions), choice.choice(WAYS)
        things = [inside[f"C{choice.randrange(script.classes)}"]() for _ in range(3)]
        calls.append((way, number))
        readers = [inside[f"R{choice.randrange(READERS)}"] for _ in range(choice.randint(1, 3))]
        answers = call(ctx, way, inside[f"F{number}"], things, readers)
        assert all(answers), f"seed {seed}, {calls}: {answers}\n{script.text}"
        if choice.random() < 0.4:
            change(inside[f"G{choice.randrange(script.globals)}"])
        if choice.random() < 0.1:
            inside[f"C{choice.randrange(script.classes)}"].extra = step


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    with fray.init(cpus=1) as ctx:
        for seed in range(first, first + count):
            check(ctx, seed, globals())
