"""One call of an actor's method inside this process; the first call of every actor is its constructor."""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from types import CoroutineType
from typing import TYPE_CHECKING, Any, cast

from fray.backend.local.call import Call
from fray.job.actors import ActorContext, ActorHandle, CallOptions, enter_actor
from fray.types import TaskOptions

if TYPE_CHECKING:
    from fray.backend.local.actor import LocalActor
    from fray.backend.local.cell import Cell

__all__ = ["ActorCall", "ConstructorCall"]


class ActorCall(Call):
    """A submitted call. It holds its actor, which therefore lives at least until the call has ended."""

    __slots__ = ("_instance", "_stop", "actor", "left_behind", "method", "retries_left")

    def __init__(
        self, actor: LocalActor, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], options: CallOptions
    ) -> None:
        actor.context.check_call(actor, args, kwargs)
        self.actor = actor
        self.method = method
        self.retries_left = actor.options.max_task_retries
        self.left_behind = False
        """Its submitter did not wait for its turn: whoever ends a call before it runs it."""
        self._instance: Any = None
        self._stop: Callable[[], None] | None = None
        env = actor.options.runtime_env
        own = TaskOptions(options.name, max_retries=0, num_returns=options.num_returns, runtime_env=env)
        super().__init__(actor.context, own.name or f"{actor.class_name}.{method}", args, kwargs, own)
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
        """Whether it could run; the condition is held."""
        return all(ref.cell.done for ref in self.dependencies)

    def begin(self) -> None:
        """It got a place, and runs on the instance that there is now; the condition is held."""
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
        """Return a call in the place of this one, whose run was lost; None where none is allowed. The lock is held.

        What this one's run still does goes unseen.
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
        import asyncio  # there already, where a loop runs; other actors do without

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

    __slots__ = ()

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
