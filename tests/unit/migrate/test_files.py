"""Files in odd forms, and what the command says and writes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from fray.migrate.command import main

from tests.unit.migrate.moving import PROGRAM, migrate, report, written


def test_check_says_what_would_change_and_writes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, PROGRAM)
    done = migrate("--check", path)
    assert done.returncode == 1
    assert done.stdout == f"{path}: would be moved\n1 file: 1 moved\n"
    assert path.read_text() == PROGRAM
    assert migrate(path).returncode == 0
    assert migrate("--check", path).returncode == 0


def test_a_file_that_is_given_by_several_paths_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, PROGRAM)
    written(tmp_path / "folder", "", "other.py")
    monkeypatch.chdir(tmp_path)
    done = migrate("--diff", "program.py", path, "folder/../program.py", ".")
    assert done.stderr == "program.py: would be moved\n2 files: 1 moved, 1 untouched\n"
    assert migrate("--diff", path).stdout.startswith(f"--- a{path}\n+++ b{path}\n")


def test_an_empty_path_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, PROGRAM)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main([""])
    assert ended.value.code == 2 and "a path is empty; write . for this folder" in capsys.readouterr().err
    assert path.read_text() == PROGRAM


def test_diff_shows_what_would_change_and_writes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, PROGRAM)
    done = migrate("--diff", path)
    assert done.returncode == 0
    assert "-import ray\n+import fray\n" in done.stdout
    assert "-@ray.remote\n" in done.stdout
    assert path.read_text() == PROGRAM


def test_a_diff_can_be_applied_whatever_the_lines_hold(tmp_path: Path) -> None:
    path = written(tmp_path, PROGRAM.replace("import ray\n", "import ray\n\x0c\nname = '\u2028\x85'  # \x1c\r\n"))
    diff = migrate("--diff", path).stdout
    assert "No newline" not in diff and "\n \x0c\n name = '\u2028\x85'  # \x1c\r\n" in diff
    assert migrate(path).returncode == 0
    assert "\n\x0c\nname = '\u2028\x85'  # \x1c\r\n" in path.read_bytes().decode()


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = migrate(tmp_path / "absent.py")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"fray migrate: there is no file or folder {tmp_path / 'absent.py'}\n"
    assert migrate(tmp_path / ("x" * 300)).returncode == 3


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("import ray\ndef f(:\n", "does not parse: line 2"),
        (b"import ray\nname = '\xff'\n", "is not UTF-8, nor in the encoding that it declares"),
        (b"# coding: unheard-of\nimport ray\n", "is not UTF-8, nor in the encoding that it declares"),
        (PROGRAM + "\0", "has a null character"),
        ("import ray\nimport fray\nray.get(fray.get_job_context().put(1))\n", "uses both Ray and Fray"),
        (PROGRAM.encode("utf-16"), "is not UTF-8 but UTF-16"),
    ],
)
def test_a_file_that_cannot_be_moved_is_said_in_a_sentence_and_stays(
    tmp_path: Path, content: bytes | str, said: str
) -> None:
    path = written(tmp_path, content)
    other = written(tmp_path, PROGRAM, "other.py")
    before = path.read_bytes()
    done = migrate(tmp_path)
    assert done.returncode == 1
    assert f"{path}: {said}" in done.stdout
    assert path.read_bytes() == before
    assert "import fray" in other.read_text()


def test_a_read_only_file_and_who_uses_it_stay(tmp_path: Path) -> None:
    fixed = written(tmp_path, "import ray\n\n@ray.remote\ndef f(x):\n    return x\n", "fixed.py")
    user = written(tmp_path, "import ray\nfrom fixed import f\nprint(ray.get(f.remote(1)))\n", "user.py")
    fixed.chmod(0o444)
    before = fixed.read_bytes()
    done = migrate(tmp_path)
    assert done.returncode == 1
    assert f"{fixed}: is read-only" in done.stdout
    assert fixed.read_bytes() == before
    assert "f.remote(1)" in user.read_text()


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    path = written(tmp_path, PROGRAM)
    link = tmp_path / "link.py"
    link.symlink_to(path)
    done = migrate(link)
    assert done.returncode == 1
    assert "is a symbolic link" in done.stdout
    assert link.is_symlink()
    assert path.read_text() == PROGRAM


def test_the_mode_of_a_file_is_kept_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path, "#!/usr/bin/env python3\n" + PROGRAM)
    path.chmod(0o750)
    assert migrate(path).returncode == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert path.read_text().startswith("#!/usr/bin/env python3\nimport fray\n")
    assert os.listdir(tmp_path) == ["program.py"]


@pytest.mark.parametrize(
    "form",
    [
        PROGRAM.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + PROGRAM.encode(),
        PROGRAM.replace("    ", "\t").encode(),
        b"# -*- coding: latin-1 -*-\nname = '\xe9'\n" + PROGRAM.encode(),
        PROGRAM.rstrip("\n").encode(),
    ],
    ids=["CRLF", "byte order mark", "tabs", "latin-1", "no newline at the end"],
)
def test_the_form_of_a_file_is_kept(tmp_path: Path, form: bytes) -> None:
    path = written(tmp_path, form)
    assert migrate(path).returncode == 0
    after = path.read_bytes()
    assert after != form
    assert b"import fray" in after
    assert after.startswith(b"\xef\xbb\xbf") == form.startswith(b"\xef\xbb\xbf")
    assert after.count(b"\r\n") == (after.count(b"\n") if b"\r\n" in form else 0)
    assert (b"\t" in after) == (b"\t" in form)
    assert (b"\xe9" in after) == (b"\xe9" in form)
    assert after.endswith(b"\n") == form.endswith(b"\n")
    compile(after, str(path), "exec")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ray.get(f.options(**options).remote(1))", "these options are made while the program runs"),
        ("ray.get(options['f'].remote(1))", "what .remote is called on is not known here"),
        ("ray.get(f.bind(1).execute())", "graphs made with bind have no counterpart"),
        ("ray.java_function('A', 'b')", "Java has no counterpart"),
        ("pool = ray.util.multiprocessing.Pool(ray_remote_args={})", "this Pool has no counterpart"),
        ("g = ray.util.placement_group([{'CPU': 1}])", "placement groups have no counterpart"),
        ("ray.get(f.options(accelerator_type='A100').remote(1))", "accelerator_type has no counterpart"),
        ("ray.get(f.options(num_returns='dynamic').remote(1))", "num_returns='dynamic' has no counterpart"),
        ("ray.get(f.options(runtime_env=options).remote(1))", "this runtime environment is made while"),
        ("ray.get(f.options(runtime_env={'py_modules': []}).remote(1))", "'py_modules' of a runtime environment"),
        ("print(ray.put(1).hex())", "refs have no method hex"),
        ("print(f._function(3))", "_function of Ray's wrapper has no counterpart"),
        ("ray.actor.exit_actor()", "an actor cannot end itself"),
    ],
)
def test_what_cannot_be_moved_stays_with_a_comment_that_says_why(tmp_path: Path, line: str, why: str) -> None:
    program = PROGRAM.replace("print(", f"options = dict(num_cpus=1)\n{line}\nprint(")
    path = written(tmp_path, program)
    told = report(path)["program.py"]
    left = told["left"]
    assert isinstance(left, list)
    assert any(item["why"].startswith(why) and item["what"] and item["line"] > 0 for item in left), left
    after = path.read_text()
    lines = after.splitlines()
    assert lines[lines.index(line) - 1].startswith(f"# fray: {why}")
    compile(after, str(path), "exec")
    assert report(path)["program.py"]["changed"] is False
    assert path.read_text() == after


@pytest.mark.parametrize("end", ["sys.exit(1)", "raise SystemExit", "exit()"])
def test_what_ends_its_worker_by_system_exit_stays_and_a_program_that_ends_itself_does_not(
    tmp_path: Path, end: str
) -> None:
    program = f"""\
        import sys
        import ray

        @ray.remote
        class Mortal:
            def end(self):
                {end}

        @ray.remote
        def one():
            return 1

        print(ray.get(one.remote()))
        mortal = Mortal.remote()
        sys.exit(0)
        """
    path = written(tmp_path, textwrap.dedent(program))
    held = report(path)["program.py"]["left"]
    assert isinstance(held, list) and len(held) == 1
    left = held[0]
    assert left["line"] == 7 and left["why"].startswith("sys.exit ends the worker on Ray")
    assert "create_task(one)" in path.read_text() and "mortal = Mortal.remote()" in path.read_text()


def test_what_is_not_connected_with_it_is_moved(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        textwrap.dedent(
            """\
            import ray

            @ray.remote
            def f(x):
                return x

            @ray.remote
            def g(x):
                return x

            options = dict(num_cpus=1)
            print(ray.get(g.options(**options).remote(1)))
            print(ray.get(f.remote(2)))
            """
        ),
    )
    assert report(path)["program.py"]["state"] == "moved in part"
    after = path.read_text()
    assert "import fray\nimport ray\n" in after
    assert "ctx.get(ctx.create_task(f, (2,)))" in after
    assert "@ray.remote\ndef g" in after
    again = migrate("--check", path)
    assert (again.returncode, path.read_text()) == (0, after)


@pytest.mark.parametrize(
    "change",
    [
        "options['num_cpus'] = 0",
        "options.update(num_cpus=0)",
        "options = {'num_cpus': 0}",
        "print(options)",
        "kept = options",
        "del options",
    ],
)
def test_options_in_a_dict_that_something_else_reads_or_changes_stay(tmp_path: Path, change: str) -> None:
    call = "print(ray.get(f.options(**options).remote(1)))"
    text = f"import ray\n\n@ray.remote\ndef f(x):\n    return x\n\n\noptions = {{'num_cpus': 1}}\n{call}\n{change}\n"
    path = written(tmp_path, text)
    assert report(path)["program.py"]["state"] == "left"
    assert f"# fray: these options are made while the program runs; write them out\n{call}" in path.read_text()


POOLS = """\
import ray
from ray.util.multiprocessing import Pool


def square(x):
    return x * x


def power(base, exponent=2):
    return base**exponent


if __name__ == "__main__":
    ray.init(num_cpus=2)
    with Pool(2) as pool:
        print(pool.map(square, range(4)), pool.map(square, [3, 4], chunksize=2))
        print(pool.starmap(power, [(2, 3), (3, 2)]), pool.starmap(power, []))
    other = Pool(processes=2)
    print(sum(other.imap(square, [1, 2])), sorted(other.imap_unordered(square, [2, 1], 1)))
    print(other.apply(power, (2, 4)), other.apply(power, kwargs={"base": 5}))
    other.close()
    other.join()
    ray.shutdown()
"""


def test_a_pool_of_processes_becomes_an_executor_that_gives_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, POOLS)
    before = subprocess.run([sys.executable, "-m", "fray.ray", str(path)], capture_output=True, text=True, timeout=60)
    assert before.returncode == 0, before.stderr
    assert report(path)["program.py"]["state"] == "moved"
    assert "fray.Executor(max_workers=2)" in path.read_text() and "ray.util" not in path.read_text()
    after = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60)
    assert (after.stdout, after.returncode) == (before.stdout, 0), after.stderr
    assert before.stdout.startswith("[0, 1, 4, 9] [9, 16]\n[8, 9] []\n")


@pytest.mark.parametrize(
    "use",
    ["pool.apply_async(f, (1,))", "pool.map(*args)", "pool.map(f, [1], 1, None)", "print(pool)", "pool = None"],
)
def test_a_pool_that_something_else_is_done_with_stays(tmp_path: Path, use: str) -> None:
    path = written(
        tmp_path,
        "from ray.util.multiprocessing import Pool\n\ndef f(x):\n    return x\n\nargs = (f, [1])\n"
        f"pool = Pool(2)\nprint(pool.map(f, [1]))\n{use}\n",
    )
    assert report(path)["program.py"]["state"] == "left"
    after = path.read_text()
    assert "# fray: this Pool has no counterpart; " in after and "\npool = Pool(2)\nprint(pool.map(f, [1]))\n" in after


def test_ray_data_stays_and_the_tasks_beside_it_are_moved(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "import ray\nimport ray.data\n\n@ray.remote\ndef f(x):\n    return x\n\n\nray.init()\n"
        "print(ray.data.range(3).count())\nprint(ray.get(f.remote(1)))\n",
    )
    told = report(path)["program.py"]
    assert told["state"] == "moved in part"
    after = path.read_text()
    assert "# fray: Ray Data has no counterpart; it stays on Ray\nprint(ray.data.range(3).count())\n" in after
    assert "import ray.data" in after
    assert "ray.init()" in after
    assert "ctx.create_task(f, (1,))" in after


def test_one_file_of_a_package_leaves_what_its_neighbours_use(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    written(folder, "", "__init__.py")
    shared = written(folder, "import ray\n\n@ray.remote\ndef f(x):\n    return x\n", "shared.py")
    neighbour = written(folder, "import ray\nfrom .shared import f\nprint(ray.get(f.remote(1)))\n", "user.py")
    assert migrate(shared).returncode == 0
    assert "@ray.remote" in shared.read_text()
    assert migrate(folder).returncode == 0
    assert "@ray.remote" not in shared.read_text()
    assert "create_task(f, (1,))" in neighbour.read_text()


def test_definitions_are_found_through_modules_without_ray_wherever_the_command_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, "import ray\n\n\n@ray.remote\ndef one():\n    return 1\n", "shop/deep/tasks.py")
    written(tmp_path, "from .tasks import one as first\n", "shop/deep/__init__.py")
    written(tmp_path, "from shop.deep import *\n", "shop/__init__.py")
    main = written(tmp_path, "import ray\nimport shop\n\nprint(ray.get(shop.first.remote()))\n", "main.py")
    monkeypatch.chdir(tmp_path)
    done = migrate("main.py", "shop")
    assert done.returncode == 0, done.stdout
    assert "ctx.create_task(shop.first)" in main.read_text()
    assert "ray" not in (tmp_path / "shop/deep/tasks.py").read_text().replace("fray", "")


def test_definitions_of_a_package_below_src_are_found_from_the_tests_beside_it(tmp_path: Path) -> None:
    written(tmp_path, "import ray\n\n\n@ray.remote\ndef one():\n    return 1\n", "src/shop/tasks.py")
    written(tmp_path, "", "src/shop/__init__.py")
    test = "import ray\nfrom shop.tasks import one\n\n\ndef test_one():\n    assert ray.get(one.remote()) == 1\n"
    test_file = written(tmp_path, test, "tests/test_tasks.py")
    done = migrate(tmp_path)
    assert done.returncode == 0 and " left" not in done.stdout, done.stdout
    assert "ctx.get(ctx.create_task(one))" in test_file.read_text()


def test_a_definition_stays_when_something_of_its_name_is_started_that_cannot_be_followed(tmp_path: Path) -> None:
    tasks = written(tmp_path, "import ray\n\n\n@ray.remote\ndef one():\n    return 1\n", "tasks.py")
    before = tasks.read_text()
    main = "import importlib\nimport ray\n\nprint(ray.get(importlib.import_module('tasks').one.remote()))\n"
    written(tmp_path, main, "main.py")
    done = migrate(tmp_path)
    assert "is not known here" in done.stdout
    assert [line for line in tasks.read_text().splitlines() if "# fray:" not in line] == before.splitlines()


def test_a_program_for_a_newer_python_is_refused_for_that(tmp_path: Path) -> None:
    path = written(tmp_path, PROGRAM + "x = t'{1}'\n" if sys.version_info < (3, 14) else PROGRAM + "print 1\n")
    reason = str(report(path)["program.py"]["reason"])
    assert reason.startswith("does not parse"), reason


def test_the_report_of_a_file_whose_name_is_no_utf_8_is_json(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.py"
    Path(os.fsdecode(name)).write_text(PROGRAM)
    command = [sys.executable, "-m", "fray.migrate", "--json", "--check", str(tmp_path)]
    for error_handler in ("strict", "surrogateescape"):
        done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": f":{error_handler}"})
        assert json.loads(done.stdout.decode())["files"][0]["path"] == os.fsdecode(name), done.stderr


def test_files_without_ray_are_not_touched(tmp_path: Path) -> None:
    texts = {
        "git.py": 'import git\nrepo.remote("origin")\n',
        "words.py": '"""A ray of light. f.remote(1)"""\nprint( "ray" )\n',
        "other.py": "import x_ray\nx_ray.get( 1 )\n",
    }
    for name, text in texts.items():
        written(tmp_path, text, name)
    assert migrate(tmp_path).returncode == 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == texts


def moved_text(folder: Path, lines: str) -> str:
    """Return PROGRAM with further lines at its end after it was moved, without its first lines."""
    path = written(folder, PROGRAM + lines)
    assert report(path)["program.py"]["state"] == "moved"
    return path.read_text().partition("print(ctx.get(ctx.create_task(f, (1,))))\n")[2]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f'{ray.get(f.remote(5))=}'", "f'ray.get(f.remote(5))={ctx.get(ctx.create_task(f, (5,)))!r}'"),
        ("f'{ray.put({1}) = !s}'", "f'ray.put({{1}}) = {ctx.put({1})!s}'"),
        ("f'{ray.get(f.remote(5))=:>5}'", "f'ray.get(f.remote(5))={ctx.get(ctx.create_task(f, (5,))):>5}'"),
        ("f'{len([])=} {ray.put(1)}'", "f'{len([])=} {ctx.put(1)}'"),
    ],
)
def test_an_f_string_that_shows_an_expression_shows_the_same(tmp_path: Path, before: str, after: str) -> None:
    assert moved_text(tmp_path, f"text = {before}\n") == f"text = {after}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('f"{ray.get(f.remote(x=5))}"', "f\"{ctx.get(ctx.create_task(f, kwargs={'x': 5}))}\""),
        ("f'{ray.get(f.remote(x=5))}'", "f'{ctx.get(ctx.create_task(f, kwargs={\"x\": 5}))}'"),
        ('f"""{ray.get(f.remote(x=5))}"""', 'f"""{ctx.get(ctx.create_task(f, kwargs={"x": 5}))}"""'),
        ('f"{ray.get(f.remote(x=5))!r:>{ray.get(f.remote(x=9))}}"', None),
    ],
)
def test_strings_of_a_moved_call_do_not_end_the_f_string_around_it(
    tmp_path: Path, before: str, after: str | None
) -> None:
    text = moved_text(tmp_path, f"text = {before}\n")
    assert after is None or text == f"text = {after}\n"


def test_a_function_of_ray_that_a_module_keeps_starts_nothing_when_it_is_imported(tmp_path: Path) -> None:
    before = (
        "import ray\n\nget = ray.get\n\n@ray.remote\ndef f(): return 1\n\n"
        "def main():\n    ray.init()\n    print(get(f.remote()))\n"
    )
    path = written(tmp_path, before)
    assert report(path)["program.py"]["state"] == "moved"
    assert "get = lambda *args, **kwargs: fray.get_job_context().get(*args, **kwargs)\n" in path.read_text()
    assert report("--to-ray", path)["program.py"]["state"] == "moved"
    assert "get = lambda *args, **kwargs: ray.get(*args, **kwargs)\n" in path.read_text()
    path = written(tmp_path, "import ray\n\nray.init()\nwait = ray.wait\n")
    assert report(path)["program.py"]["state"] == "moved"
    assert path.read_text() == "import fray\n\nfray.init()\nctx = fray.get_job_context()\nwait = ctx.wait\n"


def test_errors_are_caught_where_the_library_that_raises_them_stays(tmp_path: Path) -> None:
    caught = (
        "try:\n    print(ray.get(f.options(**options()).remote(1), timeout=1))\n"
        "except ray.exceptions.GetTimeoutError:\n    pass\n"
    )
    path = written(tmp_path, PROGRAM + caught)
    assert report(path)["program.py"]["state"] in ("left", "moved in part")
    assert "    # fray: " in path.read_text() and "except ray.exceptions.GetTimeoutError" in path.read_text()


def test_a_generator_that_is_the_only_argument_is_moved_with_parentheses(tmp_path: Path) -> None:
    lines = "f.remote(x for x in ())\n\n@ray.remote\nclass A:\n    pass\n\nA.remote(x for x in ())\n"
    after = moved_text(tmp_path, lines)
    assert "ctx.create_task(f, ((x for x in ()),))" in after and "ctx.create_actor(A, (x for x in ()))" in after


def test_comments_that_lose_their_place_are_written_once_and_in_their_order(tmp_path: Path) -> None:
    lines = "print(ray.get(\n    f\n    # one\n    .options(num_cpus=1)\n    # two\n    .remote(2)\n))\n"
    assert moved_text(tmp_path, lines).startswith("# one\n# two\nprint(ctx.get(\n")


@pytest.mark.parametrize(
    "line",
    ["fray = 1", "def fray(): pass", "def g(fray): return f.remote(1)", "import numpy as fray", "[0 for fray in ()]"],
)
def test_a_program_that_gives_the_name_of_the_package_to_something_else_stays(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, f"{PROGRAM}{line}\n")
    told = report(path)["program.py"]
    assert (told["state"], told["reason"]) == ("refused", "gives the name fray another meaning: rename that first")
    assert path.read_text() == f"{PROGRAM}{line}\n"


@pytest.mark.parametrize(
    ("direction", "before", "after"),
    [
        (
            [],
            'import ray\n\ndef f(x: "ray.ObjectRef | None", *, y: "int") -> "list[ray.ObjectRef[int]]": ...\n',
            'import fray\n\ndef f(x: "fray.ObjectRef | None", *, y: "int") -> "list[fray.ObjectRef[int]]": ...\n',
        ),
        (
            [],
            "from ray.actor import ActorHandle as Handle\n\nclass A:\n    handle: 'Handle | None' = None\n",
            "import fray\n\nclass A:\n    handle: 'fray.ActorHandle | None' = None\n",
        ),
        (
            [],
            'import ray\n\ndef f(x: "list[ray.actor.ActorHandle[list[A]]]", y: "ray.actor.ActorProxy [A]"): ...\n',
            'import fray\n\ndef f(x: "list[fray.ActorHandle]", y: "fray.ActorHandle"): ...\n',
        ),
        (
            ["--to-ray"],
            'import fray\n\ndef f(x: "fray.ObjectRef", y: "fray.ActorHandle"): ...\n',
            'import ray\n\ndef f(x: "ray.ObjectRef", y: "ray.actor.ActorHandle"): ...\n',
        ),
    ],
)
def test_annotations_that_are_strings_are_moved(tmp_path: Path, direction: list[str], before: str, after: str) -> None:
    path = written(tmp_path, before)
    assert migrate(*direction, path).returncode == 0
    assert path.read_text() == after


def test_a_text_about_an_annotation_is_left_alone(tmp_path: Path) -> None:
    text = 'from typing import Annotated\nimport ray\n\ndef f(x: Annotated[int, "see ray.get"]): return ray.get(x)\n'
    path = written(tmp_path, text)
    assert migrate(path).returncode == 0
    assert 'Annotated[int, "see ray.get"]' in path.read_text() and "import ray" not in path.read_text()


def test_an_annotation_that_is_a_string_and_has_no_counterpart_stays(tmp_path: Path) -> None:
    path = written(tmp_path, 'import ray\n\ndef f(x: "ray.data.Dataset"): ...\n')
    assert report(path)["program.py"]["left"]
    assert "import ray\n" in path.read_text() and '"ray.data.Dataset"' in path.read_text()


def test_parameters_of_ray_have_the_names_of_those_here_after_the_move(tmp_path: Path) -> None:
    text = "import ray\n\nref = ray.put(1)\nprint(ray.get(object_refs=[ref]))\n"
    text += "print(ray.wait(ray_waitables=[ref], timeout=1))\nray.cancel(ray_waitable=ref)\n"
    path = written(tmp_path, text)
    assert migrate(path).returncode == 0
    after = path.read_text()
    assert "ctx.get(refs=[ref])" in after and "ctx.wait(refs=[ref], timeout=1)" in after
    assert "ctx.cancel(ref=ref)" in after


IN_IMPORTS = """\
import os
# above
import ray  # behind
from ray import (  # many
    get,  # one
)

print(get(1))
"""
AFTER_IMPORTS = """\
import os
# above
import fray  # behind
# many
# one

ctx = fray.get_job_context()
print(ctx.get(1))
"""
AT_LOOKUPS = """\
import fray

# above
ctx = fray.get_job_context()  # behind

def f():
    # first
    ctx = fray.get_job_context()
    # second
    return ctx.get(1)

ctx = fray.get_job_context()  # last
"""
AFTER_LOOKUPS = """\
import ray
# above
# behind

def f():
    # first
    # second
    return ray.get(1)
# last
"""


@pytest.mark.parametrize(
    ("direction", "before", "after"),
    [([], IN_IMPORTS, AFTER_IMPORTS), (["--to-ray"], AT_LOOKUPS, AFTER_LOOKUPS)],
)
def test_comments_of_lines_that_are_gone_stay_in_their_block(
    tmp_path: Path, direction: list[str], before: str, after: str
) -> None:
    path = written(tmp_path, before)
    assert migrate(*direction, path).returncode == 0
    assert path.read_text() == after


def test_tests_get_a_context_of_their_own_process_when_asked(tmp_path: Path) -> None:
    path = written(
        tmp_path, "import ray\n\ndef test_it():\n    ray.init(num_cpus=2)\n    ray.shutdown()\n", "test_it.py"
    )
    assert migrate("--sync-tests", path).returncode == 0
    assert "fray.set_job_context(fray.LocalJobContext())" in path.read_text()


def test_the_program_fray_becomes_the_command(tmp_path: Path) -> None:
    from tests.unit.cli.conftest import program_path

    path = written(tmp_path, PROGRAM)
    done = subprocess.run([program_path(), "migrate", "--check", str(path)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, f"{path}: would be moved\n1 file: 1 moved\n")
    helped = subprocess.run([program_path(), "migrate", "--help"], capture_output=True, text=True, timeout=60)
    for option in ("--check", "--diff", "--json", "--to-ray", "--sync-tests"):
        assert option in helped.stdout


def test_without_libcst_the_extra_is_named() -> None:
    program = "import sys, runpy; sys.modules['libcst'] = None; sys.argv = ['x', 'y']; runpy.run_module('fray.migrate')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "fray migrate: it needs libcst, which is not installed; pip install 'fray[migrate]'\n"
