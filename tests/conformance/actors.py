"""The actors that the tests make, where every process can import them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import Any

from fray import ActorHandle, current_actor, get_job_context

from tests.conformance.gates import Gate, Journal


class Counter:
    """Counts, and does what a test tells it to."""

    def __init__(self, start: int = 0) -> None:
        self.value = start

    def add(self, amount: int = 1) -> int:
        self.value += amount
        return self.value

    def get(self) -> int:
        return self.value

    def fail(self, text: str) -> None:
        self.value += 100
        raise ValueError(text)

    def split(self) -> tuple[int, int]:
        return divmod(self.value, 10)

    def count_to(self, n: int) -> Iterator[int]:
        for number in range(n):
            self.value += 1
            yield number

    def stop_at(self, door: Gate, started: Gate) -> int:
        self.value += 1
        door.announce_and_wait(started)
        return self.value

    def wait_at(self, door: Gate) -> str:
        door.wait()
        return "passed"

    def open(self, door: Gate) -> str:
        door.open()
        return "opened"

    def environment(self, name: str) -> str | None:
        return os.environ.get(name)

    def append_to(self, values: list[int]) -> list[int]:
        values.append(self.value)
        return values

    @staticmethod
    def double(value: int) -> int:
        return 2 * value

    @classmethod
    def title(cls) -> str:
        return cls.__name__

    def _secret(self) -> None: ...


class Named(Counter):
    """Inherits all its methods."""


class Writer:
    """Writes what it is called with into a journal."""

    def __init__(self, journal: Journal, door: Gate | None = None) -> None:
        self.journal = journal
        if door is not None:
            door.wait()
        journal.add("made")

    def write(self, line: object, unused: object = None) -> object:
        self.journal.add(line)
        return line

    def write_and_stop(self, line: object, door: Gate, started: Gate) -> object:
        self.journal.add(line)
        door.announce_and_wait(started)
        return line


class Broken:
    """Cannot be made."""

    def __init__(self, text: str) -> None:
        raise RuntimeError(text)

    def get(self) -> None: ...


class Holder:
    """Has a pipe open while it lives."""

    def __init__(self, pipe: str) -> None:
        self.pipe = os.open(pipe, os.O_WRONLY)
        self.myself = current_actor().handle

    def __del__(self) -> None:
        os.close(self.pipe)

    def ping(self) -> str:
        return "pong"

    def stop_at(self, door: Gate, started: Gate) -> str:
        door.announce_and_wait(started)
        return "done"


class Introspective:
    """Asks what it is."""

    def __init__(self) -> None:
        self.at_birth = current_actor().handle

    def who(self) -> tuple[ActorHandle, ActorHandle, str, int]:
        context = get_job_context().current_actor()
        return self.at_birth, context.handle, context.group_name, context.index

    def in_a_task(self) -> str:
        return get_job_context().run(ask).result()

    def wait_for_myself(self) -> Any:
        return current_actor().handle.who().result()

    def follow(self, path: list[ActorHandle]) -> Any:
        """Ask the first of `path` to follow the rest of it; the last one says who it is."""
        first, *rest = path
        return (first.follow(rest) if rest else first.who()).result()

    def call_myself(self) -> list[Any]:
        return [current_actor().handle.who()]


def ask() -> str:
    try:
        return repr(current_actor())
    except RuntimeError as error:
        return str(error)


def range_of(n: int) -> Iterator[int]:
    yield from range(n)


class Meeting:
    """Runs on an event loop."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.log: list[str] = []
        self.shared: asyncio.Future[str] | None = None

    async def wait(self) -> str:
        self.log.append("waiting")
        await self.opened.wait()
        return "met"

    def open(self) -> str:
        self.opened.set()
        return "open"

    async def wait_for_shared(self) -> str:
        self.log.append("shared")
        if self.shared is None:
            self.shared = asyncio.get_running_loop().create_future()
        return await self.shared

    async def share(self, news: str) -> None:
        assert self.shared is not None
        self.shared.set_result(news)

    async def add(self, a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a + b

    async def add_three(self, a: int, b: int, c: int) -> int:
        me = current_actor().handle
        return await me.add(await me.add(a, b), c)

    async def ask_counter(self, counter: ActorHandle) -> int:
        return await counter.add(5)

    async def squares(self, n: int) -> AsyncIterator[int]:
        for number in range(n):
            await asyncio.sleep(0)
            yield number * number

    async def sum_of_items(self, n: int) -> int:
        items: Any = get_job_context().run(range_of, n)
        return sum([await item async for item in items])

    async def endless(self, ended: Journal) -> AsyncIterator[int]:
        try:
            number = 0
            while True:
                yield number
                number += 1
        finally:
            await asyncio.sleep(0)
            ended.add("closed")

    def plain_squares(self, n: int) -> Iterator[int]:
        for number in range(n):
            yield number * number

    async def fail(self) -> None:
        await asyncio.sleep(0)
        raise ValueError("async")

    async def stay(self) -> None:
        self.log.append("staying")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.log.append("interrupted")
            raise

    async def read_log(self) -> list[str]:
        return self.log


_customer: ContextVar[str] = ContextVar("_customer", default="nobody")


class Clerk:
    """Looks at what asyncio knows about the call that runs."""

    async def serve(self, customer: str) -> tuple[str, str]:
        before = _customer.get()
        _customer.set(customer)
        return before, _customer.get()

    async def serve_slowly(self, customer: str) -> tuple[str, str]:
        before = _customer.get()
        _customer.set(customer)
        await asyncio.sleep(0)
        return before, _customer.get()

    async def stays_one_task(self) -> bool:
        began_in = asyncio.current_task()
        await asyncio.sleep(0)
        return began_in is not None and began_in is asyncio.current_task()

    async def gives_up(self) -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return "gave up"
        return "did not give up"

    async def adds_in_a_group(self) -> int:
        async with asyncio.TaskGroup() as group:
            numbers = [group.create_task(_give_back(number)) for number in range(10)]
        return sum(number.result() for number in numbers)

    async def cancels_itself(self, then_waits: bool) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if then_waits:
            await asyncio.sleep(0)


async def _give_back(number: int) -> int:
    await asyncio.sleep(0)
    return number


class Parent:
    """Makes an actor and keeps it."""

    def __init__(self, start: int) -> None:
        self.child = get_job_context().create_actor(Counter, start)

    def child_add(self) -> int:
        return self.child.add().result()

    def give_child(self) -> ActorHandle:
        return self.child


class Plain:
    """Has a field, and nothing async as far as its definition tells."""

    field = 3

    def get(self) -> int:
        return self.field
