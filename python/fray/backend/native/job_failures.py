"""What a node answers about jobs, as exceptions of `fray.errors`."""

from __future__ import annotations

from fray import errors
from fray._native import StatusCode

__all__ = ["job_error"]

_ERRORS: dict[int, type[Exception]] = {
    StatusCode.INVALID_ARGUMENT: errors.InfeasibleError,
    StatusCode.NOT_FOUND: errors.JobNotFoundError,
    StatusCode.ALREADY_EXISTS: errors.JobExistsError,
    StatusCode.TIMED_OUT: errors.GetTimeoutError,
    StatusCode.UNAVAILABLE: errors.NodeDiedError,
    StatusCode.VERSION_MISMATCH: errors.VersionMismatchError,
}


def job_error(code: int, message: str) -> Exception:
    """Return the exception for an answer that is no success."""
    return _ERRORS.get(code, errors.FrayError)(message)
