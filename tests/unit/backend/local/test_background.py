from __future__ import annotations

import gc
import threading
import time

from fray.backend.local.pool import BackgroundThread


def test_launching_with_a_lock_that_the_new_thread_wants_first(monkeypatch):
    lock = threading.RLock()
    ran = threading.Event()
    original = threading.Thread._bootstrap_inner

    def collect_first(self):
        with lock:  # what a finalizer would do
            pass
        original(self)

    monkeypatch.setattr(BackgroundThread, "_bootstrap_inner", collect_first, raising=False)
    thread = BackgroundThread(ran.set, "fray-test")
    with lock:
        thread.launch()
    thread.join_until(time.monotonic() + 60)
    assert ran.is_set()
    assert not thread.is_alive()


def test_join_before_the_start_and_from_within():
    waits = threading.Event()
    thread = BackgroundThread(lambda: (thread.join_until(time.monotonic() + 60), waits.set()), "fray-test")
    thread.join_until(time.monotonic())
    thread.launch()
    assert waits.wait(60)
    thread.join_until(time.monotonic() + 60)
    assert not thread.is_alive()
    gc.collect()
