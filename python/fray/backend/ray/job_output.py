"""What the replicas of a function job print, gathered in the process that launched it.

Each replica writes to a pipe instead of its worker's log; a thread beside it passes on what comes out, to that log and
to an actor, which the launching process reads. What a replica prints in its last moments before a violent death is in
the worker's log alone.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from fray.backend.ray.library import ray

__all__ = ["JobOutput"]

_PIECE_BYTES = 1 << 16
_ANSWER_SECONDS = 60.0
"""How long it waits until its last lines have arrived; the actor's process may still be starting."""
_DRAIN_SECONDS = 1.0
"""How long a replica waits at its end for what processes print that it has left behind."""


class _Sink:
    """The actor between the replicas and the reader."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._closed = False
        self._changed = asyncio.Condition()

    async def add(self, text: str) -> None:
        async with self._changed:
            self._pieces.append(text)
            self._changed.notify_all()

    async def close(self) -> None:
        async with self._changed:
            self._closed = True
            self._changed.notify_all()

    async def take(self) -> tuple[str, bool]:
        """Wait for text; return it, and whether it was the last."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._pieces or self._closed)
            text = "".join(self._pieces)
            self._pieces.clear()
            return text, self._closed


class JobOutput:
    """The output of one job, over all its attempts. Threading: any thread; `_changed` guards the text."""

    def __init__(self, replicas: int) -> None:
        self._numbered = replicas > 1
        self._sink: Any = ray.remote(num_cpus=0)(_Sink).remote()
        self._pieces: list[str] = []
        self._ended = False
        self._changed = threading.Condition()
        threading.Thread(target=self._gather, name="fray-job-output", daemon=True).start()

    def of_function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its output going here."""
        return _Printing(function, self._sink, self._numbered)

    def text(self) -> str:
        """Return what has come."""
        with self._changed:
            return "".join(self._pieces)

    def follow(self) -> Iterator[str]:
        """Yield what has come and what comes, to the end."""
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
        """Take what is still on its way; nothing comes after the job's end."""
        with suppress(Exception):  # Ray may be gone
            ray.get(self._sink.close.remote())
        with self._changed:
            self._changed.wait_for(lambda: self._ended)

    def _gather(self) -> None:
        last = False
        while not last:
            try:
                text, last = ray.get(self._sink.take.remote())
            except Exception:
                text, last = "", True
            with self._changed:
                if text:
                    self._pieces.append(text)
                self._ended = last
                self._changed.notify_all()
        with suppress(Exception):
            ray.kill(self._sink)


@dataclass(frozen=True)
class _Printing:
    """A function whose output goes to a sink; what it raises is printed there too, as Python prints it."""

    function: Callable[..., Any]
    sink: Any
    numbered: bool

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        prefix = f"[replica-{os.environ.get('FRAY_REPLICA_ID', '0')}] " if self.numbered else ""
        with _captured(lambda text: self.sink.add.remote(_with_prefix(text, prefix))):
            try:
                return self.function(*args, **kwargs)
            except BaseException:
                traceback.print_exc()
                raise


def _with_prefix(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}" for line in text.splitlines(keepends=True)) if prefix else text


@contextmanager
def _captured(send: Callable[[str], Any]) -> Generator[None]:
    """Hand on what is written inside the block, by this process and by those that it starts, whole lines at a time."""
    streams = sys.stdout, sys.stderr
    for stream in streams:
        stream.flush()
    kept = os.dup(1), os.dup(2)
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.dup2(writer, 2)
    sys.stdout = sys.stderr = open(writer, "w", buffering=1, errors="replace")  # noqa: SIM115  (closed below)
    ours = sys.stdout
    answers: list[Any] = []
    passing = threading.Thread(target=_pass_on, args=(reader, kept[0], send, answers), daemon=True)
    passing.start()
    try:
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
        if answers:  # the last; the sink takes them in order
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
