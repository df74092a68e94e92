"""Workers that are copies of the program have what it has, and disturb nothing that is the program's own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import fray
import pytest

from tests.chaos.harness import current_marker, eventually, marked_processes

_ROOT = Path(__file__).parents[2]
_PROGRAM = """
import os, sys, time
import fray
program = os.getpid()

def add(one, other):
    return one + other

def add_one(number):
    return number + 1
"""


def run(folder: Path, text: str, *, code: int = 0) -> list[str]:
    """Run a program with this text in it, and return the lines that it and its workers print."""
    script = folder / "program.py"
    script.write_text(f"import sys\nsys.path.append({str(_ROOT)!r})\n" + _PROGRAM + textwrap.dedent(text))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stdout.splitlines()


def test_workers_have_what_the_program_had_when_they_were_copied(tmp_path: Path) -> None:
    (tmp_path / "slow_to_load.py").write_text(
        "import os\nprint('loaded', flush=True)\nvalue = 7\ndef pid(): return os.getpid()\n"
    )
    text = """
        import slow_to_load
        slow_to_load.value = 8
        def look():
            return slow_to_load.value
        class Actor:
            async def look(self):
                return slow_to_load.value, slow_to_load.pid() != program
        with fray.init(cpus=2, start_method="fork") as ctx:
            slow_to_load.value = 9
            print(ctx.get(ctx.create_task(look)), ctx.get(ctx.create_actor(Actor).look()))
    """
    assert run(tmp_path, text) == ["loaded", "8 (8, True)"]


def test_tasks_of_tasks_and_generators_run_in_copies(tmp_path: Path) -> None:
    text = """
        def outer(count):
            ctx = fray.get_job_context()
            return sum(ctx.get([ctx.create_task(add, (each, 1)) for each in range(count)]))
        def numbers():
            yield 1
            yield 2
        with fray.init(cpus=2, start_method="fork") as ctx:
            print(ctx.get(ctx.create_task(outer, (10,))))
            print([ctx.get(each) for each in ctx.run(numbers)])
            print(sum(ctx.get(list(ctx.map(add_one, range(1000))))))
    """
    assert run(tmp_path, text) == ["55", "[1, 2]", "500500"]


def test_a_pipe_of_the_program_ends_when_the_program_closes_it(tmp_path: Path) -> None:
    text = """
        import socket
        reader, writer = os.pipe()
        ours, theirs = socket.socketpair()
        with fray.init(cpus=1, start_method="fork") as ctx:
            print(ctx.get(ctx.create_task(add, (1, 2))))
            os.close(writer)
            theirs.close()
            print(os.read(reader, 1), ours.recv(1))
    """
    assert run(tmp_path, text) == ["3", "b'' b''"]


def test_what_a_program_has_registered_for_its_end_runs_once_and_its_buffers_are_written_once(tmp_path: Path) -> None:
    text = f"""
        import atexit
        atexit.register(lambda: os.write(1, b"registered end\\n"))
        sys.stdout.write("buffered ")
        file = open({str(tmp_path / "file")!r}, "w")
        file.write("line of the file")
        with fray.init(cpus=2, start_method="fork") as ctx:
            ctx.get(list(ctx.map(add_one, [1, 2])))
        print("line")
        sys.stdout.flush()
    """
    assert run(tmp_path, text) == ["buffered line", "registered end"]
    assert (tmp_path / "file").read_text() == "line of the file"


def test_handlers_of_signals_are_the_programs_own(tmp_path: Path) -> None:
    text = """
        import signal
        signal.signal(signal.SIGTERM, lambda *_: print("handled by", os.getpid() == program, flush=True))
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        def handlers():
            numbers = signal.SIGUSR1, signal.SIGUSR2
            return [signal.getsignal(number) is signal.SIG_DFL for number in numbers], signal.pthread_sigmask(0, [])
        with fray.init(cpus=1, start_method="fork") as ctx:
            print(*ctx.get(ctx.create_task(handlers)))
            os.kill(program, signal.SIGTERM)
            print(ctx.get(ctx.create_task(add, (1, 2))), signal.pthread_sigmask(0, []) == {signal.SIGUSR2})
    """
    assert run(tmp_path, text) == ["[True, True] set()", "handled by True", "3 True"]


def test_a_program_gets_no_child_that_it_does_not_know(tmp_path: Path) -> None:
    text = """
        with fray.init(cpus=1, start_method="fork") as ctx:
            ctx.get(ctx.create_task(add, (1, 2)))
            try:
                os.wait()
            except ChildProcessError:
                print("no child")
    """
    assert run(tmp_path, text) == ["no child"]


def test_a_program_whose_children_the_kernel_reaps_starts_a_node(tmp_path: Path) -> None:
    text = """
        import signal
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        with fray.init(cpus=1, start_method="fork") as ctx:
            print(ctx.get(ctx.create_task(add, (1, 2))))
    """
    assert run(tmp_path, text) == ["3"]


def test_errors_of_tasks_do_not_name_the_exception_that_the_program_was_handling(tmp_path: Path) -> None:
    text = """
        def fail():
            raise ValueError("the task's own")
        def handled():
            return repr(sys.exception()) if hasattr(sys, "exception") else repr(sys.exc_info()[1])
        try:
            raise KeyError("the program's")
        except KeyError:
            ctx = fray.init(cpus=1, start_method="fork")
        print(ctx.get(ctx.create_task(handled)))
        try:
            ctx.get(ctx.create_task(fail))
        except ValueError as error:
            print("the program's" in str(error), error.__context__, getattr(error.__cause__, "__context__", None))
        fray.shutdown()
    """
    assert run(tmp_path, text) == ["None", "False None None"]


def test_workers_copied_inside_an_event_loop_have_loops_of_their_own(tmp_path: Path) -> None:
    text = """
        import asyncio
        async def loop_of_task():
            return asyncio.get_running_loop() is not None
        def is_running():
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                return asyncio.run(loop_of_task())
        class Actor:
            async def sleep(self):
                await asyncio.sleep(0)
                return "slept"
        async def main():
            with fray.init(cpus=1, start_method="fork") as ctx:
                print(await ctx.create_task(is_running), await ctx.create_actor(Actor).sleep())
        asyncio.run(main())
    """
    assert run(tmp_path, text) == ["True slept"]


def test_workers_draw_numbers_of_their_own(tmp_path: Path) -> None:
    text = """
        import random
        import numpy
        class Actor:
            def draw(self):
                return random.random(), numpy.random.random()
        with fray.init(cpus=3, start_method="fork") as ctx:
            actors = [ctx.create_actor(Actor) for _ in range(3)]
            drawn = ctx.get([actor.draw.remote() for actor in actors])
            print(len({one for one, _ in drawn}), len({other for _, other in drawn}))
    """
    assert run(tmp_path, text) == ["3 3"]


def test_a_program_with_other_threads_is_told_their_names_and_may_start_without_copies(tmp_path: Path) -> None:
    text = """
        import threading
        over = threading.Event()
        threading.Thread(target=over.wait, name="thread of the program").start()
        try:
            fray.init(cpus=1, start_method="fork")
        except fray.SettingsError as error:
            print(error)
        with fray.init(cpus=1) as ctx:
            print(ctx.get(ctx.create_task(add, (1, 2))))
        over.set()
    """
    error, result = run(tmp_path, text)
    assert "thread of the program" in error and "Make the context before they start" in error
    assert result == "3"


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        pytest.param(True, "3", id="that-is-on-its-way-out"),
        pytest.param(False, "has other threads (python", id="that-stays"),
    ],
)
def test_a_thread_that_python_does_not_know_is_waited_for_and_then_named(tmp_path: Path, ends: bool, says: str) -> None:
    text = f"""
        import ctypes
        of_c = ctypes.CDLL(None)
        thread = ctypes.c_ulong()
        of_c.pthread_create(ctypes.byref(thread), None, of_c.{"usleep" if ends else "sleep"}, ctypes.c_void_p(100_000))
        try:
            with fray.init(cpus=1, start_method="fork") as ctx:
                print(ctx.get(ctx.create_task(add, (1, 2))))
        except fray.SettingsError as error:
            print(error)
        sys.stdout.flush()
        os._exit(0)  # which waits for no thread
    """
    (line,) = run(tmp_path, text)
    assert says in line


def test_a_program_without_free_descriptors_is_told_so(tmp_path: Path) -> None:
    text = """
        import resource
        fray.init(cpus=1, start_method="fork")
        fray.shutdown()
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        taken = []
        try:
            while True:
                taken.append(os.dup(0))
        except OSError:
            pass
        try:
            fray.init(cpus=1, start_method="fork")
        except fray.NodeDiedError as error:
            print(error)
        os.close(taken.pop())
        os.close(taken.pop())
        before = len(os.listdir("/proc/self/fd"))
        try:
            fray.init(cpus=1, start_method="fork")
        except fray.NodeDiedError as error:
            print(error)
        print(len(os.listdir("/proc/self/fd")) == before)
    """
    error, later, same = run(tmp_path, text)
    assert "cannot start a node" in error and "Too many open files" in error
    assert "cannot be copied" in later and "Too many open files" in later
    assert same == "True"


def test_an_unknown_start_method_and_one_for_a_started_node_are_refused() -> None:
    with pytest.raises(fray.SettingsError, match=r"'forkserver'.*'fork'.*got 'spawn'"):
        fray.init(cpus=1, start_method="spawn")
    with pytest.raises(fray.SettingsError, match="start_method"):
        fray.init(address="auto", start_method="fork")


def test_the_spec_names_the_start_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
        kept = ["here"]
        def look():
            return kept
        look.__module__ = "__mp_main__"
        sys.modules["__mp_main__"] = sys.modules["__main__"]
        ctx = fray.get_job_context()
        kept.append("after the copy")
        print(ctx.get(ctx.create_task(look)))
        fray.shutdown()
    """
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "local?cpus=1&start_method=fork")
    assert run(tmp_path, text) == ["['here']"]
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "local?cpus=1&start_method=spawn")
    with pytest.raises(fray.SettingsError, match="got 'spawn'"):
        fray.get_job_context()


def test_new_workers_replace_copies_when_their_fork_server_has_died(tmp_path: Path) -> None:
    text = """
        import signal
        from tests.chaos.harness import eventually, the_node

        def parent(pid):
            return int(open(f"/proc/{pid}/stat").read().rsplit(")")[1].split()[1])

        with fray.init(cpus=1, start_method="fork") as ctx:
            worker = ctx.get(ctx.create_task(os.getpid))
            guardian = parent(worker)
            fork_server = guardian if parent(guardian) == the_node().pid else parent(guardian)
            assert parent(fork_server) == the_node().pid
            os.kill(fork_server, signal.SIGKILL)
            eventually(lambda: not os.path.exists(f"/proc/{fork_server}"), what="the end of the fork server")
            print(ctx.get(ctx.create_task(os.getpid)) in (worker, os.getpid()))
    """
    assert run(tmp_path, text) == ["False"]


def test_nothing_is_left_when_the_program_is_killed(tmp_path: Path) -> None:
    text = """
        ctx = fray.init(cpus=2, start_method="fork")
        ctx.get(list(ctx.map(add_one, [1, 2])))
        sys.stdout.flush()
        os.kill(program, 9)
    """
    run(tmp_path, text, code=-9)
    eventually(lambda: not marked_processes(current_marker()), what="the end of the node and its workers")
