"""Workers share the imports of packages that their driver has imported, where a process can be forked with them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[[str, str], list[str]]

_IMPORTS = """
import os
with open(os.environ["IMPORTS"], "a") as file:
    file.write(f"{os.getpid()}\\n")
is_driver = os.environ["DRIVER"] == str(os.getpid())
"""
_PROGRAM = """
import os
os.environ["DRIVER"] = str(os.getpid())
import fray, large_package

class Actor:
    def __init__(self):
        self.value = large_package.value
    def pid(self):
        return os.getpid()
    def state(self):
        return os.getcwd()
    def name(self):
        return open("/proc/self/comm").read()
    def forker(self):  # of its guardian
        return int(open(f"/proc/{os.getppid()}/stat").read().rsplit(")")[1].split()[1])

def imports():
    pids = [int(line) for line in open(os.environ["IMPORTS"])]
    return [pid for pid in pids if pid != os.getpid()]
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a program that has imported a package with this text in it, and return the lines that it prints."""

    def run_it(package: str, program: str) -> list[str]:
        folder = tmp_path / "site-packages" / "large_package"
        folder.mkdir(parents=True)
        parts = [f"part{number}" for number in range(24)]
        for part in parts:
            (folder / f"{part}.py").write_text("")
        text = f"\nfrom . import {', '.join(parts)}\nvalue = 7\n"
        (folder / "__init__.py").write_text(_IMPORTS + textwrap.dedent(package) + text)
        environment = {**os.environ, "IMPORTS": str(tmp_path / "imports")}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder.parent), os.environ.get("PYTHONPATH")]))
        script = tmp_path / "program.py"
        script.write_text(_PROGRAM + textwrap.dedent(program))
        done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run_it


_TWO_ACTORS = """
with fray.init(cpus=2, start_method="forkserver") as ctx:
    actors = [ctx.create_actor(Actor) for _ in range(2)]
    pids = ctx.get([actor.pid.remote() for actor in actors])
    print(len(set(pids)), len(imports()), sum(pid in pids for pid in imports()))
    print(*{ctx.get(actor.state.remote()) == os.getcwd() for actor in actors})
    print(*{ctx.get(actor.name.remote()) == open("/proc/self/comm").read() for actor in actors})
"""


def test_one_process_imports_for_all_workers(run: Run) -> None:
    assert run("print('an import that prints')", _TWO_ACTORS)[-3:] == ["2 1 0", "True", "True"]


@pytest.mark.parametrize(
    "harm",
    [
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()",
        "if not is_driver: os.umask(0o7)",
        "import signal\nif not is_driver: signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
    ],
)
def test_an_import_after_which_a_process_cannot_be_forked_is_left_to_each_worker(run: Run, harm: str) -> None:
    assert run(harm, _TWO_ACTORS)[0] == "2 3 2"


def test_an_import_that_changes_the_folder_does_so_where_it_is_imported_only(run: Run) -> None:
    lines = run(
        "if not is_driver: os.chdir('/')",
        """
        def plain():
            return os.getcwd()

        with fray.init(cpus=2, start_method="forkserver") as ctx:
            actor = ctx.create_actor(Actor)
            print(ctx.get(actor.state.remote()), ctx.get(ctx.run(plain)) == os.getcwd())
        """,
    )
    assert lines == ["/ True"]


@pytest.mark.parametrize("end", ["raise ImportError('not in a worker')", "raise SystemExit(3)", "os._exit(3)"])
def test_an_import_that_fails_in_workers_fails_the_call_and_no_other(run: Run, end: str) -> None:
    lines = run(
        f"if not is_driver: {end}",
        """
        with fray.init(cpus=2, start_method="forkserver") as ctx:
            try:
                ctx.get(ctx.create_actor(Actor).pid.remote())
            except Exception as error:
                print(type(error).__name__)
            print(ctx.get(ctx.run(pow, 2, 5)))
        """,
    )
    assert len(lines) == 2 and lines[1] == "32"


def test_a_loader_that_dies_takes_its_workers_and_others_take_their_place(run: Run) -> None:
    lines = run(
        "",
        """
        import signal

        def use():
            return large_package.value

        with fray.init(cpus=2, start_method="forkserver") as ctx:
            actor = ctx.create_actor(Actor)
            loader = ctx.get(actor.forker.remote())
            assert "fray-loader" in open(f"/proc/{loader}/comm").read()
            os.kill(loader, signal.SIGKILL)
            try:
                while True:
                    ctx.get(actor.pid.remote())
            except fray.ActorDiedError:
                print("died")
            print(ctx.get([ctx.run(use) for _ in range(10)]) == [7] * 10)
            print(ctx.get(ctx.create_actor(Actor).pid.remote()) > 0)
        """,
    )
    assert lines == ["died", "True", "True"]


def test_workers_that_share_numpy_draw_different_numbers(run: Run) -> None:
    pytest.importorskip("numpy")
    lines = run(
        "",
        """
        import numpy

        class Drawer(Actor):
            def draw(self):
                return float(numpy.random.random()), self.forker()

        with fray.init(cpus=2, start_method="forkserver") as ctx:
            drawers = [ctx.create_actor(Drawer) for _ in range(3)]
            draws, forkers = zip(*ctx.get([drawer.draw.remote() for drawer in drawers]))
            print(len(set(draws)), len(set(forkers)), "fray-loader" in open(f"/proc/{forkers[0]}/comm").read())
        """,
    )
    assert lines == ["3 1 True"]


def test_a_program_whose_calls_name_no_large_package_imports_none(run: Run) -> None:
    lines = run(
        "",
        """
        def light():
            return os.getpid()

        with fray.init(cpus=2, start_method="forkserver") as ctx:
            ctx.get([ctx.run(light) for _ in range(20)])
            print(imports())
        """,
    )
    assert lines == ["[]"]
