"""Finds the address of a node by the engine's rule, and raises errors that name Python's arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping

from fray import _native
from fray.errors import InfeasibleError, SettingsError

__all__ = ["expand", "find_socket", "refuse_settings"]


def refuse_settings(address: str, given: Mapping[str, object]) -> None:
    """Refuse settings of a node beside the address of one that runs already.

    Raises:
        SettingsError: there are some.
    """
    names = ", ".join(name for name, value in given.items() if value is not None)
    if names:
        raise SettingsError(
            f"{names} cannot be given together with address={address!r}: the node that runs there has its own; "
            "leave them out, or give them to `fray start`"
        )


def expand(address: str | os.PathLike[str]) -> str:
    """Return an address as text, with the home of the user in place of ``~``."""
    return os.path.expanduser(os.fsdecode(address))


def find_socket(address: str | os.PathLike[str]) -> str:
    """Return the path of the socket that `address` means: ``"auto"``, a socket, or the folder of a home or a node.

    Raises:
        SettingsError: `address` is empty or no path.
        NodeDiedError: there is no socket.
    """
    try:
        return _native.find_node(expand(address))
    except InfeasibleError as error:
        raise SettingsError(str(error)) from None
