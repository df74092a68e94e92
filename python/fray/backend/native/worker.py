"""The Python side of a worker process. The fork server imports it before it forks any.

What a call may do without is imported where it is used: the fork server has it imported for all workers but the first
few, which begin meanwhile.
"""

from __future__ import annotations

import atexit
import io
import os
import pickle
import sys
import threading
from importlib import import_module
from typing import Any, NoReturn

from fray import _failures, _native, _traces
from fray._failures import describe_exception
from fray._native import FunctionKind, Interrupt
from fray._signals import signals
from fray._stack_dump import begin_stack_file, offer_stacks_in_forks
from fray.backend.native import breakpoints, seat
from fray.backend.native.retrying import Retrying
from fray.backend.native.threads import use_threads
from fray.errors import NodeDiedError, TaskTimeoutError
from fray.job.interruption import interrupt_cancelled

__all__ = [
    "bind_devices",
    "describe_exception",
    "end_debugging",
    "end_process",
    "handle_interrupts",
    "load_function",
    "main",
    "may_retry",
    "on_interrupt",
    "pack_exception",
    "prepare",
    "traced",
    "use_threads",
]

_pid = 0  # of this worker


class _HoldingBack:
    """Holds interrupts back while a step runs that is to be done completely. Not a generator: debuggers show those."""

    on = False

    def __enter__(self) -> None:
        self.on = True

    def __exit__(self, *raised: object) -> None:
        self.on = False


_holding_back = _HoldingBack()


def bind_devices(devices: dict[str, list[int]], environment: dict[str, str]) -> None:
    """Take the devices that this process has for the rest of its life; called before any task runs."""
    os.environ.update(environment)
    context = _context()
    if context is not None:
        context._devices = devices  # pyright: ignore[reportPrivateUsage]


def load_function(kind: int, payload: Any) -> Any:
    """Return the callable of a task: by its name, from its pickle, or from a pickle and the memory of its arrays.

    An interrupt is held back until the function is loaded: the next task would have to import a half-imported module
    again, could be interrupted in turn, and no task would ever run.
    """
    with _holding_back:
        if kind == FunctionKind.PYTHON_NAME:
            found = _find(payload.decode())
        elif kind == FunctionKind.STORED:
            found = pickle.loads(payload[0], buffers=payload[1])
        else:
            found = pickle.loads(payload)
    _raise_interrupt()
    return found


def pack_exception(exc: BaseException, task_name: str) -> bytes:
    """Return the bytes of a task's exception; see `fray._failures`. For a missing module they name the search path."""
    if isinstance(exc, ModuleNotFoundError):
        exc.add_note(
            f"worker {os.getpid()} looked for {exc.name!r} in {_shortened(sys.path)}: sys.path, and the current folder "
            "for '', as the program had them when it made its context. What it has changed since is not seen here; set "
            "sys.path, PYTHONPATH and the current folder before fray.init()"
        )
    return _failures.pack_exception(exc, task_name)


def _shortened(path: list[str]) -> str:
    shown = 12
    more = f" and {len(path) - shown} more" if len(path) > shown else ""
    return f"{path[:shown]}{more}"


def traced(function: Any, trace: bytes, name: str, number: int, attempt: int) -> Any:
    """Return the callable that replaces `function` where its caller is traced.

    The first call of a worker imports OpenTelemetry. An interrupt is held back meanwhile, and raised by the callable.
    """
    with _holding_back:
        from fray.backend.native.tracing import traced_call

        context = _context()
        made = traced_call(function, trace, name, number, attempt, "" if context is None else context.session_folder)
    return _interrupted if _native.interrupt_reason() else made


def _interrupted(*args: Any, **kwargs: Any) -> None:
    _raise_interrupt()


def end_debugging() -> None:
    """Close the debugger that the task which has just ended left open; an interrupt of that task comes too late."""
    with _holding_back:
        breakpoints.end_debugging()


def may_retry(function: object, error: BaseException) -> bool:
    """Return whether a task of this function may be tried again after it raised `error`."""
    return isinstance(function, Retrying) and function.retries_after(error)


def _find(name: str) -> Any:
    module_name, _, path = name.partition(":")
    found: Any = import_module(module_name)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def prepare() -> None:
    """Set up what all workers have in common, in the fork server: each would need memory of its own for it."""
    _write_each_line_at_once()
    breakpoints.install()
    _traces.only_children()
    offer_stacks_in_forks()


def main(process: int, control_fd: int, page_fd: int) -> None:
    """Run tasks until the node lets go of this process; never returns."""
    global _pid
    _pid = os.getpid()
    handle_interrupts()
    _draw_seeds()
    # A child has to find the context of this worker, which it can neither use nor make.
    os.register_at_fork(before=_context, after_in_child=_be_nobodys_worker)
    begin_stack_file()
    try:
        client = _native.become_worker(process, control_fd)
    except NodeDiedError:
        os._exit(1)  # the node ended this worker before it had begun; no message can be sent
    seat.client_of_worker = client
    failure = None
    try:
        actor = _native.run_worker(client, sys.modules[__name__], page_fd)
        if actor is not None:
            from fray.backend.native.actor_host import host_actor

            host_actor(actor)
    except BaseException as error:
        failure = error
    end_process(failure)


def end_process(raised: BaseException | None) -> NoReturn:
    """End this process as the interpreter ends a program that has returned, or raised something.

    This is the end of a worker, and of a child that user code has forked in one and that comes back from it: the frames
    that it would return to belong to the worker.
    """
    code = 1
    try:
        code = _exit_code(raised)
        if os.getpid() != _pid:
            threading._shutdown()  # pyright: ignore  # as at the end of a program: threads that are no daemons
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                code = code or 1
        if isinstance(raised, KeyboardInterrupt):
            signals.signal(signals.SIGINT, signals.SIG_DFL)
            os.kill(os.getpid(), signals.SIGINT)
        # No finalisation: threads and children that user code left must not hold the process.
        os._exit(code)


def _exit_code(raised: BaseException | None) -> int:
    if raised is None:
        return 0
    if not isinstance(raised, SystemExit):
        sys.excepthook(type(raised), raised, raised.__traceback__)
        return 1
    if raised.code is None:
        return 0
    if isinstance(raised.code, int):
        return raised.code & 0xFF
    print(raised.code, file=sys.stderr)
    return 1


def _context() -> Any:
    """Return the context of this worker."""
    return import_module("fray.backend.native.context").NativeJobContext.current()


def _be_nobodys_worker() -> None:
    """Handle Ctrl-C as any program does: in this forked child there is no task to cancel."""
    if signals.getsignal(signals.SIGINT) is on_interrupt:
        signals.signal(signals.SIGINT, signals.default_int_handler)


def _write_each_line_at_once() -> None:
    """Flush each line of output when it is printed: both streams are pipes to the node, which Python would buffer."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)


def _draw_seeds() -> None:
    """Draw new random seeds for libraries that draw them at import: workers that share an import would share them."""
    random: Any = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()


def handle_interrupts() -> None:
    """Have the signal of an interrupt raise in the task; an earlier task may have set another handler."""
    signals.signal(signals.SIGINT, on_interrupt)


def on_interrupt(number: int, frame: Any) -> None:
    """Raise the exception that interrupts the running task; do nothing for a signal that comes after the task's end."""
    if not _holding_back.on:
        _raise_interrupt()


def _raise_interrupt() -> None:
    reason = _native.interrupt_reason()
    if reason == Interrupt.CANCELLED:
        interrupt_cancelled()
    if reason == Interrupt.TIMED_OUT:
        raise TaskTimeoutError("the task ran past its timeout")
