"""The context is looked up after the engine was started, whoever starts it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.unit.migrate.moving import migrate, written


@pytest.mark.parametrize(
    ("lines", "printed"),
    [
        # functions that start and end the engine, in a loop
        (
            """\
            def setup(n): ray.init(num_cpus=n)
            def teardown(): ray.shutdown()
            def bench():
                for n in (1, 2):
                    setup(n)
                    print(ray.get([f.remote(i) for i in range(n)]))
                    teardown()
            bench()
            """,
            [[0], [0, 1]],
        ),
        # an object that starts it when it is entered
        (
            """\
            class Session:
                def __enter__(self): ray.init(num_cpus=1)
                def __exit__(self, *a): ray.shutdown()
            def main():
                with Session():
                    print(ray.get(f.remote(1)))
                with Session():
                    print(ray.get(f.remote(2)))
            main()
            """,
            [1, 2],
        ),
        # a function that another one calls
        (
            """\
            def start(n): ray.init(num_cpus=n)
            def restart():
                ray.shutdown()
                start(1)
            ray.init(num_cpus=2)
            print(ray.get(f.remote(1)))
            restart()
            print(ray.get(f.remote(2)))
            """,
            [1, 2],
        ),
        # a lambda that has a name
        (
            """\
            start = lambda n: ray.init(num_cpus=n)
            for n in (1, 2):
                start(n)
                print(ray.get(f.remote(n)))
                ray.shutdown()
            """,
            [1, 2],
        ),
        # a class that starts it when it is made
        (
            """\
            class Session:
                def __init__(self): ray.init(num_cpus=1)
            for n in (1, 2):
                Session()
                print(ray.get(f.remote(n)))
                ray.shutdown()
            """,
            [1, 2],
        ),
        # a method, before the first call in a comprehension
        (
            """\
            class Pool:
                started = False
                def ensure(self):
                    if not self.started:
                        ray.init(num_cpus=1)
                        self.started = True
                    return self
                def map(self, xs):
                    return [ray.get(x) for x in [self.ensure() and f.remote(x) for x in xs]]
            print(Pool().map([1, 2]))
            """,
            [[1, 2]],
        ),
    ],
)
def test_the_engine_may_be_started_and_ended_by_functions(tmp_path: Path, lines: str, printed: list[object]) -> None:
    head = "import ray\n\n@ray.remote\ndef f(x): return x\n\n"
    program = written(tmp_path, head + textwrap.dedent(lines))
    done = migrate(program)
    assert done.returncode == 0, done.stdout
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert ran.stdout == "".join(f"{value}\n" for value in printed), ran.stderr


def test_the_engine_may_be_started_by_another_file(tmp_path: Path) -> None:
    written(tmp_path, "import ray\ndef start(n): ray.init(num_cpus=n)\ndef stop(): ray.shutdown()\n", "starting.py")
    text = """\
    import ray
    import starting
    @ray.remote
    def f(x): return x
    for n in (1, 2):
        starting.start(n)
        print(ray.get(f.remote(n)))
        starting.stop()
    """
    program = written(tmp_path, textwrap.dedent(text))
    assert migrate(tmp_path).returncode == 0
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert ran.stdout == "1\n2\n", ran.stderr


def test_one_lookup_after_a_function_that_starts_the_engine_serves_all_calls(tmp_path: Path) -> None:
    text = """\
    import ray
    @ray.remote
    def f(x): return x
    def start(): ray.init(num_cpus=1)
    def main():
        start()
        print(ray.get(f.remote(1)))
        print(ray.get(f.remote(2)))
    """
    program = written(tmp_path, textwrap.dedent(text))
    assert migrate(program).returncode == 0
    assert (
        "    start()\n    ctx = fray.get_job_context()\n    print(ctx.get(ctx.create_task(f, (1,))))"
        in program.read_text()
    )


def test_a_start_for_which_the_program_has_looked_itself_is_not_looked_for_twice(tmp_path: Path) -> None:
    text = """\
    import ray
    @ray.remote
    def f(x): return x
    def start(loud):
        if not ray.is_initialized():
            if loud: print("starting")
            ray.init(num_cpus=1, ignore_reinit_error=True)
    def restart():
        if ray.is_initialized(): ray.shutdown()
        else: print("none was there")
        ray.init(num_cpus=1, ignore_reinit_error=True)
    start(True)
    start(True)
    restart()
    print(ray.get(f.remote(1)))
    """
    program = written(tmp_path, textwrap.dedent(text))
    assert migrate(program).returncode == 0
    first, second = program.read_text().split("def restart")
    assert first.count("existing_job_context() is None") == 1
    assert second.count("existing_job_context() is None") == 1
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert ran.stdout == "starting\n1\n", ran.stderr
