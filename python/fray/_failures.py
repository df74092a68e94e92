"""How the exception of a task travels: bytes on one side, an exception to raise on the other.

The caller gets the user's own exception with its ``__cause__`` chain, ended by a `RemoteTraceback`. What cannot be
pickled, cannot be read back, is too large, or is no `Exception` (``SystemExit`` must not end the caller) becomes a
`TaskError` with the type's name, the message and the traceback. None of the functions ever raises.

The bytes begin with the traceback, its length in four bytes and its text, which other languages read as well. What
follows is a pickle of plain strings, bytes and tuples, so the frame itself can always be read; each exception inside is
a pickle of its own. Plain pickle first; cloudpickle, imported only then, for types that cannot be found by name.
"""

from __future__ import annotations

import itertools
import os
import pickle
from types import FunctionType, TracebackType
from typing import Any, NamedTuple, cast

from fray._units import bytes_text
from fray.errors import RemoteTraceback, TaskError

__all__ = ["describe_exception", "failure_text", "in_process_failure", "pack_exception", "summary", "unpack_exception"]

MAX_PAYLOAD_BYTES = 8 << 20
MAX_TEXT_CHARS = 64 << 10
MAX_CAUSES = 16

_FORMAT = 2
_PACKAGE_PREFIX = os.path.dirname(os.path.abspath(__file__)) + os.sep


class _Link(NamedTuple):
    """One exception of a ``__cause__`` chain. `payload` is None where it cannot travel, and `reason` says why."""

    type_name: str
    message: str
    payload: bytes | None
    reason: str


def pack_exception(exc: BaseException, task_name: str) -> bytes:
    """Return bytes from which `unpack_exception` makes the exception again in any process."""
    text = _format(exc).encode()
    links = [tuple(_pack_link(link)) for link in _causes(exc)]
    return len(text).to_bytes(4, "little") + text + pickle.dumps((_FORMAT, task_name, links), protocol=5)


def describe_exception(exc: BaseException, task_name: str) -> bytes:
    """Return a description of `exc` for callers that are not Python; `wire::Failure` reads it."""
    texts = (task_name, _type_name(exc), _safe_str(exc), _format(exc))
    encoded = [text.encode("utf-8", "backslashreplace") for text in texts]
    return b"".join(len(data).to_bytes(4, "little") + data for data in encoded)


def unpack_exception(data: bytes) -> Exception:
    """Return the exception packed in `data`, to be raised by the caller; a `TaskError` where it could not travel."""
    try:
        text, frame = _split(data)
        version, task_name, raw_links = cast("tuple[int, str, list[Any]]", pickle.loads(frame))
        links = [_Link(*raw) for raw in raw_links]
        if version != _FORMAT or not links:
            raise ValueError(f"format {version}, {len(links)} exceptions")
    except Exception as error:
        return TaskError(f"a task failed, and the report of its failure cannot be read: {_safe_str(error)}")
    chain = [_unpack_link(link, task_name, text) for link in links]
    for exc, cause in itertools.pairwise(chain):
        exc.__cause__ = cause
    chain[-1].__cause__ = RemoteTraceback(text)
    return chain[0]


def failure_text(data: bytes) -> str:
    """Return the traceback of the exception packed in `data`, as text."""
    try:
        return _split(data)[0]
    except Exception as error:
        return f"the report of the failure cannot be read: {_safe_str(error)}"


def _split(data: bytes) -> tuple[str, bytes]:
    """Return the traceback at the beginning of packed bytes, and what follows it."""
    end = 4 + int.from_bytes(data[:4], "little")
    if len(data) < end:
        raise ValueError(f"{len(data)} bytes, and {end} announced")
    return data[4:end].decode(), data[end:]


def in_process_failure(exc: BaseException, task_name: str) -> Exception:
    """Return what a caller in the same process gets: `exc` itself, or a `TaskError` where it is no `Exception`."""
    if isinstance(exc, Exception):
        return exc
    link = _Link(_type_name(exc), _safe_str(exc), None, "only an Exception is raised again in the caller")
    text = _format(exc)
    error = _task_error(link, task_name, text)
    error.__cause__ = RemoteTraceback(text)
    return error


def summary(exc: BaseException) -> str:
    """Return the exception's type and text in one line or more, also where its ``__str__`` raises."""
    return f"{_type_name(exc)}: {_safe_str(exc)}"


def _causes(exc: BaseException) -> list[BaseException]:
    """Return `exc` and its explicit causes; a `RemoteTraceback` ends the chain, its text being part of the whole."""
    chain = [exc]
    while len(chain) < MAX_CAUSES:
        cause = chain[-1].__cause__
        if cause is None or isinstance(cause, RemoteTraceback) or any(cause is seen for seen in chain):
            break
        chain.append(cause)
    return chain


def _pack_link(exc: BaseException) -> _Link:
    name, message = _type_name(exc), _safe_str(exc)
    if not isinstance(exc, Exception):
        return _Link(name, message, None, "only an Exception is raised again in the caller")
    try:
        payload = _dump(_parts(exc))
    except BaseException as error:
        return _Link(name, message, None, f"it cannot be pickled: {_cut(_safe_str(error), 500)}")
    if len(payload) > MAX_PAYLOAD_BYTES:
        return _Link(
            name, message, None, f"it is {bytes_text(len(payload))} pickled, more than {bytes_text(MAX_PAYLOAD_BYTES)}"
        )
    return _Link(name, message, payload, "")


def _unpack_link(link: _Link, task_name: str, text: str) -> Exception:
    if link.payload is None:
        return _task_error(link, task_name, text)
    try:
        exc = _rebuild(*cast("tuple[Any, Any, Any]", pickle.loads(link.payload)))
    except BaseException as error:
        reason = f"it cannot be unpickled here: {_type_name(error)}: {_cut(_safe_str(error), 500)}"
        return _task_error(link._replace(reason=reason), task_name, text)
    return exc


def _parts(exc: Exception) -> tuple[Any, Any, Any]:
    """Return (type, args, attributes), or (None, exc, None) for types that define their own pickling."""
    kind = type(exc)
    own_way = kind.__reduce__ is not BaseException.__reduce__ or kind.__reduce_ex__ is not object.__reduce_ex__
    if own_way:
        return None, exc, None
    return kind, exc.args, vars(exc)


def _rebuild(kind: Any, args: Any, attributes: Any) -> Exception:
    """Make the exception without running an ``__init__`` written in Python.

    Pickle calls ``type(*args)``, which fails, or repeats the message's prefix, for every type whose ``__init__`` takes
    other arguments than it hands to ``super()``.
    """
    if kind is None:
        exc = args
    else:
        exc = kind.__new__(kind, *args)
        for base in kind.__mro__:
            init: Any = base.__dict__.get("__init__")
            if init is not None and not isinstance(init, FunctionType):
                init(exc, *args)
                break
        exc.__dict__.update(attributes)
    if not isinstance(exc, Exception):
        raise TypeError(f"the pickle holds a {type(exc).__name__}, not an exception")
    return exc


def _dump(parts: tuple[Any, Any, Any]) -> bytes:
    try:
        return pickle.dumps(parts, protocol=5)
    except Exception:
        from fray._by_value import dumps_whole

        return dumps_whole(parts)


def _task_error(link: _Link, task_name: str, text: str) -> TaskError:
    message = f"task {task_name!r} failed with {link.type_name}: {link.message}"
    if link.reason:
        message += f" ({link.type_name} did not travel: {link.reason})"
    return TaskError(message, task_name=task_name, type_name=link.type_name, remote_traceback=text)


def _format(exc: BaseException) -> str:
    try:
        import traceback  # takes longer to import than all of this module, and most workers never fail

        lines = traceback.format_exception(type(exc), exc, _user_frames(exc.__traceback__))
        return _cut("".join(lines), MAX_TEXT_CHARS)
    except BaseException:
        return f"{_type_name(exc)}: {_safe_str(exc)}\n"


def _user_frames(frames: TracebackType | None) -> TracebackType | None:
    """Skip the frames of Fray itself, above the user's function; keep all where there is no user's frame."""
    here = frames
    while here is not None and here.tb_frame.f_code.co_filename.startswith(_PACKAGE_PREFIX):
        here = here.tb_next
    return here or frames


def _type_name(exc: BaseException) -> str:
    kind = type(exc)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _safe_str(exc: BaseException) -> str:
    try:
        return _cut(str(exc), MAX_TEXT_CHARS)
    except BaseException:
        return "<str() of the exception failed>"


def _cut(text: str, limit: int) -> str:
    """Return `text`, or its two ends where it is longer than `limit` characters; always encodable as UTF-8."""
    if len(text) > limit:
        half = limit // 2
        text = f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
