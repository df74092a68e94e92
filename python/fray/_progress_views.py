"""The three ways in which `fray.progress` shows a count."""

from __future__ import annotations

import html
import os
import shutil
import sys
import time
from abc import ABC, abstractmethod
from typing import Any

from fray._quiet_stream import QuietStream

__all__ = ["LineView", "NotebookView", "ProgressView", "TerminalView"]


class ProgressView(ABC):
    """Shows "done of total". `due` says when it is time to draw again."""

    interval_seconds = 0.1

    def __init__(self, label: str) -> None:
        self.label = label
        self._next = time.monotonic()

    def due(self) -> bool:
        """Return whether it is time to show again."""
        return time.monotonic() >= self._next

    def show(self, done: int, total: int | None, seconds: float) -> None:
        """Show the present state."""
        self._next = time.monotonic() + self.interval_seconds
        self._draw(done, total, seconds, last=False)

    def close(self, done: int, total: int | None, seconds: float) -> None:
        """Show the last state, and end the line so that later output begins on a new one."""
        self._draw(done, total, seconds, last=True)

    @abstractmethod
    def _draw(self, done: int, total: int | None, seconds: float, last: bool) -> None: ...


class TerminalView(ProgressView):
    """One line that is overwritten; never wider than the terminal."""

    def __init__(self, stream: QuietStream, label: str) -> None:
        super().__init__(label)
        self._stream = stream

    def _draw(self, done: int, total: int | None, seconds: float, last: bool) -> None:
        width = _columns(self._stream) - 1
        text = summary(self.label, done, total, seconds, last)
        room = min(30, width - len(text) - 3)
        if total and room >= 8:
            filled = room * done // total
            text = f"[{'#' * filled}{'.' * (room - filled)}] {text}"
        self._stream.write("\r\x1b[K" + text[:width] + ("\n" if last else ""))


class LineView(ProgressView):
    """Plain lines for files and pipes: one for each tenth of the total, at most one per second."""

    interval_seconds = 1.0

    def __init__(self, stream: QuietStream, label: str) -> None:
        super().__init__(label)
        self._next = time.monotonic() + self.interval_seconds
        self._stream = stream
        self._shown_tenth = 0

    def _draw(self, done: int, total: int | None, seconds: float, last: bool) -> None:
        tenth = 10 * done // total if total else int(seconds // 10)
        if not last and tenth <= self._shown_tenth:
            return
        self._shown_tenth = tenth
        self._stream.write(summary(self.label, done, total, seconds, last) + "\n")


class NotebookView(ProgressView):
    """A bar that is updated in place by plain HTML, which needs no widgets."""

    interval_seconds = 0.25

    def __init__(self, label: str) -> None:
        super().__init__(label)
        self._handle: Any = None

    @staticmethod
    def available() -> bool:
        """Return whether this code runs in a notebook's kernel; IPython in a terminal does not count."""
        ipython: Any = sys.modules.get("IPython")
        shell: Any = ipython.get_ipython() if ipython is not None else None
        return shell is not None and hasattr(shell, "kernel")

    def _draw(self, done: int, total: int | None, seconds: float, last: bool) -> None:
        from IPython import display  # type: ignore[import-not-found]  # pyright: ignore

        text = html.escape(summary(self.label, done, total, seconds, last))
        bar = f'<progress value="{done}" max="{total}"></progress> ' if total else ""
        picture: Any = display.HTML(f"<div>{bar}{text}</div>")  # pyright: ignore
        if self._handle is None:
            self._handle = display.display(picture, display_id=True)  # pyright: ignore
        else:
            self._handle.update(picture)


def summary(label: str, done: int, total: int | None, seconds: float, last: bool) -> str:
    """Return a text such as ``"tasks 30/100 · 12.5/s · 5 s left"``, without control characters of the label."""
    clean = "".join(char if char.isprintable() else " " for char in label)
    parts = [f"{clean} {done}" + (f"/{total}" if total is not None else "")]
    if seconds > 0 and done:
        parts.append(f"{_short(done / seconds)}/s")
    if last:
        parts.append(f"{_duration(seconds)}")
    elif total is not None and 0 < done < total:
        parts.append(f"{_duration(seconds * (total - done) / done)} left")
    return " · ".join(parts)


def _short(amount: float) -> str:
    return f"{amount:.0f}" if amount >= 100 else f"{amount:.3g}"


def _duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _columns(stream: QuietStream) -> int:
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return columns or shutil.get_terminal_size().columns
