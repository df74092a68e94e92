"""The command `ray` of programs that run on `fray ray`, and the node that it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

NAMESPACES = """
import json, subprocess, sys
import ray

subprocess.check_output(["ray", "start", "--head", "--num-cpus=8", "--resources", '{"token": 2}'])

@ray.remote
class Actor:
    pass

@ray.remote(num_cpus=1)
class Trainer:
    def fit(self):
        return 1

@ray.remote(num_cpus=1)
class Supervisor:
    def __init__(self):
        self.trainers = [Trainer.remote() for _ in range(3)]

    def fit(self):
        return sum(ray.get([trainer.fit.remote() for trainer in self.trainers]))

with ray.init("ray://localhost:10001", namespace="colors"):
    supervisors = [Supervisor.remote() for _ in range(2)]  # eight CPUs, however many the machine has
    print(ray.get([supervisor.fit.remote() for supervisor in supervisors]))
    keep = Actor.options(name="orange", lifetime="detached").remote()
    print(ray.cluster_resources()["CPU"], ray.cluster_resources()["token"])
with ray.init("ray://localhost:10001", namespace="fruits"):
    try:
        ray.get_actor("orange")
    except ValueError:
        print("no orange")
with ray.init(namespace="colors"):  # that of `ray start`, as any other
    ray.get(ray.get_actor("orange").__ray_ready__.remote())
    rows = json.loads(subprocess.check_output(["ray", "list", "actors", "--filter", "name=orange"]))
    print(rows[0]["class_name"], rows[0]["state"])
context = ray.init("auto", namespace="colors")
print(ray.get_runtime_context().namespace)
context.disconnect()
print(subprocess.check_output(["ray", "memory"], text=True).split()[-5:])
subprocess.check_output(["ray", "stop", "--force"])
subprocess.check_output(["ray", "stop"])
with ray.init(num_cpus=1):
    print(ray.cluster_resources()["CPU"])
"""


LEAVES_GROUPS = """
import ray

ray.init("auto", namespace="groups")
for lifetime in (None, "detached"):
    assert ray.util.placement_group([{"CPU": 1}], name=f"group {lifetime}", lifetime=lifetime).wait(30)
print(sorted(row["name"] for row in ray.util.placement_group_table().values()))
"""
FINDS_GROUPS = """
import ray

ray.init("auto", namespace="groups")
print(sorted(row["name"] for row in ray.util.placement_group_table().values()), ray.available_resources()["CPU"])
left = ray.util.get_placement_group("group detached")
assert ray.get(left.ready(), timeout=30) == left
ray.util.remove_placement_group(left)
while ray.available_resources()["CPU"] < 2:
    pass
"""


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of programs with a home of their own."""
    folder = tmp_path_factory.mktemp("h")
    environment = {**os.environ, "FRAY_HOME": str(folder)}
    yield environment
    run("ray", "stop", environment=environment)


def run(*words: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fray.ray", "-c", f"import subprocess, sys; sys.exit(subprocess.call({words}))"]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)


def test_programs_start_a_node_meet_on_it_and_end_it(home: dict[str, str], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(NAMESPACES)
    command = [sys.executable, "-m", "fray.ray", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=home)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[3, 3]",
        "8.0 2.0",
        "no orange",
        "Actor ALIVE",
        "colors",
        "['of', 'shared', 'memory', 'hold', 'objects']",
        "1.0",
    ]


def test_placement_groups_end_with_their_program_unless_they_are_detached(home: dict[str, str]) -> None:
    assert run("ray", "start", "--head", "--num-cpus=2", environment=home).returncode == 0
    said: list[str] = []
    for program in (LEAVES_GROUPS, FINDS_GROUPS):
        command = [sys.executable, "-m", "fray.ray", "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=home)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.strip())
    assert said == ["['group None', 'group detached']", "['group detached'] 1.0"]


def test_a_node_of_fray_start_is_not_ended_by_ray_stop(home: dict[str, str]) -> None:
    fray = str(Path(sys.executable).with_name("fray"))
    subprocess.run([fray, "start", "--cpus", "1"], check=True, capture_output=True, env=home)
    try:
        assert run("ray", "stop", environment=home).returncode == 0
        status = subprocess.run([fray, "status", "--json"], check=True, capture_output=True, env=home)
        assert json.loads(status.stdout)["resources"]["total"]["CPU"] == 1
    finally:
        subprocess.run([fray, "stop"], check=True, capture_output=True, env=home)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--version",), 0, "ray, version 2."),
        (("stop",), 0, "Did not find any active Ray processes"),
        (("up", "cluster.yaml"), 2, "clusters"),
        (("start",), 1, "--head"),
        (("start", "--address", "10.0.0.1:6379"), 1, "one machine"),
        (("start", "--head", "--resources", "no json"), 2, "--resources"),
        (("list", "things"), 2, "no list of things"),
        (("list", "actors", "--filter", "name"), 2, "KEY=VALUE"),
        (("memory",), 1, "there is no node"),
        (("summary", "tasks"), 1, "there is no node"),
        ((), 2, "usage"),
    ],
)
def test_what_the_command_refuses(home: dict[str, str], words: tuple[str, ...], code: int, text: str) -> None:
    done = run("ray", *words, environment=home)
    assert done.returncode == code and text in done.stdout + done.stderr, done.stderr
    assert "Traceback" not in done.stderr
