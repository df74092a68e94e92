"""What most first calls do without is loaded when it is needed or when there is time, and shared from then on."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

_CALLS = """
import os, sys

def has(module):
    return module in sys.modules

def adder(number):
    return lambda other: number + other

def forker():
    guardian = os.getppid()
    return int(open(f"/proc/{guardian}/stat").read().rsplit(")")[1].split()[1])

class Actor:
    def pid(self):
        return os.getpid()
"""
_PROGRAM = """
import sys
import fray
from fray import TaskOptions
from calls import Actor, adder, forker, has

ONCE = TaskOptions(max_calls=1)  # each call in a worker of its own
"""


def run(folder: Path, text: str) -> list[str]:
    """Run a program with this text in it, whose functions are those of another module; return the lines it prints."""
    (folder / "calls.py").write_text(_CALLS)
    script = folder / "program.py"
    script.write_text(_PROGRAM + textwrap.dedent(text))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ("", "False False"),
        ("def main(): pass", "False False"),
        ("def double(number): return 2 * number", "False False"),
        ("class Point: pass", "True True"),
        ("square = lambda number: number * number", "False False"),
    ],
)
def test_a_script_without_classes_begins_without_cloudpickle(tmp_path: Path, own: str, expected: str) -> None:
    text = f"""
        {own}
        with fray.init(cpus=1) as ctx:
            print(has("cloudpickle"), ctx.get(ctx.create_task(has, ("cloudpickle",))))
    """
    assert run(tmp_path, text) == [expected]


@pytest.mark.parametrize(
    ("own", "expected"), [("def double(number): return 2 * number", False), ("class A: pass", True)]
)
def test_a_new_interpreter_loads_cloudpickle_for_classes_alone(tmp_path: Path, own: str, expected: bool) -> None:
    text = f"""
        {own}
        with fray.init(cpus=1, start_method="forkserver") as ctx:
            print(has("cloudpickle"), ctx.get(ctx.create_task(has, ("cloudpickle",))))
    """
    assert run(tmp_path, text) == [f"False {expected}"]


def test_a_prompt_begins_with_cloudpickle_for_what_is_typed_later() -> None:
    text = "import sys, fray; ctx = fray.init(cpus=1); print('cloudpickle' in sys.modules, end='')"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout == "True"


def test_functions_by_value_work_where_cloudpickle_was_not_expected(tmp_path: Path) -> None:
    text = """
        with fray.init(cpus=2) as ctx:
            print(has("cloudpickle"), list(ctx.map(adder(3), range(3))), ctx.get(ctx.create_task(adder(1), (1,))))
    """
    assert run(tmp_path, text) == ["False [3, 4, 5] 2"]


@pytest.mark.parametrize(
    ("method", "module"), [("fork", "fray._by_value"), ("forkserver", "fray.backend.native.engine")]
)
def test_later_workers_share_what_the_first_one_began_without(tmp_path: Path, method: str, module: str) -> None:
    text = f"""
        with fray.init(cpus=1, start_method={method!r}) as ctx:
            print(ctx.get(ctx.create_task(has, ({module!r},), options=ONCE)))
            while not ctx.get(ctx.create_task(has, ({module!r},), options=ONCE)):
                pass
            print("shared")
    """
    assert run(tmp_path, text) == ["False", "shared"]


def test_the_rest_is_loaded_in_a_pause_where_only_one_worker_was_forked(tmp_path: Path) -> None:
    text = """
        with fray.init(cpus=1, start_method="fork") as ctx:
            server = ctx.get(ctx.create_task(forker))
            print("_uuid" in sys.modules)  # an extension, which cloudpickle needs
            while "/_uuid." not in open(f"/proc/{server}/maps").read():
                pass
            print(ctx.get(ctx.create_task(has, ("cloudpickle",))))  # it was forked before
    """
    assert run(tmp_path, text) == ["False", "False"]


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_workers_share_what_actors_need_once_there_is_a_second_actor(tmp_path: Path, method: str) -> None:
    text = f"""
        HOST = "fray.backend.native.actor_host"
        with fray.init(cpus=1, start_method={method!r}) as ctx:
            one = ctx.create_actor(Actor)
            ctx.get(one.pid.remote())
            print([ctx.get(ctx.create_task(has, (HOST,), options=ONCE)) for _ in range(6)])
            two = ctx.create_actor(Actor)
            ctx.get(two.pid.remote())
            while not ctx.get(ctx.create_task(has, (HOST,), options=ONCE)):
                pass
            print("shared")
    """
    assert run(tmp_path, text) == [str([False] * 6), "shared"]


def test_a_new_fork_server_loads_what_actors_need_where_there_are_some(tmp_path: Path) -> None:
    text = """
        import os, signal
        HOST = "fray.backend.native.actor_host"
        with fray.init(cpus=1, start_method="forkserver") as ctx:
            actors = [ctx.create_actor(Actor) for _ in range(2)]
            ctx.get([actor.pid.remote() for actor in actors])
            server = ctx.get(ctx.create_task(forker))
            os.kill(server, signal.SIGKILL)
            while ctx.get(ctx.create_task(forker)) == server:
                pass
            print(ctx.get(ctx.create_task(has, (HOST,))))
    """
    assert run(tmp_path, text) == ["True"]
