"""`ray.experimental.tqdm_ray`: tqdm's bars where tqdm is installed; values flow anyway."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["safe_print", "tqdm"]


class tqdm:
    """A progress bar of a task or an actor, printed with its other output."""

    def __init__(
        self,
        iterable: Iterable[Any] | None = None,
        desc: str | None = None,
        total: int | None = None,
        unit: str | None = None,
        position: int | None = None,
        flush_interval_s: float | None = None,
        **others: Any,
    ) -> None:
        del position, others
        if total is None and hasattr(iterable, "__len__"):
            total = len(iterable)  # type: ignore[arg-type]
        self._iterable = iterable
        self.desc = desc or ""
        self.total = total
        self.n = 0
        self._bar: Any = None
        if find_spec("tqdm") is not None:
            interval = 0.5 if flush_interval_s is None else flush_interval_s
            self._bar = import_module("tqdm").tqdm(desc=desc, total=total, unit=unit or "it", mininterval=interval)

    def set_description(self, desc: str) -> None:
        self.desc = desc
        if self._bar is not None:
            self._bar.set_description(desc)

    def update(self, n: int = 1) -> None:
        self.n += n
        if self._bar is not None:
            self._bar.update(n)

    def refresh(self) -> None:
        if self._bar is not None:
            self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def __iter__(self) -> Iterator[Any]:
        if self._iterable is None:
            raise ValueError("No iterable provided")
        for item in self._iterable:
            yield item
            self.update()
        self.close()


def safe_print(*args: Any, **kwargs: Any) -> None:
    """Print; lines of tasks are shown whole anyway."""
    builtins.print(*args, **kwargs)
