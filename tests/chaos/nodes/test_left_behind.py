"""What tasks start and leave to run: it lives as long as its worker, whatever other workers do, and no longer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fray import TaskOptions
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE, eventually, look_at
from tests.conformance.gates import Gate, Journal

SESSION = """
import sys, fray
ctx = fray.init(cpus=1)
print("up", flush=True)
assert sys.stdin.readline()
print(ctx.get(ctx.run(pow, 2, 3)), flush=True)
"""


def use_a_session(up: Gate, go_on: Gate) -> str:
    """Run a program with a session of its own, which ends when told."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FRAY_NODE")}
    program = subprocess.Popen(
        [sys.executable, "-c", SESSION], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert program.stdout is not None
    assert program.stdin is not None
    assert program.stdout.readline() == "up\n"
    up.open()
    go_on.wait()
    program.stdin.write("\n")
    program.stdin.flush()
    return program.stdout.readline().strip()


def end_the_worker() -> None:
    os._exit(3)


def detach(journal: Journal, how: str) -> None:
    """Start a process that is nobody's child, without variables where `how` says so, and write down its number."""
    script = "import os, time; os.fork() and os._exit(0); os.setsid(); print(os.getpid(), flush=True); time.sleep(3600)"
    if how == "forked":
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(writer, f"{os.getpid()}".encode())
                time.sleep(3600)
            os._exit(0)
        os.wait()
        number = os.read(reader, 20).decode()
    else:
        environment = {} if how == "without variables" else None
        done = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment)
        assert done.stdout is not None
        number = done.stdout.readline()
        done.wait()
    journal.add(int(number))


def detach_and_wait(journal: Journal, how: str, gate: Gate) -> bool:
    detach(journal, how)
    gate.wait()
    return look_at(int(journal.lines()[0])) is not None


def test_a_program_of_a_task_keeps_its_session_when_other_workers_end(
    engine: Callable[..., NativeJobContext], tmp_path: Path
) -> None:
    ctx = engine(cpus=3)
    gates = [(Gate.make(f"{tmp_path}/up-{i}"), Gate.make(f"{tmp_path}/go-{i}")) for i in range(2)]
    refs = [ctx.run(use_a_session, *pair) for pair in gates]
    for up, _ in gates:
        up.wait()
    ctx.wait([ctx.create_task(end_the_worker, options=TaskOptions(max_retries=0))])
    gates[0][1].open()
    assert ctx.get(refs[0], timeout=PATIENCE) == "8"
    gates[1][1].open()
    assert ctx.get(refs[1], timeout=PATIENCE) == "8"


@pytest.mark.parametrize("how", ["forked", "executed", "without variables"])
def test_a_detached_process_of_a_running_task_outlives_other_workers(
    ctx: NativeJobContext, tmp_path: Path, how: str
) -> None:
    journal, gate = Journal(f"{tmp_path}/journal"), Gate.make(f"{tmp_path}/gate")
    ref = ctx.run(detach_and_wait, journal, how, gate)
    eventually(journal.lines)
    ctx.wait([ctx.create_task(end_the_worker, options=TaskOptions(max_retries=0))])
    gate.open()
    assert ctx.get(ref, timeout=PATIENCE)


@pytest.mark.parametrize("how", ["forked", "executed", "without variables"])
def test_a_detached_process_ends_when_its_worker_does(
    engine: Callable[..., NativeJobContext], tmp_path: Path, how: str
) -> None:
    ctx = engine(cpus=1)
    journal = Journal(f"{tmp_path}/journal")
    ctx.get(ctx.run(detach, journal, how), timeout=PATIENCE)
    pid = int(journal.lines()[0])
    assert look_at(pid) is not None  # the worker lives, and may run the next task
    ctx.wait([ctx.create_task(end_the_worker, options=TaskOptions(max_retries=0))])
    eventually(lambda: look_at(pid) is None)


def test_a_killed_guardian_takes_its_worker_and_what_it_guards(
    engine: Callable[..., NativeJobContext], tmp_path: Path
) -> None:
    ctx = engine(cpus=1)
    journal, gate = Journal(f"{tmp_path}/journal"), Gate.make(f"{tmp_path}/gate")
    ref = ctx.create_task(detach_and_wait, (journal, "forked", gate), options=TaskOptions(max_retries=0))
    pid = int(eventually(journal.lines)[0])
    parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(parent, signal.SIGKILL)
    eventually(lambda: look_at(pid) is None)
    assert ctx.get(ctx.run(pow, 2, 3), timeout=PATIENCE) == 8
    assert "was killed by signal 9" in str(eventually(lambda: failure_of(ctx, ref)))


def failure_of(ctx: NativeJobContext, ref: object) -> BaseException | None:
    try:
        ctx.get(ref, timeout=PATIENCE)
    except Exception as error:
        return error
    return None


def test_sessions_of_killed_tasks_leave_no_folder(engine: Callable[..., NativeJobContext], tmp_path: Path) -> None:
    ctx = engine(cpus=1)
    up, never = Gate.make(f"{tmp_path}/up"), Gate.make(f"{tmp_path}/never")
    ref = ctx.create_task(use_a_session, (up, never), options=TaskOptions(max_retries=0))
    up.wait()
    ctx.cancel(ref, force=True)
    run = Path(os.environ["FRAY_HOME"]) / "run"
    eventually(lambda: len(list(run.iterdir())) == 1, what="one session's folder")
    ctx.close()
    eventually(lambda: not list(run.iterdir()), what="no folder")


def stay(journal: Journal, started: Gate) -> None:
    """Live on with a child and a detached process, none of which ends when asked to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    detach(journal, "without variables")
    journal.add(os.getpid())
    journal.add(child.pid)
    started.open()
    time.sleep(3600)


def test_what_runs_is_gone_when_close_returns(
    engine: Callable[..., NativeJobContext], journal: Journal, gate: Callable[[], Gate]
) -> None:
    ctx, started = engine(), gate()
    ctx.run(stay, journal, started)
    started.wait()
    ctx.close()
    seen = [look_at(int(number)) for number in journal.lines()]
    assert len(seen) == 3
    assert [process for process in seen if process is not None and process.state != "Z"] == []


def test_close_does_not_wait_for_a_node_that_has_stopped(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine()
    node = json.loads(ctx._client.status())["node"]["pid"]
    os.kill(node, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        ctx.close()
        assert time.monotonic() - begun < PATIENCE
    finally:
        os.kill(node, signal.SIGCONT)
