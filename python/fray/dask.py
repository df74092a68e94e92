"""Dask on Fray.

::

    import dask, fray.dask

    dask.compute(collection, scheduler=fray.dask.get)      # once
    dask.config.set(scheduler=fray.dask.get)               # from now on

Each task of the graph is a task of the context; its arguments are the refs of its dependencies. A task that only one
other task needs runs in the same task as that one, where this costs no parallelism (`_groups`). Intermediate results
stay where they are made; only the requested ones come here. Tasks are submitted in Dask's own order and only a few
ahead, so that begun parts of the graph end, and free their memory, before further ones begin.
"""

# pyright: basic, reportMissingTypeStubs=false
# dask has almost no annotations.

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from fray._extras import needs
from fray.job.context import JobContext
from fray.job.current import get_job_context
from fray.types import TaskOptions

with needs("dask", "dask", "fray.dask"):
    from dask._task_spec import Alias, DataNode, GraphNode, Task, convert_legacy_graph, cull
    from dask.callbacks import local_callbacks, unpack_callbacks
    from dask.core import flatten
    from dask.order import order
    from dask.utils import ensure_dict, key_split

__all__ = ["get"]

_SLICE_SECONDS = 0.02
_MOST_AHEAD = 1000
_LEAST_PER_WORKER = 2
_GROUPS_PER_WORKER = 32
_MOST_TOGETHER = 64
_NOTE = "in the Dask task"


def get(
    dsk: Any,
    keys: Any,
    *,
    context: JobContext | None = None,
    options: TaskOptions | Callable[[Hashable], TaskOptions] | None = None,
    num_workers: int | None = None,
    **unused: Any,
) -> Any:
    """Compute `keys` of the graph `dsk`; Dask calls such a function a scheduler.

    Args:
        dsk: a graph, in the old or the new format.
        keys: a key, or nested lists of keys.
        context: where the tasks run; by default the current context.
        options: of every task, or a function that returns those of a key's task. The name is that of the key.
        num_workers: the most tasks that run at the same time; by default as many as the context runs.

    Raises:
        Exception: what a task raised, with the key as a note.
    """
    del unused  # keywords for other schedulers
    wanted = set(flatten([keys]))
    graph = dict(ensure_dict(dsk.__dask_graph__() if hasattr(dsk, "__dask_graph__") else dsk))
    missing = [key for key in wanted if key not in graph]
    if missing:
        raise KeyError(f"{missing[0]!r} is not in the graph")
    with local_callbacks() as callbacks, _Told(graph, callbacks) as told:
        graph = cull(convert_legacy_graph(graph), wanted)
        chosen, settled = context or get_job_context(), options or TaskOptions()
        workers = num_workers or max(chosen.engine.parallelism, 1)
        alone = told.listens or not isinstance(settled, TaskOptions) or _counts_calls(settled)
        told.start(graph)
        groups = _groups(graph, wanted, 0 if alone else max(len(graph) // (_GROUPS_PER_WORKER * workers), 1))
        run = _Run(chosen, groups, wanted, settled, num_workers)
        return _arrange(keys, run.values(told))


def _arrange(keys: Any, values: Mapping[Any, Any]) -> Any:
    if isinstance(keys, list):
        return tuple(_arrange(key, values) for key in keys)
    return values[keys]


def _counts_calls(options: TaskOptions) -> bool:
    """Return whether an option counts or limits single calls, so that calls must not be joined."""
    return options.timeout is not None or options.max_calls is not None or bool(options.retry_exceptions)


class _Group(list[GraphNode]):
    """Nodes of a graph that run as one task, in this order; only the result of the last one is needed outside.

    Attributes:
        dependencies: the keys of results of other groups that the nodes need.
    """

    def __init__(self, nodes: list[GraphNode]) -> None:
        super().__init__(nodes)
        inside = {node.key for node in nodes}
        self.dependencies = {name for node in nodes for name in node.dependencies} - inside


def _groups(graph: Mapping[Any, GraphNode], wanted: set[Any], limit: int) -> dict[Any, _Group]:
    """Return the groups by the keys of their last nodes, in an order in which they can run.

    A node that only one other node needs joins the group of that node. If that node needs nothing else, the two could
    never run at the same time. If it needs more, they join only while the group has at most `limit` nodes, so that
    enough groups remain for all workers.

    Args:
        graph: the nodes by their keys.
        wanted: the keys whose results are asked for.
        limit: 0 to join no nodes, 1 to join only nodes that cannot run at the same time.
    """
    users = Counter(name for node in graph.values() for name in node.dependencies)
    found: dict[Any, list[GraphNode]] = {}
    first = order(graph)
    for key in sorted(graph, key=first.__getitem__):
        node = graph[key]
        nodes = [node]
        if limit > 0 and isinstance(node, Task):
            joining = [name for name in node.dependencies if _may_join(graph[name], users[name], wanted)]
            joined = sum(len(found[name]) for name in joining)
            if joining and (len(node.dependencies) == 1 or joined < min(limit, _MOST_TOGETHER)):
                nodes = found.pop(joining[0])  # in place: a chain may be long
                for name in joining[1:]:
                    nodes += found.pop(name)
                nodes.append(node)
        found[key] = nodes
    return {key: _Group(nodes) for key, nodes in found.items()}


def _may_join(node: GraphNode, users: int, wanted: set[Any]) -> bool:
    return users == 1 and isinstance(node, Task) and node.key not in wanted and not node.block_fusion


class _Run:
    """One computation of a graph."""

    def __init__(
        self,
        context: JobContext,
        graph: Mapping[Any, _Group],
        wanted: set[Any],
        options: TaskOptions | Callable[[Hashable], TaskOptions],
        num_workers: int | None,
    ) -> None:
        self._context = context
        self._graph = graph
        self._wanted = wanted
        self._options = options
        self._settled: dict[tuple[str, int], tuple[TaskOptions, TaskOptions]] = {}
        """By name and identity of given options: the options as given, which keeps that identity, and as used."""
        self._uses = Counter(name for group in graph.values() for name in group.dependencies)
        self._refs: dict[Any, Any] = {}
        self._outstanding: dict[Any, Any] = {}
        """By key of tasks that have not ended: the ref that tells whether the task succeeded, and that of its value."""
        self._arrived: deque[Any] = deque()
        self._watch = context.engine.watch()
        self._limit = num_workers
        self._least = num_workers or _LEAST_PER_WORKER * max(context.engine.parallelism, 1)
        self._ahead = self._least
        self._ended = 0
        self._slice_began = time.monotonic()

    def values(self, told: _Told) -> dict[Any, Any]:
        """Run everything and return the values of the keys that are wanted."""
        try:
            for key in self._graph:
                while len(self._outstanding) >= self._ahead:
                    self._take(told)
                self._send(key, told)
            while self._outstanding:
                self._take(told)
            got = list(self._wanted)
            return dict(zip(got, map(_own, self._context.get([self._refs[key] for key in got])), strict=True))
        finally:
            self._cancel_rest()

    def _send(self, key: Any, told: _Told) -> None:
        group = self._graph[key]
        node = group[-1]
        if isinstance(node, Alias):
            self._refs[key] = self._refs[node.target]
        elif isinstance(node, DataNode):
            self._refs[key] = self._context.put(node.value)
        else:
            told.begun(key)
            names = tuple(group.dependencies)
            arguments = (list(group), names, *(self._refs[name] for name in names))
            done, ref = self._context.create_task(_call, arguments, options=self._options_for(key))  # type: ignore
            self._refs[key] = ref
            self._outstanding[key] = (done, ref)
            self._watch.add(done, partial(self._arrived.append, key))
        for name in group.dependencies:
            self._uses[name] -= 1
            if self._uses[name] == 0 and name not in self._wanted:
                del self._refs[name]  # the submitted tasks hold the results that they need

    def _take(self, told: _Told) -> None:
        """Wait until tasks have ended; raise what one of them raised."""
        self._watch.serve()
        self._look_ahead(len(self._arrived))
        while self._arrived:
            key = self._arrived.popleft()
            done, ref = self._outstanding.pop(key)
            try:
                self._context.get(done)
            except Exception as error:
                # A task whose worker has died could not add the note itself.
                if not any(note.startswith(_NOTE) for note in getattr(error, "__notes__", ())):
                    error.add_note(f"{_NOTE} {key!r}")
                raise
            told.ended(key, partial(self._context.get, ref))

    def _look_ahead(self, count: int) -> None:
        """Allow as many outstanding tasks as ended in the last time slice: few long tasks, many short ones."""
        self._ended += count
        now = time.monotonic()
        if self._limit is None and now - self._slice_began >= _SLICE_SECONDS:
            self._ahead = max(self._least, min(self._ended, _MOST_AHEAD))
            self._ended, self._slice_began = 0, now

    def _cancel_rest(self) -> None:
        if not self._context.closed:
            for done, _ in self._outstanding.values():
                self._context.cancel(done)

    def _options_for(self, key: Hashable) -> TaskOptions:
        given = self._options if isinstance(self._options, TaskOptions) else self._options(key)
        name = given.name or str(key_split(key))
        known = name, id(given)
        if known not in self._settled:
            self._settled[known] = given, replace(given, name=name, num_returns=2)
        return self._settled[known][1]


class _Told:
    """Dask's callbacks (progress bars, profilers, caches) and the state that they are shown."""

    def __init__(self, graph: dict[Any, Any], callbacks: Any) -> None:
        starts, self._start_states, self._before, self._after, self._finishes = unpack_callbacks(callbacks)
        self._graph: Mapping[Any, Any] = graph
        self.listens = bool(starts or self._start_states or self._before or self._after or self._finishes)
        self._state: dict[str, Any] = {"ready": [], "running": set(), "finished": set(), "cache": {}}
        for tell in starts:
            tell(graph)  # a callback may put values into the graph

    def __enter__(self) -> _Told:
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        for tell in self._finishes:
            tell(self._graph, self._state, kind is not None)

    def start(self, graph: Mapping[Any, GraphNode]) -> None:
        self._graph = graph
        self._state["waiting"] = dict.fromkeys(graph)
        self._state["dependencies"] = {key: set(node.dependencies) for key, node in graph.items()}
        for tell in self._start_states:
            tell(graph, self._state)

    def begun(self, key: Any) -> None:
        self._state["waiting"].pop(key, None)
        self._state["running"].add(key)
        for tell in self._before:
            tell(key, self._graph, self._state)

    def ended(self, key: Any, value: Any) -> None:
        """Tell the callbacks; `value` returns the task's result, and is called only where a callback takes results."""
        self._state["running"].discard(key)
        self._state["finished"].add(key)
        if self._after:
            found = value()
            for tell in self._after:
                tell(key, found, self._graph, self._state, None)


def _call(nodes: list[GraphNode], names: tuple[Any, ...], *values: Any) -> tuple[None, Any]:
    """Run the nodes of a group; the first of the two results tells, without the value, that the task succeeded."""
    known = dict(zip(names, values, strict=True))
    inside = {node.key for node in nodes}
    result: Any = None
    for node in nodes:
        try:
            result = known[node.key] = node({name: known[name] for name in node.dependencies})
        except Exception as error:
            error.add_note(f"{_NOTE} {node.key!r}")
            raise
        for name in inside & node.dependencies:
            del known[name]  # no other node needs it
    return None, result


def _own(value: Any) -> Any:
    """Return a writable value: arrays in the store are read-only, so they are copied."""
    module = type(value).__module__.partition(".")[0]
    if module == "numpy" and hasattr(value, "flags"):
        return value if value.flags.writeable or not value.ndim else value.copy()
    return value.copy() if module == "pandas" and hasattr(value, "copy") else value
