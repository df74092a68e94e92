"""Callbacks of refs."""

from __future__ import annotations

import threading

import pytest
from fray import LocalJobContext
from fray.job.watch import RefCallbacks

WITHIN = 60.0


def test_callbacks_come_though_an_interrupt_has_kept_their_thread_from_starting(monkeypatch):
    def interrupted(thread):
        raise KeyboardInterrupt

    called = threading.Event()
    with LocalJobContext() as context:
        callbacks = RefCallbacks(context.engine.watch())
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", interrupted)
            with pytest.raises(KeyboardInterrupt):
                callbacks.add(context.put(1), lambda: None)
        callbacks.add(context.put(2), called.set)
        assert called.wait(WITHIN)
