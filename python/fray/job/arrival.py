"""How a context travels: its pickle names its session, and unpickling gives a context of the reading process.

So an object that holds a context, beside refs that belong to it, can be an argument, a result or a captured variable.
Unpickling gives, in this order: the same context, in the process that pickled it; a context of the named session, to
which the refs that came along belong; what `get_job_context` returns.
"""

from __future__ import annotations

import weakref

from fray.job.context import JobContext
from fray.job.current import get_job_context, known_context

__all__ = ["arrive", "note"]

_here: weakref.WeakSet[JobContext] = weakref.WeakSet()
"""The contexts of this process that pickles may name. Guarded by the GIL."""


def note(context: JobContext) -> None:
    """Remember a context, so that pickles that name its session lead to it."""
    _here.add(context)


def arrive(session: str, own_name: str, reader: JobContext | None = None) -> JobContext:
    """Return the context of that name, else a context of that session, else the context that this code runs in.

    Args:
        session: `JobContext.session_name` of the context that was pickled.
        own_name: `JobContext.own_name` of the same context.
        reader: the context that reads the value, where it is known; it is preferred to others of its session.
    """
    known = [context for context in list(_here) if not context.closed]
    itself = next((context for context in known if context.own_name() == own_name), None)
    if itself is not None:
        return itself
    current = known_context()
    candidates = [context for context in (reader, current, *known) if context is not None and not context.closed]
    found = next((context for context in candidates if context.session_name() == session), None)
    return found or current or get_job_context()
