"""Making contexts."""

from __future__ import annotations

import os
import subprocess
import sys

import fray
import pytest

from tests.conformance import import_time


@pytest.mark.behaviour("C023")
def test_create_job_ctx_makes_each_type(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "sync")
    for name, kind in (
        ("sync", fray.SyncContext),
        ("thread", fray.ThreadContext),
        ("threadpool", fray.ThreadContext),
        ("auto", fray.LocalJobContext),
    ):
        with fray.create_job_ctx(name) as context:
            assert type(context) is kind
    with pytest.raises(ValueError, match="Unknown context type"):
        fray.create_job_ctx("cloud")


@pytest.mark.behaviour("D9")
def test_choice_is_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "sync")
    fray.set_job_context(None)
    try:
        assert fray.get_job_context() is fray.get_job_context() is fray.get_default_job_ctx()
    finally:
        fray.shutdown()
        fray.set_job_context(None)


@pytest.mark.behaviour("T173")
def test_context_of_an_imported_module_is_usable_in_the_task(ctx: fray.JobContext, context_name: str):
    kind = {"native": "native", "job": "native", "iris": "native", "ray": "ray"}.get(context_name, "sync")
    assert ctx.get(ctx.run(import_time.square, kind, 7)) == 49
    if kind == "sync":
        return  # a context of its own, whose refs are not the task's
    for each in (kind, "auto"):
        assert ctx.get(ctx.run(import_time.read, each, [ctx.put(1), ctx.run(pow, 2, 2)])) == [1, 4]
        assert ctx.get(ctx.get(ctx.run(import_time.give, each, "given"))) == ["given"]


@pytest.mark.behaviour("T173")
def test_importing_starts_nothing():
    code = (
        "import psutil, sys\nimport tests.conformance.import_time as module\n"
        "assert not psutil.Process().children(), psutil.Process().children()\n"
        "ray = sys.modules.get('ray')\nassert ray is None or not ray.is_initialized()\n"
        "assert not any(c.closed for c in (module.SYNC, module.THREADS, module.NATIVE, module.AUTO))\n"
        "module.NATIVE.close()\nassert module.NATIVE.closed\n"
        "try:\n    module.NATIVE.put(1)\nexcept module.fray.ContextClosedError:\n    print('closed')\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FRAY_")}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["closed"], done.stderr[-2000:]
