"""`ray.experimental.tqdm_ray`: bars of the package tqdm where it is installed, and no bars elsewhere."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["safe_print", "tqdm"]


class _NoBar:
    """Takes the calls of a bar where there is none."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args: None


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
        if total is None and hasattr(iterable, "__len__"):
            total = len(iterable)  # type: ignore[arg-type]
        self._iterable = iterable
        self.desc = desc or ""
        self.total = total
        self.n = 0
        self._bar: Any = _NoBar()
        found = find_spec("tqdm")
        if found is not None and found.submodule_search_locations is not None:  # no program of that name
            interval = 0.5 if flush_interval_s is None else flush_interval_s
            self._bar = import_module("tqdm").tqdm(desc=desc, total=total, unit=unit or "it", mininterval=interval)
        self.refresh = self._bar.refresh
        self.close = self._bar.close

    def set_description(self, desc: str) -> None:
        self.desc = desc
        self._bar.set_description(desc)

    def update(self, n: int = 1) -> None:
        self.n += n
        self._bar.update(n)

    def __iter__(self) -> Iterator[Any]:
        if self._iterable is None:
            raise ValueError("No iterable provided")
        for item in self._iterable:
            yield item
            self.update()
        self.close()


def safe_print(*args: Any, **kwargs: Any) -> None:
    """Print; the lines that tasks print are shown whole in any case."""
    builtins.print(*args, **kwargs)
