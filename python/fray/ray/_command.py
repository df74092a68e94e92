"""The command `ray` of programs that run on `fray ray`: ``ray start --head``, ``ray stop``, ``ray list actors``.

The node that ``ray start`` starts has a home of its own, so that ``ray stop`` ends no other.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fray
import fray.ray as ray
from fray.ray._session import HEAD_MARKS, RAY_VERSION, home_of_ray, started_node
from fray.ray.util import state

__all__ = ["main"]

_NOT_HERE = (
    "ray: 'ray {}' is for clusters or dashboards; fray.ray has start, stop, status, memory, list, summary, timeline"
)
_NO_NODE = 5
"""The exit code of `fray stop` where there is none."""


def main(words: list[str]) -> int:
    """Run one command; return its exit code."""
    parser = argparse.ArgumentParser(prog="ray", description=__doc__, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"ray, version {RAY_VERSION} (fray {fray.__version__})")
    parser.add_argument("command")
    chosen, rest = parser.parse_known_args(words[:1])
    run = _COMMANDS.get(chosen.command)
    if run is None:
        print(_NOT_HERE.format(chosen.command), file=sys.stderr)
        return 2
    return run(rest + words[1:])


def _parse(name: str, words: list[str], *arguments: tuple[str, dict[str, Any]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"ray {name}", allow_abbrev=False)
    for flag, settings in arguments:
        parser.add_argument(flag, **settings)
    parsed, others = parser.parse_known_args(words)
    if others:
        print(f"ray {name}: without a meaning on one machine, and ignored: {' '.join(others)}", file=sys.stderr)
    return parsed


def _fray(*words: str, home: str | None) -> int:
    """Run the command `fray` for the node of that home; return its exit code."""
    beside = Path(sys.executable).with_name("fray")
    inside = Path(fray.__file__).parent / "_bin" / "fray"
    program = str(inside if inside.exists() else beside if beside.exists() else "fray")
    sys.stdout.flush()
    return subprocess.run([program, *words], env={**os.environ, **({"FRAY_HOME": home} if home else {})}).returncode


def _start(words: list[str]) -> int:
    amount = {"type": float}
    given = _parse(
        "start",
        words,
        ("--head", {"action": "store_true"}),
        ("--address", {}),
        ("--block", {"action": "store_true"}),
        ("--num-cpus", amount),
        ("--num-gpus", amount),
        ("--memory", {"type": int}),
        ("--object-store-memory", {"type": int}),
        ("--resources", {"type": json.loads, "default": {}}),
    )
    if not given.head or given.address:
        print("ray start: there is one machine here, so give --head and no --address", file=sys.stderr)
        return 1
    resources = {**dict.fromkeys(HEAD_MARKS, 1), **given.resources}
    if given.num_gpus is not None:
        resources["GPU"] = given.num_gpus
    options = ["--resources", json.dumps(resources)]
    for name, value in {
        "--cpus": given.num_cpus,
        "--memory": given.memory,
        "--store-memory": given.object_store_memory,
    }.items():
        options += [] if value is None else [name, str(value)]
    os.makedirs(home_of_ray(), mode=0o700, exist_ok=True)
    code = _fray("start", *(["--foreground"] if given.block else []), *options, home=home_of_ray())
    if code == 0 and not given.block:
        print('Ray runtime started: ray.init() finds it; to end it: "ray stop".')
    return 1 if code else 0


def _stop(words: list[str]) -> int:
    given = _parse("stop", words, ("--force", {"action": "store_true"}), ("-f", {"action": "store_true"}))
    if started_node() is None:
        print("Did not find any active Ray processes.")
        return 0
    code = _fray("stop", *(["--force"] if given.force or given.f else []), home=home_of_ray())
    return 0 if code in (0, _NO_NODE) else 1


def _status(words: list[str]) -> int:
    _parse("status", words)
    return _fray("status", home=started_node())


def _connect() -> None:
    ray.init(address="auto", log_to_driver=False)


def _memory(words: list[str]) -> int:
    from fray.ray._others import memory_summary

    _parse("memory", words)
    _connect()
    print(memory_summary())
    return 0


def _list(words: list[str]) -> int:
    given = _parse(
        "list",
        words,
        ("kind", {}),
        ("--filter", {"action": "append", "default": []}),
        ("--limit", {"type": int, "default": 100}),
        ("--format", {}),  # always JSON, which is YAML too
        ("--detail", {"action": "store_true"}),
    )
    lister = getattr(state, f"list_{given.kind.replace('-', '_')}", None)
    if lister is None:
        print(f"ray list: there is no list of {given.kind}", file=sys.stderr)
        return 2
    filters = [(*text.split("!=", 1), "!=") if "!=" in text else (*text.split("=", 1), "=") for text in given.filter]
    if any(len(each) != 3 for each in filters):
        print(f"ray list: a filter is KEY=VALUE or KEY!=VALUE, got {' '.join(given.filter)}", file=sys.stderr)
        return 2
    _connect()
    rows = lister(filters=[(key, how, value) for key, value, how in filters], limit=given.limit)
    print(json.dumps(rows, indent=2, default=str))
    return 0


def _summary(words: list[str]) -> int:
    given = _parse("summary", words, ("kind", {"choices": ["tasks", "actors", "objects"]}))
    _connect()
    print(json.dumps(getattr(state, f"summarize_{given.kind}")(), indent=2))
    return 0


def _timeline(words: list[str]) -> int:
    _parse("timeline", words)
    _connect()
    name = os.path.abspath("ray-timeline.json")
    ray.timeline(name)
    print(f"Trace file written to {name}.")
    return 0


_COMMANDS = {
    "start": _start,
    "stop": _stop,
    "status": _status,
    "memory": _memory,
    "list": _list,
    "summary": _summary,
    "timeline": _timeline,
}

if __name__ == "__main__":
    try:
        _code = main(sys.argv[1:])
    except ConnectionError as _error:
        print(f"ray: {_error}", file=sys.stderr)
        _code = 1
    sys.exit(_code)
