"""What a context begins with: its node is started, or connected to, before the rest of the context is imported.

From then on the node, and the interpreter of its workers, start beside the imports of this process. So this module
imports nothing that can wait: no `JobContext` and no options of tasks. Where workers are copies of this process, it is
the other way round: what both need is imported once, before the copy.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, NamedTuple

from fray._checks import check_actor_name
from fray._settings import default_namespace
from fray.backend.native.address import refuse_settings
from fray.backend.native.breakpoints import DEBUG_VARIABLE
from fray.backend.native.imported import inside_of
from fray.backend.native.launch import (
    Opening,
    attach,
    check_settings,
    check_start_method,
    fork_embedded,
    namespace_env,
    start_embedded,
)
from fray.backend.native.needs import Needs
from fray.backend.native.start_method import automatic_start_method
from fray.backend.native.tracing import trace_program

__all__ = ["Begun", "begin", "closing_on_failure"]

_MOST_PRESTARTED = 100_000
"""A limit of prestarted workers; the node itself refuses so many CPUs, with a message."""
_SHARED_BY_COPIES = (
    "fray.backend.native.context",
    "fray.backend.native.engine",
    "fray.backend.native.fork_server",
    "fray.backend.native.worker",
    "fray.job.batches",
)
"""Modules that this process needs next and that its copies need, too."""


class Begun(NamedTuple):
    """What `NativeJobContext.of_begun` makes a context of. A node that was started for it ends with this object."""

    opening: Opening
    needs: Needs | None
    namespace: str
    extra_env: Mapping[str, str]
    debug: bool


def begin(
    cpus: float | None = None,
    memory: int | None = None,
    store_memory: int | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    resources: Mapping[str, float] | None = None,
    namespace: str | None = None,
    address: str | None = None,
    max_workers: int | None = None,
    debug: bool = False,
    worker_env: Mapping[str, str] | None = None,
    dashboard: bool = False,
    tracing: bool | None = None,
    memory_threshold: float | None = None,
    start_method: str | None = None,
) -> Begun:
    """Start or greet the node of a `NativeJobContext`, which says what these mean, and do not wait for its answer.

    Raises:
        NodeDiedError: the node cannot be started or reached.
        SettingsError: settings of a node together with an address.
        VersionMismatchError: the node at `address` is of another release.
    """
    namespace = check_actor_name(default_namespace() if namespace is None else namespace, "namespace")
    debugging = {DEBUG_VARIABLE: str(os.getpid())} if debug else {}
    extra_env = {**namespace_env(namespace), **debugging, **trace_program(tracing), **(worker_env or {})}
    if address is not None:
        given = {"cpus": cpus, "memory": memory, "store_memory": store_memory, "spill_dir": spill_dir}
        given |= {"resources": resources, "max_workers": max_workers, "memory_threshold": memory_threshold}
        given["start_method"] = start_method
        refuse_settings(address, given)
        return Begun(attach(address, extra_env), None, namespace, extra_env, debug)
    check_settings(cpus, memory, store_memory, max_workers, spill_dir, resources, memory_threshold)
    check_start_method(start_method)
    options = {
        "cpus": cpus,
        "memory_bytes": memory,
        "memory_threshold": memory_threshold,
        "store_memory_bytes": store_memory,
        "spill_folder": None if spill_dir is None else os.fspath(spill_dir),
        "resources": dict(resources or {}),
        "max_workers": max_workers,
        "dashboard": True if dashboard else None,
    }
    prestart = int(min(cpus or len(os.sched_getaffinity(0)), _MOST_PRESTARTED))
    if start_method == "fork":
        return _begin_copies(options, prestart, extra_env, namespace, debug, asked_for=True)
    if start_method is None and not worker_env and automatic_start_method() == "fork":
        with suppress(Exception):  # what cannot be copied can be started anew, or says then why not
            return _begin_copies(options, prestart, extra_env, namespace, debug, asked_for=False)
    needs = Needs()
    with closing_on_failure(needs):
        opening = start_embedded(options, prestart, extra_env, needs.path, _has_classes_of_its_own())
        return Begun(opening, needs, namespace, extra_env, debug)


def _begin_copies(
    options: dict[str, Any], prestart: int, extra_env: Mapping[str, str], namespace: str, debug: bool, asked_for: bool
) -> Begun:
    from fray.backend.native.loading import uncollected_imports  # which the copies need, and nobody else

    with uncollected_imports():
        for module in _SHARED_BY_COPIES:
            import_module(module)
        if _has_classes_of_its_own():
            import_module("fray._by_value")
    needs = Needs(of_copies=True)
    with closing_on_failure(needs):
        opening = fork_embedded(options, prestart, extra_env, needs.path, asked_for)
        return Begun(opening, needs, namespace, extra_env, debug)


def _has_classes_of_its_own() -> bool:
    """Return whether tasks may use classes of the main script, for which it takes cloudpickle to travel.

    What is typed at a prompt and in a notebook is yet to come.
    """
    names = inside_of("__main__")
    return "__file__" not in names or any(
        issubclass(type(value), type) and getattr(value, "__module__", None) == names.get("__name__")
        for value in list(names.values())
    )


@contextmanager
def closing_on_failure(part: Any) -> Generator[None, None, None]:
    """Close `part`, which may be None, where the block raises."""
    try:
        yield
    except BaseException:
        if part is not None:
            part.close()
        raise
