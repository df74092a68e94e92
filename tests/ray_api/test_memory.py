"""What programs of Ray say and ask about the memory of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOGS = """
import time
import ray
from ray._private.utils import get_system_memory, get_used_memory

print(0 < get_used_memory() < get_system_memory())

@ray.remote(max_retries=0)
def hold():
    held = bytearray(b"x") * (200 << 20)
    time.sleep(60)

@ray.remote
class Holder:
    def hold(self):
        hold._function()

for call in (hold, Holder.remote().hold):
    try:
        ray.get(call.remote())
    except ray.exceptions.OutOfMemoryError as error:
        print("by the node: out of memory" in str(error))
"""


@pytest.mark.parametrize(
    ("begin", "environment"),
    [
        ('import ray; ray.init(num_cpus=1, _system_config={"memory_usage_threshold": 0.001})', {}),
        ("import ray; ray.init(num_cpus=1, _system_config='{\"memory_usage_threshold\": 0.001}')", {}),
        ("", {"RAY_memory_usage_threshold": "0.001"}),
    ],
    ids=["dict", "JSON", "environment"],
)
def test_a_program_sets_the_share_of_the_memory_above_which_tasks_and_actors_are_ended(
    tmp_path: Path, begin: str, environment: dict[str, str]
) -> None:
    program = tmp_path / "hogs.py"
    program.write_text(begin + HOGS)
    command = [sys.executable, "-m", "fray.ray", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})
    assert (done.stdout, done.returncode) == ("True\n" * 3, 0), done.stderr


@pytest.mark.parametrize("given", ["much", None, 1.5, -0.1])
def test_a_share_of_the_memory_that_is_none_is_refused_by_its_name(tmp_path: Path, given: object) -> None:
    program = tmp_path / "shares.py"
    program.write_text(f"import ray\nray.init(num_cpus=1, _system_config={{'memory_usage_threshold': {given!r}}})")
    done = subprocess.run(
        [sys.executable, "-m", "fray.ray", str(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == (0 if given is None else 1)
    assert (
        given is None
        or f"memory_usage_threshold must be a share above 0 and at most 1, such as 0.9, got {given!r}" in done.stderr
    )
