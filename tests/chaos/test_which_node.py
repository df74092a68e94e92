"""Which node a command and a program mean: one rule for all of them, and what they say where there is none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from fray import NodeDiedError
from fray.backend.native import NativeJobContext
from fray.cluster import LocalCluster

from tests.chaos.harness import PATIENCE, Driver, eventually, look_at, the_node
from tests.chaos.started import PROGRAM, command, process_of, report, start, stop

pytestmark = pytest.mark.usefixtures("started_nodes")

FAILED, TIMED_OUT, UNREACHABLE = 1, 4, 5
VERBS = [
    ["status", "--json"],
    ["ps", "--json"],
    ["stack", "--json", "--no-py-spy"],
    ["job", "list", "--json"],
]
LOOKS = pytest.mark.parametrize("verb", VERBS, ids=" ".join)
NOWHERE = {"FRAY_NODE": "/nowhere/node.sock"}


@pytest.fixture
def other(tmp_path: Path) -> Any:
    """A node of another home."""
    environment = {"FRAY_HOME": str(tmp_path / "other")}
    yield start("--cpus", "5", env=environment)
    stop(env=environment)


@LOOKS
def test_in_a_job_every_verb_asks_the_node_of_the_job(verb: list[str]) -> None:
    start()
    assert command(*verb).code == 0
    asked = command(*verb, env=NOWHERE)
    assert asked.code == UNREACHABLE
    assert "/nowhere/node.sock" in asked.stderr
    assert command(*verb, env={"FRAY_NODE": ""}).code == 0


def test_debug_asks_the_same_node_as_the_others() -> None:
    node = start()
    assert str(node["socket"]) in command("debug").stderr
    assert "/nowhere/node.sock" in command("debug", env=NOWHERE).stderr


@LOOKS
def test_what_is_said_counts_before_the_job_and_the_home(verb: list[str], other: dict[str, Any]) -> None:
    home = str(Path(other["session_folder"]).parent.parent)
    for address in (other["socket"], other["session_folder"], home):
        assert command(*verb, "--socket", address, env=NOWHERE).code == 0
    assert command(*verb, "--socket", "auto", env=NOWHERE).code == UNREACHABLE
    assert command(*verb, "--socket", "").code == FAILED
    assert "address must be" in command(*verb, "--socket", "").stderr


def test_the_node_that_is_said_is_the_one_that_answers(other: dict[str, Any]) -> None:
    start("--cpus", "1")
    for words in (["--socket", other["socket"]], [other["socket"]]):
        answer = json.loads(command("status", "--json", *words).ok())
        assert answer["node"]["pid"] == other["pid"]
    assert report(env={"FRAY_NODE": other["socket"]})["node"]["pid"] == other["pid"]
    assert LocalCluster(address=other["session_folder"]).list_jobs() == []


@LOOKS
def test_a_home_that_depends_on_the_folder_is_no_home_for_any_verb(verb: list[str]) -> None:
    refused = command(*verb, env={"FRAY_HOME": "here"})
    assert refused.code == FAILED
    assert "must be an absolute path" in refused.stderr


@LOOKS
def test_without_any_node_every_verb_says_how_to_start_one(verb: list[str]) -> None:
    missing = command(*verb)
    assert missing.code == UNREACHABLE
    assert missing.stdout == ""
    assert "no node of this user runs" in missing.stderr
    assert "fray start" in missing.stderr


def test_of_many_submits_at_once_each_starts_a_job_and_one_a_node() -> None:
    words = [PROGRAM, "submit", "--json", "--cpus", "0", "--", "true"]
    submits = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(5)]
    ends = [(*each.communicate(timeout=60), each.returncode) for each in submits]
    assert [code for _, _, code in ends] == [0] * 5, ends
    assert sum("started a node, for none ran" in said for _, said, _ in ends) == 1, ends
    assert {job["status"] for job in json.loads(command("job", "list", "--json").ok())["jobs"]} == {"succeeded"}
    assert report()["node"]["pid"] == the_node().pid


def test_a_submit_that_cannot_start_a_node_says_why() -> None:
    Path(os.environ["FRAY_HOME"], "run").mkdir(mode=0o700)
    Path(os.environ["FRAY_HOME"], "run", "node").write_text("in the way")
    failed = command("submit", "--", "true")
    assert failed.code == UNREACHABLE
    assert "run/node is a symbolic link or no folder" in failed.stderr


def test_a_submit_in_a_job_whose_node_has_gone_starts_no_other() -> None:
    assert command("submit", "--", "true", env=NOWHERE).code == UNREACHABLE
    assert command("stop").code == UNREACHABLE


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb[0] != "job"], ids=" ".join)
def test_a_node_that_is_stopped_is_not_waited_for_without_end(verb: list[str]) -> None:
    node = start()
    process_of(node).signal(signal.SIGSTOP)
    silent = command(*verb)
    process_of(node).signal(signal.SIGCONT)
    assert silent.code == TIMED_OUT
    assert f"the node at {node['socket']} does not answer" in silent.stderr


def test_an_interrupt_ends_the_hello_to_a_node_that_is_stopped() -> None:
    node = start()
    process_of(node).signal(signal.SIGSTOP)
    with Driver(
        """
        try:
            print("begins", flush=True)
            NativeJobContext(address="auto")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    ) as driver:
        assert driver.line() == "begins"
        eventually(lambda: (look_at(driver.pid) or process_of(node)).state == "S")
        began = time.monotonic()
        os.kill(driver.pid, signal.SIGINT)
        assert driver.line() == "interrupted"
        assert time.monotonic() - began < 10
    process_of(node).signal(signal.SIGCONT)


def test_a_node_that_dies_in_the_hello_is_told(tmp_path: Path) -> None:
    node = start()
    process_of(node).signal(signal.SIGSTOP)
    with Driver(
        """
        try:
            print("begins", flush=True)
            NativeJobContext(address="auto")
        except fray.NodeDiedError as error:
            print("gone", error, flush=True)
        """
    ) as driver:
        assert driver.line() == "begins"
        process_of(node).signal(signal.SIGKILL)
        assert driver.line().startswith("gone")


def test_what_a_dead_node_left_is_no_node() -> None:
    node = start()
    process_of(node).signal(signal.SIGKILL)
    eventually(lambda: command("status").code == UNREACHABLE)
    with pytest.raises(NodeDiedError, match=r"no node answers at .*Connection refused"):
        NativeJobContext(address="auto")
    with pytest.raises(NodeDiedError, match="no node answers at"):
        NativeJobContext(address=node["session_folder"])


def test_a_home_may_be_written_with_a_tilde_or_be_a_path_or_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    home = Path(os.environ["FRAY_HOME"])
    monkeypatch.setenv("HOME", str(home.parent))
    forms: list[Any] = [f"~/{home.name}", home, os.fsencode(home)]
    for address in forms:
        with NativeJobContext(address=address) as ctx:
            assert ctx.get(ctx.run(pow, 2, 3), timeout=PATIENCE) == 8


def test_a_path_of_any_bytes_is_named_as_it_is(tmp_path: Path) -> None:
    """Also one that is no UTF-8."""
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/no\xff")
    with pytest.raises(NodeDiedError, match="no node answers at") as raised:
        NativeJobContext(address=odd)
    assert odd in str(raised.value)
    os.mkdir(odd)
    with pytest.raises(NodeDiedError, match="no node runs in the folder"):
        LocalCluster(address=odd)
