"""One actor inside this process: its instance, its mailbox, and how it ends."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from fray._failures import summary
from fray.backend.local.actor_call import ActorCall, ConstructorCall
from fray.backend.local.mailbox import Mailbox
from fray.errors import ActorDiedError, ForeignRefError, PendingCallsLimitError, UnsupportedError
from fray.job.actor_methods import MethodKind, runs_on_loop
from fray.job.actors import ActorHandle, ActorLink, CallOptions, describe
from fray.types import ActorOptions

if TYPE_CHECKING:
    from fray.backend.local.base import InProcessContext
    from fray.backend.local.runner import Runner

__all__ = ["LocalActor"]

LOOP_PLACES = 1000
"""Calls that run at the same time in an actor on an event loop, where its options do not say."""

_living: weakref.WeakValueDictionary[str, LocalActor] = weakref.WeakValueDictionary()


class LocalActor(ActorLink):
    """The actor and the link to it in one, so that Python itself counts who holds it.

    Handles and calls hold it, and its context does while it has a name. When the last of them is gone it is collected,
    also where its own instance holds a handle of it; its runner is then closed.

    Threading: guarded by the context's condition. User code never runs with it held.
    """

    def __init__(
        self,
        context: InProcessContext,
        cls: type[Any],
        options: ActorOptions,
        methods: Mapping[str, MethodKind],
        namespace: str,
    ) -> None:
        self.context = context
        self.options = options
        self.methods = methods
        self.actor_id = os.urandom(8).hex()
        self.class_name = cls.__qualname__
        self.name = options.name
        self.namespace = namespace
        self.on_loop = runs_on_loop(methods)
        if self.on_loop and options.runtime_env is not None and options.runtime_env.env:
            raise UnsupportedError(
                f"RuntimeEnv.env does not apply to {self.class_name}, which has async methods: in this process the "
                "calls that run at the same time would share it"
            )
        self.annotations = options.annotations
        self.packed_class = context.codec.pack_function(cls, f"the class {self.class_name}")
        self.instance: Any = None
        self.death: tuple[str, Exception | None] | None = None
        """Why it has ended, and the exception behind it."""
        self._restarts_left = options.max_restarts
        self._constructor_arguments: Any = None
        self.constructing: ConstructorCall | None = None
        """The call that makes the instance, until it has ended."""
        self.mailbox: Mailbox
        self.runner: Runner
        self._open_mailbox()
        _living[self.actor_id] = self

    # ---- calls

    def submit(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], options: CallOptions) -> Any:
        return self.context.call_actor(ActorCall(self, method, args, kwargs, options))

    def constructor(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ConstructorCall:
        """Return the call that makes the instance; it has to be put before any other."""
        call = ConstructorCall(self, "__init__", args, kwargs, CallOptions())
        if self._restarts_left != 0:
            self._constructor_arguments = call.arguments()
        self.constructing = call
        return call

    def put(self, call: ActorCall) -> None:
        """Put a call into the mailbox; where the actor has ended its cells say so at once.

        Raises:
            PendingCallsLimitError: there are as many as the options allow.
        """
        with self.context.condition:
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

    # ---- its end

    def end(self, reason: str, cause: Exception | None = None) -> None:
        """End it: calls that run or wait fail with `reason`, and its name is free. No effect where it has ended."""
        with self.context.condition:
            if self.death is not None:
                return
            self.death = (reason, cause)
            running, waiting, instance = self._stop()
            self.context.forget_name(self)
        for call in waiting:
            call.fail(self._died(call, "no"))
        for call in running:
            call.fail(self._died(call, "unknown"))
            call.stop()
        del instance  # its finalizer runs here, where no lock is held

    def restart(self) -> ConstructorCall | None:
        """Make room for a new instance and return the call that makes it; None where the options allow none."""
        with self.context.condition:
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
            call.fail(self._died(call, "unknown", ("it was started anew, without this call", None)))
        for call in running:
            call.stop()
        del instance
        return constructor

    def close(self) -> Any:
        """End with the context, whose condition is held; return the instance, to be dropped without it."""
        if self.death is None:
            self.death = ("its context was closed", None)
        return self._stop()

    def _stop(self) -> tuple[list[ActorCall], list[ActorCall], Any]:
        """Start nothing more; return the calls that ran, those that waited, and the instance."""
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
        """End with what the constructor raised, unless it was that of an earlier instance."""
        if self.constructing is call and self.death is None and not self.context.closed:
            error = self.context.codec.open_failure(failure)
            self.end(f"its constructor raised {summary(error)}", error)

    def _open_mailbox(self) -> None:
        places = self.options.max_concurrency or (LOOP_PLACES if self.on_loop else 1)
        self.mailbox = Mailbox(self.context.lock, places)
        self.runner = self.context.runner_for(self.mailbox, self.class_name, self.on_loop)
        weakref.finalize(self, self.runner.close).atexit = False

    def _died(
        self,
        call: ActorCall,
        executed: Literal["no", "unknown"],
        why: tuple[str, Exception | None] | None = None,
    ) -> ActorDiedError:
        reason, cause = why or self.death or ("", None)
        had = "it had not started" if executed == "no" else "it had started, and how far it came is not known"
        error = ActorDiedError(
            f"{call.name} has no result, because {describe(self)} has ended: {reason}; {had}",
            executed=executed,
            class_name=self.class_name,
            actor_name=self.name,
        )
        error.__cause__ = cause
        return error


def _handle_of(actor_id: str) -> ActorHandle:
    actor = _living.get(actor_id)
    if actor is None:
        raise ForeignRefError(
            f"this process has no actor {actor_id[:8]}: the handle was pickled outside Fray, and a handle of a context "
            "inside a process means something only in that process, while the actor lives"
        )
    return ActorHandle(actor)
