"""Runs a function as a program: writes its call to a file, which ``python -m fray.fn_thunk FILE`` runs."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fray.cluster.entrypoint import CallableEntrypoint, Entrypoint

__all__ = ["create_thunk_entrypoint", "main"]


def create_thunk_entrypoint(
    callable_fn: Callable[..., Any],
    prefix: str,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Entrypoint:
    """Write the call to a new file, which stays, and return the entrypoint of the program that runs it.

    Args:
        callable_fn: the function; it and its arguments are pickled by value where they must be.
        prefix: beginning of the file's path, without spaces.
        args: positional arguments.
        kwargs: keyword arguments.

    Raises:
        ValueError: `prefix` has a space.
        SerializationError: the call cannot be pickled.
    """
    from fray.backend.native.job_order import pack_call

    if " " in prefix:
        raise ValueError(f"create_thunk_entrypoint: prefix must not contain spaces, got {prefix!r}")
    module_path = [os.getcwd() if entry == "" else entry for entry in sys.path]
    packed = pack_call(CallableEntrypoint(callable_fn, args, dict(kwargs or {})), module_path)
    with tempfile.NamedTemporaryFile(suffix=".pkl", prefix=f"{prefix}_", delete=False) as file:
        file.write(packed)
    return Entrypoint.from_binary("python", ["-m", "fray.fn_thunk", file.name])


def main(words: Sequence[str] | None = None) -> int:
    """Run the call in the file that the command line names; return the exit code, 1 where it raises."""
    from fray._job import main as run

    paths = list(sys.argv[1:] if words is None else words)
    if len(paths) != 1:
        print("usage: python -m fray.fn_thunk FILE", file=sys.stderr)
        return 2
    return run(paths[0])


if __name__ == "__main__":
    sys.exit(main())
