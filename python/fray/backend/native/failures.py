"""Errors of the engine as exceptions of `fray.errors`."""

from __future__ import annotations

from typing import NoReturn

from fray import errors

__all__ = ["can_pickle", "engine_error", "raise_unpicklable"]

# Numbers of StatusCode in src/base/status.h.
_CODES: dict[int, type[Exception]] = {
    1: errors.InfeasibleError,
    5: errors.StoreFullError,
    6: errors.TaskTimeoutError,
    7: errors.TaskCancelledError,
    8: errors.NodeDiedError,
    9: errors.WorkerDiedError,
    10: errors.OwnerDiedError,
    11: errors.ObjectLostError,
    12: errors.DeadlockError,
    16: errors.VersionMismatchError,
}
_CLOSED = "the context was closed"


def engine_error(code: int, message: str) -> Exception:
    """Return the exception for a status of the engine."""
    if message == _CLOSED:
        return errors.ContextClosedError(f"{message}; make a new one, or call fray.init() again")
    return _CODES.get(code, errors.FrayError)(message)


def raise_unpicklable(what: str, value: object, cause: BaseException) -> NoReturn:
    """Raise the SerializationError for a value that cannot travel; it names the part that is to blame."""
    from fray._unpicklable import serialization_error
    from fray.job.refs import ObjectRef

    if isinstance(value, ObjectRef):
        text = f"{what}: {value!r} belongs to another context than this one; get its value there and pass that"
        raise errors.ForeignRefError(text)
    raise serialization_error(what, value, cause, can_pickle)


def can_pickle(value: object) -> bool:
    """Return whether `value` could travel."""
    import cloudpickle

    try:
        cloudpickle.dumps(value, protocol=5)  # pyright: ignore[reportUnknownMemberType]
    except Exception:
        return False
    return True
