"""What workers are called, as psutil and `setproctitle` show it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.waiting import eventually


def title_of(pid: int) -> str:
    return " ".join(part for part in psutil.Process(pid).cmdline() if part)


def test_a_worker_is_called_by_what_it_runs(ray: Any) -> None:
    @ray.remote
    def called() -> tuple[int, str]:
        return os.getpid(), title_of(os.getpid())

    @ray.remote(num_cpus=0)
    class Counter:
        def title(self) -> tuple[int, str]:
            return os.getpid(), title_of(os.getpid())

    pid, title = ray.get(called.remote())
    assert title == "ray::called"
    assert ray.get(called.options(name="special").remote())[1] == "ray::special"
    counter = Counter.remote()
    of_actor, title = ray.get(counter.title.remote())
    assert title == "ray::Counter.title" and of_actor != pid
    assert title_of(of_actor).startswith("ray::Counter")


def test_a_worker_that_runs_nothing_is_idle(fray_as_ray: Any) -> None:
    ray = fray_as_ray

    @ray.remote
    def fails() -> int:
        raise ValueError(os.getpid())

    @ray.remote
    def streams() -> Any:
        yield os.getpid()

    with pytest.raises(ValueError) as caught:
        ray.get(fails.remote())
    stream = streams.remote()
    pids = {caught.value.args[0].args[0], ray.get(next(stream))}
    ray.get(stream.completed())
    eventually(lambda: {title_of(pid) for pid in pids} == {"ray::IDLE"})
    assert "ray::" not in title_of(os.getpid())


@pytest.mark.parametrize("name", ["f", "x" * 5000, "ü" * 3000])
def test_titles_are_cut_to_the_length_of_the_command_line(name: str) -> None:
    text = (
        "import os, setproctitle; before = setproctitle.getproctitle(); setproctitle.setproctitle(os.environ['TITLE']);"
        "after = setproctitle.getproctitle(); print(len(before), ascii(after), setproctitle.__name__)"
    )
    command = [sys.executable, "-m", "fray.ray", "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "TITLE": name})
    assert done.returncode == 0, done.stderr
    before, shown, module = done.stdout.split()
    after = eval(shown)
    assert module == "fray.ray._title" and len(after) <= int(before)
    assert after == name if name == "f" else after and name.startswith(after.rstrip("\udcc3"))


def test_a_setproctitle_that_is_installed_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "setproctitle.py").write_text("here = True")
    done = subprocess.run(
        [sys.executable, "-m", "fray.ray", "-c", "import setproctitle; print(setproctitle.here)"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout == "True\n", done.stderr
