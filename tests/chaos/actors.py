"""The actors that the chaos tests create."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import fray

from tests.chaos.counter import Counter
from tests.conformance.gates import Gate, Journal


class Recorder:
    """Keeps what it is told, in order."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def add(self, item: Any) -> int:
        self.seen.append(item)
        return len(self.seen)

    def all(self) -> list[Any]:
        return self.seen

    def pid(self) -> int:
        return os.getpid()


class AsyncRecorder:
    """Keeps the numbers of its calls, in the order in which they begin."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    async def add(self, number: int, around: Any) -> None:
        del around
        self.seen.append(number)
        await asyncio.sleep(0.02)

    async def take(self) -> list[int]:
        seen, self.seen = self.seen, []
        return seen


class Echo:
    """Answers on an event loop."""

    async def repeat(self, value: bytes, count: int) -> bytes:
        return value * count

    def repeat_at_once(self, value: bytes, count: int) -> bytes:
        return value * count

    def pass_gate(self, gate: Gate) -> None:
        gate.wait()


class Fragile:
    """Writes down each run of a method before it dies, or waits to be killed."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        journal.add("start")

    def note(self, word: str) -> str:
        self.journal.add(word)
        return word

    def hang(self, word: str) -> None:
        self.journal.add(word)
        time.sleep(1000)

    def hang_the_first_time(self, word: str) -> str:
        if self.journal.add(word) and self.journal.lines().count(word) == 1:
            time.sleep(1000)
        return word

    def pid(self) -> int:
        return os.getpid()


class NeverStarts:
    def __init__(self, journal: Journal) -> None:
        journal.add(time.monotonic())
        print("no disk in this machine", flush=True)
        os._exit(7)

    def value(self) -> int:
        return 1


class Coordinator:
    """Blocks its callers until it is told to let them go."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inside = 0

    async def enter(self) -> str:
        self.inside += 1
        await self.open.wait()
        return "out"

    async def waiting(self) -> int:
        return self.inside

    async def let_go(self) -> None:
        self.open.set()


class Parent:
    """Creates an actor and hands it out."""

    def child(self, name: str | None = None) -> Any:
        context = fray.get_job_context()
        self.made = context.create_actor(Counter, name=name)
        context.get(self.made.increment())
        return self.made

    def pid(self) -> int:
        return os.getpid()


def increment_often(counter: Any, times: int) -> int:
    context = fray.get_job_context()
    return max(context.get([counter.increment() for _ in range(times)]))


def pass_gate(gate: Gate, value: int) -> int:
    gate.wait()
    return value
