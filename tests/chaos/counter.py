"""The smallest actor. Its module imports next to nothing, so that its process shows what Fray itself weighs."""

from __future__ import annotations

import os


class Counter:
    def __init__(self, start: int = 0) -> None:
        self.value = start

    def increment(self) -> int:
        self.value += 1
        return self.value

    def pid(self) -> int:
        return os.getpid()
