"""Programs for Fray go back to Ray: what is moved, and what stays."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.unit.migrate.moving import migrate, report, written


def back_text(folder: Path, lines: str) -> str:
    """Return what becomes of these lines of a program for Fray on the way back."""
    path = written(folder, "import fray\n\nctx = fray.get_job_context()\n" + textwrap.dedent(lines))
    assert report("--to-ray", path)["program.py"]["state"] == "moved"
    return path.read_text()


def test_arguments_that_go_back_to_ray_have_a_space_between_them(tmp_path: Path) -> None:
    lines = """
        def f(x, y): return x

        print(ctx.get(ctx.create_task(f, (1,), {"y": 2})))
        """
    assert "print(ray.get(f.remote(1, y=2)))\n" in back_text(tmp_path, lines)


def test_an_engine_that_is_started_twice_may_be_so_on_ray_too(tmp_path: Path) -> None:
    after = back_text(tmp_path, "fray.init(cpus=2)\nfray.init()\n")
    assert after.endswith("ray.init(num_cpus=2, ignore_reinit_error=True)\nray.init(ignore_reinit_error=True)\n")


def test_calls_in_a_pool_of_actors_that_no_variable_holds_go_back_to_ray(tmp_path: Path) -> None:
    lines = """
        class A:
            def do(self, x): return x

        pool = fray.ActorPool([ctx.create_actor(A) for _ in range(2)])
        print(list(pool.map(lambda a, v: a.do(v), range(4))))
        """
    assert "lambda a, v: a.do.remote(v)" in back_text(tmp_path, lines)


def test_a_method_of_an_actor_that_is_a_value_goes_back_to_ray(tmp_path: Path) -> None:
    lines = """
        class A:
            def add(self, k=1): return k

        actor = ctx.create_actor(A)
        add = actor.add
        print(ctx.get(add(3)))
        print(ctx.get(list(map(add, [1, 2]))))
        print(ctx.get(list(map(actor.add, [1, 2]))))
        """
    after = back_text(tmp_path, lines)
    assert after.endswith(
        "add = actor.add\n"
        "print(ray.get(add.remote(3)))\n"
        "print(ray.get(list(map(add.remote, [1, 2]))))\n"
        "print(ray.get(list(map(actor.add.remote, [1, 2]))))\n"
    )


def test_a_method_that_is_handed_on_to_an_unknown_function_stays_on_fray(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "import fray\n\nclass A:\n    def add(self, k): return k\n\nctx = fray.init()\n"
        "actor = ctx.create_actor(A)\nuse(actor.add)\n",
    )
    found = report("--to-ray", path)["program.py"]
    assert found["state"] == "left"
    assert "hand on a lambda that calls it" in str(found["left"])


def test_a_variable_of_a_with_statement_stays_with_its_uses(tmp_path: Path) -> None:
    text = "import fray\n\ndef f(x): return x\n\nwith fray.init(cpus=2) as ctx:\n    print(list(ctx.map(f, [1])))\n"
    path = written(tmp_path, text + "    print(ctx.get(ctx.run(f, 3)))\n")
    found = report("--to-ray", path)["program.py"]
    assert found["state"] == "left"
    assert "with fray.init(cpus=2) as ctx:" in path.read_text()
    before = path.read_text()
    migrate("--to-ray", path)
    assert path.read_text() == before


@pytest.mark.parametrize("name", ["options", "remote"])
def test_methods_of_actors_may_be_called_as_those_of_ray(tmp_path: Path, name: str) -> None:
    lines = f"""
        class A:
            def {name}(self): return 1

        actor = ctx.create_actor(A)
        print(ctx.get(actor.{name}()))
        """
    assert f"print(ray.get(actor.{name}.remote()))" in back_text(tmp_path, lines)


def test_functions_of_other_modules_are_no_methods_of_actors(tmp_path: Path) -> None:
    lines = """
        import logging
        import subprocess

        import numpy

        class A:
            def run(self, x): return x
            def info(self): return 1

        log = logging.getLogger("a")
        actor = ctx.create_actor(A)
        subprocess.run(["true"])
        numpy.info("add")
        log.info("started")
        print(ctx.get(actor.run(1)), ctx.get(actor.info()))
        print(list(fray.ActorPool([actor]).map(lambda a, v: a.run(v), [1, 2])))
        """
    after = back_text(tmp_path, lines)
    assert (
        'subprocess.run(["true"])\nnumpy.info("add")\nlog.info("started")\nprint(ray.get(actor.run.remote(1)), '
        in after
    )
    assert "ray.util.ActorPool([actor]).map(lambda a, v: a.run.remote(v), [1, 2])" in after


def test_a_parameter_that_may_hold_a_builtin_is_called_in_a_lambda(tmp_path: Path) -> None:
    lines = """
        def start(function, value):
            return ctx.run(function, value)

        print(ctx.get(start(len, "abc")))
        """
    assert "ray.remote(lambda *args, **kwargs: function(*args, **kwargs)).remote(value)" in back_text(tmp_path, lines)


def test_what_runs_as_a_task_is_found_in_modules_that_do_not_use_fray(tmp_path: Path) -> None:
    written(tmp_path, "", "app/__init__.py")
    written(tmp_path, "class Model:\n    def fit(self): return 1\n\ndef twice(x): return 2 * x\n", "app/model.py")
    text = "import fray\nfrom .model import Model, twice\n\ndef main():\n    ctx = fray.get_job_context()\n"
    text += "    model = ctx.create_actor(Model)\n    print(ctx.get(model.fit()), ctx.get(ctx.run(twice, 3)))\n"
    driver = written(tmp_path, text, "app/driver.py")
    assert migrate("--to-ray", tmp_path).returncode == 0
    assert (
        "model = Model.remote()\n    print(ray.get(model.fit.remote()), ray.get(twice.remote(3)))" in driver.read_text()
    )
    assert "@ray.remote\nclass Model" in (tmp_path / "app" / "model.py").read_text()


def test_a_program_that_chooses_its_context_stays_on_fray(tmp_path: Path) -> None:
    text = "import fray\n\ndef f(x): return x\n\ndef go():\n    ctx = fray.get_job_context()\n"
    text += "    return ctx.get(ctx.run(f, 1))\n"
    path = written(tmp_path, text)
    chooses = (
        "import fray\nimport program\n\nwith fray.fray_default_job_ctx(fray.LocalJobContext()):\n    program.go()\n"
    )
    written(tmp_path, chooses, "main.py")
    assert {found["state"] for found in report("--to-ray", tmp_path).values()} == {"left"}
    assert path.read_text() == text


def test_an_engine_that_two_files_start_may_be_started_twice_on_ray_too(tmp_path: Path) -> None:
    path = written(tmp_path, "import fray\nimport other\n\nfray.init(cpus=2)\n")
    written(tmp_path, "import fray\n\ndef start(): fray.init(cpus=2)\n", "other.py")
    assert migrate("--to-ray", tmp_path).returncode == 0
    assert "ray.init(num_cpus=2, ignore_reinit_error=True)" in path.read_text()


def test_what_a_module_that_is_not_given_returns_may_be_an_actor(tmp_path: Path) -> None:
    text = "import fray\nimport actors\n\nclass A:\n    def run(self): return 1\n\nctx = fray.init()\n"
    path = written(tmp_path, text + "ctx.create_actor(A)\nother = actors.start()\nother.run()\n")
    assert "run may be a method of an actor" in str(report("--to-ray", path)["program.py"]["left"])
