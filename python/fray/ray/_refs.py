"""`ObjectRef`, which has the methods that Ray's refs have beyond those of the context API, and `ObjectRefGenerator`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast

from fray import _native
from fray._functions import is_pickling_by_value
from fray.ray import _session
from fray.ray._errors import raise_translated, translated
from fray.ray._ids import JobID, TaskID, digest
from fray.ray.exceptions import ObjectLostError, OufOfBandObjectRefSerializationException, TaskCancelledError
from fray.types import TaskOptions

if TYPE_CHECKING:
    import asyncio

    from fray.job.refs import ObjectRef as AnyRef

# fmt: off
__all__ = [
    "MOST_TWO_SIDED", "NO_CPU", "DynamicObjectRefGenerator", "ObjectRef", "ObjectRefGenerator", "Poison", "failed_refs",
    "is_counted", "two_sided",
]
# fmt: on

T = TypeVar("T")

_TASK_BYTES, _INDEX_BYTES = 24, 4
NO_CPU = TaskOptions(resources={"CPU": 0})
"""The options of this package's own small tasks, which must not wait for a CPU."""
two_sided: dict[str, str] = {}
"""By the ids of tensors that only the actors of a group may get: the transport that their method names."""
MOST_TWO_SIDED = 10_000
"""Of the last such tensors, so that the ids of a long program take no more and more memory."""


class ObjectRef(Generic[T]):
    """Stands for the result of a task or for a value that was put.

    All refs of the process are instances of this class too (`JobContext.extend_refs`).
    """

    __slots__ = ()

    def binary(self) -> bytes:
        """Return 28 bytes that name the object in every process."""
        task, _, index = _id_of(self).rpartition(".")
        return digest(f"{task}.{index}", _TASK_BYTES) + b"\1\0\0\0"

    def hex(self) -> str:
        return self.binary().hex()

    @classmethod
    def size(cls) -> int:
        return _TASK_BYTES + _INDEX_BYTES

    def is_nil(self) -> bool:
        return False

    def task_id(self) -> TaskID:
        return TaskID(self.binary()[:_TASK_BYTES])

    def job_id(self) -> JobID:
        return _session.job_id()

    def owner_address(self) -> str:
        return _session.IP

    def call_site(self) -> str:
        return ""

    def future(self) -> Future[T]:
        """Return a future of `concurrent.futures` that ends when the task ends."""
        return _future_of(cast("AnyRef[T]", self))

    def as_future(self, _internal: bool = False) -> asyncio.Future[T]:
        return import_module("asyncio").wrap_future(self.future())

    def __await__(self) -> Generator[Any, None, T]:
        try:
            return (yield from super().__await__())  # type: ignore[misc]
        except Exception as error:
            raise_translated(error)

    # ---- the methods of futures that `asyncio.wait` calls

    def add_done_callback(self, callback: Callable[[Any], object], *, context: Any = None) -> None:
        """Have the running event loop call `callback` with this ref once the ref is ready."""
        loop = import_module("asyncio").get_running_loop()
        _callbacks.add((self, callback))

        def arrive() -> None:
            if (self, callback) in _callbacks:
                _callbacks.discard((self, callback))
                with suppress(RuntimeError):  # the event loop is closed
                    loop.call_soon_threadsafe(callback, self, context=context)

        _session.when_ready(self, arrive)

    def remove_done_callback(self, callback: Callable[[Any], object]) -> None:
        """Do not call `callback` any more."""
        _callbacks.discard((self, callback))

    def done(self) -> bool:
        """Return whether the ref is ready."""
        return bool(_session.context().wait([cast("AnyRef[T]", self)], timeout=0)[0])

    def exception(self) -> BaseException | None:
        """Return the exception that `get` would raise for this ref, which is ready; None where it has a value."""
        return self.future().exception()

    def cancelled(self) -> bool:
        return isinstance(self.exception(), TaskCancelledError)

    def __iter__(self) -> Iterator[Any]:
        ref: Any = self
        if ref._is_stream():
            return ref
        raise TypeError("'ray.ObjectRef' object is not iterable; get its value and iterate that")

    def __repr__(self) -> str:
        return f"ObjectRef({self.hex()})"

    def __reduce__(self) -> Any:
        """Pickle the ref as the engine counts it, or by the object's id where the program pickles it itself."""
        if is_counted():
            return super().__reduce__()
        if os.environ.get("RAY_allow_out_of_band_object_ref_serialization") == "0":  # noqa: SIM112
            raise OufOfBandObjectRefSerializationException(
                f"{self!r} was pickled by the program itself; pass it to a task, return it or put it"
            )
        engine: Any = _session.context().engine
        _pickled.add(self)
        return _unpickled, (engine.publish(self),)


def is_counted() -> bool:
    """Return whether this thread pickles an argument, a result or a value that is put, in which refs are counted."""
    return _native.is_pickling() or is_pickling_by_value()


_pickled: set[Any] = set()
"""The refs that the program has pickled itself. They keep their objects as long as this process lives, as in Ray."""
_callbacks: set[tuple[Any, Callable[[Any], object]]] = set()
"""The callbacks of refs that are not ready."""


def _unpickled(object_id: str) -> Any:
    engine: Any = _session.context().engine
    found = engine.find_object(object_id)
    if found is not None:
        return found
    lost = f"The object {object_id} belongs to another session, in which the program has pickled its ref."
    return failed_refs(ObjectLostError(lost), 1)


def _id_of(ref: Any) -> str:
    return ref._id()


def _future_of(ref: AnyRef[T]) -> Future[T]:
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def end() -> None:
        try:
            value = _session.context().get(ref)
        except BaseException as error:
            future.set_exception(translated(error))
        else:
            future.set_result(value)

    _session.when_ready(ref, end)
    return future


class ObjectRefGenerator:
    """An iterator of refs to the items of a generator task, each of which is there once the task has yielded it."""

    def __init__(self, ref: Any) -> None:
        self._ref = ref
        self._ended = False
        self._completed: Any = None

    def __iter__(self) -> ObjectRefGenerator:
        return self

    def __next__(self) -> ObjectRef[Any]:
        if self._ended:
            raise StopIteration
        try:
            return next(self._ref)
        except StopIteration:
            self._ended = True
            raise
        except Exception as error:
            return self._failed(error)

    def __aiter__(self) -> AsyncIterator[ObjectRef[Any]]:
        return self  # type: ignore[return-value]

    async def __anext__(self) -> ObjectRef[Any]:
        if self._ended:
            raise StopAsyncIteration
        try:
            return await anext(self._ref)
        except StopAsyncIteration:
            self._ended = True
            raise
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> ObjectRef[Any]:
        """Return the last ref of a generator that has raised `error`: one for which `get` raises it."""
        self._ended = True
        return cast("ObjectRef[Any]", _session.context().put(Poison(translated(error))))

    def completed(self) -> ObjectRef[None]:
        """Return a ref that is ready when the task has ended; its value is None."""
        if self._completed is None:
            self._completed = _session.context().create_task(_nothing, (self._ref,), options=NO_CPU)
        return self._completed

    def is_finished(self) -> bool:
        """Return whether all items were taken."""
        return self._ended

    def next_ready(self) -> bool:
        """Return whether the next item is there."""
        if self._ended:
            return False
        return bool(_session.context().wait([self._ref], timeout=0)[0])

    def _unsupported(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("an ObjectRefGenerator can only be iterated")

    send = throw = close = asend = athrow = aclose = _unsupported

    def __repr__(self) -> str:
        return f"ObjectRefGenerator({_id_of(self._ref)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a task cannot return or pass a generator to another task; take its refs and pass a list of those"
        )


class DynamicObjectRefGenerator:
    """The refs of a task with ``num_returns="dynamic"``."""

    def __init__(self, refs: list[Any]) -> None:
        self._refs = refs

    def __iter__(self) -> Iterator[Any]:
        return iter(self._refs)

    def __len__(self) -> int:
        return len(self._refs)

    def __getitem__(self, index: int) -> Any:
        return self._refs[index]


class Poison:
    """A value that raises an exception where it is unpickled; it stands for a result that does not exist."""

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure

    def __reduce__(self) -> Any:
        return _raise_again, (self.failure,)


def failed_refs(failure: BaseException, returns: int) -> Any:
    """Return a ref for which `get` raises `failure`; a list of such refs where `returns` is more than one."""
    refs = [_session.context().put(Poison(failure)) for _ in range(max(returns, 1))]
    return refs if returns > 1 else refs[0]


def _raise_again(failure: BaseException) -> NoReturn:
    raise failure


def _nothing(items: list[Any]) -> None:
    del items


_session.give_refs(ObjectRef)
