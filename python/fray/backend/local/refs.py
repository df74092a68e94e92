"""The refs of the contexts inside this process."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from fray.job.refs import ObjectRef

if TYPE_CHECKING:
    from fray.backend.local.base import InProcessContext
    from fray.backend.local.cell import Cell

__all__ = ["LocalRef"]

T = TypeVar("T")


class LocalRef(ObjectRef[T]):
    """Points to a cell of its context. Dropping the last one of a generator task stops its producer."""

    __slots__ = ("__weakref__", "cell", "context")

    def __init__(self, context: InProcessContext, cell: Cell) -> None:
        self.context = context
        self.cell = cell

    def result(self, timeout: float | None = None) -> T:
        return self.context.get(self, timeout)

    def __next__(self) -> LocalRef[Any]:
        return self.context.next_item(self)

    def __await__(self) -> Generator[Any, None, T]:
        yield from self.context.wait_in_loop(self)
        return self.result(0)

    def __repr__(self) -> str:
        return f"<fray ref of {self.cell.name!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a ref cannot be pickled outside Fray: it means something only inside its context. Pass it to a task, "
            "return it or put it; or get its value first"
        )

    def __del__(self) -> None:
        self.cell.abandon()
