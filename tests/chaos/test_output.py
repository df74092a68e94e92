"""What workers print, and what must never be printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.harness import Driver, Finished, eventually, run_driver

CANARY = "canary-4f1c9e77a2"


def test_a_line_of_a_worker_reaches_the_terminal_once_with_a_prefix() -> None:
    finished = run_driver(
        """
        def talk():
            print("hello from", os.getpid())
            print("and an error", file=sys.stderr)
        with NativeJobContext(cpus=2) as ctx:
            ctx.get(ctx.run(talk, name="talker"))
        """
    )
    assert finished.code == 0
    (line,) = finished.stdout.splitlines()
    assert line.startswith("(talker pid=") and ") hello from " in line
    assert line.split("pid=")[1].split(")")[0] == line.rsplit(" ", 1)[1]
    (error,) = finished.stderr.splitlines()
    assert error.startswith("(talker pid=") and error.endswith(") and an error")


def test_many_lines_of_many_workers_arrive_whole_and_once() -> None:
    finished = run_driver(
        """
        def talk(number):
            for line in range(50):
                print(f"line {number} {line} " + "x" * (line * 7))
        with NativeJobContext(cpus=3) as ctx:
            ctx.get([ctx.run(talk, number) for number in range(20)])
        """
    )
    bodies = Counter(line.split(") ", 1)[1] for line in finished.ok().splitlines())
    assert bodies == {f"line {number} {line} " + "x" * (line * 7): 1 for number in range(20) for line in range(50)}


def test_the_same_line_of_many_tasks_is_folded_with_its_count() -> None:
    script = """
        def talk():
            print("no cache found")
        with NativeJobContext(cpus=2) as ctx:
            ctx.get([ctx.run(talk, name="talker") for _ in range(100)])
        """
    lines = [line.split(") ", 1)[1] for line in run_driver(script).ok().splitlines()]
    counts = [int(found[1]) for line in lines if (found := re.search(r"\[(\d+) times", line))]
    assert len(lines) < 20, "one window is a second long"
    assert sum(counts) + len(lines) - len(counts) == 100
    assert {re.sub(r" \[.*", "", line) for line in lines} == {"no cache found"}


def test_no_line_is_folded_when_the_user_does_not_want_it() -> None:
    script = """
        def talk():
            print("no cache found")
        with NativeJobContext(cpus=2) as ctx:
            ctx.get([ctx.run(talk) for _ in range(100)])
        """
    finished = run_driver(script, env={"FRAY_FOLD_OUTPUT": "0"})
    assert [line.split(") ", 1)[1] for line in finished.ok().splitlines()] == ["no cache found"] * 100


def test_the_last_words_of_a_worker_are_printed() -> None:
    finished = run_driver(
        """
        def die():
            os.write(1, b"without a line end")
            os._exit(1)
        with NativeJobContext(cpus=1) as ctx:
            try:
                ctx.get(ctx.create_task(die, options=fray.TaskOptions(max_retries=0)))
            except fray.WorkerDiedError:
                pass
        """
    )
    assert finished.ok().count("without a line end") == 1


@pytest.mark.timeout(110)
def test_a_flood_of_output_does_not_stop_the_engine() -> None:
    """50 MB as fast as a worker can, partly in lines and partly not, while other tasks run."""
    with Driver(
        """
        def flood():
            for _ in range(400):
                sys.stdout.write("y" * 63 + "\\n" * 1 + "z" * 62_000 + "\\n")
                os.write(2, b"e" * 63_000)
            return "flooded"
        with NativeJobContext(cpus=2) as ctx:
            ref = ctx.run(flood)
            assert ctx.get([ctx.run(pow, number, 2) for number in range(1000)]) == [n * n for n in range(1000)]
            assert ctx.get(ref, timeout=60) == "flooded"
        os.write(1, b"THE END\\n")
        """
    ) as driver:
        finished = driver.finish(within=90)
    assert finished.code == 0
    assert finished.stdout.endswith("THE END\n")


def test_a_terminal_that_nobody_reads_holds_up_no_task() -> None:
    """The driver's stdout is a full pipe; its tasks answer nevertheless, or at the latest when it is read."""
    with Driver(
        """
        def flood():
            for _ in range(2000):
                print("y" * 1000)
            return "flooded"
        with NativeJobContext(cpus=2) as ctx:
            ref = ctx.run(flood)
            ctx.wait([ref], timeout=10)
        """
    ) as driver:
        finished = driver.finish(within=60)
    assert finished.code == 0


def test_bytes_that_are_no_text_are_passed_on() -> None:
    import subprocess
    import sys

    source = (
        "import os, sys\nfrom fray.backend.native import NativeJobContext\n"
        "with NativeJobContext(cpus=1) as ctx:\n"
        "    ctx.get(ctx.run(os.write, 1, b'\\xff\\x00\\x1b[31m\\n'))\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert b"\xff\x00\x1b[31m\n" in done.stdout


# ---- secrets


SECRETIVE = """
    ctx = fray.init(cpus=2)
    def use():
        assert os.environ["TASK_SECRET"].startswith("canary-")
        assert os.environ["DRIVER_SECRET"].startswith("canary-")
    def die():
        os._exit(9)
    env = fray.RuntimeEnv(env={"TASK_SECRET": os.environ["DRIVER_SECRET"]})
    options = fray.TaskOptions(runtime_env=env, max_retries=0)
    impossible = fray.TaskOptions(resources={"CPU": 99}, runtime_env=env)
    ctx.get(ctx.create_task(use, options=options))
    for broken in (lambda: ctx.get(ctx.create_task(die, options=options)),
                   lambda: ctx.create_task(use, options=impossible),
                   lambda: ctx.create_task(use, (threading.Lock(),), options=options)):
        try:
            broken()
        except Exception as error:
            print(type(error).__name__, repr(error), error)
    print(options, options.runtime_env)
    print(ctx._client.status())
    fray.timeline(os.path.join(os.environ["FRAY_HOME"], "timeline.json"))
    fray.shutdown()
"""


def test_secrets_are_in_no_output_error_status_or_file() -> None:
    finished: Finished = run_driver(SECRETIVE, env={"DRIVER_SECRET": CANARY})
    assert finished.code == 0, finished
    assert "WorkerDiedError" in finished.stdout
    assert CANARY not in finished.stdout
    assert CANARY not in finished.stderr
    for path in Path(os.environ["FRAY_HOME"]).rglob("*"):
        if path.is_file():
            assert CANARY.encode() not in path.read_bytes(), path


def test_secrets_are_in_no_command_line() -> None:
    from tests.chaos.harness import current_marker, marked_processes

    with Driver(
        """
        ctx = NativeJobContext(cpus=2)
        ctx.get(ctx.run(pow, 2, 3))
        print("ready", flush=True)
        sys.stdin.readline()
        ctx.close()
        """,
        env={"DRIVER_SECRET": CANARY},
    ) as driver:
        driver.line()
        for process in marked_processes(current_marker()):
            command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            assert CANARY.encode() not in command, command
        driver.say()
        driver.finish().ok()


def test_the_status_of_a_node_names_what_runs_and_what_waits() -> None:
    finished = run_driver(
        """
        import json
        def hang(path):
            open(path, "w").close()
            time.sleep(3600)
        ctx = NativeJobContext(cpus=1)
        path = os.path.join(os.environ["FRAY_HOME"], "started")
        running = ctx.run(hang, path, name="runner")
        while not os.path.exists(path):
            time.sleep(0.001)
        waiting = ctx.create_task(hang, (path,), options=fray.TaskOptions(resources={"CPU": 1}))
        ctx.wait([waiting], timeout=0.1)
        print(json.dumps(json.loads(ctx._client.status())))
        """
    )
    status = json.loads(finished.ok())
    assert "runner" in json.dumps(status)
    assert "CPU" in json.dumps(status)


# ---- readers that are slow, or gone


TALK = """
    def talk(number):
        for line in range(30_000):
            print(f"line {number} {line}")
    ctx = NativeJobContext(cpus=2)
"""


def test_get_returns_in_time_while_nobody_reads_the_output(tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    with Driver(  # whose output is read by finish() only
        TALK
        + """
    refs = [ctx.run(talk, 0), ctx.run(talk, 1)]
    ctx.get(refs)
    ref = ctx.run(time.sleep, 60)
    try:
        ctx.get(ref, timeout=0.2)
    except fray.GetTimeoutError:
        open(sys.argv[1], "w").write("in time")
    ctx.cancel(ref)
    """,
        answer,
        env={"FRAY_FOLD_OUTPUT": "0"},
    ) as driver:
        eventually(answer.exists, what="the end of get")
        lines = driver.finish(60).ok().splitlines()
    for number in range(2):
        mine = [line.rsplit(" ", 1)[1] for line in lines if f") line {number} " in line]
        assert mine == [str(line) for line in range(30_000)]


def test_lines_arrive_whole_and_in_order_on_a_pipe_that_does_not_block() -> None:
    finished = run_driver(
        TALK
        + """
    os.set_blocking(1, False)
    ctx.get([ctx.run(talk, number) for number in range(2)])
    ctx.close()
    """,
        env={"FRAY_FOLD_OUTPUT": "0"},
    )
    lines = finished.ok().splitlines()
    assert len(lines) == 60_000
    for number in range(2):
        mine = [line.rsplit(" ", 1)[1] for line in lines if f") line {number} " in line]
        assert mine == [str(line) for line in range(30_000)]


def test_the_end_of_a_program_does_not_wait_for_a_reader_that_never_reads(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        script = tmp_path / "script.py"
        script.write_text(
            textwrap.dedent(
                """
                import fray
                def talk():
                    for line in range(30_000):
                        print("line", line)
                with fray.init(cpus=1) as ctx:
                    ctx.get(ctx.run(talk))
                """
            )
        )
        ended = subprocess.run(
            [sys.executable, str(script)], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
        assert ended.returncode == 0
        assert ended.stderr == (
            "(fray) what workers print to this program's standard output is lost: nobody has read it for 5 s\n"
        )
    finally:
        os.close(reader)
        os.close(writer)


def test_a_reader_that_has_gone_is_told_of_and_ends_nothing(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import signal
            import fray
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            with fray.init(cpus=1) as ctx:
                ctx.get(ctx.run(print, "to nobody"))
                assert ctx.get(ctx.run(pow, 2, 3)) == 8
            """
        )
    )
    ended = subprocess.run(
        [sys.executable, str(script)], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (
        0,
        "(fray) what workers print to this program's standard output is lost: Broken pipe\n",
    )


def test_a_program_without_standard_output_writes_nowhere_else(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys
            import fray
            assert sys.stdout is None
            with fray.init(cpus=1) as ctx:
                kept = open("kept.txt", "w")
                ctx.get([ctx.run(print, "to nobody") for _ in range(100)])
                assert ctx.get(ctx.run(pow, 2, 3)) == 8
            """
        )
    )
    ended = subprocess.run(
        ["sh", "-c", 'exec "$0" "$1" >&-', sys.executable, str(script)],
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "kept.txt").read_text() == ""


def test_the_parent_alone_writes_what_waited_at_a_fork() -> None:
    finished = run_driver(
        TALK
        + """
    ref = ctx.run(talk, 0)
    next_line = ctx.run(print, "another")
    ctx.get(next_line)
    child = os.fork()
    if child == 0:
        ctx.get(ctx.run(print, "of the child"))
        ctx.close()
        os._exit(0)
    os.waitpid(child, 0)
    ctx.get(ref)
    ctx.close()
    """,
        env={"FRAY_FOLD_OUTPUT": "0"},
    )
    lines = [line.split(") ", 1)[1] for line in finished.ok().splitlines()]
    assert [line for line in lines if line.startswith("line")] == [f"line 0 {line}" for line in range(30_000)]
    assert sorted(line for line in lines if not line.startswith("line")) == ["another", "of the child"]
