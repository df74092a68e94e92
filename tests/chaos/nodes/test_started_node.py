"""`fray start`, `stop` and `status`: one node for each home, and nothing left of it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

import fray
import pytest
from fray import NodeDiedError, SettingsError, VersionMismatchError
from fray.backend.native import NativeJobContext

from tests.chaos.harness import (
    PATIENCE,
    Driver,
    current_marker,
    eventually,
    look_at,
    marked_processes,
    nodes,
    the_node,
)
from tests.chaos.started import PROGRAM, command, files_in, process_of, report, start, stop
from tests.chaos.tasks import echo
from tests.slowness import SLOWNESS

pytestmark = pytest.mark.usefixtures("started_nodes")

CONFLICT, UNREACHABLE, USAGE, TIMED_OUT = 7, 5, 2, 4


def home() -> str:
    return os.environ["FRAY_HOME"]


# ---- start


def test_start_answers_when_the_node_accepts_clients_and_says_what_comes_next() -> None:
    said = command("start", "--cpus", "2").ok()
    for part in ('fray.init(address="auto")', "fray status", "fray stop", f"{home()}/run/node/node.sock"):
        assert part in said
    with NativeJobContext(address="auto") as ctx:
        assert ctx.get(ctx.run(echo, 7), timeout=PATIENCE) == 7


def test_json_says_where_everything_is() -> None:
    node = start("--cpus", "3", "--resources", '{"TPU": 4}', "--memory", "1GiB", "--max-workers", "5")
    assert node["schema"] == "fray/v1"
    assert node["home"] == home()
    assert node["pid"] == the_node().pid
    assert Path(node["socket"]).is_socket()
    assert Path(node["log"]).is_relative_to(home())
    total = report()["resources"]["total"]
    assert (total["CPU"], total["TPU"], total["memory"]) == (3, 4, 1 << 30)
    assert report()["node"]["max_workers"] == 5


def test_the_node_is_nobodys_child_and_has_no_terminal() -> None:
    node = start()
    raw = Path(f"/proc/{node['pid']}/stat").read_text()
    parent, _, session, terminal = raw[raw.rindex(")") + 2 :].split()[1:5]
    assert int(parent) != os.getpid()
    assert int(session) != os.getsid(0)
    assert terminal == "0"
    assert os.readlink(f"/proc/{node['pid']}/cwd") == "/"


def test_files_of_the_home_are_for_their_user_alone() -> None:
    node = start()
    for path in (Path(node["socket"]).parent, Path(node["socket"]).parent.parent, Path(node["log"]).parent):
        assert path.stat().st_mode & 0o777 == 0o700, path
    assert Path(node["log"]).stat().st_mode & 0o777 == 0o600


def test_a_second_start_says_where_the_first_runs() -> None:
    node = start()
    again = command("start")
    assert again.code == CONFLICT
    assert str(node["pid"]) in again.stderr
    assert node["socket"] in again.stderr
    assert again.stdout == ""
    assert process_of(node).is_alive()


def test_of_many_starts_at_once_one_wins() -> None:
    starts = [
        subprocess.Popen([PROGRAM, "start", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(6)
    ]
    ends = [(*process.communicate(timeout=60), process.returncode) for process in starts]
    assert sorted(code for _, _, code in ends) == [0, *[CONFLICT] * 5], ends
    eventually(lambda: len(nodes()) == 1, what="the end of the nodes that came too late")
    assert the_node().pid == json.loads(next(out for out, _, code in ends if code == 0))["pid"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--cpus", "-1"], "cpus"),
        (["--cpus", "two"], "--cpus"),
        (["--memory", "much"], "--memory must be a number of bytes above 0 or a size such as 4GiB"),
        (["--resources", "TPU"], "--resources must be"),
        (["--resources", '{"GPU": 0.5}'], "whole number of devices"),
        (["--max-workers", "0"], "max_workers"),
        (["--spill-dir", "/nowhere/at/all"], "/nowhere/at/all is not a folder"),
        (["--colour", "red"], "--colour"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_settings_that_make_no_sense_are_refused_before_anything_starts(arguments: list[str], says: str) -> None:
    refused = command("start", *arguments)
    assert refused.code == USAGE
    assert says in refused.stderr
    assert files_in(home()) == []


def test_a_node_that_cannot_start_says_why() -> None:
    """Here: something else lies where its folder should be."""
    Path(home(), "run").mkdir(mode=0o700)
    Path(home(), "run", "node").write_text("in the way")
    failed = command("start")
    assert failed.code == 1
    assert "run/node is a symbolic link or no folder" in failed.stderr


def test_a_run_folder_that_others_may_enter_is_refused() -> None:
    folder = Path(home(), "run")
    folder.mkdir()
    folder.chmod(0o755)
    failed = command("start")
    assert failed.code == 1
    assert "0755" in failed.stderr
    assert "FRAY_HOME" in failed.stderr


def test_a_link_in_place_of_the_run_folder_is_refused(tmp_path: Path) -> None:
    Path(home(), "run").symlink_to(tmp_path)
    assert "symbolic link" in command("start").stderr
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_depends_on_the_folder_is_refused() -> None:
    for verb in ("start", "stop", "status"):
        assert "must be an absolute path" in command(verb, env={"FRAY_HOME": "here"}).stderr


def test_in_the_foreground_it_ends_with_an_interrupt_and_leaves_nothing() -> None:
    with subprocess.Popen(
        [PROGRAM, "start", "--foreground", "--json"], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as node:
        assert node.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            text += node.stdout.readline()
        assert json.loads(text)["pid"] == node.pid
        with NativeJobContext(address="auto") as ctx:
            assert ctx.get(ctx.run(echo, 1), timeout=PATIENCE) == 1
        node.send_signal(signal.SIGINT)
        assert node.wait(PATIENCE) == 0
    assert files_in(home()) == []


# ---- stop


LEAVES_ORPHANS = """
import os, subprocess, sys
ctx = fray.init(address="auto")
def leave():
    subprocess.Popen(["setsid", "sh", "-c", "sleep 1000 & exec sleep 1000"])
    return os.getpid()
print(ctx.get(ctx.run(leave)), flush=True)
def hang():
    subprocess.Popen(["setsid", "sleep", "1000"])
    time.sleep(1000)
ref = ctx.run(hang)
print("hangs", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("arguments", [[], ["--force"]], ids=["in order", "force"])
def test_stop_leaves_no_process_and_no_file_but_logs(arguments: list[str]) -> None:
    node = start("--cpus", "2")
    with Driver(LEAVES_ORPHANS) as driver:
        driver.line()
        assert driver.line() == "hangs"
        sleepers = lambda: [each for each in marked_processes(current_marker()) if "sleep" in each.command]  # noqa: E731
        eventually(lambda: len(sleepers()) >= 3)
        stop(*arguments)
        left = [each for each in marked_processes(current_marker()) if each.pid != driver.pid]
        eventually(lambda: not any(each.is_alive() for each in left), what=str(left))
        assert not process_of_or_none(node)
    assert files_in(home()) == ["logs/node.log"] or [name for name in files_in(home()) if "driver" not in name] == [
        "logs/node.log"
    ]


def process_of_or_none(node: dict[str, object]) -> bool:
    found = look_at(int(str(node["pid"])))
    return found is not None and found.state not in "ZX"


def test_stop_of_a_node_that_is_not_there_says_so() -> None:
    missing = command("stop")
    assert missing.code == UNREACHABLE
    assert f"no node of this home runs (looked at {home()}/run/node)" in missing.stderr
    assert "fray start" in missing.stderr


def test_a_stopped_node_that_does_not_listen_is_killed_by_force_only() -> None:
    node = start()
    process_of(node).signal(signal.SIGSTOP)
    began = time.monotonic()
    stop("--force")
    assert time.monotonic() - began < 5 * SLOWNESS
    assert not process_of_or_none(node)
    assert report_code() == UNREACHABLE


def report_code() -> int:
    return command("status").code


def test_waiters_are_told_at_once_when_the_node_is_stopped() -> None:
    start("--cpus", "1")
    ctx = NativeJobContext(address="auto")
    ref = ctx.run(time.sleep, 1000)
    eventually(lambda: any(row["state"] == "running" for row in report()["workers"]))
    stop()
    with pytest.raises(NodeDiedError):
        ctx.get(ref, timeout=PATIENCE)
    ctx.close()


def test_a_killed_nodes_home_is_used_again() -> None:
    first = start("--cpus", "2")
    with NativeJobContext(address="auto") as ctx:
        ctx.get(ctx.run(echo, 1), timeout=PATIENCE)
        process_of(first).signal(signal.SIGKILL)
        eventually(lambda: not process_of_or_none(first))
        assert command("stop").code == UNREACHABLE
        second = start()
        assert second["pid"] != first["pid"]
    with NativeJobContext(address="auto") as ctx:
        assert ctx.get(ctx.run(echo, 2), timeout=PATIENCE) == 2


def test_a_killed_nodes_lock_that_is_held_a_moment_longer_is_waited_for() -> None:
    """By a process that the node was just starting when it was killed."""
    first = start()
    process_of(first).signal(signal.SIGKILL)
    eventually(lambda: not process_of_or_none(first))
    with Path(home(), "run", "node", "node.lock").open() as lock:
        eventually(lambda: has_locked(lock))
        with subprocess.Popen([PROGRAM, "start"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as starter:
            eventually(lambda: look_at(starter.pid).state == "S")  # type: ignore[union-attr]
            fcntl.flock(lock, fcntl.LOCK_UN)
            said = starter.communicate(timeout=PATIENCE)
        assert starter.returncode == 0, said
    assert report()["node"]["pid"] != first["pid"]


def has_locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def test_a_node_whose_home_is_removed_ends_with_its_workers_and_jobs() -> None:
    node = start("--cpus", "2")
    assert command("submit", "--no-wait", "--", "sleep", "1000").code == 0
    with Driver(LEAVES_ORPHANS) as driver:
        driver.line()
        assert driver.line() == "hangs"
        sleepers = lambda: [each for each in marked_processes(current_marker()) if "sleep" in each.command]  # noqa: E731
        eventually(lambda: len(sleepers()) >= 4)
        left = [each for each in marked_processes(current_marker()) if each.pid != driver.pid]
        shutil.rmtree(home(), ignore_errors=True)  # a job that ends meanwhile may still write its last words there
        eventually(lambda: not any(each.is_alive() for each in left), what=str(left))
    assert not process_of_or_none(node)
    shutil.rmtree(home(), ignore_errors=True)
    assert not Path(home()).exists()


def test_a_home_that_is_removed_and_made_anew_has_the_new_node_alone() -> None:
    first = start()
    shutil.rmtree(home())
    second = start()
    eventually(lambda: not process_of_or_none(first))
    assert process_of(second).is_alive()
    assert report()["node"]["pid"] == second["pid"]


def test_a_node_whose_folder_lies_outside_of_its_home_outlives_that_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the system removes $XDG_RUNTIME_DIR when the user logs out, while jobs run."""
    monkeypatch.delenv("FRAY_HOME")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    node = start()
    with NativeJobContext(address="auto") as ctx:
        shutil.rmtree(tmp_path / "run")
        assert ctx.get(ctx.run(echo, 7), timeout=PATIENCE) == 7
    process_of(node).signal(signal.SIGTERM)
    eventually(lambda: not process_of_or_none(node))


def test_a_stale_file_that_names_a_living_process_harms_nobody() -> None:
    """Its number was given to another process, here this one."""
    folder = Path(home(), "run", "node")
    folder.mkdir(parents=True, mode=0o700)
    folder.parent.chmod(0o700)
    (folder / "node.lock").touch(mode=0o600)
    (folder / "node.json").write_text(json.dumps({"pid": os.getpid(), "started_ticks": 1, "socket": "/nowhere"}))
    for arguments in (["stop"], ["stop", "--force"]):
        assert command(*arguments).code == UNREACHABLE
    assert start()["pid"] != os.getpid()


# ---- addresses


def test_auto_without_a_node_says_how_to_start_one() -> None:
    with pytest.raises(NodeDiedError, match=r"no node of this home runs.*fray start"):
        fray.init(address="auto")


@pytest.mark.parametrize("form", ["auto", "home", "folder", "socket"])
def test_a_started_node_is_reached_by(form: str) -> None:
    node = start("--cpus", "2")
    address = {"auto": "auto", "home": home(), "folder": node["session_folder"], "socket": node["socket"]}[form]
    ctx = fray.init(address=address)
    assert ctx.get(ctx.run(os.getppid), timeout=PATIENCE) in {each.pid for each in marked_processes(current_marker())}


def test_the_spec_in_the_environment_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    start("--cpus", "3")
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "local?address=auto")
    ctx = fray.get_job_context()
    assert ctx.get(ctx.run(echo, 1), timeout=PATIENCE) == 1
    assert len(report()["clients"]) == 1


def test_a_folder_without_a_node_and_a_socket_without_one_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NodeDiedError, match="no node runs in the folder"):
        NativeJobContext(address=str(tmp_path))
    with pytest.raises(NodeDiedError, match="no node answers at"):
        NativeJobContext(address=str(tmp_path / "none.sock"))
    for address in ("", "a\0b"):
        with pytest.raises(SettingsError, match="address must be"):
            NativeJobContext(address=address)


@pytest.mark.parametrize(
    "settings",
    [{"cpus": 2}, {"memory": 1 << 20}, {"store_memory": 1 << 20}, {"resources": {"TPU": 1}}, {"max_workers": 3}],
    ids=lambda settings: next(iter(settings)),
)
def test_settings_beside_an_address_are_refused(settings: dict[str, object]) -> None:
    start()
    with pytest.raises(SettingsError, match=f"{next(iter(settings))} cannot be given together with address='auto'"):
        NativeJobContext(address="auto", **settings)  # pyright: ignore[reportArgumentType]


def test_two_homes_do_not_meet(tmp_path: Path) -> None:
    other = {"FRAY_HOME": str(tmp_path / "other")}
    here, there = start("--cpus", "1"), start("--cpus", "5", env=other)
    assert here["socket"] != there["socket"]
    assert report()["resources"]["total"]["CPU"] == 1
    assert report(env=other)["resources"]["total"]["CPU"] == 5
    stop()
    assert report_code() == UNREACHABLE
    assert report(env=other)["node"]["pid"] == there["pid"]
    stop(env=other)


def test_a_home_deeper_than_a_sockets_name_may_be_long_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    monkeypatch.setenv("FRAY_HOME", str(deep))
    start("--cpus", "2")
    with NativeJobContext(address="auto") as ctx:
        assert ctx.get(ctx.run(echo, 3), timeout=PATIENCE) == 3
    with NativeJobContext(cpus=1) as ctx:
        assert ctx.get(ctx.run(echo, 4), timeout=PATIENCE) == 4
    stop()


def test_an_embedded_node_beside_a_started_one_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    node = start("--cpus", "1")
    with NativeJobContext(cpus=2) as ctx:
        assert ctx.get(ctx.run(echo, 1), timeout=PATIENCE) == 1
        assert report()["node"]["pid"] == node["pid"]
        assert report()["clients"] == []


def test_a_node_of_another_release_is_named_with_both_releases(tmp_path: Path) -> None:
    """One that speaks another format hangs up; what it wrote down says why."""
    folder = tmp_path / "node"
    folder.mkdir()
    (folder / "node.json").write_text(json.dumps({"pid": 1, "release": "9.9.9"}))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "node.sock"))
        listener.listen()
        with Driver(
            """
            try:
                NativeJobContext(address=sys.argv[1])
            except Exception as error:
                print(type(error).__name__, error)
            """,
            folder,
        ) as driver:
            peer, _ = listener.accept()
            peer.close()
            said = driver.line()
    assert said.startswith(VersionMismatchError.__name__)
    assert "9.9.9" in said
    assert fray.__version__ in said


def test_the_namespace_reaches_the_tasks() -> None:
    start("--cpus", "2")
    for given, expected in (("models", "models"), (None, "default")):
        with NativeJobContext(address="auto", namespace=given) as ctx:
            assert ctx.namespace == expected
            assert ctx.get(ctx.run(namespace_of_task), timeout=PATIENCE) == expected


def namespace_of_task() -> str:
    return fray.get_job_context().namespace


@pytest.mark.parametrize("namespace", ["", " ", "a\nb", "\x1b[31m"])
def test_a_namespace_that_cannot_be_printed_is_refused(namespace: str) -> None:
    with pytest.raises(ValueError, match=r"namespace (is|has)"):
        NativeJobContext(cpus=1, namespace=namespace)


# ---- the command line


def test_the_version_and_the_help_name_what_there_is() -> None:
    assert command("--version").ok().strip() == fray.__version__
    said = command("--help").ok()
    for part in ("start", "stop", "status", "Exit codes: 0 ok"):
        assert part in said


@pytest.mark.not_under_asan("takes longer to start")
@pytest.mark.parametrize("arguments", [["--version"], ["status"], ["start", "--help"]], ids=" ".join)
def test_the_command_answers_quickly(arguments: list[str]) -> None:
    """The aim is 15 ms; the best of some counts, for the machine may be busy."""
    start()
    best = 1.0
    for _ in range(20):
        began = time.perf_counter()
        with suppress(AssertionError):
            command(*arguments)
        best = min(best, time.perf_counter() - began)
    assert best < 0.03 * SLOWNESS, best
