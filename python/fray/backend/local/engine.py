"""`InProcessEngine`: the common part of the engines inside this process, which differ in when and where a task runs."""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, cast

from fray import _traces
from fray._resources import DEVICE_KINDS
from fray.backend.local.actor import ActorCall, LocalActor
from fray.backend.local.call import Span, TaskCall, running_demand
from fray.backend.local.codec import Codec
from fray.backend.local.environment import say_what_lacks, suspended
from fray.backend.local.mailbox import Mailbox, Runner
from fray.backend.local.results import Cell, CellWatch, LocalRef, Waits
from fray.errors import ContextClosedError, DeadlockError, ForeignRefError, GetTimeoutError
from fray.job.actor_request import name_taken
from fray.job.actor_spec import ActorSpec
from fray.job.actors import ActorHandle
from fray.job.arrival import arrive, note
from fray.job.checks import context_closed, foreign_actor, foreign_ref
from fray.job.context import JobContext
from fray.job.engine import Engine
from fray.job.refs import ObjectRef
from fray.job.watch import Watch
from fray.types import ActorOptions, TaskOptions

__all__ = ["CLOSE_GRACE_SECONDS", "InProcessContext", "InProcessEngine"]

MAX_SPANS = 100_000
CLOSE_GRACE_SECONDS = 1.0
"""Seconds for which `close` waits for running calls."""


class InProcessContext(JobContext):
    """A context whose engine, tasks and objects are all inside this process."""

    def __init__(self, engine: InProcessEngine) -> None:
        super().__init__(engine)
        _contexts.add(self)

    def begin_anew(self) -> None:
        """In a child of fork(): the threads are the parent's, and so are the refs and actors of before."""
        parents = cast("InProcessEngine", self._engine)
        _parents_engines.append(parents)
        self._engine = parents.anew()

    def __reduce__(self) -> Any:
        note(self)
        return arrive, (self.session_name(), self.own_name())


_contexts: weakref.WeakSet[InProcessContext] = weakref.WeakSet()
_parents_engines: list[Any] = []
"""Never freed: at the time of the fork another thread may have held their locks, which their cells would take."""


def _after_fork_in_child() -> None:
    for context in list(_contexts):
        context.begin_anew()


os.register_at_fork(after_in_child=_after_fork_in_child)


class InProcessEngine(Engine):
    """Cells, refs, waiting and cancelling; a subclass says how a call starts and how a generator is driven.

    Threading: every cell is guarded by `condition`, whose lock is `lock`. User code never runs with it held.
    Ownership: the engine and its context hold each other; the context is the current one in the engine's tasks.
    """

    def __init__(self, context: JobContext, codec: Codec, parallelism: int) -> None:
        _traces.switch_on()
        self.context = context
        self.codec = codec
        self._parallelism = parallelism
        self.lock = threading.RLock()
        self.condition = threading.Condition(self.lock)
        self._open_cells: weakref.WeakSet[Cell] = weakref.WeakSet()
        self._spans: deque[Span] = deque(maxlen=MAX_SPANS)
        self.waits = Waits(self.lock)
        self._actors: weakref.WeakSet[LocalActor] = weakref.WeakSet()
        self._runners: weakref.WeakSet[Runner[ActorCall]] = weakref.WeakSet()
        """The runners of all actors; that of an ended actor stays while a thread of it still runs."""
        self._names: dict[tuple[str, str], LocalActor] = {}
        """The living actors that have a name, by namespace and name."""

    # ---- what a subclass implements

    @abstractmethod
    def anew(self) -> InProcessEngine:
        """Return an engine like this one for the same context, which knows nothing of this one's tasks and actors."""

    @abstractmethod
    def _start(self, call: TaskCall) -> None:
        """Run the call, or arrange that it runs."""

    @abstractmethod
    def _runner(self, mailbox: Mailbox[ActorCall], name: str) -> Runner[ActorCall]:
        """Return the runner for the calls of an actor that has no async methods."""

    @abstractmethod
    def _start_call(self, call: ActorCall) -> None:
        """Run a call that is in its actor's mailbox, or arrange that it runs."""

    def _help(self, cell: Cell) -> None:
        """Run, before this thread waits for `cell`, the calls that no other thread will run."""

    def blocking(self) -> AbstractContextManager[None]:
        """Surround a wait of this thread; entered and left without the condition held."""
        return suspended()

    @property
    def closed(self) -> bool:
        return self.context.closed

    @property
    def parallelism(self) -> int:
        return self._parallelism

    def _check_open(self) -> None:
        if self.context.closed:
            raise context_closed(type(self.context).__name__)
        if self.context.begun_engine is not self:
            raise ForeignRefError(
                "a ref or an actor of before a fork() belongs to the process that forked this one; get values before "
                "the fork, or make it again here"
            )

    # ---- tasks

    def submit(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions
    ) -> Any:
        self._check_open()
        say_what_lacks(options.runtime_env)
        self._check_arguments((*args, *kwargs.values()), "create_task")
        call = TaskCall(self, fn, args, kwargs, options)
        refs = [LocalRef[Any](self, cell) for cell in call.cells]
        for dependency in call.dependencies:
            dependency.cell.want_all()
        try:
            self._start(call)
        except BaseException:  # Ctrl-C: nobody gets the refs, so nobody could cancel the task
            call.cancel()
            raise
        return refs if options.num_returns > 1 else refs[0]

    def _check_arguments(self, values: Iterable[Any], verb: str) -> None:
        for value in values:
            if isinstance(value, ObjectRef):
                if not self.owns(cast("ObjectRef[Any]", value)):
                    raise foreign_ref(cast("ObjectRef[Any]", value), verb, type(self.context).__name__)
            elif isinstance(value, ActorHandle) and not self.owns_actor(value._fray_link):  # pyright: ignore[reportPrivateUsage]
                raise foreign_actor(value, verb, type(self.context).__name__)

    def cancel(self, ref: LocalRef[Any], force: bool) -> None:
        call = ref.cell.call
        if call is not None:
            call.check_cancel(force)
            call.cancel()
            call.stop()

    def is_waiting(self, ref: LocalRef[Any], cancel: bool = False) -> bool:
        cell = ref.cell
        with self.condition:
            waiting = cell.call is not None and not cell.started and not cell.done
            if waiting and cancel:
                self.cancel(ref, False)
            return waiting

    def watch(self) -> Watch:
        return CellWatch()

    def new_cell(self, name: str) -> Cell:
        """Return a pending cell, which ends with the context at the latest."""
        cell = Cell(self.condition, name)
        with self.condition:
            self._open_cells.add(cell)
        return cell

    # ---- actors

    def create_actor(self, spec: ActorSpec) -> LocalActor:
        options = spec.options
        say_what_lacks(options.runtime_env)
        self._check_arguments((*spec.args, *spec.kwargs.values()), "create_actor")
        space = options.namespace or self.context.namespace
        existing = self._same_name(options, space)
        if existing is not None:
            return existing
        actor = LocalActor(self, spec, space)
        call = actor.constructor(spec.args, spec.kwargs)
        with self.condition:
            existing = self._same_name(options, space)
            if existing is not None:  # another thread has created it meanwhile
                actor.close()
                return existing
            if options.name is not None:
                self._names[space, options.name] = actor
            self._actors.add(actor)
            actor.put(call)
        for dependency in call.dependencies:
            dependency.cell.want_all()
        self._start_call(call)
        return actor

    def _same_name(self, options: ActorOptions, space: str) -> LocalActor | None:
        existing = None if options.name is None else self._names.get((space, options.name))
        if existing is not None and not options.get_if_exists:
            raise name_taken(options.name or "", space)
        return existing

    def find_actor(self, name: str, namespace: str) -> LocalActor | None:
        return self._names.get((namespace, name))

    def named_actors(self) -> list[tuple[str, str]]:
        with self.condition:
            return list(self._names)

    def kill_actor(self, link: LocalActor, no_restart: bool) -> None:
        constructor = None if no_restart else link.restart()
        if constructor is None:
            link.end("it was killed")
        else:
            self._start_call(constructor)

    def owns_actor(self, link: Any) -> bool:
        return getattr(link, "engine", None) is self

    def call_actor(self, call: ActorCall) -> Any:
        """Submit a call and return its ref, or the list of its refs."""
        refs = [LocalRef[Any](self, cell) for cell in call.cells]
        for dependency in call.dependencies:
            dependency.cell.want_all()
        try:
            call.actor.put(call)
            self._start_call(call)
        except BaseException:  # Ctrl-C: the calls behind this one must not wait for it
            call.cancel()
            raise
        return refs if call.options.num_returns > 1 else refs[0]

    def check_call(self, actor: LocalActor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise where `actor` cannot be called from here with these arguments."""
        self._check_open()
        self._check_arguments((*args, *kwargs.values()), f"a call of {actor.class_name}")

    def runner_for(self, mailbox: Mailbox[ActorCall], name: str, on_loop: bool) -> Runner[ActorCall]:
        """Return the runner for the calls in `mailbox`."""
        if on_loop:
            from fray.backend.local.loop_runner import LoopRunner

            runner = LoopRunner(mailbox, name)
        else:
            runner = self._runner(mailbox, name)
        self._runners.add(runner)
        return runner

    def forget_name(self, actor: LocalActor) -> None:
        """Free the name of an actor that has ended; the condition is held."""
        if actor.name is not None and self._names.get((actor.namespace, actor.name)) is actor:
            del self._names[actor.namespace, actor.name]

    # ---- objects

    def put(self, value: Any) -> LocalRef[Any]:
        cell = Cell(self.condition, "put")
        cell.finish(self.codec.pack(value, "the value to put"))
        return LocalRef(self, cell)

    def get(self, ref: LocalRef[Any], timeout: float | None) -> Any:
        cell = ref.cell
        if not cell.done:
            cell.want_all()
            cell.pump_all()
            with _traces.waiting("get", cell.name):
                reached = self._wait_for(cell, timeout)
            if not reached:
                raise GetTimeoutError(f"task {cell.name!r} had no result after {timeout} s")
        return self.value_of(cell)

    def get_many(self, refs: Sequence[LocalRef[Any]], timeout: float | None) -> list[Any]:
        for ref in refs:
            ref.cell.want_all()
        deadline = None if timeout is None else time.monotonic() + timeout
        values: list[Any] = []
        for ref in refs:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            values.append(self.get(ref, left))
        return values

    def read(self, ref: LocalRef[Any], timeout: float | None) -> Any:
        """Return the value of a ref; what `ref.result` calls."""
        return self.context.get(ref, timeout)

    def value_of(self, cell: Cell) -> Any:
        """Return the value of a cell that has ended, a list for a stream; or raise its failure."""
        if not cell.done:
            cell.pump_all()
        if cell.failure is not None:
            raise self.codec.open_failure(cell.failure)
        if cell.stream is not None:
            return [self.codec.open(item) for item in list(cell.stream.items)]
        return self.codec.open(cell.value)

    def next_item(self, ref: LocalRef[Any]) -> LocalRef[Any]:
        """Return a ref to the next item of a generator task; what `next(ref)` calls."""
        self._check_open()
        cell = ref.cell
        while (item := self._take_item(cell)) is None:
            self._help(cell)
            self.wait_until(cell.ready, None)
        return item

    async def next_in_loop(self, ref: LocalRef[Any]) -> LocalRef[Any]:
        """Do as `next_item` does, but suspend the running coroutine until the item is there."""
        import asyncio

        self._check_open()
        cell = ref.cell
        if cell.stream is not None and cell.stream.pump is not None:
            # This coroutine makes the item itself and never waits for it, so nobody else would have a turn.
            await asyncio.sleep(0)
            self._check_open()
        try:
            while (item := self._take_item(cell)) is None:
                self._help(cell)
                await self._until_told(cell, for_item=True)
        except StopIteration:
            raise StopAsyncIteration from None
        return item

    def _take_item(self, cell: Cell) -> LocalRef[Any] | None:
        """Return a ref to the next item of a stream, None where it is not there yet; or raise what is at its end."""
        while True:
            with self.condition:
                stream = cell.stream
                if stream is not None and stream.items:
                    item = stream.items.popleft()
                    stream.tell_producer()
                    self.condition.notify_all()
                    break
                if cell.done:
                    raise self._end_of_stream(cell)
                pump = None if stream is None else stream.pump
            if pump is None:
                return None
            pump()
        item_cell = Cell(self.condition, f"an item of {cell.name}")
        item_cell.finish(item)
        return LocalRef(self, item_cell)

    def _end_of_stream(self, cell: Cell) -> Exception:
        if cell.failure is not None:
            return self.codec.open_failure(cell.failure)
        if cell.stream is None:
            return TypeError(f"task {cell.name!r} is no generator; use get or ref.result() for its value")
        return StopIteration()

    # ---- waiting

    def wait(
        self, refs: list[LocalRef[Any]], num_returns: int, timeout: float | None
    ) -> tuple[list[LocalRef[Any]], list[LocalRef[Any]]]:
        cells = [ref.cell for ref in refs]
        for cell in cells:
            self._help(cell)
        with _traces.waiting("wait", f"{len(refs)} results") if timeout != 0 else nullcontext():
            self.wait_until(lambda: sum(cell.ready() for cell in cells) >= num_returns, timeout)
        ready: list[LocalRef[Any]] = []
        others: list[LocalRef[Any]] = []
        with self.condition:
            for ref in refs:
                (ready if len(ready) < num_returns and ref.cell.ready() else others).append(ref)
        return ready, others

    def _wait_for(self, cell: Cell, timeout: float | None) -> bool:
        self._help(cell)
        if timeout is not None:
            return self.wait_until(lambda: cell.done, timeout)
        with self.waits.of_this_thread(cell) as can_end:
            if not can_end:
                raise DeadlockError(
                    f"the result of {cell.name!r} can never come: it needs an actor or a thread that is busy with what "
                    "waits for it here; do not wait for it here, await it in an async method, or raise max_concurrency"
                )
            return self.wait_until(lambda: cell.done, None)

    def wait_until(self, reached: Callable[[], bool], timeout: float | None) -> bool:
        """Block until `reached()`, or the time is over; return whether it is reached."""
        with self.condition:
            if reached():
                return True
        if timeout == 0:
            return False
        with self.blocking(), self.condition:
            return self.condition.wait_for(reached, timeout)

    def _awaiting(self) -> AbstractContextManager[None]:
        """Surround a coroutine's wait, during which the thread of its event loop may give its place in a pool away."""
        return nullcontext()

    async def wait_in_loop(self, ref: LocalRef[Any]) -> None:
        """Suspend the running coroutine until the cell has ended."""
        self._check_open()
        cell = ref.cell
        cell.want_all()
        cell.pump_all()
        self._help(cell)
        with nullcontext() if cell.done else _traces.waiting("get", cell.name):
            await self._until_told(cell)

    async def _until_told(self, cell: Cell, for_item: bool = False) -> None:
        """Suspend the running coroutine until the cell has ended or, with `for_item`, until its next item is there."""
        import asyncio

        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not future.done():
                future.set_result(None)

        def from_any_thread() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(wake)

        if not cell.watch(from_any_thread, for_item):
            return
        try:
            with self._awaiting():
                await future
        finally:
            if future.cancelled():
                cell.unwatch(from_any_thread)

    # ---- devices

    def resource_ids(self) -> dict[str, list[int]]:
        demand = running_demand()
        return {kind: list(range(math.ceil(demand[kind]))) for kind in DEVICE_KINDS if demand.get(kind, 0) > 0}

    # ---- timeline

    def record(self, span: Span) -> None:
        """Remember when a task ran."""
        self._spans.append(span)

    def timeline_events(self) -> list[dict[str, Any]]:
        process = os.getpid()
        return [
            {
                "name": span.name,
                "cat": "task",
                "ph": "X",
                "ts": round(span.start * 1e6),
                "dur": max(1, round((span.end - span.start) * 1e6)),
                "pid": process,
                "tid": span.thread_id,
                "args": {"ok": span.ended_well},
            }
            for span in self._spans.copy()
        ]

    # ---- life

    def owns(self, ref: Any) -> bool:
        return type(ref) is LocalRef and cast("LocalRef[Any]", ref).engine is self

    def close(self) -> None:
        with self.condition:
            cells = list(self._open_cells)
            instances = [actor.close() for actor in list(self._actors)]
            runners = list(self._runners)
            self._names.clear()
        error = ContextClosedError(f"this {type(self.context).__name__} was closed before the task ended")
        for cell in cells:
            if not cell.done:
                cell.fail(self.codec.pack_failure(error, cell.name))
        deadline = time.monotonic() + CLOSE_GRACE_SECONDS
        for runner in runners:
            runner.close()
        for runner in runners:
            runner.join(deadline)
        del instances
