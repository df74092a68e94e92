"""`fray stack`: the Python stacks of workers and drivers."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fray
import pytest
from fray.backend.native import NativeJobContext

from tests.conformance.gates import Gate
from tests.slowness import SLOWNESS
from tests.unit.cli.conftest import Program, program_path

Stacks = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def ctx(home: Path) -> Iterator[NativeJobContext]:
    with NativeJobContext(cpus=2) as context:
        yield context


@pytest.fixture
def gate(home: Path) -> Gate:
    return Gate.make(str(home / "gate"))


@pytest.fixture
def stacks(fray_program: Program) -> Stacks:
    def ask(*words: object, code: int = 0) -> list[dict[str, Any]]:
        done = fray_program("stack", "--json", *words)
        assert done.returncode == code, done
        return json.loads(done.stdout)["processes"]

    return ask


def waits_in_python(gate: Gate, arrived: Gate | None = None) -> int:
    if arrived is not None:
        arrived.open()
    gate.wait()
    return os.getpid()


def arrives_and_waits_in_python(arrived: Gate, gate: Gate) -> int:
    """Tell that its module was imported, so that its stack is its own, and wait at a gate."""
    return waits_in_python(gate, arrived)


def waits_in_c(path: str) -> None:
    """Tell that it is here, then hold the interpreter's lock in C code for ever."""
    Path(path).write_text("here")
    ctypes.PyDLL(None).pause()


def wait_until_running(ctx: NativeJobContext, name: str) -> int:
    while True:
        for worker in json.loads(ctx._client.status())["workers"]:
            if worker["state"] == "running" and worker["task"] == name:
                return worker["pid"]
        time.sleep(0.002)


def functions(process: dict[str, Any]) -> list[str]:
    return [frame["function"] for thread in process["threads"] for frame in thread["frames"]]


@pytest.mark.parametrize("words", [["--no-py-spy"], []], ids=["by the processes themselves", "by py-spy where it can"])
def test_a_task_is_shown_with_its_stack_its_name_and_its_time(
    ctx: NativeJobContext, home: Path, gate: Gate, stacks: Stacks, words: list[str]
) -> None:
    arrived = Gate.make(str(home / "arrived"))
    ref = ctx.run(arrives_and_waits_in_python, arrived, gate)
    arrived.wait()
    pid = wait_until_running(ctx, "arrives_and_waits_in_python")
    found = {process["pid"]: process for process in stacks(*words)}
    worker, driver = found[pid], found[os.getpid()]
    assert worker["role"] == "worker"
    assert worker["task"] == "arrives_and_waits_in_python"
    assert worker["running_seconds"] >= 0
    assert {"waits_in_python", "arrives_and_waits_in_python"} <= set(functions(worker))
    assert driver["role"] == "driver"
    assert any("stack" in name or name == "ask" for name in functions(driver))
    gate.open()
    assert ctx.get(ref) == pid  # it went on undisturbed


def test_a_task_that_never_gives_up_the_interpreters_lock_is_shown(
    ctx: NativeJobContext, home: Path, stacks: Stacks
) -> None:
    mark = home / "mark"
    os.mkfifo(mark)
    ref = ctx.run(waits_in_c, str(mark))
    assert mark.read_text() == "here"
    pid = wait_until_running(ctx, "waits_in_c")
    (worker,) = stacks("--no-py-spy", "--pid", pid)
    assert worker["source"] == "faulthandler"
    assert "waits_in_c" in functions(worker)
    ctx.cancel(ref, force=True)


def test_a_stopped_process_is_told_and_the_others_shown(ctx: NativeJobContext, gate: Gate, stacks: Stacks) -> None:
    ref = ctx.run(waits_in_python, gate)
    pid = wait_until_running(ctx, "waits_in_python")
    os.kill(pid, signal.SIGSTOP)
    found = {process["pid"]: process for process in stacks("--no-py-spy", code=1)}
    assert "stopped" in found[pid]["problem"]
    assert functions(found[os.getpid()])
    os.kill(pid, signal.SIGCONT)
    gate.open()
    assert ctx.get(ref) == pid


def test_a_task_that_took_the_handler_away_lives_on(ctx: NativeJobContext, gate: Gate, stacks: Stacks) -> None:
    def disarmed(gate: Gate) -> str:
        import faulthandler

        faulthandler.unregister(signal.SIGRTMIN + 11)
        gate.wait()
        return "alive"

    ref = ctx.create_task(disarmed, (gate,), options=fray.TaskOptions(name="disarmed"))
    pid = wait_until_running(ctx, "disarmed")
    while int(dict(_status(pid))["SigCgt"], 16) & 1 << (signal.SIGRTMIN + 10):
        time.sleep(0.002)
    (worker,) = stacks("--no-py-spy", "--pid", pid, code=1)
    assert "does not tell its stacks" in worker["problem"]
    gate.open()
    assert ctx.get(ref) == "alive"


def _status(pid: int) -> list[tuple[str, str]]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]


def test_a_closed_context_gives_signal_and_descriptor_back(home: Path) -> None:
    def is_offered() -> bool:
        files = [os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if os.path.islink(entry.path)]
        return any("fray-stacks" in file for file in files)

    before = is_offered()
    context = NativeJobContext(cpus=1)
    assert is_offered()
    context.close()
    assert is_offered() == before


_OF_A_FORKED_PROGRAM = """
import os, subprocess, sys, fray
from fray.backend.native import NativeJobContext
from tests.conformance.gates import Gate

def waits(arrived, gate):
    arrived.open()
    gate.wait()

def look(folder):
    arrived, gate = (Gate.make(os.path.join(folder, name)) for name in ("arrived", "gate"))
    with NativeJobContext(cpus=1, start_method="fork") as ctx:
        pid = ctx.get(ctx.run(os.getpid))
        ref = ctx.run(waits, arrived, gate)
        arrived.wait()
        sys.exit(subprocess.run([sys.argv[1], "stack", "--json", "--no-py-spy", "--pid", str(pid)]).returncode)

ctx = fray.init(cpus=1)
ctx.get(ctx.run(os.getpid))
child = os.fork()
if child == 0:
    look(sys.argv[2])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_worker_of_a_program_that_was_forked_from_one_with_workers_shows_its_own_stack(home: Path) -> None:
    command = [sys.executable, "-c", _OF_A_FORKED_PROGRAM, program_path(), str(home)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 * SLOWNESS, check=False)
    assert done.returncode == 0, done.stderr
    [shown] = json.loads(done.stdout)["processes"]
    [thread] = shown["threads"]
    assert "waits" in [frame["function"] for frame in thread["frames"]]


_FORKED_WORKER = """
import os, resource, signal, sys
from fray import _stack_dump

taken, most = map(int, sys.argv[1:])
held = [os.dup(0) for _ in range(taken)]
_stack_dump.offer_stacks_in_forks()
parents = _stack_dump._offer.file
os.closerange(3, 256)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
_stack_dump.begin_stack_file()
file = _stack_dump._offer.file
caught = next(line for line in open("/proc/self/status") if line.startswith("SigCgt:"))
answers = bool(int(caught.split()[1], 16) & 1 << (_stack_dump._SIGNAL - 1))
if answers:
    signal.raise_signal(_stack_dump._SIGNAL)
print(parents, file, answers, file >= 0 and "File" in os.pread(file, 4096, 0).decode())
"""


@pytest.mark.parametrize(
    ("taken", "most_files", "shown"),
    [
        (0, 256, "16 16 True True"),
        (30, 256, "34 16 True True"),  # its parent had the numbers from 3 to 32 in use
        (0, 16, "16 -1 False False"),
    ],
    ids=["under the same number", "under another number", "that may have none"],
)
def test_a_forked_worker_answers_into_a_file_of_its_own_or_not_at_all(taken: int, most_files: int, shown: str) -> None:
    command = [sys.executable, "-c", _FORKED_WORKER, str(taken), str(most_files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 * SLOWNESS, check=False)
    assert done.stdout.strip() == shown, done.stderr


def test_a_process_of_nobody_is_not_found(ctx: NativeJobContext, fray_program: Program) -> None:
    done = fray_program("stack", "--pid", 1)
    assert (done.returncode, done.stdout) == (3, "")
    assert "no worker or driver" in done.stderr


def test_without_a_node_it_says_so(fray_program: Program) -> None:
    done = fray_program("stack")
    assert (done.returncode, done.stdout) == (5, "")
    assert "no node" in done.stderr


def test_a_process_that_is_none_is_wrong_usage(fray_program: Program) -> None:
    assert fray_program("stack", "--pid", "x").returncode == 2
    assert fray_program("stack", "--pid", "-3").returncode == 2


def test_text_names_the_task(ctx: NativeJobContext, gate: Gate, fray_program: Program) -> None:
    ref = ctx.run(waits_in_python, gate)
    pid = wait_until_running(ctx, "waits_in_python")
    done: subprocess.CompletedProcess[str] = fray_program("stack", "--no-py-spy")
    assert f"worker {pid}  running  waits_in_python" in done.stdout
    assert "test_stack.py:" in done.stdout
    gate.open()
    ctx.get(ref)


# ---- Where the time goes

SECONDS = int(2 * SLOWNESS)
"""For which a process that uses the CPU is watched: on a busy machine it runs only now and then."""


def spins(arrived: Gate, end: str) -> None:
    """Use the CPU until a file is there."""
    arrived.open()
    while not os.path.exists(end):
        adds_up(1000)


def adds_up(most: int) -> int:
    return sum(number * number for number in range(most))


@pytest.fixture
def spinning(ctx: NativeJobContext, home: Path) -> Iterator[int]:
    """The pid of a worker that uses the CPU."""
    end = home / "end"
    arrived = Gate.make(str(home / "arrived"))
    ref = ctx.run(spins, arrived, str(end))
    arrived.wait()
    yield wait_until_running(ctx, "spins")
    end.touch()
    ctx.get(ref)


def test_a_process_that_is_watched_tells_where_its_time_goes(spinning: int, fray_program: Program) -> None:
    done = fray_program("stack", "--pid", spinning, "--seconds", SECONDS, "--json")
    assert done.returncode == 0, done.stderr
    flame = json.loads(done.stdout)
    frames = [dict(zip(flame["fields"], row, strict=True)) for row in flame["frames"]]
    assert (flame["pid"], flame["problem"], flame["seconds"]) == (spinning, None, SECONDS)
    by_name = {frame["function"]: frame for frame in frames}
    caller, called = by_name["spins"], by_name["adds_up"]
    assert called["depth"] == caller["depth"] + 1
    assert called["file"].endswith("test_stack.py")
    assert 0 < called["samples"] <= caller["samples"] <= flame["samples"]
    assert caller["start"] <= called["start"]
    text = fray_program("stack", "--pid", spinning, "--seconds", SECONDS).stdout
    assert "adds_up" in text and " %" in text


def test_who_waits_uses_no_time_and_is_told_so(
    ctx: NativeJobContext, home: Path, gate: Gate, fray_program: Program
) -> None:
    arrived = Gate.make(str(home / "arrived"))
    ref = ctx.run(arrives_and_waits_in_python, arrived, gate)
    arrived.wait()
    pid = wait_until_running(ctx, "arrives_and_waits_in_python")
    done = fray_program("stack", "--pid", pid, "--seconds", 1)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"process {pid} used next to no CPU" in done.stderr and "fray stack" in done.stderr
    gate.open()
    ctx.get(ref)


def test_a_kernel_that_refuses_is_told_with_what_to_do(spinning: int, fray_program: Program) -> None:
    setpriv = shutil.which("setpriv")
    if setpriv is None or os.getuid() != 0:
        pytest.skip("only root can give up what lets py-spy look into a process of root's")
    without = [setpriv, "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"]
    if (tried := subprocess.run([*without, "true"], capture_output=True, text=True)).returncode != 0:
        pytest.skip(f"this machine lets nobody give up a capability: {tried.stderr.strip()}")
    words = [program_path(), "stack", "--pid", str(spinning), "--seconds", "1", "--json"]
    done = subprocess.run([*without, *words], capture_output=True, text=True)
    assert done.stdout, done
    told = json.loads(done.stdout)
    assert (done.returncode, told["frames"], told["samples"]) == (1, [], 0)
    assert "ptrace is refused" in told["problem"] and "SYS_PTRACE" in told["problem"]


@pytest.mark.parametrize("words", [["--seconds", 1], ["--seconds", 0, "--pid", 1], ["--seconds", 61, "--pid", 1]])
def test_nobody_is_watched_for_ever_or_by_accident(
    ctx: NativeJobContext, fray_program: Program, words: list[object]
) -> None:
    assert fray_program("stack", *words).returncode == 2
