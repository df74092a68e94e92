"""`fray run file.py::function --arg value`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Program, program_path

SOURCE = '''
from __future__ import annotations
import enum, os, sys, time
from pathlib import Path
from typing import Literal, Optional
import fray

class Color(enum.Enum):
    RED = "r"
    BLUE = "b"

def show(count: int, /, *rest: float, scale: float = 1.5, loud: bool = False, place: Path | None = None,
         mode: Literal["a", 2] = "a", color: Color = Color.RED, names: list[str] = [], limit: Optional[int] = None,
         either: int | str = 0, flags: tuple[bool, ...] = (), extra: dict = {}, odd: type = int):
    """Shows what it got.

    It is 100 % sure.
    """
    return {"count": count, "rest": rest, "scale": scale, "loud": loud, "place": place, "mode": mode,
            "color": color, "names": names, "limit": limit, "either": either, "flags": flags, "extra": extra}

def fail(depth: int = 2):
    if depth:
        return fail(depth - 1)
    raise ValueError("no good")

def leave(code: int):
    sys.exit(code)

def where() -> int:
    return os.getpid()

def items(n: int):
    yield from range(n)

async def later(x: str):
    return x.upper()

def nested(n: int) -> int:
    ctx = fray.get_job_context()
    return sum(ctx.get([ctx.run(pow, i, 2) for i in range(n)]))

def slow(path: str):
    Path(path).write_text("here")
    while True:
        time.sleep(0.01)

def unreachable(what: type):
    pass

def patient(help: str = ""):
    pass

def own_options(json: bool = False, debug: bool = False, python: str = ""):
    return [json, debug, python]

number = 7
'''


@pytest.fixture
def source(home: Path) -> Path:
    path = home / "program.py"
    path.write_text(textwrap.dedent(SOURCE))
    return path


def result_of(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_arguments_have_the_types_of_the_signature(fray_program: Program, source: Path) -> None:
    words = ["--scale", "2", "--loud", "--place", "/x", "--mode", "2", "--color", "b", "--names", "a", "b"]
    words += ["--names", "c", "--limit", "4", "--either", "x", "--flags", "true", "no", "--extra", '{"k": [1]}']
    assert result_of(fray_program("run", "--json", "program.py::show", "3", "0.5", "1", *words)) == {
        "count": 3,
        "rest": [0.5, 1.0],
        "scale": 2.0,
        "loud": True,
        "place": "/x",
        "mode": 2,
        "color": "b",
        "names": ["a", "b", "c"],
        "limit": 4,
        "either": "x",
        "flags": [True, False],
        "extra": {"k": [1]},
    }


def test_what_is_not_given_keeps_its_default(fray_program: Program, source: Path) -> None:
    got = result_of(fray_program("run", "--json", "program.py::show", "3"))
    assert got["loud"] is False
    assert got["limit"] is None
    assert got["names"] == []
    assert got["color"] == "r"


def test_options_after_the_target_are_the_functions(fray_program: Program, source: Path) -> None:
    done = fray_program("run", "program.py::own_options", "--json", "--debug", "--python", "x")
    assert (done.returncode, done.stdout) == (0, "[True, True, 'x']\n")


def test_help_comes_from_the_signature_and_the_docstring(fray_program: Program, source: Path) -> None:
    said = fray_program("run", "program.py::show", "--help")
    assert said.returncode == 0
    for part in ("Shows what it got.", "100 % sure", "--names [TEXT ...]", "--no-loud", "{RED,BLUE}", "default 1.5"):
        assert part in said.stdout
    assert "--odd" not in said.stdout


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["program.py::show", "x"], "invalid int value"),
        (["program.py::show"], "required"),
        (["program.py::show", "1", "--mode", "b"], "'b' is none of a, 2"),
        # argparse of Python 3.14 looks at the value first.
        (["program.py::show", "1", "--bogus", "b"], "--bogus" if sys.version_info < (3, 14) else "'b'"),
        (["program.py::show", "1", "--extra", "[]"], "no JSON object"),
        (["program.py::unreachable"], "parameter 'what' has type type"),
        (["program.py::patient"], "would hide the help"),
        (["program.py"], "file.py::function"),
        (["--nonsense", "program.py::show"], "--nonsense"),
        ([], "TARGET"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_arguments_are_wrong_usage(fray_program: Program, source: Path, words: list[str], wanted: str) -> None:
    done = fray_program("run", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert wanted in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("nothing.py::show", "no file nothing.py"),
        ("program.py::shew", "it has show"),
        ("program.py::number", "no function but a int"),
        ("nothing_of_the_kind:show", "no module 'nothing_of_the_kind'"),
        ("program.py:show", "file.py::function"),
    ],
)
def test_what_is_not_there_is_not_found(fray_program: Program, source: Path, target: str, wanted: str) -> None:
    done = fray_program("run", target)
    assert (done.returncode, done.stdout) == (3, "")
    assert wanted in done.stderr


def test_the_function_runs_on_a_worker_and_may_start_tasks(fray_program: Program, source: Path) -> None:
    assert fray_program("run", "program.py::nested", "--n", "4").stdout == "14\n"


def test_a_module_is_found_from_the_current_folder(fray_program: Program, source: Path) -> None:
    assert fray_program("run", "program:later", "-x", "abc").stdout == "ABC\n"


def test_a_file_whose_name_is_no_module_name_runs(fray_program: Program, source: Path) -> None:
    source.rename(source.parent / "json-2.py")
    assert fray_program("run", "json-2.py::nested", "--n", "3").stdout == "5\n"


def test_a_file_named_like_a_library_runs_and_is_not_mistaken_for_it(fray_program: Program, source: Path) -> None:
    source.rename(source.parent / "json.py")
    done = fray_program("run", "--json", str(source.parent / "json.py") + "::nested", "--n", "3", cwd="/")
    assert (done.returncode, done.stdout) == (0, "5\n"), done


def test_items_of_a_generator_are_printed_one_a_line(fray_program: Program, source: Path) -> None:
    assert fray_program("run", "program.py::items", "--n", "3").stdout == "0\n1\n2\n"


def test_an_exception_shows_the_users_frames_alone(fray_program: Program, source: Path) -> None:
    done = fray_program("run", "program.py::fail")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.findall(r'File ".*/(\w+\.py)"', done.stderr) == ["program.py"] * 3
    assert done.stderr.rstrip().endswith("ValueError: no good")


def test_an_exit_code_of_the_function_is_that_of_the_command(fray_program: Program, source: Path) -> None:
    assert fray_program("run", "program.py::leave", "--code", "7").returncode == 7


def test_an_import_that_fails_shows_the_files_own_frames(fray_program: Program, home: Path) -> None:
    (home / "broken.py").write_text("import not_there_at_all\n")
    done = fray_program("run", "broken.py::x")
    assert done.returncode == 1
    assert "broken.py" in done.stderr
    assert "not_there_at_all" in done.stderr
    assert "importlib" not in done.stderr


def test_an_interrupt_ends_it_and_its_workers(source: Path, home: Path) -> None:
    mark = home / "started"
    os.mkfifo(mark)
    command = [program_path(), "run", "program.py::slow", "--path", str(mark)]
    with subprocess.Popen(
        command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert mark.read_text() == "here"  # waits for the task
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err == "fray run: interrupted\n"
    assert not list(home.glob("run/*/node.sock"))


def test_a_result_that_json_does_not_have_is_an_error(fray_program: Program, home: Path) -> None:
    (home / "odd.py").write_text("def odd():\n    return 1j\n")
    done = fray_program("run", "--json", "odd.py::odd")
    assert (done.returncode, done.stdout) == (1, "")
    assert "complex" in done.stderr


def test_arguments_before_a_rest_go_by_their_place(fray_program: Program, home: Path) -> None:
    (home / "odd.py").write_text("def odd(x: int, y='a', *rest: int, z=0):\n    return x, y, rest, z\n")
    assert fray_program("run", "odd.py::odd", "-x", "1", "5", "6").stdout == "(1, 'a', (5, 6), 0)\n"
    assert fray_program("run", "odd.py::odd", "-x", "1", "-z", "2").stdout == "(1, 'a', (), 2)\n"


def test_a_file_with_too_long_a_name_is_not_found(fray_program: Program) -> None:
    done = fray_program("run", f"{'x' * 300}.py::odd")
    assert done.returncode == 3 and done.stderr == f"fray run: there is no file {'x' * 300}.py\n"


def test_a_number_that_json_does_not_have_is_an_error(fray_program: Program, home: Path) -> None:
    (home / "odd.py").write_text("def odd():\n    return [float('nan')]\n")
    done = fray_program("run", "--json", "odd.py::odd")
    assert (done.returncode, done.stdout) == (1, "")
    assert "not JSON compliant" in done.stderr


def test_items_of_an_async_generator_are_printed_one_a_line(fray_program: Program, home: Path) -> None:
    (home / "odd.py").write_text(
        "import asyncio\nasync def odd():\n    for n in range(3):\n        await asyncio.sleep(0)\n        yield n\n"
    )
    assert fray_program("run", "odd.py::odd").stdout == "0\n1\n2\n"


def test_what_the_encoding_of_the_output_lacks_is_shown_by_its_number(fray_program: Program, home: Path) -> None:
    (home / "odd.py").write_text("def odd():\n    return ['\\xe9', '\\U0001f600', '\\udcff']\n")
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    assert "\\xe9" in fray_program("run", "odd.py::odd", env=ascii_only).stdout
    for encoding in ("ascii", "utf-8"):
        done = fray_program("run", "--json", "odd.py::odd", env={"PYTHONIOENCODING": encoding})
        assert (done.returncode, json.loads(done.stdout)) == (0, ["\xe9", "\U0001f600", "\udcff"])


@pytest.mark.parametrize("command", ["run odd.py::odd", "run --json odd.py::odd", "migrate --check odd.py"])
def test_output_that_cannot_be_written_is_a_sentence_and_a_reader_that_is_gone_is_none(
    home: Path, command: str
) -> None:
    (home / "odd.py").write_text("import ray\ndef odd():\n    yield from range(100)\n")
    said = [f"fray {command.split()[0]}: its output cannot be written: No space left on device\n", ""]
    gone, closed = os.pipe()
    os.close(gone)
    ends: list[tuple[int, str]] = []
    for out in (os.open("/dev/full", os.O_WRONLY), closed):
        done = subprocess.run(
            [program_path(), *command.split()], cwd=home, stdout=out, stderr=subprocess.PIPE, text=True, timeout=60
        )
        os.close(out)
        ends.append((done.returncode, done.stderr))
    assert ends == [(74, said[0]), (1, said[1])]
    words = ["sh", "-c", f'"$0" {command} >&-', program_path()]
    done = subprocess.run(words, cwd=home, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_python_that_is_not_there_is_told(fray_program: Program, source: Path) -> None:
    done = fray_program("run", "--python", "/nowhere/python", "program.py::show")
    assert done.returncode == 3
    assert "/nowhere/python" in done.stderr
