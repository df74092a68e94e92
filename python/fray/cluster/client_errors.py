"""What the clients in C++ of foreign clusters raise, as errors of Fray's."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from fray import errors

__all__ = ["client_errors"]


@contextmanager
def client_errors() -> Generator[None]:
    """Raise what a client says of the network and of its peer as errors of Fray's; its sentences stay."""
    try:
        yield
    except (ConnectionError, PermissionError, TimeoutError) as error:
        raise errors.NodeDiedError(str(error)) from None
    except RuntimeError as error:
        if isinstance(error, errors.FrayError):
            raise
        raise errors.FrayError(str(error)) from None
