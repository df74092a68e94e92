"""Statuses of the engine as exceptions."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import fray
import pytest
from fray._native import ActorFate, Executed, FunctionKind, Interrupt, StatusCode, TaskStatus
from fray.backend.native.failures import actor_died, can_pickle, engine_error

SOURCES = Path(__file__).resolve().parents[3] / "src"
EXPECTED: dict[StatusCode, type[Exception]] = {
    StatusCode.INVALID_ARGUMENT: fray.InfeasibleError,
    StatusCode.STORE_FULL: fray.StoreFullError,
    StatusCode.TIMED_OUT: fray.TaskTimeoutError,
    StatusCode.CANCELLED: fray.TaskCancelledError,
    StatusCode.UNAVAILABLE: fray.NodeDiedError,
    StatusCode.WORKER_DIED: fray.WorkerDiedError,
    StatusCode.OWNER_DIED: fray.OwnerDiedError,
    StatusCode.VERSION_MISMATCH: fray.VersionMismatchError,
    StatusCode.OBJECT_LOST: fray.ObjectLostError,
    StatusCode.DEADLOCK: fray.DeadlockError,
    StatusCode.WORKER_OUT_OF_MEMORY: fray.OutOfMemoryError,
    StatusCode.RUNTIME_ENV: fray.RuntimeEnvError,
    StatusCode.CLOSED: fray.ContextClosedError,
    StatusCode.FORKED: fray.ForeignRefError,
    StatusCode.RESERVATION_ENDED: fray.ReservationEndedError,
}


def enumerators(header: str, name: str) -> list[str]:
    """Return the names that an enum has in C++, as Python writes constants."""
    body = re.search(
        rf"enum class (?:\[\[nodiscard\]\] )?{name}\b[^{{]*\{{(.*?)\}}", (SOURCES / header).read_text(), re.DOTALL
    )
    assert body is not None
    names = re.findall(r"\bk([A-Z]\w*)", re.sub(r"//.*", "", body[1]))
    return [re.sub(r"(?<!^)(?=[A-Z])", "_", each).upper() for each in names]


@pytest.mark.parametrize(
    ("header", "enum"),
    [
        ("base/status.h", StatusCode),
        ("wire/function_payload.h", FunctionKind),
        ("wire/direct.h", TaskStatus),
        ("wire/actor.h", Executed),
        ("worker/task_loop.h", Interrupt),
    ],
)
def test_an_enum_of_the_engine_has_the_same_names_in_python(header: str, enum: type[StatusCode]) -> None:
    assert [each.name for each in enum] == enumerators(header, enum.__name__)


@pytest.mark.parametrize("code", EXPECTED)
def test_a_status_of_the_engine_becomes_its_exception_with_its_message(code: StatusCode) -> None:
    error = engine_error(code, "what happened")
    assert type(error) is EXPECTED[code]
    assert str(error).startswith("what happened")


@pytest.mark.parametrize("code", sorted(set(StatusCode) - set(EXPECTED) - {StatusCode.OK}))
def test_any_other_status_is_a_fray_error(code: StatusCode) -> None:
    assert type(engine_error(code, "what happened")) is fray.FrayError


def test_a_code_that_nobody_knows_is_a_fray_error() -> None:
    assert type(engine_error(250, "new")) is fray.FrayError


def test_a_closed_context_says_what_to_do() -> None:
    assert "fray.init()" in str(engine_error(StatusCode.CLOSED, "closed, in whatever words"))


@pytest.mark.parametrize("code", [StatusCode.UNAVAILABLE, StatusCode.CANCELLED])
def test_an_error_is_told_by_its_code_whatever_its_words_say(code: StatusCode) -> None:
    for words in ("the context was closed", "the ref or actor was made before this process was forked"):
        assert type(engine_error(code, words)) is EXPECTED[code]


@pytest.mark.parametrize("executed", Executed)
def test_the_death_of_an_actor_says_whether_the_call_ran(executed: Executed) -> None:
    error = actor_died(executed, ActorFate.ENDED, "Counter", "", "it was killed", b"")
    assert isinstance(error, fray.ActorDiedError)
    assert error.executed == executed.name.lower()


@pytest.mark.parametrize("fate", ActorFate)
def test_the_death_of_an_actor_says_what_becomes_of_it(fate: ActorFate) -> None:
    error = actor_died(Executed.UNKNOWN, fate, "Counter", "", "its process died", b"")
    assert isinstance(error, fray.ActorDiedError)
    assert error.fate == fate.name.lower()
    assert ("has ended" in str(error)) == (fate != ActorFate.LIVES_ON)
    assert pickle.loads(pickle.dumps(error)).fate == error.fate


def test_can_pickle_never_raises() -> None:
    class Nasty:
        def __reduce__(self) -> str:
            raise RuntimeError("no")

    assert can_pickle([1, lambda: 2])
    assert not can_pickle(Nasty())
