"""Options of remote functions mean after the move what they meant where Ray read them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.unit.migrate.moving import migrate, report, written

SHOW = """\
import ray

def show(value):
    return value

"""


@pytest.mark.parametrize(
    "lines",
    [
        # a field, which another method reads
        """\
        class Launcher:
            def __init__(self, tag):
                self.fn = ray.remote(show).options(runtime_env={"env_vars": {"I": tag}})
            def go(self):
                return ray.get(self.fn.remote(1))
        """,
        """\
        class Launcher:
            def __init__(self, tag):
                self.fn = ray.remote(runtime_env={"env_vars": {"I": tag}})(show)
            def go(self, tag=9):
                return ray.get(self.fn.remote(tag))
        """,
        # one of several that a loop makes
        """\
        fs = {}
        for i in range(3):
            fs[i] = ray.remote(show).options(runtime_env={"env_vars": {"I": str(i)}})
        print(ray.get([fs[k].remote(1) for k in fs]))
        """,
        """\
        fs = [ray.remote(runtime_env={"env_vars": {"I": str(j)}})(show) for j in range(2)]
        print(ray.get([f.remote(2) for f in fs]))
        """,
        """\
        fs = []
        for i in range(3):
            @ray.remote(runtime_env={"env_vars": {"I": str(i)}})
            def inner(y):
                return y
            fs.append(inner)
        print(ray.get([f.remote(1) for f in fs]))
        """,
        # a variable that has another value by the time of the call
        """\
        tag = "one"
        f = [ray.remote(show).options(runtime_env={"env_vars": {"I": tag}})][0]
        tag = "two"
        print(ray.get(f.remote(1)))
        """,
        """\
        tag = "one"
        f = ray.remote(show).options(runtime_env={"env_vars": {"I": tag}})
        tag = "two"
        g = f.options(max_retries=0)
        print(ray.get(g.remote(1)))
        """,
    ],
)
def test_options_that_would_be_read_at_another_time_stay(tmp_path: Path, lines: str) -> None:
    program = written(tmp_path, SHOW + textwrap.dedent(lines))
    report(program)
    after = program.read_text()
    assert "# fray: the options were read elsewhere" in after
    assert "create_task" not in after


@pytest.mark.parametrize(
    ("lines", "call"),
    [
        (
            """\
            CORES = 2
            fs = [ray.remote(num_cpus=CORES)(show)]
            print(ray.get([f.remote(1) for f in fs]))
            """,
            'fray.TaskOptions(resources={"CPU": CORES})',
        ),
        (
            """\
            tag = "one"
            f = ray.remote(show).options(runtime_env={"env_vars": {"I": tag}})
            tag = "two"
            print(ray.get(f.remote(1)))
            """,
            "options=F_OPTIONS)",
        ),
        (
            """\
            for i in range(3):
                f = ray.remote(show).options(num_cpus=i)
                print(ray.get(f.remote(1)))
            """,
            "options=F_OPTIONS)",
        ),
    ],
)
def test_options_that_are_the_same_at_the_call_are_moved(tmp_path: Path, lines: str, call: str) -> None:
    program = written(tmp_path, SHOW + textwrap.dedent(lines))
    done = migrate(program)
    assert done.returncode == 0, done.stdout
    assert call in program.read_text()
