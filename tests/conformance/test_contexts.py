"""Making contexts; nothing here depends on which one runs."""

from __future__ import annotations

import fray
import pytest


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
