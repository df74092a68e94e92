from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import fray
import pytest


class FakeNative(fray.LocalJobContext):
    """Stands in for the native context: remembers what it was made with."""

    worker: fray.JobContext | None = None

    def __init__(self, **settings: object) -> None:
        super().__init__()
        self.settings = settings

    @classmethod
    def of_begun(cls, begun: dict[str, object]) -> FakeNative:
        return cls(**begun)

    @classmethod
    def later(cls, **settings: object) -> FakeNative:
        return cls(**settings)

    @classmethod
    def current(cls) -> fray.JobContext | None:
        return cls.worker


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start and end without a current context and without settings in the environment."""
    monkeypatch.delenv("FRAY_CLUSTER_SPEC", raising=False)
    monkeypatch.delenv("FRAY_NODE", raising=False)
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR", raising=False)
    fray.set_job_context(None)
    yield
    fray.shutdown()
    fray.set_job_context(None)


@pytest.fixture
def fake_native(monkeypatch: pytest.MonkeyPatch) -> type[FakeNative]:
    module = ModuleType("fray.backend.native")
    module.NativeJobContext, module.begin = FakeNative, dict  # type: ignore[attr-defined]
    seat = ModuleType("fray.backend.native.seat")
    seat.client_of_worker = object()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fray.backend.native", module)
    monkeypatch.setitem(sys.modules, "fray.backend.native.seat", seat)
    monkeypatch.setattr(FakeNative, "worker", None)
    return FakeNative
