"""An interrupt that comes while code of Fray runs inside a call ends the user's call all the same."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import fray
import pytest
from fray import _native
from fray._native import Interrupt
from fray.backend.native import NativeJobContext
from fray.errors import TaskTimeoutError

PATIENCE = 30.0


@pytest.fixture(autouse=True)
def no_tracer_stays() -> Iterator[None]:
    yield
    _native.set_tracer(None, None)


@pytest.fixture
def ctx() -> Iterator[NativeJobContext]:
    with NativeJobContext(cpus=2) as context:
        yield context


def wait_for_an_interrupt(*wait: object) -> None:
    """A tracer in whose code the interrupt of a task comes."""
    deadline = time.monotonic() + PATIENCE
    while _native.interrupt_reason() == Interrupt.NONE and time.monotonic() < deadline:
        pass


def send_ctrl_c(*wait: object) -> None:
    """A tracer in whose code Ctrl-C comes."""
    os.kill(os.getpid(), signal.SIGINT)


def sleep_for(seconds: float) -> None:
    time.sleep(seconds)


def test_ctrl_c_in_the_tracer_ends_the_wait(ctx: NativeJobContext, capfd: pytest.CaptureFixture[str]) -> None:
    ref = ctx.run(sleep_for, 2 * PATIENCE)
    _native.set_tracer(None, send_ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        ctx.get(ref, timeout=PATIENCE)
    _native.set_tracer(None, None)
    ctx.cancel(ref)
    assert capfd.readouterr().err == ""


def test_timeout_of_a_task_that_comes_in_its_tracer_ends_the_task(ctx: NativeJobContext) -> None:
    def waits_for_long() -> None:
        _native.set_tracer(None, wait_for_an_interrupt)
        try:
            context = fray.get_job_context()
            context.get(context.run(sleep_for, 2 * PATIENCE))
        finally:
            _native.set_tracer(None, None)

    ref = ctx.create_task(waits_for_long, options=fray.TaskOptions(timeout=0.5))
    with pytest.raises(TaskTimeoutError):
        ctx.get(ref, timeout=PATIENCE)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_error_of_the_tracer_itself_changes_nothing(ctx: NativeJobContext) -> None:
    def fail(*wait: object) -> None:
        raise ValueError("no tracer")

    _native.set_tracer(None, fail)
    assert ctx.get(ctx.run(abs, -3), timeout=PATIENCE) == 3
    _native.set_tracer(None, None)


@pytest.mark.parametrize("way", ["run", "map", "executor"])
def test_a_task_whose_submission_ctrl_c_interrupts_is_cancelled(way: str) -> None:
    with NativeJobContext(cpus=1) as context:
        executor = fray.Executor(context=context)
        assert list(context.map(abs, [-1])) == [1]
        _native.set_tracer(send_ctrl_c, None)
        with pytest.raises(KeyboardInterrupt):
            if way == "run":
                context.run(sleep_for, 2 * PATIENCE)
            elif way == "map":
                list(context.map(sleep_for, [2 * PATIENCE]))
            else:
                executor.submit(sleep_for, 2 * PATIENCE)
        _native.set_tracer(None, None)
        assert context.get(context.run(abs, -3), timeout=PATIENCE) == 3
        executor.shutdown()


def test_ctrl_c_in_the_search_for_packages_ends_what_it_was_meant_for(ctx: NativeJobContext) -> None:
    _native.watch_pickles(send_ctrl_c)
    try:
        with pytest.raises(KeyboardInterrupt):
            ctx.put({"a": {1, 2j}})
    finally:
        _native.watch_pickles(None)
