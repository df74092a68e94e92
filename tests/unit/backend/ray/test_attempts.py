"""How attempts end and whether another follows."""

from __future__ import annotations

import pytest
from fray import OutOfMemoryError, TaskCancelledError, WorkerDiedError

theirs = pytest.importorskip("ray.exceptions", reason="Ray is not installed for this Python")

from fray.backend.ray.attempts import Budget, Ending, ending_of, worst  # noqa: E402


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (None, Ending.SUCCEEDED),
        (ValueError("no"), Ending.FAILED),
        (OutOfMemoryError("too much"), Ending.FAILED),
        (WorkerDiedError("gone"), Ending.PREEMPTED),
        (theirs.NodeDiedError("gone"), Ending.PREEMPTED),
        (theirs.ActorDiedError(), Ending.PREEMPTED),
        (TaskCancelledError("mate failed"), Ending.CANCELLED),
        (TimeoutError("barrier"), Ending.FAILED),
    ],
)
def test_errors_are_told_apart(error: BaseException | None, ending: Ending):
    assert ending_of(error) is ending


def test_giving_up_waiting_is_a_preemption_on_a_pod():
    assert ending_of(TimeoutError("barrier"), timeouts_are_preemptions=True) is Ending.PREEMPTED
    assert ending_of(RuntimeError("peer timed out"), timeouts_are_preemptions=True) is Ending.PREEMPTED


def test_one_preemption_hides_failures():
    assert worst([Ending.SUCCEEDED, Ending.FAILED, Ending.CANCELLED, Ending.PREEMPTED]) is Ending.PREEMPTED
    assert worst([Ending.CANCELLED, Ending.FAILED]) is Ending.FAILED
    assert worst([]) is Ending.SUCCEEDED


def test_failures_and_preemptions_are_counted_apart():
    budget = Budget(failures=1, preemptions=2)
    assert [budget.again(Ending.PREEMPTED) for _ in range(2)] == [True, True]
    assert budget.again(Ending.FAILED)
    assert not budget.again(Ending.FAILED)
    assert not budget.again(Ending.PREEMPTED)
