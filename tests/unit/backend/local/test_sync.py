from __future__ import annotations

import gc
import weakref

import pytest
from fray import LocalJobContext, SyncContext, TaskOptions, TaskTimeoutError


def test_tasks_run_at_once_and_in_order():
    order = []
    ctx = LocalJobContext()
    for number in range(3):
        ctx.run(order.append, number)
        assert order[-1] == number


def test_sync_context_is_the_same_class():
    assert SyncContext is LocalJobContext


def test_keyboard_interrupt_leaves_create_task():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LocalJobContext().run(interrupt)


def test_generator_runs_only_as_far_as_it_is_read():
    reached = []

    def items():
        for number in range(5):
            reached.append(number)
            yield number

    ref = LocalJobContext().run(items)
    assert reached == []
    assert (next(ref).result(), reached) == (0, [0])


def test_value_goes_with_its_last_ref():
    class Thing:
        pass

    ctx = LocalJobContext()
    ref = ctx.put(Thing())
    alive = weakref.ref(ctx.get(ref))
    assert alive() is not None
    del ref
    gc.collect()
    assert alive() is None


def test_cancelled_generator_is_closed_at_its_next_step():
    from fray import TaskCancelledError

    ctx = LocalJobContext()
    ref = ctx.run(lambda: (n for n in range(5)))
    assert next(ref).result() == 0
    ctx.cancel(ref)
    with pytest.raises(TaskCancelledError):
        next(ref)


def test_serialized_values_share_refs_not_objects():
    ctx = LocalJobContext(serialize=True)
    ref = ctx.put([1])
    inside = ctx.get(ctx.put({"a": ref, "b": ref}))
    assert inside["a"] is inside["b"] is ref


def test_timeout_is_noticed_when_the_call_is_over(monkeypatch: pytest.MonkeyPatch):
    from fray.backend.local import call

    now = [0.0]
    monkeypatch.setattr(call.time, "monotonic", lambda: now[0])

    def slow():
        now[0] += 5

    ref = LocalJobContext().create_task(slow, options=TaskOptions(timeout=4))
    with pytest.raises(TaskTimeoutError, match="4 s"):
        ref.result()
