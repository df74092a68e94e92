"""`Relay`: the actor of this machine that passes calls on to a named actor that another Iris job hosts.

A machine has one relay for each named actor that is called from it, under a name that programs do not see. Calls of the
relay are calls of the machine's engine, so their refs can be waited for and passed on like all others. The order of a
caller is kept: the engine calls methods in their order, and each method sends its frame before it returns a coroutine.

A relay has the methods of its actor; the names of its other attributes begin with an underscore, as no method's does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any
from weakref import finalize, ref

from fray import errors
from fray._failures import unpack_exception
from fray._iris_jobs import IrisJobs
from fray.backend.iris.actors import Description
from fray.backend.iris.channel import Channel
from fray.backend.iris.directory import ActorDirectory, Host
from fray.backend.iris.frames import Kind
from fray.backend.iris.handshake import HandshakeError, connect
from fray.backend.iris.task import current_task, secret
from fray.backend.iris.values import memory_in, pack, unpack
from fray.job.actor_methods import MethodKind
from fray.job.current import get_job_context

__all__ = ["CONNECT", "KILL", "RELAYS", "Relay", "methods_of_relay", "name_of_relay"]

CONNECT, KILL = "_fray_connect", "_fray_kill"
"""Methods of every relay."""
_STREAMS = (MethodKind.GENERATOR, MethodKind.ASYNC_GENERATOR)
_ITEMS_AHEAD = 8
_LOOK_SECONDS = 2.0
"""Before the first look whether the host of calls that have no answer is still there: a machine may go silently."""
_LONGEST_LOOK_SECONDS = 10.0
_FIRST_REST_SECONDS = 0.05
_LONGEST_REST_SECONDS = 1.0
_MOST_REFUSALS = 6
_REMEMBERED_SECONDS = 60.0
"""How long after an actor's end its relay stays, to tell callers how the actor ended."""
RELAYS = "fray.iris"
"""The namespace of relays on each machine."""


def name_of_relay(job: str) -> str:
    """Return the name of the relay for the actor that a job hosts."""
    return job.rpartition("/")[2]


def methods_of_relay(description: Description) -> dict[str, MethodKind]:
    """Return the methods of the relay for an actor: all of them run on its event loop."""
    methods = {
        name: MethodKind.ASYNC_GENERATOR if kind in _STREAMS else MethodKind.ASYNC
        for name, kind in description.methods.items()
    }
    return {**methods, CONNECT: MethodKind.ASYNC, KILL: MethodKind.ASYNC}


class Relay:
    """Has the methods of the actor that a job hosts.

    Args:
        job: the id of the job.
        description: of the actor, as text.
    """

    def __init__(self, job: str, description: list[Any]) -> None:
        self._fray_line = _Line(job, Description.read(description))

    async def _fray_connect(self) -> None:
        """Begin to connect, so that the first call finds a connection."""
        self._fray_line.begin()

    async def _fray_kill(self, no_restart: bool) -> None:
        """End the actor and wait for its end."""
        with suppress(errors.ActorDiedError):
            await self._fray_line.call(Kind.KILL, no_restart)

    def __getattr__(self, method: str) -> Any:
        # Python calls this once for each method.
        if method.startswith("_"):
            raise AttributeError(method)
        line = self._fray_line
        if line.description.methods.get(method) in _STREAMS:

            def forward(*args: Any, **kwargs: Any) -> Any:
                return line.stream(method, args, kwargs)
        else:

            def forward(*args: Any, **kwargs: Any) -> Any:
                return line.call(Kind.CALL, (method, args, kwargs))

        self.__dict__[method] = forward
        return forward


class _Call:
    """A call that has no answer yet.

    Args:
        kind: kind of its frame.
        packed: body and buffers of its frame.
        attempts: how often it may be sent again after it was lost; -1 for no limit.
    """

    __slots__ = ("answer", "attempts", "guard", "is_sent", "kind", "packed")

    def __init__(self, kind: Kind, packed: Any, attempts: int, answer: asyncio.Future[Any] | _Stream) -> None:
        self.kind, self.packed, self.attempts, self.answer = kind, packed, attempts, answer
        self.is_sent = False
        self.guard: ref[Any] | None = None
        """A weak reference to the coroutine that waits for the answer. A coroutine that is cancelled before it begins
        runs no code; the callback of this reference then forgets the call."""


class _Stream:
    """The items of a generator method that have come and were not taken."""

    def __init__(self) -> None:
        self.items: deque[Any] = deque()
        self.end: BaseException | None = None
        self.came = asyncio.Event()

    def done(self) -> bool:
        """Return whether no further item will come; same name as that of a future."""
        return self.end is not None

    def set_exception(self, error: BaseException) -> None:
        """End with an error, or with StopAsyncIteration."""
        self.end = error
        self.came.set()


class _Line:
    """The calls to one actor, over the present connection; everything here runs in the thread of the loop.

    A call that was sent when the connection was lost may have run: it is sent again as often as the actor's
    `max_task_retries` allow, and fails otherwise. One that was not sent waits for the next host of the actor.
    """

    def __init__(self, job: str, description: Description) -> None:
        self.description = description
        self._job = job
        task = current_task()
        self._secret = secret()
        self._directory = ActorDirectory(IrisJobs(task.controller, user=task.user), task)
        self._calls: dict[int, _Call] = {}
        self._last = 0
        self._channel: Channel | None = None
        self._flush_planned = False
        self._ended: Exception | None = None
        self._work: asyncio.Task[None] | None = None

    # ---- calls

    def begin(self) -> None:
        """Connect, and connect again, until the actor has ended."""
        if self._work is None:
            self._loop = asyncio.get_running_loop()
            self._work = self._loop.create_task(self._stay_connected())

    def call(self, kind: Kind, what: Any) -> Coroutine[Any, Any, Any]:
        """Send a call at once, in the order of the calls; return the coroutine of its value."""
        packed = pack(what)
        if self._ended is not None:
            raise self._died(self._ended, "no")
        if self._work is None:
            self.begin()
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._last = number = self._last + 1
        call = self._calls[number] = _Call(kind, packed, self.description.max_task_retries, answer)
        if self._channel is not None:
            self._send(number, call)
        value = self._value(number, answer)
        call.guard = ref(value, lambda _: self._forget(number))
        return value

    async def _value(self, number: int, answer: asyncio.Future[Any]) -> Any:
        try:
            return await answer
        except asyncio.CancelledError:
            self._forget(number)
            raise

    def stream(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AsyncIterator[Any]:
        """Start a generator method at once, in the order of the calls; return the iterator of its items."""
        packed = pack((method, args, kwargs))
        if self._ended is not None:
            raise self._died(self._ended, "no")
        self.begin()
        stream = _Stream()
        self._last = number = self._last + 1
        call = self._calls[number] = _Call(Kind.STREAM, packed, 0, stream)
        if self._channel is not None:
            self._send(number, call)
        items = self._items(number, stream)
        # For an iterator that is dropped before its first item is asked for: none of its code runs.
        finalize(items, self._forget, number).atexit = False
        return items

    async def _items(self, number: int, stream: _Stream) -> AsyncIterator[Any]:
        try:
            while True:
                while stream.items:
                    if self._channel is not None:
                        self._frame(Kind.NEXT, number)
                    yield stream.items.popleft()
                if stream.end is not None:
                    if isinstance(stream.end, StopAsyncIteration):
                        return
                    raise stream.end
                stream.came.clear()
                await stream.came.wait()
        finally:
            self._forget(number)

    def _forget(self, number: int) -> None:
        """Tell the host that the answer is not wanted any more; no effect on an answered call."""
        call = self._calls.pop(number, None)
        if call is not None and call.is_sent and self._channel is not None:
            self._frame(Kind.CANCEL, number)

    def _send(self, number: int, call: _Call) -> None:
        call.is_sent = True
        self._frame(call.kind, number, *call.packed)
        if call.kind is Kind.STREAM:
            for _ in range(_ITEMS_AHEAD):
                self._frame(Kind.NEXT, number)
        if not call.attempts:
            call.packed = None

    def _frame(self, kind: Kind, number: int, body: bytes = b"", buffers: Any = ()) -> None:
        assert self._channel is not None
        self._channel.send(kind, number, body, buffers)
        if not self._flush_planned:
            self._flush_planned = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Send all frames of one round of the loop at once."""
        self._flush_planned = False
        if self._channel is not None:
            self._channel.flush()

    # ---- answers

    def _on_frame(self, kind: int, number: int, body: Any, buffers: list[Any]) -> None:
        if kind == Kind.ENDED:
            self._ended = unpack_exception(bytes(body))
            self._fail(lambda call: not call.is_sent)
            self._frame(Kind.BYE, 0)  # the host answers what was sent, and closes the connection
            return
        call = self._calls.get(number)
        if call is None:
            return
        answer = call.answer
        if kind != Kind.ITEM:
            del self._calls[number]
        if answer.done():
            return
        try:
            if kind == Kind.VALUE:
                answer.set_result(unpack(body, buffers))  # type: ignore[union-attr]
            elif kind == Kind.ITEM:
                answer.items.append(unpack(body, buffers))  # type: ignore[union-attr]
                answer.came.set()  # type: ignore[union-attr]
            elif kind == Kind.FAILURE:
                answer.set_exception(unpack_exception(bytes(body)))
            elif kind == Kind.STOP:
                answer.set_exception(StopAsyncIteration())
        except Exception as error:
            self._calls.pop(number, None)
            answer.set_exception(error)

    def _died(self, error: Exception, executed: Any) -> Exception:
        """Return the error of a call of an actor that has ended."""
        if not isinstance(error, errors.ActorDiedError):
            return error
        made = errors.ActorDiedError(
            str(error),
            executed=executed,
            fate=error.fate,
            class_name=self.description.class_name,
            actor_name=self.description.name,
        )
        made.__cause__ = error.__cause__
        return made

    def _fail(self, which: Callable[[_Call], bool]) -> None:
        """Fail the calls for which `which` is true with the error of the ended actor."""
        assert self._ended is not None
        for number, call in [(number, call) for number, call in self._calls.items() if which(call)]:
            del self._calls[number]
            if not call.answer.done():
                call.answer.set_exception(self._died(self._ended, "unknown" if call.is_sent else "no"))

    def _end(self, error: Exception) -> None:
        """Fail all calls, later ones included."""
        self._ended = self._ended or error
        self._fail(lambda call: True)

    # ---- the connection

    async def _stay_connected(self) -> None:
        rest, refusals = _FIRST_REST_SECONDS, 0
        while self._ended is None:
            try:
                host = await asyncio.to_thread(self._directory.wait_for_host, self._job)
                if host is None:
                    self._end(await self._job_is_over())
                    break
                await self._serve(host)
                rest, refusals = _FIRST_REST_SECONDS, 0
            except (OSError, errors.FrayError) as error:  # the host has ended, or the controller does not answer
                refusals += isinstance(error, HandshakeError)  # perhaps another program has the port of an ended host
                if refusals == _MOST_REFUSALS:
                    self._end(self._unreachable(error))
                await asyncio.sleep(rest)
                rest = min(rest * 2, _LONGEST_REST_SECONDS)
            except Exception as error:  # for example a foreign endpoint; without this its calls would wait forever
                self._end(self._unreachable(error))
        if self._ended is not None:
            self._end(self._ended)
        await asyncio.sleep(_REMEMBERED_SECONDS)
        await asyncio.to_thread(self._leave)

    def _leave(self) -> None:
        """End this relay, whose actor has ended: a relay without an actor would waste a process."""
        engine: Any = get_job_context().engine
        relay = engine.native.find_actor(name_of_relay(self._job), RELAYS)
        if relay is not None:
            engine.native.kill_actor(relay, True)

    async def _job_is_over(self) -> Exception:
        why = await asyncio.to_thread(self._directory.why_over, self._job)
        about = self.description
        return errors.ActorDiedError(f"the actor {about.class_name} {about.name!r} has ended: {why}", executed="no")

    def _unreachable(self, why: Exception) -> Exception:
        about = self.description
        return errors.ActorDiedError(f"the actor {about.class_name} {about.name!r} cannot be called: {why}")

    async def _serve(self, host: Host) -> None:
        """Connect to a host and send what waits; return when the connection is lost."""
        sock = await connect(host.address, host.job, self._secret)
        lost = asyncio.Event()
        memory = memory_in(get_job_context().engine)
        channel = Channel(sock, self._loop, self._on_frame, lost.set, memory)
        self._channel = channel
        self._frame(Kind.HELLO, 0)
        for number, call in list(self._calls.items()):
            self._send_again(number, call)
        rest = _LOOK_SECONDS
        try:
            while not lost.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(lost.wait(), rest)
                rest = min(rest * 1.5, _LONGEST_LOOK_SECONDS) if self._calls else _LOOK_SECONDS
                if self._calls and not lost.is_set() and not await self._is_there(host):
                    channel.close()
        finally:
            self._channel = None

    def _send_again(self, number: int, call: _Call) -> None:
        if call.is_sent:
            if not call.attempts:
                del self._calls[number]
                if not call.answer.done():
                    call.answer.set_exception(self._lost())
                return
            call.attempts -= call.attempts > 0
        self._send(number, call)

    def _lost(self) -> Exception:
        about = self.description
        return errors.ActorDiedError(
            f"the host of the actor {about.class_name} {about.name!r} was lost while the call may have run, and the "
            "actor's max_task_retries allow no further attempt",
            executed="unknown",
            fate="lives_on",
            class_name=about.class_name,
            actor_name=about.name,
        )

    async def _is_there(self, host: Host) -> bool:
        """Return whether the host's endpoint is still registered; True where the controller does not answer."""
        try:
            found = await asyncio.to_thread(self._directory.host, self._job)
        except errors.FrayError:
            return True
        return found is not None and found.endpoint == host.endpoint
