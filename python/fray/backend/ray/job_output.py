"""What the replicas of function jobs print, gathered in the process that launched them.

Each replica writes to a pipe instead of its worker's log; a thread beside it passes on what comes out, to that log and
to an actor, which the launching process reads. One actor serves all jobs of a cluster object. What a replica prints
just before its process is killed is only in the worker's log.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import threading
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from fray.backend.ray.library import ray
from fray.cluster.replica_lines import numbered_lines

__all__ = ["JobOutput", "Outputs", "printing_to"]

_PIECE_BYTES = 1 << 16
_ANSWER_SECONDS = 60.0
"""How long a replica waits until its last lines have arrived; the actor's process may still be starting."""
_DRAIN_SECONDS = 1.0
"""How long a replica waits at its end for output of processes that it has started and that still run."""


class _Channel:
    """The text of one job on its way from the replicas to the reader."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.begun: set[int] = set()
        self.next: dict[str, int] = {}
        """The number of the next piece of text, for each process that prints."""
        self.closed = False
        self.changed = asyncio.Condition()


class _Sink:
    """The actor between the replicas and the readers. Text of a job that has no reader any more is dropped."""

    def __init__(self) -> None:
        self._channels: dict[str, _Channel] = {}

    async def open(self, job_id: str) -> None:
        self._channels[job_id] = _Channel()

    async def add(self, job_id: str, replica: int, process: str, number: int, text: str) -> None:
        """Add piece `number` of a process of a replica, in its order: Ray may start the calls in another order."""
        if (channel := self._channels.get(job_id)) is not None:
            async with channel.changed:
                await channel.changed.wait_for(lambda: channel.closed or channel.next.get(process, 0) == number)
                channel.next[process] = number + 1
                channel.begun.add(replica)
                if text:
                    channel.pieces.append(text)
                channel.changed.notify_all()

    async def close(self, job_id: str) -> None:
        if (channel := self._channels.get(job_id)) is not None:
            async with channel.changed:
                channel.closed = True
                channel.changed.notify_all()

    async def take(self, job_id: str, known: int) -> tuple[str, set[int], bool]:
        """Wait for text, or for more than `known` replicas to begin; return both, and whether the output has ended."""
        channel = self._channels[job_id]
        async with channel.changed:
            await channel.changed.wait_for(lambda: channel.pieces or channel.closed or len(channel.begun) > known)
            text = "".join(channel.pieces)
            channel.pieces.clear()
            if channel.closed:
                del self._channels[job_id]
            return text, channel.begun, channel.closed


class Outputs:
    """Opens outputs of jobs; the actor that they share is created with the first one, and again where it is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sink: Any = None

    def open(self, job_id: str) -> JobOutput:
        """Return the output of a new job."""
        with self._lock:
            if self._sink is not None:
                with suppress(Exception):  # the actor died, or Ray was initialised anew
                    ray.get(self._sink.open.remote(job_id))
                    return JobOutput(job_id, self._sink)
            self._sink = ray.remote(num_cpus=0)(_Sink).remote()
            ray.get(self._sink.open.remote(job_id))
            return JobOutput(job_id, self._sink)


class JobOutput:
    """The output of one job, over all its attempts. Threading: any thread; `_changed` guards the text.

    Attributes:
        sink: the actor that the job's replicas send to.
    """

    def __init__(self, job_id: str, sink: Any) -> None:
        self._job_id = job_id
        self.sink = sink
        self._begun: set[int] = set()
        self._pieces: list[str] = []
        self._ended = False
        self._changed = threading.Condition()
        threading.Thread(target=self._gather, name="fray-job-output", daemon=True).start()

    def text(self) -> str:
        """Return the text that has arrived."""
        with self._changed:
            return "".join(self._pieces)

    def begun(self) -> set[int]:
        """Return the numbers of the replicas that have begun to run, in any attempt."""
        with self._changed:
            return set(self._begun)

    def follow(self) -> Iterator[str]:
        """Yield the text that has arrived, and further text until the end of the job."""
        position = 0
        while True:
            with self._changed:
                while len(self._pieces) <= position and not self._ended:
                    self._changed.wait()
                pieces, ended = self._pieces[position:], self._ended
            position += len(pieces)
            yield from pieces
            if ended and not pieces:
                return

    def end(self) -> None:
        """Take the text that is still on its way; the job has ended."""
        with suppress(Exception):  # Ray may be gone
            ray.get(self.sink.close.remote(self._job_id))
        with self._changed:
            self._changed.wait_for(lambda: self._ended)

    def _gather(self) -> None:
        last = False
        begun = set[int]()
        while not last:
            try:
                text, begun, last = ray.get(self.sink.take.remote(self._job_id, len(begun)))
            except Exception:
                text, last = "", True
            with self._changed:
                self._begun = begun
                if text:
                    self._pieces.append(text)
                self._ended = last
                self._changed.notify_all()


@contextmanager
def printing_to(sink: Any, job_id: str, replica: int, numbered: bool) -> Generator[None]:
    """Say that a replica has begun, and send what is written inside the block to its job's output.

    With `numbered` each line comes behind the replica's number.
    """
    process, numbers = uuid.uuid4().hex, itertools.count()

    def send(text: str) -> Any:
        shown = numbered_lines(text, replica) if numbered else text
        return sink.add.remote(job_id, replica, process, next(numbers), shown)

    send("")
    with _captured(send):
        yield


@contextmanager
def _captured(send: Callable[[str], Any]) -> Generator[None]:
    """Pass on the output inside the block, of this process and of those that it starts, in whole lines."""
    streams = sys.stdout, sys.stderr
    for stream in streams:
        stream.flush()
    kept = os.dup(1), os.dup(2)
    reader, writer = os.pipe()
    ours = open(writer, "w", buffering=1, errors="replace")  # noqa: SIM115  (closed below)
    answers: list[Any] = []
    passing = threading.Thread(target=_pass_on, args=(reader, kept[0], send, answers), daemon=True)
    passing.start()
    try:
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        sys.stdout = sys.stderr = ours
        yield
    finally:
        for stream in {id(stream): stream for stream in (sys.stdout, sys.stderr)}.values():
            with suppress(ValueError, OSError):
                stream.flush()
        sys.stdout, sys.stderr = streams
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        with suppress(ValueError, OSError):
            ours.close()
        passing.join(_DRAIN_SECONDS)
        if answers:  # only the last: the sink takes the pieces in order
            ray.wait(answers, timeout=_ANSWER_SECONDS)
        for number in kept:
            os.close(number)


def _pass_on(reader: int, log: int, send: Callable[[str], Any], answers: list[Any]) -> None:
    rest = b""
    with open(reader, "rb", buffering=0) as pipe:
        while data := pipe.read(_PIECE_BYTES):
            with suppress(OSError):
                os.write(log, data)
            whole, newline, rest = (rest + data).rpartition(b"\n")
            if newline:
                answers[:] = [send((whole + newline).decode(errors="replace"))]
    if rest:
        answers[:] = [send(rest.decode(errors="replace"))]
