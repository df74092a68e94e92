"""Starts a node whose workers are copies of this process, as those of `multiprocessing` are with "fork".

::

    program ── vfork ─▶ starter ── vfork ─▶ becomes the node ── fork ─▶ becomes the fork server
                        ends at once

The program has no child that it does not know, and the fork server is the node's, as one that the node has started
itself. Only the fork server is a copy: `_native.fork_below`.

What a fork copies is made fit for a worker (`_become_fork_server`): the workers must neither hold the program's sockets
and pipes open, nor run its handlers of signals and what it has registered for its end.
"""

from __future__ import annotations

import atexit
import gc
import os
import stat
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import Context, copy_context
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from fray import _native
from fray._signals import signals
from fray.backend.native.needs import NEEDS_OPTION
from fray.backend.native.other_threads import other_threads, threads_that_stay
from fray.errors import FrayError, NodeDiedError, SettingsError

__all__ = ["PATIENCE_WITH_THREADS", "Copy", "start_node"]

PATIENCE_WITH_THREADS = 1.0
"""Seconds in which threads that were joined, or that end by themselves, leave."""

_socket: Any = import_module("_socket")  # a pair of sockets needs nothing of `socket`

_IGNORED_BY_PYTHON = (signals.SIGPIPE, signals.SIGXFSZ)
_USUAL_RECURSION_LIMIT = 1000
_kept: list[object] = []
"""The program's main module, and its standard streams: freeing them would write out what is in their buffers."""


class Copy(NamedTuple):
    """What a copy of this process becomes.

    Attributes:
        path: where workers look for modules.
        environment: the variables of the workers.
        needs_file: which names the packages that the program imports later, and that its calls need (`Needs.path`).
        is_hidden: whether tasks are not to see the program: its main module, its arguments and its context variables.
    """

    path: list[str]
    environment: dict[str, str]
    needs_file: str
    is_hidden: bool


def start_node(program: str, settings: str, copy: Copy, patience: float = PATIENCE_WITH_THREADS) -> int:
    """Start a node whose fork server is a copy of this process, and return the descriptor of the socket to the node.

    Args:
        program: ``fray``.
        settings: of the node, as JSON.
        copy: what the fork server is to be.
        patience: seconds in which threads that were joined, or that end by themselves, leave.

    Raises:
        SettingsError: this process has other threads: a lock that one of them holds would never be released in a copy.
        NodeDiedError: this process cannot be copied.
    """
    _refuse_threads([each.name for each in threading.enumerate() if each is not threading.current_thread()])
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()  # what is in the buffers is this process's alone to write
    until = time.monotonic() + patience
    while True:
        socket = _start_copies(program, settings, copy)
        # Libraries that expect forks have ended their threads for this one.
        if not other_threads():
            return socket
        os.close(socket)
        _refuse_threads(threads_that_stay(until - time.monotonic()))


def _start_copies(program: str, settings: str, copy: Copy) -> int:
    descriptors: list[int] = []
    ours_only = 0
    try:
        for pair in (_socket_pair, _socket_pair, os.pipe):
            descriptors += pair()
        _, nodes, link, servers_link, output, servers_output = descriptors
        command = [program, "node", "--embedded", "--client-fd", "3", "--log-fd", "2", "--options-json", settings]
        main_names = _names_of_main()
        sys.audit("os.fork")
        with _signals_blocked():
            if _native.fork_below([*command, "--fork-server"], [nodes, link, output]):
                _be_fork_server(servers_link, servers_output, copy, main_names)
        ours_only = 1
    except (OSError, FrayError) as error:
        raise NodeDiedError(f"this process cannot be copied: {error}") from error
    finally:
        # Without our end a node that was started ends too.
        for descriptor in descriptors[ours_only:]:
            os.close(descriptor)
    return descriptors[0]


def _names_of_main() -> list[str]:
    """Return by which names the main module is known.

    To look for them in the copy would give it a page of its own for each module.
    """
    main = sys.modules["__main__"]
    return [name for name, module in sys.modules.items() if module is main]


def _refuse_threads(names: list[str]) -> None:
    if names:
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        raise SettingsError(
            f"start_method='fork' copies this process, which has other threads ({shown}); a lock that one of them "
            "holds would never be released in the copy. Make the context before they start, or leave start_method out"
        )


def _socket_pair() -> tuple[int, int]:
    one, other = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK)
    return one.detach(), other.detach()


@contextmanager
def _signals_blocked() -> Generator[None, None, None]:
    """Hold back signals, whose handlers are the program's: its copies set their own before they let any through."""
    before = signals.pthread_sigmask(signals.SIG_BLOCK, signals.valid_signals())
    try:
        yield
    finally:
        signals.pthread_sigmask(signals.SIG_SETMASK, before)


# ---- in the copy, which never returns into the program's code


def _be_fork_server(link: int, output: int, copy: Copy, main_names: list[str]) -> NoReturn:
    try:
        _become_fork_server(link, output, copy, main_names)
    except BaseException:
        import_module("traceback").print_exc()
    finally:
        os._exit(1)


def _become_fork_server(link: int, output: int, copy: Copy, main_names: list[str]) -> None:
    os.setpgid(0, 0)
    sys.settrace(None)
    sys.setprofile(None)
    _let_go_of_descriptors(link, output)
    _open_standard_streams()
    atexit._clear()  # pyright: ignore[reportPrivateUsage]
    os.environ.clear()
    os.environ.update(copy.environment)
    sys.path[:] = copy.path
    if copy.is_hidden:
        _hide_program(main_names)
    sys._xoptions[NEEDS_OPTION] = copy.needs_file  # pyright: ignore[reportPrivateUsage]
    import_module("fray.job.current").forget_contexts()
    if "fray._classes_by_value" in sys.modules:
        import_module("fray._classes_by_value").forget()
    collects = copy.is_hidden or gc.isenabled()
    gc.disable()
    _reset_signals(_IGNORED_BY_PYTHON)
    signals.signal(signals.SIGINT, signals.default_int_handler)
    from fray.backend.native import fork_server

    context = Context() if copy.is_hidden else copy_context()
    context.run(fork_server.serve, link, collects)
    os._exit(0)


def _hide_program(main_names: list[str]) -> None:
    """Put what a new interpreter has in the place of the main module and the settings of this one."""
    for name in main_names:
        _kept.append(sys.modules.pop(name))
    sys.modules["__main__"] = ModuleType("__main__")
    sys.argv[:] = ["-c"]
    with suppress(RecursionError):  # the program is deeper in calls than that
        sys.setrecursionlimit(_USUAL_RECURSION_LIMIT)


def _let_go_of_descriptors(link: int, output: int) -> None:
    """Put ``/dev/null`` in the place of the program's sockets and pipes, and of its standard streams.

    Whoever is at the other end of one is to see it closed when the program closes it. The numbers stay taken, because
    objects of the program that are freed later close them. Files stay open, as they do for `multiprocessing`.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor <= 2 or descriptor in (null, link, output):
            continue
        with suppress(OSError):  # that of the listing itself is closed
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.dup2(null, descriptor, inheritable=False)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(null)
    os.close(output)


def _open_standard_streams() -> None:
    _kept.extend([sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__])
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        errors = "backslashreplace" if name == "stderr" else "surrogateescape"
        stream = os.fdopen(number, "w" if number else "r", encoding="utf-8", errors=errors, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _reset_signals(ignored: tuple[int, ...]) -> None:
    """Give all signals their defaults but `ignored`, and let them through."""
    for number in signals.valid_signals():
        with suppress(OSError):  # SIGKILL, SIGSTOP, and those of the C library
            signals.signal(number, signals.SIG_IGN if number in ignored else signals.SIG_DFL)
    signals.pthread_sigmask(signals.SIG_SETMASK, ())
