"""`breakpoint()` in a task: the driver's terminal, or that of `fray debug`, talks to the debugger on the worker."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fray
import pytest
from fray.backend.native import NativeJobContext, breakpoints, seat
from fray.backend.native.remote_pdb import RemotePdb

from tests.unit.cli.conftest import Start, program_path

PATIENCE = 30.0

ONE_TASK = """
    import fray

    def task(x):
        y = x + 1
        breakpoint()
        return y * 10

    if __name__ == "__main__":
        ctx = fray.init(cpus=2, debug=True)
        print("result", ctx.get(ctx.create_task(task, (4,), options=fray.TaskOptions(timeout=LIMIT))))
        fray.shutdown()
        print("driver", "ends")
"""


def test_the_drivers_terminal_talks_to_the_task_while_it_waits(start: Start) -> None:
    driver = start(ONE_TASK.replace("LIMIT", "60"))
    assert "task" in driver.expect(r"\(Pdb\) ")
    driver.type("p x, y")
    assert "(4, 5)" in driver.expect(r"\(Pdb\) ")
    driver.type("w")
    assert "driver.py" in driver.expect(r"\(Pdb\) ")
    driver.type("y = 70")
    driver.expect(r"\(Pdb\) ")
    driver.type("c")
    driver.expect("result 700")
    driver.expect("driver ends")
    assert driver.end() == 0


def test_a_driver_with_thousands_of_files_talks_to_the_task(start: Start) -> None:
    many_files = """
        import os, resource
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        files = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    """.rstrip()
    driver = start(ONE_TASK.replace("LIMIT", "60").replace('__main__":', f'__main__":{many_files}'))
    driver.expect(r"\(Pdb\) ")
    driver.type("c")
    driver.expect("result 50")
    assert driver.end() == 0


def test_stepping_past_the_end_of_the_task_ends_the_session(start: Start) -> None:
    driver = start(ONE_TASK.replace("LIMIT", "60"))
    driver.expect(r"\(Pdb\) ")
    if sys.version_info >= (3, 13):  # whose debugger stops at the call of breakpoint(), not behind it
        driver.type("n")
        driver.expect(r"\(Pdb\) ")
    driver.type("n")
    assert "--Return--" in driver.expect(r"\(Pdb\) ")
    driver.type("n")
    driver.expect("result 50")
    assert driver.end() == 0


def test_a_timeout_stands_still_while_somebody_looks(start: Start) -> None:
    driver = start(ONE_TASK.replace("LIMIT", "3"))  # within which a busy machine comes to the break point
    driver.expect(r"\(Pdb\) ")
    # Longer than the timeout and the grace after it.
    driver.type("import time; time.sleep(7)")
    driver.expect(r"\(Pdb\) ")
    driver.type("c")
    driver.expect("result 50")
    assert driver.end() == 0


def test_quitting_fails_the_task(start: Start) -> None:
    driver = start(ONE_TASK.replace("LIMIT", "60"))
    driver.expect(r"\(Pdb\) ")
    driver.type("q")
    driver.expect("BdbQuit")
    assert driver.end() == 1


def test_two_tasks_have_the_terminal_one_after_the_other(start: Start) -> None:
    driver = start("""
        import fray

        def task(name):
            breakpoint()
            return name

        if __name__ == "__main__":
            ctx = fray.init(cpus=2, debug=True)
            print("results", ctx.get([ctx.run(task, name) for name in ("first", "second")]))
            fray.shutdown()
    """)
    names = set()
    for _ in range(2):
        driver.expect(r"\(Pdb\) ")
        driver.type("p 'it is', name")
        names.add(re.findall(r"'it is', '(\w+)'\)", driver.expect(r"'it is', '\w+'\)\n"))[0])
        driver.expect(r"\(Pdb\) ")
        driver.type("c")
    assert names == {"first", "second"}
    driver.expect(r"results \['first', 'second'\]")
    assert driver.end() == 0


def test_a_break_point_of_the_debugger_is_met_in_the_same_session(start: Start) -> None:
    driver = start("""
        import fray

        def helper(x):
            return x + 1

        def task():
            breakpoint()
            return helper(1) + helper(2)

        if __name__ == "__main__":
            ctx = fray.init(cpus=1, debug=True)
            print("results", ctx.get(ctx.run(task)), ctx.get(ctx.run(pow, 2, 3)))
            fray.shutdown()
    """)
    driver.expect(r"\(Pdb\) ")
    driver.type("b helper")
    driver.expect(r"\(Pdb\) ")
    for wanted in ("1", "2"):
        driver.type("c")
        driver.expect(r"\(Pdb\) ")
        driver.type("p 'x is', x")
        driver.expect(rf"'x is', {wanted}\)")
        driver.expect(r"\(Pdb\) ")
    driver.type("c")
    driver.expect("results 5 8")  # the session ended with its task, and the next task is free
    assert driver.end() == 0


def test_fray_debug_attaches_where_the_driver_has_no_terminal(start: Start) -> None:
    driver = start(
        ONE_TASK.replace("LIMIT", "60"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert driver.process.stderr is not None
    line = driver.process.stderr.readline().decode()
    assert re.search(r"\(task pid=\d+\) waits at breakpoint\(\) in .*driver.py:\d+; `fray debug`", line)
    debugger = start([program_path(), "debug"])
    debugger.expect(r"\(Pdb\) ")
    debugger.type("p y")
    debugger.expect(r"5\n\(Pdb\) ")
    debugger.type("c")
    assert debugger.end() == 0
    out, _ = driver.process.communicate(timeout=PATIENCE)
    assert out == b"result 50\ndriver ends\n"


def test_a_deep_home_is_no_hindrance(start: Start, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = home / ("x" * (83 - len(str(home))))
    monkeypatch.setenv("FRAY_HOME", str(deep))
    driver = start(ONE_TASK.replace("LIMIT", "60"))
    driver.expect(r"\(Pdb\) ")
    driver.type("c")
    driver.expect("result 50")
    assert driver.end() == 0


def test_a_terminal_that_goes_away_lets_the_task_go_on(start: Start) -> None:
    driver = start(
        ONE_TASK.replace("LIMIT", "60"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert driver.process.stderr is not None
    driver.process.stderr.readline()
    debugger = start([program_path(), "debug"])
    debugger.expect(r"\(Pdb\) ")
    debugger.process.kill()
    out, _ = driver.process.communicate(timeout=PATIENCE)
    assert out == b"result 50\ndriver ends\n"


def stops() -> None:
    breakpoint()


def test_without_debugging_a_task_is_told_what_to_do(home: Path) -> None:
    with NativeJobContext(cpus=1) as ctx, pytest.raises(RuntimeError, match=r"fray.init\(debug=True\)"):
        ctx.get(ctx.run(stops))


def test_a_debugger_that_the_user_chose_stays(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")
    with NativeJobContext(cpus=1) as ctx:
        assert ctx.get(ctx.run(stops)) is None


def test_a_task_that_waits_for_a_terminal_can_be_cancelled(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with NativeJobContext(cpus=1, debug=True) as ctx:
        ref = ctx.run(stops)
        folder = Path(ctx.session_folder)
        deadline = time.monotonic() + PATIENCE
        while not list(folder.glob("debug-*.sock")):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        ctx.cancel(ref)
        with pytest.raises(fray.TaskCancelledError):
            ctx.get(ref)
        assert not list(folder.glob("debug-*.sock"))


def stops_as_its_address_is_made() -> None:
    class Interrupted(socket.socket):
        def bind(self, address: Any) -> None:
            super().bind(address)
            raise InterruptedError("as a cancel that comes just then")

    socket.socket = Interrupted
    breakpoint()


def test_a_task_that_is_stopped_as_it_begins_to_wait_for_a_terminal_leaves_no_socket(home: Path) -> None:
    with NativeJobContext(cpus=1, debug=True) as ctx:
        with pytest.raises(InterruptedError):
            ctx.get(ctx.create_task(stops_as_its_address_is_made, options=fray.TaskOptions(max_calls=1)))
        assert not list(Path(ctx.session_folder).glob("debug-*.sock"))


def test_the_time_of_a_task_goes_on_where_it_is_stopped_as_its_time_begins_to_stand_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[bool] = []

    def hold_timeout(held: bool) -> None:
        told.append(held)
        if held:
            raise InterruptedError("as a cancel that comes just then")

    monkeypatch.setenv(breakpoints.DEBUG_VARIABLE, "1")
    monkeypatch.setattr("fray._native.hold_timeout", hold_timeout)
    monkeypatch.setattr(seat, "client_of_worker", object())
    with pytest.raises(InterruptedError):
        breakpoints.stop_task()
    assert told == [True, False]


def test_a_breakpoint_in_what_is_no_worker_calls_pythons_own_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr(sys, "__breakpointhook__", lambda *args: called.extend(args))
    breakpoints.stop_task("as the fork server does, where a module that it imports has a breakpoint")
    assert len(called) == 1


def test_a_debugger_that_is_interrupted_as_it_closes_ends_with_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(socket.socket):
        come = False

        def close(self) -> None:
            super().close()
            if not self.come:
                self.come = True
                raise KeyboardInterrupt

    monkeypatch.setattr(sys, "settrace", lambda trace: None)  # a debugger of the test goes on
    here, there = socket.socketpair()
    with there:
        session = RemotePdb(Interrupted(fileno=here.detach()), breakpoints._session_ended)
        monkeypatch.setattr(breakpoints, "_session", session)
        with pytest.raises(KeyboardInterrupt):
            session.finish()
        breakpoints.end_debugging()
        assert breakpoints._session is None, "the next task gets a debugger of its own"


def test_fray_debug_without_a_waiting_task_says_so(home: Path) -> None:
    with NativeJobContext(cpus=1):
        done = subprocess.run([program_path(), "debug"], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (3, "")
    assert "no task" in done.stderr
    assert "debug=True" in done.stderr
