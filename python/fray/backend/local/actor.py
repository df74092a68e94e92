"""One actor inside this process: its instance, its mailbox, its calls, and how it ends.

The first call of every actor is its constructor.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from types import CoroutineType
from typing import Any, Literal, Protocol, cast

from fray._failures import summary
from fray.backend.local.call import Call, CallOwner
from fray.backend.local.mailbox import Mailbox, Runner
from fray.backend.local.results import Cell
from fray.errors import ActorDiedError, ForeignRefError, PendingCallsLimitError, UnsupportedError
from fray.job.actor_methods import runs_on_loop
from fray.job.actor_spec import ActorSpec
from fray.job.actors import ActorContext, ActorHandle, ActorLink, CallOptions, describe, enter_actor
from fray.types import TaskOptions

__all__ = ["ActorCall", "ActorOwner", "LocalActor"]

LOOP_PLACES = 1000
"""The default of `max_concurrency` for an actor that runs on an event loop."""

_living: weakref.WeakValueDictionary[str, LocalActor] = weakref.WeakValueDictionary()


class ActorOwner(CallOwner, Protocol):
    """What an actor and its calls need of their engine."""

    @property
    def closed(self) -> bool: ...
    def call_actor(self, call: ActorCall) -> Any: ...
    def check_call(self, actor: LocalActor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None: ...
    def runner_for(self, mailbox: Mailbox[ActorCall], name: str, on_loop: bool) -> Runner[ActorCall]: ...
    def forget_name(self, actor: LocalActor) -> None: ...


class LocalActor(ActorLink):
    """The actor and the link to it in one, so that Python itself counts who holds it.

    Handles and calls hold it, and its context does while it has a name. When the last of them is gone it is collected,
    also where its own instance holds a handle of it; its runner is then closed.

    Threading: guarded by the engine's condition. User code never runs with it held.
    """

    def __init__(self, engine: ActorOwner, spec: ActorSpec, namespace: str) -> None:
        cls, _, _, options, methods = spec
        self.engine = engine
        self.options = options
        self.methods = methods
        self.actor_id = os.urandom(8).hex()
        self.class_name = spec.class_name
        self.name = options.name
        self.namespace = namespace
        self.on_loop = runs_on_loop(methods)
        if self.on_loop and options.runtime_env is not None and options.runtime_env.env:
            raise UnsupportedError(
                f"RuntimeEnv.env does not apply to {self.class_name}, which has async methods: in this process the "
                "calls that run at the same time would share it"
            )
        self.annotations = options.annotations
        self.packed_class = engine.codec.pack_function(cls, f"the class {self.class_name}")
        self.instance: Any = None
        self.death: tuple[str, Exception | None] | None = None
        """Why the actor has ended, and the exception behind it; None while it lives."""
        self._restarts_left = options.max_restarts
        self._constructor_arguments: Any = None
        self.constructing: ConstructorCall | None = None
        """The call that makes the instance, until it has ended."""
        self.mailbox: Mailbox[ActorCall]
        self.runner: Runner[ActorCall]
        self._open_mailbox()
        _living[self.actor_id] = self

    # ---- calls

    def submit(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], options: CallOptions) -> Any:
        return self.engine.call_actor(ActorCall(self, method, args, kwargs, options))

    def constructor(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ConstructorCall:
        """Return the call that makes the instance; it has to be put into the mailbox before any other call."""
        call = ConstructorCall(self, "__init__", args, kwargs, CallOptions())
        if self._restarts_left != 0:
            self._constructor_arguments = call.arguments()
        self.constructing = call
        return call

    def put(self, call: ActorCall) -> None:
        """Put a call into the mailbox; where the actor has ended, the cells of the call fail at once.

        Raises:
            PendingCallsLimitError: there are as many pending calls as the options allow.
        """
        with self.engine.condition:
            if self.death is None:
                self._check_limit()
                self.mailbox.put(call)
                self._watch(call)
                self.runner.wake()
                return
        call.fail(self._died(call, "no"))

    def _check_limit(self) -> None:
        limit = self.options.max_pending_calls
        if limit == -1:
            return
        calls = (*self.mailbox.running(), *self.mailbox.waiting())
        if sum(not (call.settled() or isinstance(call, ConstructorCall)) for call in calls) >= limit:
            raise PendingCallsLimitError(
                f"{describe(self)} has {limit} calls that have not ended, as many as its max_pending_calls allows; "
                "get some of their refs first, or raise the limit"
            )

    def _watch(self, call: ActorCall) -> None:
        for ref in call.dependencies:
            ref.cell.watch(lambda: self.runner.wake())

    # ---- pickling outside the context's own codec

    def reduce(self) -> tuple[Callable[..., ActorHandle], tuple[Any, ...]]:
        native = sys.modules.get("fray._native")
        if native is not None and native.is_pickling():
            raise ForeignRefError(f"{describe(self)} belongs to another context than this one; create the actor there")
        return _handle_of, (self.actor_id,)

    # ---- the end

    def end(self, reason: str, cause: Exception | None = None) -> None:
        """End the actor: its unfinished calls fail with `reason`, and its name is free. No effect on an ended actor."""
        with self.engine.condition:
            if self.death is not None:
                return
            self.death = (reason, cause)
            running, waiting, instance = self._stop()
            self.engine.forget_name(self)
        for call in waiting:
            call.fail(self._died(call, "no"))
        for call in running:
            call.fail(self._died(call, "unknown"))
            call.stop()
        del instance  # its finalizer runs here, where no lock is held

    def restart(self) -> ConstructorCall | None:
        """Drop the instance and return the call that makes a new one; None where the options allow no restart."""
        with self.engine.condition:
            if self._restarts_left == 0 or self.death is not None:
                return None
            self._restarts_left = max(-1, self._restarts_left - 1)
            running, waiting, instance = self._stop()
            self._open_mailbox()
            constructor = self._constructor_again()
            self.mailbox.put(constructor)
            lost: list[ActorCall] = []
            for call in (*running, *waiting):
                if isinstance(call, ConstructorCall):
                    continue
                successor = call.again() if call in running else call
                if successor is None:
                    lost.append(call)
                else:
                    self.mailbox.put(successor)
                    self._watch(successor)
            self.runner.wake()
        for call in lost:
            call.fail(self._died(call, "unknown", lives_on=True))
        for call in running:
            call.stop()
        del instance
        return constructor

    def close(self) -> Any:
        """End with the context, whose condition is held; return the instance, to be dropped after its release."""
        if self.death is None:
            self.death = ("its context was closed", None)
        return self._stop()

    def _stop(self) -> tuple[list[ActorCall], list[ActorCall], Any]:
        """Start no further call; return the calls that ran, those that waited, and the instance."""
        running, waiting, instance = self.mailbox.running(), self.mailbox.waiting(), self.instance
        self.instance = self.constructing = None
        self.runner.close()
        return running, waiting, instance

    def _constructor_again(self) -> ConstructorCall:
        call = ConstructorCall(self, "__init__", (), {}, CallOptions())
        call.take_arguments(self._constructor_arguments)
        self.constructing = call
        return call

    def construction_failed(self, call: ConstructorCall, failure: Any) -> None:
        """End the actor with what the constructor raised, unless it was the constructor of an earlier instance."""
        if self.constructing is call and self.death is None and not self.engine.closed:
            error = self.engine.codec.open_failure(failure)
            self.end(f"its constructor raised {summary(error)}", error)

    def _open_mailbox(self) -> None:
        places = self.options.max_concurrency or (LOOP_PLACES if self.on_loop else 1)
        self.mailbox = Mailbox(self.engine.lock, places)
        self.runner = self.engine.runner_for(self.mailbox, self.class_name, self.on_loop)
        weakref.finalize(self, self.runner.close).atexit = False

    def _died(
        self,
        call: ActorCall,
        executed: Literal["no", "unknown"],
        *,
        lives_on: bool = False,
    ) -> ActorDiedError:
        reason, cause = self.death or ("", None)
        what = "was started anew, without this call" if lives_on else f"has ended: {reason}"
        had = "it had not started" if executed == "no" else "it had started, and how far it came is not known"
        error = ActorDiedError(
            f"{call.name} has no result, because {describe(self)} {what}; {had}",
            executed=executed,
            fate="lives_on" if lives_on else "ended" if cause is None else "constructor_failed",
            class_name=self.class_name,
            actor_name=self.name,
            actor_id=self.actor_id,
        )
        error.__cause__ = cause
        return error


class ActorCall(Call):
    """A submitted call. It holds its actor, which therefore lives at least until the call has ended."""

    operation = "call"
    __slots__ = ("_instance", "_stop", "actor", "left_behind", "method", "retries_left")

    def __init__(
        self, actor: LocalActor, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], options: CallOptions
    ) -> None:
        actor.engine.check_call(actor, args, kwargs)
        self.actor = actor
        self.method = method
        self.retries_left = actor.options.max_task_retries
        self.left_behind = False
        """Whether the submitting thread could not wait for the turn; see `TurnRunner`."""
        self._instance: Any = None
        self._stop: Callable[[], None] | None = None
        env = actor.options.runtime_env
        own = TaskOptions(options.name, max_retries=0, num_returns=options.num_returns, runtime_env=env)
        super().__init__(actor.engine, own.name or f"{actor.class_name}.{method}", args, kwargs, own)
        self._enter_actor()

    def _enter_actor(self) -> None:
        context = ActorContext(ActorHandle(self.actor), 0, self.actor.name or self.actor.class_name)
        self.variables.run(enter_actor, context)

    def demand(self) -> dict[str, float]:
        return self.actor.options.demand()

    def function(self) -> Callable[..., Any]:
        return getattr(self._instance, self.method)

    def help(self) -> None:
        self.actor.runner.help()

    def what(self) -> str:
        return f"call {self.name!r}"

    def _refuse_coroutine(self) -> TypeError:
        return TypeError(
            f"{self.what()} returned a coroutine, but no method of {self.actor.class_name} is an `async def` as far as "
            "its definition tells; a decorator may hide it"
        )

    # ---- waiting for its turn

    def arguments_ready(self) -> bool:
        """Whether all arguments are ready; the condition is held."""
        return all(ref.cell.done for ref in self.dependencies)

    def begin(self) -> None:
        """Note that the call got a place, and take the present instance for it; the condition is held."""
        self._instance = self.actor.instance

    def blockers(self) -> Iterable[int | Cell]:
        if self.actor.on_loop:
            return () if self.actor.runner.thread is None else (self.actor.runner.thread,)
        if self.thread is not None:
            return (self.thread,)
        mailbox = self.actor.mailbox
        if mailbox.places > 1:
            return ()
        running = [call.thread for call in mailbox.running() if call.thread is not None]
        ahead = itertools.takewhile(lambda call: call is not self, mailbox.waiting())
        arguments = [ref.cell for call in (*ahead, self) for ref in call.dependencies if not ref.cell.done]
        return [*running, *arguments]

    def again(self) -> ActorCall | None:
        """Return a call that repeats this one, whose run was lost; None where no retry is allowed. The lock is held.

        The result of the lost run is ignored.
        """
        if self.retries_left == 0 or self.settled():
            return None
        successor = ActorCall(self.actor, self.method, (), {}, CallOptions(self.options.num_returns, self.name))
        successor.take_arguments(self.arguments())
        successor.left_behind = True
        successor.retries_left = max(-1, self.retries_left - 1)
        successor.cells, self.cells = self.cells, successor.cells
        for call in (self, successor):
            for cell in call.cells:
                cell.call = call
        return successor

    # ---- ending early

    def on_stop(self, stop: Callable[[], None]) -> None:
        """Have `stop` called, in any thread, when the result is no longer wanted."""
        self._stop = stop

    def check_cancel(self, force: bool) -> None:
        if force:
            raise ValueError(
                f"cancel: force would end the actor of {self.what()} and all its calls; "
                "leave force out, or kill the actor"
            )

    def stop(self) -> None:
        if self._stop is not None:
            self._stop()

    # ---- on an event loop

    async def run_in_loop(self, drive: Callable[[Call, AsyncGenerator[Any, Any]], Any]) -> None:
        """Do what `run` does, in a task of the actor's event loop that has `variables`."""
        if self.settled():
            return
        started = time.monotonic()
        try:
            await self._run_in_loop(drive)
        finally:
            self.record(started)

    async def _run_in_loop(self, drive: Callable[[Call, AsyncGenerator[Any, Any]], Any]) -> None:
        import asyncio  # loaded already where a loop runs; other actors do not need it

        failure = self.failed_dependency()
        if failure is not None:
            self.fail_packed(failure)
            return
        try:
            result = self.call_once()
            if isinstance(result, CoroutineType):
                result = await cast("CoroutineType[Any, Any, Any]", result)
            if isinstance(result, Generator) and len(self.cells) == 1:
                result = _asynchronous(cast("Generator[Any, Any, Any]", result))
            if isinstance(result, AsyncGenerator):
                await drive(self, cast("AsyncGenerator[Any, Any]", result))
                return
            packed = self.pack_result(result)
        except asyncio.CancelledError:
            self.cancel()
            return
        except BaseException as exc:
            self.fail(exc)
            return
        self.finish(packed)


class ConstructorCall(ActorCall):
    """Makes the actor's instance; what it raises ends the actor."""

    operation = "create"
    __slots__ = ()

    def traced_name(self) -> str:
        return self.actor.class_name

    def function(self) -> Callable[..., Any]:
        actor = self.actor
        cls = self.owner.codec.open(actor.packed_class)

        def construct(*args: Any, **kwargs: Any) -> None:
            instance = cls(*args, **kwargs)
            with self.owner.lock:
                if actor.constructing is self:
                    actor.instance, actor.constructing = instance, None

        return construct

    def fail_packed(self, failure: Any) -> None:
        super().fail_packed(failure)
        self.actor.construction_failed(self, failure)


async def _asynchronous(items: Generator[Any, Any, Any]) -> AsyncGenerator[Any, None]:
    try:
        for item in items:
            yield item
    finally:
        items.close()


def _handle_of(actor_id: str) -> ActorHandle:
    actor = _living.get(actor_id)
    if actor is None:
        raise ForeignRefError(
            f"this process has no actor {actor_id[:8]}: the handle was pickled outside Fray, and a handle of a context "
            "inside a process means something only in that process, while the actor lives"
        )
    return ActorHandle(actor)
