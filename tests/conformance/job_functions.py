"""Functions that jobs run. They are imported in each job, so this module imports little."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from tests.conformance.gates import Gate, Journal


def talk(words: str) -> None:
    """Print on both streams, by a child and past Python."""
    print(words)
    print("to stderr", file=sys.stderr)
    subprocess.run(["echo", "from a child"], check=True)
    os.write(1, b"from the descriptor\n")


def print_and_wait(words: str, gate: Gate) -> None:
    print(words)
    gate.wait()
    print("last words", end="")


def print_many(lines: int) -> None:
    for number in range(lines):
        print(f"{number:06} " + "x" * 93)


def write_bytes(data: bytes) -> None:
    os.write(1, data)


def announce_and_wait(started: Gate, gate: Gate) -> None:
    gate.announce_and_wait(started)


def sleep_for_ever() -> None:
    print("asleep")
    time.sleep(3600)


def no_luck() -> None:
    raise ValueError("no luck in shard 7")


def exit_with(code: Any) -> NoReturn:
    print("before the end")
    sys.exit(code)


def die(how: str) -> None:
    if how == "exit":
        os._exit(5)
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(journal: Journal) -> None:
    if journal.add("tried") == 0:
        os._exit(5)


def raise_base(kind: str) -> None:
    raise {"interrupt": KeyboardInterrupt, "own": type("Own", (BaseException,), {})}[kind]("all of it")


def leave_processes(path: str) -> None:
    """Start a child, and one in a session of its own, note their numbers, and wait."""
    started = [subprocess.Popen(["sleep", "3600"]), subprocess.Popen(["sleep", "3600"], start_new_session=True)]
    note_pids(path, [os.getpid(), *(process.pid for process in started)])
    time.sleep(3600)


def run_and_end(words: list[str]) -> None:
    subprocess.run(words, check=True)


def note_pids(path: str, pids: list[int]) -> None:
    partial = Path(path + ".partial")
    partial.write_text(" ".join(map(str, pids)))
    partial.rename(path)


def tell_variables(names: list[str]) -> None:
    for name in names:
        print(f"{name}={os.environ.get(name)}")


def read_here(name: str) -> None:
    print(Path(name).read_text(), "in", Path.cwd())


def fail_until(journal: Journal, successes_after: int) -> None:
    """Fail until this is the attempt after so many; note how each attempt is called."""
    before = journal.add(os.environ["FRAY_JOB_ATTEMPT"])
    if before < successes_after:
        raise ValueError(f"attempt {before + 1} failed")
    print("succeeded at last")


def count_state(journal: Journal, state: list[int]) -> None:
    state.append(1)
    journal.add(f"{os.environ['FRAY_REPLICA_ID']} of {os.environ['FRAY_REPLICA_COUNT']}: {len(state)}")


def fail_as(number: str, journal: Journal) -> None:
    replica = os.environ["FRAY_REPLICA_ID"]
    journal.add(replica)
    if replica == number:
        while len(journal.lines()) < 3:  # all have begun
            time.sleep(0.01)
        sys.exit(3)
    time.sleep(3600)


def meet(journal: Journal, number: int) -> None:
    """Return when so many processes are here at the same time."""
    journal.add("here")
    while len(journal.lines()) < number:
        time.sleep(0.01)


def add(journal: Journal, word: str) -> None:
    journal.add(word)


def double(value: int) -> int:
    return 2 * value


def look_around() -> None:
    """Say which cluster and context a job finds, and use the context."""
    import fray

    ctx = fray.get_job_context()
    print(type(fray.current_cluster()).__name__, sum(ctx.get([ctx.create_task(double, (n,)) for n in range(5)])))


def launch_child(word: str) -> None:
    import fray

    cluster = fray.current_cluster()
    children = [
        fray.JobRequest("program", fray.Entrypoint.from_binary("echo", [word]), fray.ResourceConfig(cpu=0)),
        fray.JobRequest("function", fray.Entrypoint.from_callable(print, [word]), fray.ResourceConfig(cpu=0)),
    ]
    for info in cluster.wait([cluster.launch(child) for child in children], raise_on_failure=True):
        said = word in cluster.logs(info.job_id).splitlines()
        print(info.name, info.status, "said it" if said else cluster.logs(info.job_id))


def launch_and_end(path: str) -> None:
    import fray

    child = fray.JobRequest("child", fray.Entrypoint.from_binary("sleep", ["3600"]), fray.ResourceConfig(cpu=0))
    Path(path).write_text(fray.current_cluster().launch(child))


class Lock:
    """Cannot be pickled."""

    def __init__(self) -> None:
        self.inner = threading.Lock()
