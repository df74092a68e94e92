"""Statuses of the engine as exceptions."""

from __future__ import annotations

import re
from pathlib import Path

import fray
import pytest
from fray.backend.native.failures import can_pickle, engine_error

STATUS_H = Path(__file__).resolve().parents[3] / "src" / "base" / "status.h"
EXPECTED: dict[str, type[Exception]] = {
    "kInvalidArgument": fray.InfeasibleError,
    "kOutOfMemory": fray.StoreFullError,
    "kTimedOut": fray.TaskTimeoutError,
    "kCancelled": fray.TaskCancelledError,
    "kUnavailable": fray.NodeDiedError,
    "kWorkerDied": fray.WorkerDiedError,
    "kOwnerDied": fray.OwnerDiedError,
    "kVersionMismatch": fray.VersionMismatchError,
    "kObjectLost": fray.ObjectLostError,
    "kDeadlock": fray.DeadlockError,
    "kWorkerOutOfMemory": fray.OutOfMemoryError,
    "kRuntimeEnv": fray.RuntimeEnvError,
}


def status_numbers() -> dict[str, int]:
    """Return the numbers that the C++ side gives to its codes."""
    body = re.search(r"enum class \[\[nodiscard\]\] StatusCode[^{]*\{(.*?)\}", STATUS_H.read_text(), re.DOTALL)
    assert body is not None
    names = re.findall(r"^\s*(k\w+)", body[1], re.MULTILINE)
    return {name: number for number, name in enumerate(names)}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_status_of_the_engine_becomes_its_exception_with_its_message(name: str) -> None:
    error = engine_error(status_numbers()[name], "what happened")
    assert type(error) is EXPECTED[name]
    assert str(error) == "what happened"


@pytest.mark.parametrize("name", sorted(set(status_numbers()) - set(EXPECTED) - {"kOk"}))
def test_any_other_status_is_a_fray_error(name: str) -> None:
    assert type(engine_error(status_numbers()[name], "what happened")) is fray.FrayError


def test_a_code_that_nobody_knows_is_a_fray_error() -> None:
    assert type(engine_error(250, "new")) is fray.FrayError


def test_a_closed_context_says_what_to_do() -> None:
    error = engine_error(8, "the context was closed")
    assert isinstance(error, fray.ContextClosedError)
    assert "init" in str(error)


def test_can_pickle_never_raises() -> None:
    class Nasty:
        def __reduce__(self) -> str:
            raise RuntimeError("no")

    assert can_pickle([1, lambda: 2])
    assert not can_pickle(Nasty())
