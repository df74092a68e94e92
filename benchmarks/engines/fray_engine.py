"""Fray."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import fray

from benchmarks.engines import CPUS, Engine


@contextmanager
def open_fray(kind: str) -> Iterator[Engine]:
    """Open a context: the native engine, or threads."""
    context = fray.init(cpus=CPUS) if kind == "native" else fray.ThreadContext(max_workers=CPUS)
    with context:
        yield Engine(
            bind=lambda function: partial(context.run, function),
            bind_retrying=partial(_bind_retrying, context),
            get=context.get,
            put=context.put,
            wait=context.wait,
            empty=context.empty,
            actor=partial(_new_actor, context),
            kill=lambda handle: context.kill(handle),
        )


def _bind_retrying(context: fray.JobContext, function: Callable[..., Any]) -> Callable[..., Any]:
    options = fray.TaskOptions(max_retries=3)
    return lambda *args: context.create_task(function, args, options=options)


def _new_actor(context: fray.JobContext, cls: type[Any], *args: Any, **options: Any) -> Any:
    return context.create_actor(cls, *args, options=fray.ActorOptions(**options))
