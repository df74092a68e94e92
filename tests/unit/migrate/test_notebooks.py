"""Notebooks: their cells are moved as one program, and what only IPython understands stays as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fray.migrate.magics import Magics, is_python_cell, is_timed_cell

from tests.unit.migrate.moving import PROGRAM, migrate, report, written

DEFINED = PROGRAM.rpartition("print")[0]
ODD_CELLS = [
    "",
    "\n\n",
    "x?\n?x\n??x\nx.y??",
    "%time\n%timeit -o\n%timeit -n5 -r 2 f()\n",
    "y = %timeit -o -n 1 f()\nz = %time g(1)\nfiles = !ls\na, b = !ls \\\n  -l\n",
    "!pip install x \\\n  --upgrade \\\n  y\nimport x",
    "x = (3\n  % 2)\ny = 3 \\\n % x\ntext = '''\n%no\n!no\n'''\n",
    "%%capture out\n%%time\nx = 1\n",
    "if 1:\n    %time f()\n    !ls \\\n  -l\n    x = 1\n",
    "%%prun -s cumulative -l 3 f()\nx\n%prun -s time -T out.txt f()\n",
    "def broken(\n%time x\n",
    "t = %time 1, 2\nl = %time lambda: 0\nq = %time x = 1\n",
    "%time for i in x: f(i)\n,f a b\n;f a\n/f a\n",
    "d = {\n 'a': 1,\n}\n%time d",
    "# a comment\n%%time\n1 # %time",
]


def texts(path: Path) -> list[str]:
    """Return the cells of a notebook."""
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


def moved(folder: Path, *cells: str) -> list[str]:
    """Return the cells of a notebook after the move, without the first one, which defines `f`."""
    path = book(folder, DEFINED, *cells)
    assert report(path)["book.ipynb"]["state"] == "moved"
    before = path.read_bytes()
    assert migrate(path).returncode == 0
    assert path.read_bytes() == before
    return texts(path)[1:]


def test_a_notebook_is_moved_cell_by_cell(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# ray.get\n"]},
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": 1,
            "source": ["%time 1\n", "import ray"],
        },
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": "@ray.remote\ndef f(x):\n    return x",
        },
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": ["%%bash\n", "ray.get"],
        },
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": ["ray.get(f.remote(1))"],
        },
    ]
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path = written(tmp_path, json.dumps(document, indent=1) + "\n", "book.ipynb")
    assert report(path)["book.ipynb"]["state"] == "moved"
    moved = json.loads(path.read_text())
    sources = ["".join(cell["source"]) for cell in moved["cells"]]
    assert sources == [
        "# ray.get\n",
        "%time 1\nimport fray",
        "def f(x):\n    return x",
        "%%bash\nray.get",
        "ctx = fray.get_job_context()\nctx.get(ctx.create_task(f, (1,)))",
    ]
    assert path.read_text().endswith("}\n")
    before = path.read_bytes()
    assert migrate(path).returncode == 0
    assert path.read_bytes() == before


def book(folder: Path, *cells: str) -> Path:
    """Write a notebook of these cells of code."""
    code = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    document = {"cells": [{**code, "source": cell} for cell in cells], "metadata": {}, "nbformat": 4}
    return written(folder, json.dumps(document), "book.ipynb")


def test_statements_behind_a_magic_are_moved_and_other_magics_stay_in_their_blocks(tmp_path: Path) -> None:
    lines = "for i in range(2):\n    !echo {i}\nfor i in range(2):\n    %time print(ray.get(f.remote(i)))\n"
    timed = "%timeit -n 1 -r 1 ray.get(f.remote(1))\n%time it\nfiles = !ls\ntext = '''\n  !no\n%time x\n'''"
    path = book(tmp_path, PROGRAM.rpartition("print")[0], lines, timed)
    assert report(path)["book.ipynb"]["state"] == "moved"
    after = [cell["source"] for cell in json.loads(path.read_text())["cells"]]
    assert after[1].startswith("for i in range(2):\n    !echo {i}\n")
    assert "    %time print(ctx.get(ctx.create_task(f, (i,))))\n" in after[1]
    assert "%timeit -n 1 -r 1 ctx.get(ctx.create_task(f, (1,)))\n" in after[2]
    assert after[2].endswith(timed.partition("\n")[2])


def test_a_cell_that_does_not_parse_is_named(tmp_path: Path) -> None:
    path = book(tmp_path, "%pip install ray\nimport ray", "x = 1\ndef broken(")
    assert "does not parse: cell 2, line 2" in str(report(path)["book.ipynb"]["reason"])


def test_what_is_hidden_is_shown_as_it_was_and_lines_keep_their_numbers() -> None:
    for cell in ODD_CELLS:
        magics = Magics()
        hidden = magics.hide(cell)
        assert magics.show(hidden) == cell
        assert len(hidden.splitlines()) == len(cell.splitlines())
        assert "!" not in hidden or "!no" in hidden


def test_python_that_a_magic_runs_is_moved(tmp_path: Path) -> None:
    cells = moved(
        tmp_path,
        "%time a = f.remote(1); b = ray.get(a)\n",
        "y = %timeit -o -n 1 -r 1 ray.get(f.remote(1))\nz = %time ray.get(f.remote(2))\n%prun -s time ray.get(a)\n",
        "%%timeit -n 1 -r 1 a = f.remote(1)\nray.get(a)\n",
    )
    assert cells == [
        "ctx = fray.get_job_context()\n%time a = ctx.create_task(f, (1,)); b = ctx.get(a)\n",
        "y = %timeit -o -n 1 -r 1 ctx.get(ctx.create_task(f, (1,)))\nz = %time ctx.get(ctx.create_task(f, (2,)))\n"
        "%prun -s time ctx.get(a)\n",
        "%%timeit -n 1 -r 1 a = fray.get_job_context().create_task(f, (1,))\nfray.get_job_context().get(a)\n",
    ]


def test_a_cell_that_is_timed_defines_no_context_and_no_import_for_the_others(tmp_path: Path) -> None:
    cells = moved(tmp_path, "%%timeit\nray.get(f.remote(1))", "print(ray.get(f.remote(2)))")
    assert cells[0] == "%%timeit\nfray.get_job_context().get(fray.get_job_context().create_task(f, (1,)))"
    assert cells[1].startswith("ctx = fray.get_job_context()\n")
    path = book(tmp_path, "%%timeit -n 1\nimport ray", DEFINED, "print(ray.get(f.remote(2)))")
    assert report(path)["book.ipynb"]["state"] == "moved"
    assert texts(path)[0] == "%%timeit -n 1\nimport fray" and texts(path)[1].startswith("import fray\n")


def test_lines_that_begin_with_a_percent_sign_inside_brackets_and_strings_are_python(tmp_path: Path) -> None:
    cell = "x = (ray.get(f.remote(7))\n  % 4)\nname = '''\n%no {ray.get}\n'''\n"
    after = moved(tmp_path, cell)[0]
    assert "x = (ctx.get(ctx.create_task(f, (7,)))\n  % 4)\nname = '''\n%no {ray.get}\n" in after


def test_lines_that_a_backslash_continues_belong_to_their_magic(tmp_path: Path) -> None:
    cell = "!pip install -U ray \\\n  --quiet\n%env A=1 \\\n  B\nprint(ray.get(f.remote(1)))"
    after = moved(tmp_path, cell)[0]
    assert after.startswith("!pip install -U ray \\\n  --quiet\n%env A=1 \\\n  B\n")


def test_a_cell_that_is_indented_as_a_whole_keeps_its_indentation(tmp_path: Path) -> None:
    after = moved(tmp_path, "    a = f.remote(1)\n\n    if a:\n        ray.get(a)\n")[0]
    assert after == (
        "    ctx = fray.get_job_context()\n    a = ctx.create_task(f, (1,))\n\n    if a:\n        ctx.get(a)\n"
    )


@pytest.mark.parametrize("line", ["%time for i in range(2): f.remote(i)", "!echo {ray.get(a)}", "%time ray.get(\\\na)"])
def test_python_in_a_magic_that_cannot_be_moved_refuses_the_notebook(tmp_path: Path, line: str) -> None:
    path = book(tmp_path, DEFINED, "a = f.remote(1)\n" + line)
    before = path.read_bytes()
    found = report(path)["book.ipynb"]
    assert found["state"] == "refused"
    assert str(found["reason"]).startswith("cannot be moved: cell 2, line 2: write ")
    assert path.read_bytes() == before


def test_cells_are_told_apart_by_their_magics() -> None:
    assert is_python_cell("%%capture out\n%%time\n1") and not is_python_cell("%%capture\n%%bash\nls")
    assert is_timed_cell("\n%%capture\n%%timeit\n1") and not is_timed_cell("%%time\n1")
