"""`Faults`: what a test does to calls before, instead of or after the controller's own answer."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from tests.iris.errors import ConnectError


@dataclass(frozen=True)
class Fault:
    """What becomes of a call.

    Attributes:
        delay: seconds before the answer leaves.
        carried_out: how often the call is carried out; 0 where it never arrives.
        answer: whether the answer is sent: "whole", "half" of it, "none" and the connection closed, or "silence".
        error: sent in place of the answer.
        page: a page of something in between, as status and text, in place of the answer.
    """

    delay: float = 0.0
    carried_out: int = 1
    answer: str = "whole"
    error: ConnectError | None = None
    page: tuple[int, str] | None = None


LOST_ANSWER = Fault(answer="none")
LOST_CALL = Fault(carried_out=0, answer="none")
TWICE = Fault(carried_out=2)
NEVER = Fault(answer="silence")
HALF = Fault(answer="half")


def refusal(code: str, message: str = "spoilt by the test") -> Fault:
    return Fault(carried_out=0, error=ConnectError(code, message))


def page(status: int, text: str = "<html><body><h1>Bad Gateway</h1></body></html>") -> Fault:
    return Fault(carried_out=0, page=(status, text))


def late(seconds: float) -> Fault:
    return Fault(delay=seconds)


@dataclass
class Faults:
    """Faults by call, each used up as often as it was given. Threading: any thread."""

    _waiting: dict[str, list[Fault]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, call: str, *faults: Fault) -> None:
        """The next calls of this name meet these, one each."""
        with self._lock:
            self._waiting.setdefault(call, []).extend(faults)

    def take(self, call: str) -> Fault:
        with self._lock:
            waiting = self._waiting.get(call)
            return waiting.pop(0) if waiting else Fault()
