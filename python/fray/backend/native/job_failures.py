"""What a node answers about jobs, as exceptions of `fray.errors`."""

from __future__ import annotations

from fray import errors

__all__ = ["job_error"]

# Numbers of StatusCode in src/base/status.h.
_CODES: dict[int, type[Exception]] = {
    1: errors.InfeasibleError,
    2: errors.JobNotFoundError,
    3: errors.JobExistsError,
    6: errors.GetTimeoutError,
    8: errors.NodeDiedError,
    16: errors.VersionMismatchError,
}


def job_error(code: int, message: str) -> Exception:
    """Return the exception for an answer that is no success."""
    return _CODES.get(code, errors.FrayError)(message)
