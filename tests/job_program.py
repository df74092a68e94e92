"""`fray job` on one cluster, as somebody types it, and what every cluster has to do alike."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.unit.cli.conftest import program_path

OK, FAILED, USAGE, NOT_FOUND, TIMED_OUT, UNREACHABLE, REFUSED, CONFLICT = range(8)
DISK = 74
INTERRUPTED = 130
TOLD = {"schema", "id", "name", "command", "status", "phase", "exit_code", "replicas", "submitted_at", "ended_at"}
"""What the document of a job has on every cluster."""
_PATIENCE = 60.0


@dataclass(frozen=True)
class Program:
    """The program with a cluster, a folder and an environment; `asks` are options of every job that it starts."""

    option: str
    folder: Path
    environment: dict[str, str]
    asks: tuple[str, ...] = ()

    def job(self, verb: str, *words: object, within: float = _PATIENCE) -> subprocess.CompletedProcess[str]:
        command = [program_path(), "job", verb, "--cluster", self.option, *map(str, words)]
        environment = {**os.environ, **self.environment}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=within, env=environment, cwd=self.folder, check=False
        )

    def start(self, *words: object) -> str:
        done = self.job("submit", "--no-wait", *self.asks, *words)
        assert done.returncode == OK, done.stderr
        return done.stdout.strip()

    def told(self, job: str) -> dict[str, Any]:
        done = self.job("status", "--json", job)
        assert done.returncode == OK, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def open(self, verb: str, *words: object) -> subprocess.Popen[str]:
        command = [program_path(), "job", verb, "--cluster", self.option, *map(str, words)]
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.environment},
            cwd=self.folder,
        )


def check_that_ctrl_c_leaves_the_job(program: Program) -> None:
    """Ctrl-C ends who follows a job and who waits for it, and says how to come back; the job goes on."""
    with program.open("submit", *program.asks, "--", "sh", "-c", "echo begun; exec sleep 1000") as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "begun\n"
        said = _interrupted(follower)
    back = re.search(r"fray job logs -f (\S+) --cluster '(\S+)'", said)
    assert back is not None, said
    job = back[1]
    assert back[2] == program.option
    assert f"fray job stop {job} --cluster '{program.option}'" in said
    assert program.told(job)["status"] == "running"
    with program.open("wait", job) as waiter:
        deadline = time.monotonic() + _PATIENCE
        while not _hears_interrupts(waiter.pid):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        _interrupted(waiter)
    assert program.told(job)["status"] == "running"
    assert program.job("stop", job).returncode == OK


def _interrupted(program: subprocess.Popen[str]) -> str:
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=_PATIENCE)
    assert (program.returncode, "the job goes on" in said) == (INTERRUPTED, True), said
    return said


def _hears_interrupts(pid: int) -> bool:
    if Path(f"/proc/{pid}/exe").readlink().name != "fray":
        return False  # the shell that becomes the program, which catches them too
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert caught is not None
    return bool(int(caught[1], 16) & 1 << (signal.SIGINT - 1))
