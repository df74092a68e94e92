"""What only `fray.ray` does: the command, the finder, the names that it has and those that it refuses."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import ray
from ray.util.queue import Queue

@ray.remote
def where(value):
    import ray as again
    return value, again.__name__, "ray._private.worker" in sys.modules

if __name__ == "__main__":
    print(ray.get(where.remote(3)), sys.argv[1:], Queue.__module__)
    sys.exit(7)
"""
ANSWER = "(3, 'fray.ray', False) ['a', '--b'] fray.ray.util.queue\n"


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=60, env={**os.environ, **variables})


@pytest.mark.parametrize(
    "words",
    [
        (str(Path(sys.executable).with_name("fray")), "ray"),
        (sys.executable, "-m", "fray.ray"),
    ],
)
def test_a_program_of_ray_runs_unchanged(program: str, words: tuple[str, ...]) -> None:
    done = run(*words, program, "a", "--b")
    assert (done.stdout, done.returncode) == (ANSWER, 7), done.stderr


def test_a_variable_has_any_python_program_use_fray(program: str) -> None:
    done = run(sys.executable, program, "a", "--b", FRAY_AS_RAY="1")
    assert (done.stdout, done.returncode) == (ANSWER, 7), done.stderr


def test_modules_and_texts_are_programs_too(program: str) -> None:
    done = run(sys.executable, "-m", "fray.ray", "-c", "import ray, sys; print(ray.__name__, sys.argv)", "x")
    assert done.stdout == "fray.ray ['-c', 'x']\n", done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "fray.ray", "-m", "program", "a", "--b"],
        cwd=Path(program).parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.returncode) == (ANSWER, 7), done.stderr


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ((), 2, "usage"),
        (("/there/is/none.py",), 3, "no file"),
        (("-x",), 2, "unknown option"),
        (("-m",), 2, "needs a module"),
    ],
)
def test_programs_that_there_are_not(words: tuple[str, ...], code: int, text: str) -> None:
    done = run(sys.executable, "-m", "fray.ray", *words)
    assert done.returncode == code and text in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("library", ["data", "serve", "tune", "train", "rllib", "llm", "air", "job_submission"])
def test_libraries_are_refused_by_name(library: str) -> None:
    text = f"import ray.{library}"
    done = run(sys.executable, "-m", "fray.ray", "-c", text)
    assert done.returncode == 1 and f"ray.{library} is not part of fray.ray" in done.stderr


def test_errors_travel_by_pickle(fray_as_ray: object) -> None:
    import fray
    import fray.ray as ray

    @ray.remote
    def fail() -> None:
        raise ValueError("x")

    @ray.remote(num_cpus=50)
    def too_much() -> None: ...

    with pytest.raises(ValueError) as caught:
        ray.get(fail.remote())
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, ValueError) and isinstance(again, ray.exceptions.RayTaskError) and str(again)
    with pytest.raises(ray.exceptions.TaskUnschedulableError, match="50") as infeasible:
        ray.get(too_much.remote())
    assert isinstance(infeasible.value, fray.InfeasibleError)
    again = pickle.loads(pickle.dumps(infeasible.value))
    assert type(again) is type(infeasible.value) and str(again) == str(infeasible.value)


def test_importing_is_fast() -> None:
    text = "import time; t = time.process_time(); import fray.ray; print(time.process_time() - t)"
    best = min(float(run(sys.executable, "-c", text).stdout) for _ in range(5))
    assert best < 0.2  # 0.04 on a machine that does nothing else
