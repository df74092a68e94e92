"""What caller.cc calls."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import fray


def describe(number: int) -> dict[str, Any]:
    return {"number": number, "list": [None, "text"]}


def total(array: Any) -> float:
    return float(array.sum())


def ramp(rows: int, columns: int) -> Any:
    import numpy

    return numpy.arange(rows * columns, dtype=numpy.float32).reshape(rows, columns)


def fails(text: str) -> None:
    raise ValueError(text)


def pair() -> tuple[int, int]:
    return 1, 2


class Shop:
    pass


def shop() -> list[Shop]:
    return [Shop()]


def leaves() -> None:
    os._exit(5)


def add_one(number: int) -> int:
    return number + 1


def starts(number: int) -> Any:
    return fray.get_job_context().run(add_one, number)


class Total:
    def __init__(self, start: int) -> None:
        self.value = start + 0

    def add(self, number: int) -> int:
        self.value += number
        return self.value

    def fails(self) -> None:
        raise KeyError("missing")


class Async:
    def __init__(self) -> None:
        self.released = asyncio.Event()

    async def wait(self) -> int:
        await self.released.wait()
        return 1

    async def release(self) -> int:
        self.released.set()
        return 2
