"""Opens a connection to a node, and tells the node which interpreter, folder and variables this process has."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from fray import _native
from fray._resources import DEVICE_KINDS
from fray._settings import NAMESPACE_VARIABLE, default_namespace
from fray._units import is_finite
from fray.backend.native.address import expand
from fray.backend.native.needs import CLASSES_OPTION, NEEDS_OPTION
from fray.backend.native.programs import cpp_worker_program, fray_program
from fray.errors import InfeasibleError, NodeDiedError, SettingsError, TaskTimeoutError

__all__ = [
    "Opening",
    "WorkerKey",
    "attach",
    "check_settings",
    "check_start_method",
    "cpp_worker_key",
    "current_folder",
    "fork_embedded",
    "interpreter_command",
    "namespace_env",
    "search_path",
    "start_embedded",
    "worker_key",
]

WorkerKey: TypeAlias = tuple[list[str], list[str], str, list[str]]
"""Command, module path, folder, and environment as names and values in turn."""


def check_settings(
    cpus: float | None,
    memory: int | None,
    store_memory: int | None,
    max_workers: int | None,
    spill_dir: str | os.PathLike[str] | None,
    resources: Mapping[str, float] | None = None,
    memory_threshold: float | None = None,
) -> None:
    """Check what a node is to be started with, before anything starts.

    Raises:
        TypeError: no number.
        SettingsError: an amount that is not above 0 and finite, a part of a device, or a spill folder that cannot be
            written to.
    """
    amounts = {"cpus": cpus, "memory": memory, "store_memory": store_memory, "max_workers": max_workers}
    amounts["memory_threshold"] = memory_threshold
    for name, amount in amounts.items():
        if amount is None:
            continue
        if isinstance(amount, bool) or not isinstance(amount, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{name} must be a number, got {amount!r}")
        if not is_finite(amount) or amount <= 0:
            raise SettingsError(f"{name} must be a finite number above 0, got {amount!r}; leave it out for the default")
    if memory_threshold is not None and memory_threshold > 1:
        raise SettingsError(f"memory_threshold is a share of the memory, from 0 to 1, got {memory_threshold!r}")
    for kind in DEVICE_KINDS:
        amount = (resources or {}).get(kind, 0)
        if amount != int(amount):
            raise SettingsError(f"resources: {kind!r} must be a whole number of devices, got {amount!r}")
    if spill_dir is not None and not _is_utf8(os.fspath(spill_dir)):
        raise SettingsError(f"spill_dir must be a path in UTF-8, got {os.fspath(spill_dir)!r}; take another folder")
    if spill_dir is not None and not (os.path.isdir(spill_dir) and os.access(spill_dir, os.W_OK | os.X_OK)):
        raise SettingsError(f"spill_dir {os.fspath(spill_dir)!r} is not a folder that can be written to; make it first")


def _is_utf8(path: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in path)


def check_start_method(start_method: str | None) -> None:
    """Raise SettingsError for another start method than the two that there are."""
    if start_method not in (None, "fork", "forkserver"):
        raise SettingsError(
            f"start_method must be 'forkserver', where workers begin as new interpreters, or 'fork', where they are "
            f"copies of this process; got {start_method!r}"
        )


class Opening:
    """A connection to a node that has been told who we are, and has not answered yet.

    Where nobody asks for the client, the connection ends with this object, and a node that was started for it as well.

    Args:
        address: of the node; None for one that `program` becomes.
        program: ``fray``.
        settings: of a node that is started, as JSON.
        prestart: how many workers are started at once.
        key: of the workers.
        socket: descriptor of the socket to a node that was started already, which this object closes; -1 for none.

    Raises:
        NodeDiedError: there is no node, or it cannot start.
        SettingsError: the node refuses what it is given.
        VersionMismatchError: it is of another release.
    """

    def __init__(
        self, address: str | None, program: str, settings: str, prestart: int, key: WorkerKey, socket: int = -1
    ) -> None:
        with _errors_of_nodes():
            self._begun = _native.begin_open(address, program, settings, prestart, *key, socket)

    def client(self) -> _native.Client:
        """Wait for the node's answer and return the client; once. Raises what the constructor does."""
        with _errors_of_nodes():
            return _native.finish_open(self._begun)


def start_embedded(
    options: dict[str, Any],
    prestart: int,
    extra_env: Mapping[str, str] | None = None,
    needs_file: str = "",
    has_classes: bool = True,
) -> Opening:
    """Start a node that lives as long as this process needs it.

    Args:
        options: of the node.
        prestart: how many workers are started at once.
        extra_env: variables of the workers.
        needs_file: which the fork server reads.
        has_classes: whether the main script may have classes, which travel by value.
    """
    settings = _settings_text(options)
    command, path, folder, environment = worker_key(extra_env)
    if needs_file:
        command = [*command, "-X", f"{NEEDS_OPTION}={needs_file}"]
        if has_classes:
            command += ["-X", CLASSES_OPTION]
    return Opening(None, fray_program(), settings, prestart, (command, path, folder, environment))


def fork_embedded(
    options: dict[str, Any], prestart: int, extra_env: Mapping[str, str], needs_file: str, asked_for: bool
) -> Opening:
    """Start a node that lives as long as this process needs it, and whose workers are copies of this process.

    Args:
        options: of the node.
        prestart: how many workers are started at once.
        extra_env: variables of the workers.
        needs_file: which the fork server reads.
        asked_for: whether the program asked for copies. If not, tasks do not see it (`Copy.is_hidden`), and this
            raises where it would have to wait.

    Raises:
        SettingsError: this process has other threads.
        NodeDiedError: this process cannot be copied.
    """
    from fray.backend.native.forked import PATIENCE_WITH_THREADS, Copy, start_node

    key = worker_key(extra_env)
    _, path, _, environment = key
    copy = Copy(path, dict(zip(environment[::2], environment[1::2], strict=True)), needs_file, is_hidden=not asked_for)
    patience = PATIENCE_WITH_THREADS if asked_for else 0.0
    return Opening(None, "", "", prestart, key, start_node(fray_program(), _settings_text(options), copy, patience))


def _settings_text(options: dict[str, Any]) -> str:
    return _native.json_text({key: value for key, value in options.items() if value is not None})


def attach(address: str | os.PathLike[str], extra_env: Mapping[str, str] | None = None) -> Opening:
    """Connect to the node at `address`: ``"auto"``, a socket or a home.

    Raises:
        SettingsError: `address` is empty or no path.
    """
    return Opening(expand(address), "", "", 0, worker_key(extra_env))


def worker_key(extra_env: Mapping[str, str] | None = None) -> WorkerKey:
    """Return (command, module path, folder, environment) of workers that mirror this process.

    Args:
        extra_env: variables that they have beside those of this process, or with other values. The folders of a
            ``PYTHONPATH`` among them are searched as Python itself would: behind the folder of the program.

    Raises:
        SettingsError: the current folder has been deleted, so that no worker can start in it.
    """
    folder = current_folder()
    environment = {**os.environ, **(extra_env or {})}
    flat = [text for name in sorted(environment) for text in (name, environment[name])]
    module_path = search_path(folder)
    if extra_env and extra_env.get("PYTHONPATH"):
        more = [entry or folder for entry in extra_env["PYTHONPATH"].split(os.pathsep)]
        begin = 0 if sys.flags.safe_path else 1
        module_path = list(dict.fromkeys([*module_path[:begin], *more, *module_path[begin:]]))
    return interpreter_command(), module_path, folder, flat


def search_path(folder: str) -> list[str]:
    """Return where this program looks for modules, with `folder` for its current one."""
    return [folder if entry == "" else entry for entry in sys.path if _is_searched(entry)]


def current_folder() -> str:
    """Return the current folder.

    Raises:
        SettingsError: it has been deleted, or may not be looked at.
    """
    try:
        return os.getcwd()
    except OSError as error:
        name = os.readlink("/proc/self/cwd").removesuffix(" (deleted)")
        raise SettingsError(
            f"the current folder of this process, {name}, is gone ({error.strerror}), and workers start where it is; "
            "call os.chdir() with a folder that exists, and then this again"
        ) from None


def interpreter_command() -> list[str]:
    """Return this interpreter and its flags.

    Raises:
        SettingsError: nobody knows where this interpreter is.
    """
    if not sys.executable:
        raise SettingsError(
            f"sys.executable is {sys.executable!r}, and workers are started with that program; "
            "set it to the path of a Python interpreter"
        )
    return [sys.executable, *_interpreter_flags()]


def cpp_worker_key(library: str, extra_env: Mapping[str, str]) -> WorkerKey:
    """Return the same of workers that load a C++ library. Its content is part of the key.

    Raises:
        OSError: the library cannot be read.
    """
    command = [cpp_worker_program(), "library", _native.content_hash(library), library]
    _, _, folder, environment = worker_key(extra_env)
    return command, [], folder, environment


def namespace_env(namespace: str) -> dict[str, str]:
    """Return the variable that tells workers the namespace, where they would not find it anyway."""
    return {} if namespace == default_namespace() else {NAMESPACE_VARIABLE: namespace}


@contextmanager
def _errors_of_nodes() -> Generator[None, None, None]:
    """Give errors their meaning at a time when there is nothing but the node."""
    try:
        yield
    except InfeasibleError as error:
        # Nothing has been asked for but the node itself.
        raise SettingsError(str(error)) from None
    except TaskTimeoutError as error:  # there is no task yet
        raise NodeDiedError(str(error)) from None


def _is_searched(entry: object) -> bool:
    """Return whether an entry of sys.path can name anything; Python passes over entries that are not text as well."""
    if not isinstance(entry, str) or "\0" in entry:
        return False
    try:
        os.fsencode(entry)
    except UnicodeEncodeError:
        return False
    return True


def _interpreter_flags() -> list[str]:
    flags = sys.flags
    letters = "".join(
        letter * int(count)
        for letter, count in (
            ("O", flags.optimize),
            ("B", flags.dont_write_bytecode),
            ("E", flags.ignore_environment and not flags.isolated),
            ("I", flags.isolated),
            ("s", flags.no_user_site and not flags.isolated),
            ("S", flags.no_site),
        )
    )
    options = [f"-{letters}"] if letters else []
    options += [f"-W{option}" for option in sys.warnoptions]
    for name, value in sys._xoptions.items():  # pyright: ignore[reportPrivateUsage]
        options += ["-X", name if value is True else f"{name}={value}"]
    return options
