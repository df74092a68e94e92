"""The program of a job that hosts a named actor: it makes the actor on its own engine and serves calls of it.

Concurrency, order, retries, restarts and the death of the actor's process are handled by the engine. This program adds
callers on other machines, and frees the name when the actor ends.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import sys
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from fray import errors
from fray._failures import pack_exception
from fray._iris_jobs import IrisJobs
from fray.backend.iris.actors import Description
from fray.backend.iris.channel import Channel
from fray.backend.iris.directory import ENDED, ActorDirectory
from fray.backend.iris.frames import Kind
from fray.backend.iris.handshake import Request, accept
from fray.backend.iris.open_service import OpenService, is_for_service, is_open, open_name
from fray.backend.iris.task import current_task, secret
from fray.backend.iris.values import memory_in, pack, unpack
from fray.job.actor_methods import missing_method
from fray.job.actor_spec import ActorSpec
from fray.job.actors import CallOptions
from fray.job.current import get_job_context
from fray.job.engine import Engine

__all__ = ["FILE", "PORT", "ActorOrder", "command", "main"]

FILE = "_fray_actor.pkl"
PORT = "actor"
_LOOK_SECONDS = 0.2
"""Time between two checks that the actor lives."""
_ROOT_LOOKS = 25
"""Number of these checks between two checks that the root job lives."""
_FIRST_CALLER_SECONDS = 20.0
"""How long the host of an actor that has ended, for example because its constructor raised, waits for the first caller.

The relay of a caller takes seconds to come on a machine that has too much to do."""
_LAST_WORDS_SECONDS = 3.0
_BRIEF_SECONDS = 2.0
"""How long to wait for a controller that may not answer, while callers wait for the news that their actor ended."""
_OPTIONS = CallOptions()


class ActorOrder(NamedTuple):
    """The actor that a host creates.

    Args:
        spec: what the host's engine is given.
        description: the facts that handles carry.
    """

    spec: ActorSpec
    description: Description


def command() -> list[str]:
    """Return the command of a host's job. It starts in the workspace, which is first in the module path."""
    code = f"from {__name__} import main; main()"
    return ["bash", "-c", f'cd "$IRIS_WORKDIR" && exec "$IRIS_PYTHON" -u -c "{code}"']


def main() -> None:
    """Host the actor that the job's file describes, until it has ended or its root job has."""
    with open(os.path.join(os.environ["IRIS_WORKDIR"], FILE), "rb") as file:
        wanted = file.readline().decode().strip()
        here = f"{sys.version_info[0]}.{sys.version_info[1]}"
        if wanted != here:
            sys.exit(f"this actor was pickled by Python {wanted} and its host has Python {here}; give both the same")
        order: ActorOrder = pickle.load(file)
    sys.exit(asyncio.run(_Host(order).run()))


class _Session:
    """One caller's connection."""

    def __init__(self) -> None:
        self.channel: Channel = None  # type: ignore[assignment]
        self.said_hello = self.said_bye = False
        self.refs: dict[int, Any] = {}
        self.streams: dict[int, _Stream] = {}


class _Host:
    """Makes the actor, serves it and sees its end.

    Threading: frames are received in the loop's thread, the thread of `_answer_for_ever` sends answers, and each stream
    has a thread.
    """

    def __init__(self, order: ActorOrder) -> None:
        self._order = order
        self._about = order.description
        self._task = current_task()
        self._secret = secret()
        self._jobs = IrisJobs(self._task.controller, user=self._task.user)
        self._endpoint = str(uuid.uuid4())
        self._sessions: set[_Session] = set()
        self._unflushed: set[Channel] = set()
        self._ending = threading.Lock()
        self._end: Exception | None = None
        self._address = "http://ended"  # until the host is registered
        self._was_killed = False
        self._tasks: set[asyncio.Task[Any]] = set()

    # ---- life

    async def run(self) -> int:
        """Serve until the actor has ended; return the exit code."""
        self._loop = asyncio.get_running_loop()
        self._over, self._met = asyncio.Event(), asyncio.Event()
        with _listening() as listener:
            context: Any = get_job_context()
            self._engine: Engine = context.engine.native
            self._watch = self._engine.watch()
            order = self._order
            self._link = self._engine.create_actor(order.spec)
            accepting = self._loop.create_task(self._accept_for_ever(listener))
            answering = threading.Thread(target=self._answer_for_ever, name="fray-answers", daemon=True)
            answering.start()
            await asyncio.to_thread(self._register, listener.getsockname()[1])
            await self._look_for_ever()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._met.wait(), _FIRST_CALLER_SECONDS)
            await self._say_the_end()
            accepting.cancel()
            context.close()  # which ends the thread
            answering.join(_LAST_WORDS_SECONDS)
        if self._was_killed:
            return 0
        print(str(self._end), file=sys.stderr, flush=True)
        return 1

    def _register(self, port: int) -> None:
        address = self._address = f"http://{os.environ.get('IRIS_ADVERTISE_HOST') or socket.gethostname()}:{port}"
        self._jobs.register_endpoint(
            self._endpoint,
            self._task.job,
            address,
            self._task.task,
            self._task.attempt,
            {"fray": self._about.text()},
        )
        if is_open():
            self._jobs.register_endpoint(
                str(uuid.uuid4()), self._open_name, address, self._task.task, self._task.attempt, {}
            )

    async def _look_for_ever(self) -> None:
        """Return when the actor has ended, by itself or with its root job."""
        looks = 0
        while not self._over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), _LOOK_SECONDS)
            looks += 1
            if looks % _ROOT_LOOKS == 0 and await asyncio.to_thread(self._root_is_over):
                self._engine.kill_actor(self._link, True)
                self._was_killed = True
            await asyncio.to_thread(self._end_if_dead)

    def _root_is_over(self) -> bool:
        try:
            return ActorDirectory(self._jobs, self._task).is_over(self._task.root)
        except errors.FrayError:
            return False  # the controller does not answer

    def _end_if_dead(self) -> None:
        """If the actor has ended, free its name and note the error for its callers. Any thread."""
        if self._end is not None or self._engine.find_actor(self._about.name, self._about.namespace) is not None:
            return
        with self._ending:
            if self._end is not None:
                return
            # Without this the name is free at the end of this job. ValueError means that it is free already.
            with suppress(errors.FrayError, ValueError):
                name, task = self._task.job + ENDED, self._task
                jobs = IrisJobs(task.controller, user=task.user, timeout=_BRIEF_SECONDS, patience=_BRIEF_SECONDS)
                about = {"fray": self._about.text()}
                jobs.register_endpoint(str(uuid.uuid4()), name, self._address, task.task, task.attempt, about)
                jobs.unregister_endpoint(self._endpoint)
            self._end = self._why_dead()
        self._loop.call_soon_threadsafe(self._over.set)

    def _why_dead(self) -> Exception:
        for method in self._order.spec.methods:
            try:
                self._engine.get(self._link.submit(method, (), {}, _OPTIONS), _LAST_WORDS_SECONDS)
            except errors.ActorDiedError as error:
                return error
            except Exception:
                break
        about = self._about
        return errors.ActorDiedError(f"the actor {about.class_name} {about.name!r} has ended", executed="no")

    async def _say_the_end(self) -> None:
        """Tell all callers that the actor has ended, and close each connection when its calls are answered."""
        deadline = self._loop.time() + _LAST_WORDS_SECONDS
        for session in self._sessions:
            if session.said_hello:
                self._send_end(session)
        while self._sessions and self._loop.time() < deadline:
            for session in list(self._sessions):
                if session.said_bye and not session.refs and not session.streams and session.channel.is_idle:
                    session.channel.close()
            await asyncio.sleep(0.01)

    def _send_end(self, session: _Session) -> None:
        assert self._end is not None
        session.channel.send(Kind.ENDED, 0, pack_exception(self._end, self._about.class_name))
        session.channel.flush()

    # ---- callers

    async def _accept_for_ever(self, listener: socket.socket) -> None:
        while True:
            sock, _ = await self._loop.sock_accept(listener)
            sock.setblocking(False)
            welcoming = self._loop.create_task(self._welcome(sock))
            self._tasks.add(welcoming)
            welcoming.add_done_callback(self._tasks.discard)

    async def _welcome(self, sock: socket.socket) -> None:
        accepted = await accept(sock, self._task.job, self._secret, is_for_service)
        if isinstance(accepted, Request):
            await OpenService(self._open_name, list(self._link.methods), self._call_for_others).serve(sock, accepted)
        if accepted is not True:
            return
        session = _Session()

        def gone() -> None:
            self._sessions.discard(session)
            for stream in session.streams.values():
                stream.drop()

        take = partial(self._on_frame, session)
        session.channel = Channel(sock, self._loop, take, gone, memory_in(self._engine))
        self._sessions.add(session)

    @property
    def _open_name(self) -> str:
        return open_name(self._task.root, self._about.name)

    def _call_for_others(self, method: str, args: Any, kwargs: Any) -> Any:
        """Call a method for a client that speaks Iris's own protocol; runs in a thread of its own."""
        return self._engine.get(self._link.submit(method, tuple(args), dict(kwargs), _OPTIONS), None)

    def _on_frame(self, session: _Session, kind: int, number: int, body: Any, buffers: list[Any]) -> None:
        if kind == Kind.HELLO:
            session.said_hello = True
            self._met.set()
            if self._over.is_set():
                self._send_end(session)
        elif kind == Kind.CALL:
            self._start(session, number, body, buffers)
        elif kind == Kind.STREAM:
            self._start_stream(session, number, body, buffers)
        elif kind == Kind.NEXT and number in session.streams:
            session.streams[number].wanted.release()
        elif kind == Kind.CANCEL:
            self._cancel(session, number)
        elif kind == Kind.BYE:
            session.said_bye = True
        elif kind == Kind.KILL:
            killing = self._loop.create_task(self._kill(session, number, unpack(body, buffers)))
            self._tasks.add(killing)
            killing.add_done_callback(self._tasks.discard)

    def _submit(self, body: Any, buffers: list[Any]) -> tuple[str, Any]:
        method, args, kwargs = unpack(body, buffers)
        buffers.clear()
        if method not in self._link.methods:
            raise missing_method(self._about.class_name, self._link.methods, method)
        return method, self._link.submit(method, args, kwargs, _OPTIONS)

    def _start(self, session: _Session, number: int, body: Any, buffers: list[Any]) -> None:
        try:
            method, ref = self._submit(body, buffers)
        except Exception as error:
            self._fail(session, number, error, "")
            session.channel.flush()
            return
        session.refs[number] = ref
        self._watch.add(ref, partial(self._answer, session, number, method))

    def _cancel(self, session: _Session, number: int) -> None:
        stream = session.streams.pop(number, None)
        if stream is not None:
            stream.drop()
        ref = session.refs.pop(number, None)
        if ref is not None:
            self._engine.cancel(ref, False)

    async def _kill(self, session: _Session, number: int, no_restart: bool) -> None:
        self._was_killed = self._was_killed or no_restart
        self._engine.kill_actor(self._link, no_restart)
        await asyncio.to_thread(self._end_if_dead)
        deadline = self._loop.time() + _LAST_WORDS_SECONDS
        while no_restart and self._end is None and self._loop.time() < deadline:
            await asyncio.sleep(0.01)
            await asyncio.to_thread(self._end_if_dead)
        session.channel.send(Kind.VALUE, number, *pack(None))
        session.channel.flush()

    # ---- answers

    def _answer_for_ever(self) -> None:
        while True:
            try:
                self._watch.serve()
            except errors.FrayError:
                return
            channels, self._unflushed = self._unflushed, set()
            for channel in channels:
                channel.flush()

    def _answer(self, session: _Session, number: int, method: str) -> None:
        ref = session.refs.get(number)
        if ref is None:
            return
        try:
            body, buffers = pack(self._engine.get(ref, None))
        except BaseException as error:
            if isinstance(error, errors.ActorDiedError):
                self._end_if_dead()
            self._fail(session, number, error, method)
        else:
            session.channel.send(Kind.VALUE, number, body, buffers)
        session.refs.pop(number, None)
        self._unflushed.add(session.channel)

    def _fail(self, session: _Session, number: int, error: BaseException, method: str) -> None:
        packed = pack_exception(error, f"{self._about.class_name}.{method}")
        session.channel.send(Kind.FAILURE, number, packed)

    def _start_stream(self, session: _Session, number: int, body: Any, buffers: list[Any]) -> None:
        try:
            method, ref = self._submit(body, buffers)
        except Exception as error:
            self._fail(session, number, error, "")
            session.channel.flush()
            return
        stream = session.streams[number] = _Stream(ref, partial(self._engine.cancel, ref, False))
        work = partial(self._pump, session, number, method, stream)
        threading.Thread(target=work, name="fray-stream", daemon=True).start()

    def _pump(self, session: _Session, number: int, method: str, stream: _Stream) -> None:
        """Send an item for each request of the caller, until the end of the stream."""
        try:
            while stream.is_wanted():
                body, buffers = pack(next(stream.ref).result())
                session.channel.send(Kind.ITEM, number, body, buffers)
                session.channel.flush()
        except StopIteration:
            session.channel.send(Kind.STOP, number)
        except BaseException as error:
            self._fail(session, number, error, method)
        session.channel.flush()
        session.streams.pop(number, None)
        stream.ref = None  # dropping the ref ends the generator


class _Stream:
    """The ref of a generator method, and how many of its items are wanted."""

    def __init__(self, ref: Any, cancel: Callable[[], None]) -> None:
        self.ref = ref
        self.wanted = threading.Semaphore(0)
        self._cancel = cancel
        self._is_dropped = False

    def is_wanted(self) -> bool:
        """Wait until an item is wanted; return False when no further item will be."""
        self.wanted.acquire()
        return not self._is_dropped

    def drop(self) -> None:
        """Note that no further item is wanted."""
        self._is_dropped = True
        self.wanted.release()
        self._cancel()


def _listening() -> socket.socket:
    """Return a listening socket at an address by which other machines reach this one."""
    host = os.environ.get("IRIS_BIND_HOST") or "0.0.0.0"
    wanted = int(os.environ.get(f"IRIS_PORT_{PORT.upper()}") or 0)
    for port in dict.fromkeys((wanted, 0)):
        with suppress(OSError):
            sock = socket.create_server((host, port), backlog=128)
            sock.setblocking(False)
            return sock
    raise OSError(f"no port of {host} can be listened at")
