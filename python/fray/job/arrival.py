"""How a context travels: pickled, it names its session, and where it arrives it is that process's own context.

So an object that holds a context, beside refs that belong to it, can be an argument, a result or a captured variable.
In a process that has a context of the named session it is that one, since the refs that came along are that one's;
anywhere else it is what `get_job_context` returns.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fray.job.context import JobContext

__all__ = ["arrive", "note"]

_here: weakref.WeakSet[JobContext] = weakref.WeakSet()
"""The contexts of this process that pickles may name. Guarded by the GIL."""


def note(context: JobContext) -> None:
    """Remember a context, so that pickles that name its session lead to it."""
    _here.add(context)


def arrive(session: str) -> JobContext:
    """Return this process's context of that session, or else the one that code here runs in."""
    from fray.job.current import get_job_context, known_context

    current = known_context()
    if current is not None and _is_of(current, session):
        return current
    found = next((context for context in list(_here) if _is_of(context, session)), None)
    return found or current or get_job_context()


def _is_of(context: JobContext, session: str) -> bool:
    return not context.closed and context.session_name() == session
