"""`RealProgram`: one program, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from benchmarks.real.tools import Tools


@dataclass(frozen=True)
class RealProgram:
    """A program and who can run it.

    Attributes:
        name: of the row, after ``real_``.
        does: what it does, in a few words.
        prepare: makes the input from the size; its time is not measured.
        run: the program: tools and input to a result of plain numbers and texts, the same for every engine.
        full: the size of a whole run.
        quick: the size of a quick run.
        peers: the engines that can run it.
    """

    name: str
    does: str
    prepare: Callable[[int], Any]
    run: Callable[[Tools, Any], Any]
    full: int
    quick: int
    peers: tuple[str, ...]


def after_importing(*modules: str) -> Callable[[int], int]:
    """Return a `prepare` whose input is the size itself; it imports the modules, as the first lines of a program do.

    The modules of this folder import no library at their top: every row's child reads all of them, and what they import
    would be in what it weighs.
    """

    def prepare(size: int) -> int:
        for module in modules:
            import_module(module)
        return size

    return prepare
