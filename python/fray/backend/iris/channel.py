"""`Channel`: frames over a socket, both ways. A frame has a kind, the number of a call, a body, and buffers.

Buffers are read into memory that is made for them, and sent from where they lie, so that an array is copied once on
each side: by the kernel.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Channel"]

_HEAD = struct.Struct("<BHQQ")  # kind, number of buffers, call, size of the body; the sizes of the buffers follow
_SCRATCH_BYTES = 256 << 10
_SMALL_BYTES = 64 << 10
_MOST_PARTS = 512
_MOST_BYTES_A_READ = 8 << 20
_SEND_BUFFER_BYTES = 4 << 20
_KEPT_ALIVE = {
    socket.TCP_KEEPIDLE: 60,
    socket.TCP_KEEPINTVL: 15,
    socket.TCP_KEEPCNT: 4,
    socket.TCP_USER_TIMEOUT: 120_000,
}
"""Keep-alive of the socket: networks drop connections that are silent for minutes, and a machine may just vanish."""

OnFrame = Callable[[int, int, Any, list[Any]], None]


class Channel:
    """A connected socket of which an event loop reads frames.

    Threading: `send` and `flush` from any thread; everything else in the loop's.

    Args:
        sock: a connected socket, which the channel owns from now on.
        loop: the running loop.
        on_frame: called with kind, call, body and buffers of each frame; must raise nothing.
        on_end: called once, when the other side has closed the connection, or `close` was called.
        allocate: makes the memory of a large buffer of so many bytes.
    """

    def __init__(
        self,
        sock: socket.socket,
        loop: asyncio.AbstractEventLoop,
        on_frame: OnFrame,
        on_end: Callable[[], None],
        allocate: Callable[[int], Any],
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEPT_ALIVE.items():
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
        self._sock, self._loop, self._on_frame, self._on_end = sock, loop, on_frame, on_end
        self._allocate = allocate
        self._scratch = memoryview(bytearray(_SCRATCH_BYTES))
        self._begin = self._end = 0
        self._large: _LargeFrame | None = None
        self._lock = threading.Lock()
        self._out: deque[Any] = deque()
        self._is_watching_writes = False
        self.closed = False
        loop.add_reader(sock.fileno(), self._read)

    # ---- sending

    def send(self, kind: int, call: int, body: bytes = b"", buffers: Sequence[Any] = ()) -> None:
        """Queue a frame; `flush` sends the queue. No effect on a closed channel."""
        head = _HEAD.pack(kind, len(buffers), call, len(body))
        if buffers:
            head += struct.pack(f"<{len(buffers)}Q", *(part.nbytes for part in buffers))
        with self._lock:
            if self.closed:
                return
            if len(body) < _SMALL_BYTES:
                self._out.append(head + body)
            else:
                self._out += (head, body)
            self._out += buffers

    @property
    def is_idle(self) -> bool:
        """Whether all frames have been handed to the kernel."""
        return not self._out

    def flush(self) -> None:
        """Send as much of the queue as the socket takes now; the loop sends the rest."""
        with self._lock:
            if self.closed or self._is_watching_writes or not self._write():
                return
            self._is_watching_writes = True
        self._loop.call_soon_threadsafe(self._watch_writes)

    def _watch_writes(self) -> None:
        if not self.closed:
            self._loop.add_writer(self._sock.fileno(), self._write_more)

    def _write_more(self) -> None:
        with self._lock:
            if self.closed or self._write():
                return
            self._is_watching_writes = False
            self._loop.remove_writer(self._sock.fileno())

    def _write(self) -> bool:
        """Send as much as the socket takes; return whether something is left. Only reads notice a closed connection."""
        out = self._out
        while out:
            parts = [out[i] for i in range(min(len(out), _MOST_PARTS))]
            try:
                sent = self._sock.sendmsg(parts)
            except (BlockingIOError, InterruptedError):
                return True
            except OSError:
                out.clear()
                return False
            while sent:
                part = out.popleft()
                size = len(part) if type(part) is bytes else part.nbytes
                if sent < size:
                    out.appendleft(memoryview(part).cast("B")[sent:])
                    break
                sent -= size
            while out and not len(out[0]):
                out.popleft()
        return False

    # ---- reading

    def _read(self) -> None:
        for _ in range(_MOST_BYTES_A_READ // _SCRATCH_BYTES):
            target = self._scratch[self._end :] if self._large is None else self._large.target()
            try:
                size = self._sock.recv_into(target)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                size = 0
            if size == 0:
                self.close()
                return
            self._take(size)
            if self.closed or (self._large is None and size < len(target)):
                return

    def _take(self, size: int) -> None:
        if self._large is None:
            self._end += size
            self._parse()
        elif self._large.filled(size):
            self._hand_over_large()

    def _parse(self) -> None:
        scratch, begin, end = self._scratch, self._begin, self._end
        while end - begin >= _HEAD.size and not self.closed:
            kind, count, call, size = _HEAD.unpack_from(scratch, begin)
            body = begin + _HEAD.size + 8 * count
            if body > end:
                break
            sizes = struct.unpack_from(f"<{count}Q", scratch, begin + _HEAD.size) if count else ()
            behind = body + size + sum(sizes)
            if behind > end:
                if behind - begin > _SMALL_BYTES:
                    self._begin_large(kind, call, size, sizes, body)
                    return
                break
            position = body + size
            buffers: list[Any] = []
            for each in sizes:
                buffers.append(bytearray(scratch[position : position + each]))
                position += each
            begin = behind
            self._on_frame(kind, call, scratch[body : body + size], buffers)
        if begin == end:
            begin = end = 0
        elif len(scratch) - begin < _SMALL_BYTES + _HEAD.size:
            scratch[: end - begin] = bytes(scratch[begin:end])
            begin, end = 0, end - begin
        self._begin, self._end = begin, end

    def _begin_large(self, kind: int, call: int, size: int, sizes: Sequence[int], body: int) -> None:
        buffers = [self._allocate(each) if each >= _SMALL_BYTES else bytearray(each) for each in sizes]
        large = self._large = _LargeFrame(kind, call, bytearray(size), buffers)
        here = self._scratch[body : self._end]
        while len(here):
            target = large.target()
            part = min(len(here), len(target))
            target[:part] = here[:part]
            large.filled(part)
            here = here[part:]
        self._begin = self._end = 0

    def _hand_over_large(self) -> None:
        large, self._large = self._large, None
        assert large is not None
        kind, call, body, buffers = large.kind, large.call, large.body, large.buffers
        del large  # nobody else may hold the buffers: an array that becomes an object must be the only view of it
        self._on_frame(kind, call, body, buffers)

    # ---- the end

    def close(self) -> None:
        """Close the connection; what was not sent is lost."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
            self._out.clear()
        self._loop.remove_reader(self._sock.fileno())
        self._loop.remove_writer(self._sock.fileno())
        self._sock.close()
        self._on_end()


class _LargeFrame:
    """A frame that is read into memory of its own, part by part."""

    def __init__(self, kind: int, call: int, body: bytearray, buffers: list[Any]) -> None:
        self.kind, self.call, self.body, self.buffers = kind, call, body, buffers
        self._parts = deque(memoryview(part).cast("B") for part in (body, *buffers) if len(part))

    def target(self) -> memoryview:
        """Return where the next bytes belong."""
        return self._parts[0]

    def filled(self, size: int) -> bool:
        """Note that `size` bytes were read into the target; return whether the frame is complete."""
        rest = self._parts[0][size:]
        if len(rest):
            self._parts[0] = rest
        else:
            self._parts.popleft()
        return not self._parts
