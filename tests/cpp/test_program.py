"""C++ calls Python: functions and classes as tasks and actors of a C++ program."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

from tests.cpp.conftest import compile_cpp

PROGRAMS = Path(__file__).parent / "programs"


def run(program: Path, *arguments: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": f"{PROGRAMS}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")}
    done = subprocess.run(
        [program, *arguments, sys.executable], capture_output=True, text=True, env=environment, timeout=60
    )
    assert done.returncode == 0, done
    return done.stdout.splitlines()


def test_python_functions_give_values_to_cpp(caller_program: Path) -> None:
    assert run(caller_program, "functions") == ["3", "a/b", "3 text"]


def test_arrays_cross_without_a_copy(caller_program: Path) -> None:
    assert run(caller_program, "arrays") == ["50000", "300 200 59999 shared"]


def test_failures_of_python_arrive_with_type_and_text(caller_program: Path) -> None:
    raised, traceback, pair, shop, missing, module, name, kind, died = run(caller_program, "failures")[:9]
    assert raised == "failed: ValueError|task 'fails' failed with ValueError: no stock"
    assert traceback == "traceback"
    assert "value of type tuple cannot go to C++" in pair
    assert "value of type callee.Shop cannot go to C++" in shop
    assert "AttributeError" in missing
    assert "ModuleNotFoundError" in module
    assert 'named "module:function", got "nocolon"' in name
    assert "expected int, got dict of 2" in kind
    assert "exited with code 5" in died


def test_python_classes_are_actors_of_cpp(caller_program: Path) -> None:
    first, second, failed, found, side_by_side, refused, nobody = run(caller_program, "actors")
    assert (first, second, found, side_by_side) == ("15", "20", "2", "2 1")
    assert failed.startswith("failed: KeyError|")
    assert "TypeError" in refused
    assert "Nobody" in nobody


def test_refs_come_back_and_many_run_at_once(caller_program: Path) -> None:
    assert run(caller_program, "several") == ["5", "124750"]


def test_killed_program_takes_its_workers_along(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = compile_cpp(PROGRAMS / "killed.cc", tmp_path / "killed")
    with subprocess.Popen([program, pipe]) as driver:
        worker = os.pidfd_open(int(pipe.read_text()))
        driver.kill()
        assert driver.wait(60) == -9
    try:
        assert select.select([worker], [], [], 60)[0], "the worker outlives its driver"
    finally:
        os.close(worker)
