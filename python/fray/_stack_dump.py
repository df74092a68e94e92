"""How a process of Fray shows its Python stacks to `fray stack`: on a signal it writes them into a file in memory.

Python's `faulthandler` writes them inside the signal's handler. It takes no lock and no memory, so a thread that hangs
in C code, or never gives the interpreter's lock away, is shown too. `src/cli/stack_dump.cc` is the other side.
"""

from __future__ import annotations

import faulthandler
import fcntl
import os
import threading

from fray._signals import signals

__all__ = ["begin_stack_file", "offer_stacks", "offer_stacks_in_forks", "withdraw_stacks"]

_SIGNAL = signals.SIGRTMIN + 11
_FILE_NAME = "fray-stacks"
_LEAST_DESCRIPTOR = 16
"""A worker is forked with files under smaller numbers, which the file of its stacks must not replace."""


class _Offer:
    """The file and the signal that this process uses for it; `users` counts the calls of `offer_stacks`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.file = -1


_offer = _Offer()


def offer_stacks() -> None:
    """Have this process answer `fray stack`; no effect where the program uses the signal itself."""
    with _offer.lock:
        _offer.users += 1
        if _offer.file >= 0 or signals.getsignal(_SIGNAL) is not signals.SIG_DFL:
            return
        try:
            _offer.file = _new_file()
            _write_into(_offer.file)
        except OSError:  # no descriptor is free: the program has worse problems
            _close()


def offer_stacks_in_forks() -> None:
    """Set the signal up in the process that forks workers; each of them then calls `begin_stack_file`.

    To set it up takes a fifth of a millisecond, and memory that each worker would have to itself.
    """
    if _offer.users:  # by the program of which this process is a copy, with another file and signals that are reset
        _withdraw()
    offer_stacks()


def begin_stack_file() -> None:
    """Give this process, which was forked a moment ago and has closed the files of its parent, a file of its own.

    Without one it does not answer: a file that it opens later could get the number that the signal writes to.
    """
    inherited, _offer.file = _offer.file, -1
    if inherited < 0:
        return
    try:
        _offer.file = _new_file()
        if _offer.file != inherited:  # where it is the same, which is usual, the signal knows it already
            _write_into(_offer.file)
    except OSError:
        _withdraw()


def withdraw_stacks() -> None:
    """Undo one `offer_stacks`; the last call frees the signal and the file."""
    with _offer.lock:
        _offer.users -= 1
        if _offer.users == 0 and _offer.file >= 0:
            _withdraw()


def _withdraw() -> None:
    faulthandler.unregister(_SIGNAL)
    _offer.users = 0
    _close()


def _write_into(file: int) -> None:
    faulthandler.register(_SIGNAL, file=file, all_threads=True, chain=False)


def _new_file() -> int:
    made = os.memfd_create(_FILE_NAME, os.MFD_CLOEXEC)
    try:
        fcntl.fcntl(made, fcntl.F_SETFL, os.O_APPEND)
        return fcntl.fcntl(made, fcntl.F_DUPFD_CLOEXEC, _LEAST_DESCRIPTOR)
    finally:
        os.close(made)


def _close() -> None:
    file, _offer.file = _offer.file, -1
    if file >= 0:
        os.close(file)
