"""What a cancellation that comes at the worst moment leaves for the next task of Ray's worker."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

from fray.backend.ray.job_output import _captured
from fray.backend.ray.replica_process import _surroundings
from fray.backend.ray.worker import _time_limit


def interrupted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `function` and is interrupted then, the first time."""
    interrupts = [KeyboardInterrupt]

    def call(*args: Any) -> Any:
        result = function(*args)
        if interrupts:
            raise interrupts.pop()
        return result

    return call


def test_a_task_that_is_cancelled_as_its_time_begins_leaves_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGALRM)
    monkeypatch.setattr(signal, "setitimer", interrupted(signal.setitimer))
    with pytest.raises(KeyboardInterrupt), _time_limit(3600):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) == before


def test_a_job_that_is_ended_as_it_begins_leaves_no_variables_and_no_other_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = os.getcwd()
    monkeypatch.delenv("FRAY_TEST_VARIABLE", raising=False)
    monkeypatch.setattr(os, "chdir", interrupted(os.chdir))
    with pytest.raises(KeyboardInterrupt), _surroundings({"FRAY_TEST_VARIABLE": "1"}, str(tmp_path)):
        pass
    assert "FRAY_TEST_VARIABLE" not in os.environ
    assert os.getcwd() == before


def test_a_job_that_is_ended_as_its_output_begins_to_be_taken_gives_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    streams, file = (sys.stdout, sys.stderr), os.fstat(1).st_ino
    with monkeypatch.context() as patched:
        patched.setattr(os, "dup2", interrupted(os.dup2))
        with pytest.raises(KeyboardInterrupt), _captured(lambda text: None):
            pass
    assert (sys.stdout, sys.stderr) == streams
    assert os.fstat(1).st_ino == file
