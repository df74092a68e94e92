"""What the tests of this folder share: programs as files, and the command on them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fray.migrate.command import main

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
FRAY_PROGRAMS = HERE / "fray_programs"
PROGRAM = textwrap.dedent(
    """\
    import ray

    @ray.remote
    def f(x):
        return x

    print(ray.get(f.remote(1)))
    """
)
MAINS = sorted([*(path.name for path in PROGRAMS.glob("*.py")), "shop/main.py"])


def expected(program: Path) -> str:
    """Return what a program says that it prints: its lines that begin with ``# >``."""
    return "".join(line[4:] + "\n" for line in program.read_text().splitlines() if line.startswith("# > "))


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def migrate(*words: object) -> Done:
    """Do in this process what `python -m fray.migrate` does in one of its own."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return Done(code, out.getvalue(), err.getvalue())


def run_all(
    engine: str, folder: Path, environment: dict[str, str] | None = None, mains: Sequence[str] = MAINS
) -> dict[str, str]:
    """Return what each of the programs `mains` in `folder` prints."""
    command = [sys.executable, str(HERE / "run_programs.py"), engine, *mains]
    printed = folder.parent / "printed.json"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {}), "PRINTED": str(printed)},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(printed.read_text())


def written(folder: Path, content: bytes | str, name: str = "program.py") -> Path:
    """Write a program and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def report(*words: object) -> dict[str, dict[str, object]]:
    """Return the report of each file by its name."""
    done = migrate("--json", *words)
    assert done.stdout, done.stderr
    return {Path(item["path"]).name: item for item in json.loads(done.stdout)["files"]}
