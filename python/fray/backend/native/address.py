"""Where a started node is: ``"auto"``, a home or a socket; and a connection to it."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

from fray import _native
from fray.errors import NodeDiedError, SettingsError, VersionMismatchError

__all__ = ["connect_to", "explain_refusal", "find_socket", "refuse_settings"]

_SOCKET_NAME = "node.sock"
_LONGEST_NAME = 107  # of a Unix socket, in bytes


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


def find_socket(address: str | os.PathLike[str]) -> str:
    """Return the path of the socket that `address` means: ``"auto"``, a socket, or the folder of a home or a node.

    Raises:
        SettingsError: `address` is empty or no path.
        NodeDiedError: there is no socket.
    """
    text = os.fspath(address)
    if not text.strip() or "\0" in text:
        raise SettingsError(f"address must be 'auto' or the path of a socket or a home, got {address!r}")
    if text == "auto":
        try:
            path = os.path.join(_native.started_node_folder(), _SOCKET_NAME)
        except ValueError as error:
            raise SettingsError(str(error)) from None
        if not os.path.exists(path):
            raise NodeDiedError(
                f"no node of this home runs (there is no {path}). Start one with `fray start`, or leave out the "
                "address for a node of this program's own"
            )
        return path
    path = os.path.abspath(os.path.expanduser(text))
    if not os.path.isdir(path):
        return path
    candidates = [os.path.join(path, _SOCKET_NAME), os.path.join(path, "run", "node", _SOCKET_NAME)]
    found = next((candidate for candidate in candidates if os.path.exists(candidate)), None)
    if found is None:
        raise NodeDiedError(
            f"no node runs in the folder {path} (there is none of {', '.join(candidates)}). "
            f"Start one with `FRAY_HOME={path} fray start`"
        )
    return found


def connect_to(path: str) -> int:
    """Return the descriptor of a connection to the node whose socket is `path`.

    Raises:
        NodeDiedError: nobody answers there, or somebody who is another user.
    """
    folder = -1
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        name = path
        if len(os.fsencode(path)) > _LONGEST_NAME:
            folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            name = f"/proc/self/fd/{folder}/{os.path.basename(path)}"
        connection.connect(name)
        user = _peer_user(connection)
        if user != os.getuid():
            raise NodeDiedError(f"the node at {path} belongs to user {user}, not to you (user {os.getuid()})")
        connection.setblocking(False)
        return connection.detach()
    except OSError as error:
        raise NodeDiedError(
            f"no node answers at {path}: {error}. `fray status` lists those that run, `fray start` starts one"
        ) from error
    finally:
        connection.close()
        if folder >= 0:
            os.close(folder)


def explain_refusal(path: str, error: NodeDiedError) -> Exception:
    """Return why a node that was there did not let us in: another release, as far as it wrote one down."""
    try:
        written = json.loads(Path(path).with_name("node.json").read_text())
        release = written["release"]
    except (OSError, ValueError, KeyError, TypeError):
        return error
    if release == _native.RELEASE:
        return error
    return VersionMismatchError(
        f"client {_native.RELEASE}, node {release} at {path}: both must come from the same Fray release; "
        "`fray stop` ends the node, whatever its release"
    )


def _peer_user(connection: socket.socket) -> int:
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", packed)[1]
