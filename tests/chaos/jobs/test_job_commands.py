"""`fray job ...` and `fray submit`: output, exit codes, and what Ctrl-C does."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.harness import eventually
from tests.chaos.started import PROGRAM, command, start

pytestmark = pytest.mark.usefixtures("started_nodes")

FAILED, USAGE, NOT_FOUND, TIMED_OUT, UNREACHABLE, CONFLICT = 1, 2, 3, 4, 5, 7


@pytest.fixture
def node() -> dict[str, Any]:
    return start("--cpus", "2")


def submit(*words: str, cpus: int = 0, options: tuple[str, ...] = ()) -> str:
    done = command("job", "submit", "--no-wait", "--cpus", str(cpus), *options, "--", *words)
    assert done.code == 0, done
    return done.stdout.strip()


def described(job: str) -> dict[str, Any]:
    return json.loads(command("job", "status", "--json", job).ok())


def test_submit_starts_a_node_says_so_and_ends_with_the_jobs_code() -> None:
    done = command("submit", "--", "sh", "-c", "echo out; echo err >&2; exit 17")
    assert done.code == 17
    assert done.stdout == "out\n"
    assert "started a node, for none ran" in done.stderr
    assert "err\n" in done.stderr
    assert re.search(r"job sh-\w+ failed after [\d.]+ s: it exited with code 17", done.stderr)


def test_exit_code_of_a_signal_is_as_in_a_shell(node: dict[str, Any]) -> None:
    assert command("submit", "--", "sh", "-c", "kill -9 $$").code == 128 + 9


@pytest.mark.parametrize(("word", "code"), [("no-such-program", 127), ("/etc/passwd", 126)])
def test_command_that_cannot_be_run(node: dict[str, Any], word: str, code: int) -> None:
    done = command("submit", "--", word)
    assert done.code == code
    assert word in done.stderr


def test_python_finds_fray_and_the_node_inside_a_job(node: dict[str, Any]) -> None:
    script = "import fray; ctx = fray.get_job_context(); print(ctx.get(ctx.create_task(lambda: 42)))"
    assert command("submit", "--", "python", "-c", script).stdout == "42\n"


def test_commands_in_a_folder_that_was_removed_say_so(node: dict[str, Any], tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    for words, code, reason in (
        (["submit", "--", "true"], USAGE, "the current folder cannot be found (No such file or directory)"),
        (["run", "program.py::main"], NOT_FOUND, "the current folder is gone (No such file or directory)"),
        (["run", "program:main"], NOT_FOUND, "the current folder is gone (No such file or directory)"),
    ):
        gone.mkdir()
        line = ["sh", "-c", 'rmdir "$1"; shift; exec "$@"', "sh", str(gone), PROGRAM, *words]
        done = subprocess.run(line, cwd=gone, capture_output=True, text=True, timeout=60)
        assert (done.returncode, reason in done.stderr) == (code, True), done.stderr


def test_an_empty_id_is_refused(node: dict[str, Any]) -> None:
    done = command("submit", "--id", "", "--", "true")
    assert done.code == USAGE
    assert "must not be empty; leave it out for a new id" in done.stderr


def test_unknown_job_is_exit_code_3(node: dict[str, Any]) -> None:
    for words in (("status",), ("logs",), ("logs", "-f"), ("stop",), ("wait",), ("delete",)):
        done = command("job", *words, "nobody")
        assert done.code == NOT_FOUND, words
        assert "there is no job nobody" in done.stderr


def test_without_a_node_there_is_a_hint() -> None:
    done = command("job", "list")
    assert done.code == UNREACHABLE
    assert "hint:" in done.stderr


@pytest.mark.parametrize("name", ["a b", "a/b"])
def test_bad_names_are_usage_errors_with_what_would_do(node: dict[str, Any], name: str) -> None:
    done = command("job", "submit", "--name", name, "--", "true")
    assert done.code == USAGE
    assert "use '-'" in done.stderr


def test_second_job_of_an_id_is_a_conflict(node: dict[str, Any]) -> None:
    assert submit("true", options=("--id", "once")) == "once"
    assert command("job", "submit", "--id", "once", "--", "true").code == CONFLICT


def test_job_larger_than_the_node_is_refused(node: dict[str, Any]) -> None:
    done = command("job", "submit", "--cpus", "99", "--", "true")
    assert done.code == FAILED
    assert "its replica needs CPU 99, the node has CPU 2" in done.stderr


def test_list_shows_why_a_job_waits_and_json_has_the_same(node: dict[str, Any]) -> None:
    first = submit("sleep", "1000", cpus=2)
    waiting = submit("true", cpus=1)
    eventually(lambda: described(first)["status"] == "running")
    assert "waits for CPU 1: the node has CPU 2, of which CPU 0 is free" in command("job", "list").ok()
    jobs = json.loads(command("job", "list", "--json", "--status", "pending").ok())["jobs"]
    assert [job["id"] for job in jobs] == [waiting]


def test_logs_tail_grep_and_json(node: dict[str, Any]) -> None:
    job = submit("sh", "-c", "for i in 1 2 3 4; do echo line $i; done; echo oops >&2")
    assert command("job", "wait", job).code == 0
    assert command("job", "logs", job).stdout == "line 1\nline 2\nline 3\nline 4\n"
    assert command("job", "logs", job).stderr == "oops\n"
    assert command("job", "logs", "--tail", "2", job).stdout == "line 3\nline 4\n"
    assert command("job", "logs", "--grep", "[24]$", job).stdout == "line 2\nline 4\n"
    for since in ("1h", "130000d", "1000000d"):
        assert command("job", "logs", "--since", since, job).stdout.startswith("line 1\n")
    documents = [json.loads(line) for line in command("job", "logs", "--json", job).stdout.splitlines()]
    assert {document["stream"] for document in documents} == {"stdout", "stderr"}
    assert command("job", "logs", "--grep", "(", job).code == USAGE


def test_grep_takes_long_lines_and_gives_up_on_expressions_without_an_end(node: dict[str, Any]) -> None:
    job = submit("python3", "-c", "print('x' * 60_000); print('end')")
    assert command("job", "wait", job).code == 0
    assert command("job", "logs", "--grep", "x$", job).stdout == "x" * 60_000 + "\n"
    assert command("job", "logs", "--grep", "^[ye]nd", job).stdout == "end\n"
    endless = command("job", "logs", "--grep", "(x+x+)+[yz]", job)
    assert endless.code == 1
    assert "--grep (x+x+)+[yz] takes too long on a line of 60000 characters" in endless.stderr


def test_wait_has_a_timeout_and_gives_the_first_failure(node: dict[str, Any]) -> None:
    sleeper, good, bad = submit("sleep", "1000"), submit("true"), submit("sh", "-c", "exit 5")
    assert command("job", "wait", "--timeout", "0.1s", sleeper).code == TIMED_OUT
    assert command("job", "wait", good, bad).code == 5
    eventually(lambda: described(sleeper)["status"] == "running")
    command("job", "stop", sleeper).ok()
    assert command("job", "wait", sleeper).code == 128 + signal.SIGINT
    assert described(sleeper)["status"] == "stopped"


def test_line_of_a_python_program_is_followed_when_it_is_printed(node: dict[str, Any], tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    job = submit(sys.executable, "-c", f"print('begun'); open({str(gate)!r}).read(); print('ended', end='')")
    with subprocess.Popen([PROGRAM, "job", "logs", "-f", job], stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "begun\n"
        gate.write_text("")
        assert follower.stdout.read() == "ended"


def test_follow_goes_on_over_the_attempts_and_ends_with_the_status(node: dict[str, Any], tmp_path: Path) -> None:
    script = f"echo try; [ -e {tmp_path}/mark ] || {{ touch {tmp_path}/mark; exit 1; }}"
    done = command("job", "submit", "--max-failures", "1", "--", "sh", "-c", script)
    assert done.code == 0
    assert done.stdout == "try\ntry\n"
    assert "succeeded after" in done.stderr


def test_an_attempt_that_was_chosen_is_followed_alone_and_to_its_end(node: dict[str, Any], tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    script = f'echo "try $FRAY_JOB_ATTEMPT"; [ $FRAY_JOB_ATTEMPT = 2 ] && cat {gate}; exit 1'
    job = submit("sh", "-c", script, cpus=2, options=("--max-failures", "2"))
    eventually(lambda: described(job)["attempt"] == 2)
    first = command("job", "logs", "--attempt", "1", "-f", job)
    assert (first.code, first.stdout, first.stderr) == (0, "try 1\n", ""), "the end of an attempt is not the job's"
    second = [PROGRAM, "job", "logs", "--attempt", "2", "-f", job]
    with subprocess.Popen(second, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "try 2\n"
        submit("sleep", "1000", cpus=2)  # has the CPUs while the job pauses, so that there is no third attempt
        gate.write_text("on\n")
        assert follower.communicate(timeout=60) == ("on\n", "")
    assert follower.returncode == 0
    assert (described(job)["attempt"], described(job)["status"]) == (2, "pending")


def test_delete_forgets_only_what_has_ended(node: dict[str, Any]) -> None:
    job = submit("sleep", "1000")
    assert command("job", "delete", job).code == FAILED
    command("job", "stop", job).ok()
    command("job", "wait", job)
    command("job", "delete", job).ok()
    assert command("job", "status", job).code == NOT_FOUND


def test_beginning_of_an_id_is_enough(node: dict[str, Any]) -> None:
    job = submit("true")
    command("job", "wait", job[:6]).ok()


def test_ps_names_jobs_with_their_processes(node: dict[str, Any]) -> None:
    job = submit("sleep", "1000")
    eventually(lambda: described(job)["status"] == "running")
    rows = json.loads(command("ps", "--json").ok())["processes"]
    found = next(row for row in rows if row["kind"] == "job")
    assert found["what"] == job
    os.kill(found["pid"], 0)


def test_config_shows_where_settings_come_from() -> None:
    text = command("config", "show", "--origin").ok()
    assert f"{os.environ['FRAY_HOME']}   (environment: FRAY_HOME)" in text
    document = json.loads(command("config", "show", "--json", env={"FRAY_NAMESPACE": "mine"}).ok())
    namespace = document["settings"]["namespace"]
    assert (namespace["value"], namespace["origin"]) == ("mine", "environment: FRAY_NAMESPACE")
    assert namespace["variables"] == ["FRAY_NAMESPACE"]
    assert "names of actors" in namespace["meaning"]


def test_config_says_of_each_setting_what_it_is_and_which_variables_decide() -> None:
    settings = json.loads(command("config", "show", "--json").ok())["settings"]
    assert {variable for setting in settings.values() for variable in setting["variables"]} >= {
        "FRAY_CLUSTER_SPEC",
        "FRAY_HOME",
        "FRAY_NAMESPACE",
        "FRAY_NODE",
    }
    assert all(setting["meaning"] and setting["variables"] for setting in settings.values())


def test_completion_offers_commands_and_options() -> None:
    script = command("completion", "bash").ok()
    ask = f'{script}\nCOMP_WORDS=(fray job s); COMP_CWORD=2; _fray; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["submit", "status", "stop"]


def in_shell(words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(f"'{PROGRAM}' {words}", shell=True, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("closed", [">&-", "<&-", "<&- >&-"])
def test_closed_standard_streams_change_no_exit_code(node: dict[str, Any], closed: str) -> None:
    assert in_shell(f"submit {closed} -- sh -c 'echo out; exit 9'").returncode == 9
    assert in_shell(f"status {closed}").returncode == 0


@pytest.mark.parametrize("error", ["2>&-", "2>/dev/full"])
def test_messages_that_nobody_takes_change_no_exit_code(node: dict[str, Any], error: str) -> None:
    assert in_shell(f"submit {error} -- sh -c 'exit 9'").returncode == 9
    assert in_shell(f"job status nobody {error}").returncode == NOT_FOUND


@pytest.mark.parametrize("words", ["status", "job list --json", "submit -- echo out", "submit -- seq 100000"])
def test_output_that_cannot_be_written_is_said_once_and_is_exit_code_74(node: dict[str, Any], words: str) -> None:
    done = in_shell(f"{words} >/dev/full")
    assert done.returncode == 74
    assert done.stderr.count("its output cannot be written: No space left on device") == 1


def test_a_wait_of_no_time_tells_of_jobs_that_have_ended_and_a_very_long_one_waits(node: dict[str, Any]) -> None:
    ended, running = submit("true"), submit("sleep", "100")
    assert command("job", "wait", ended).code == 0
    assert command("job", "wait", "--timeout", "0", ended).code == 0
    assert command("job", "wait", "--timeout", "1e30", ended).code == 0
    assert command("job", "wait", "--timeout", "0", running).code == TIMED_OUT
    command("job", "stop", running).ok()


@pytest.mark.parametrize("words", [("--tail", "-1"), ("--tail", "99999999999999999999"), ("--attempt", "0")], ids=str)
def test_lines_and_attempts_that_cannot_be_are_wrong_usage(words: tuple[str, str]) -> None:
    done = command("job", "logs", *words, "nobody")
    assert done.code == USAGE
    assert words[0] in done.stderr
