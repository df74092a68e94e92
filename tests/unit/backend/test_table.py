"""The table of backends: all that the rest of Fray knows of them."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import fray
import pytest
from fray.backend import BACKENDS, Backend, backend_named
from fray.errors import SettingsError, UnsupportedError

FOLDER = Path(inspect.getfile(fray)).parent / "backend"


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Backend:
    """A further backend: one module, which has its classes, and one row."""
    module = ModuleType("elsewhere")

    class Context(fray.ThreadContext):
        made_later = False

        @classmethod
        def later(cls, **settings: int) -> Context:
            context = cls(**settings)
            context.made_later = True
            return context

        @classmethod
        def current(cls) -> Context | None:
            return module.worker  # type: ignore[attr-defined,no-any-return]

    class Cluster(fray.LocalClusterContext):
        def __init__(self, **settings: object) -> None:
            self.settings = settings

    module.Context, module.Cluster, module.worker = Context, Cluster, None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "elsewhere", module)
    keys = {"max_workers": lambda raw, key: int(raw), "grace": lambda raw, key: float(raw)}
    row = Backend(
        "elsewhere",
        keys,
        "elsewhere:Context",
        "elsewhere:Cluster",
        aliases=("far",),
        cluster_keys=("grace",),
        workers_key="max_workers",
        is_worker=lambda: module.worker is not None,  # type: ignore[attr-defined]
    )
    monkeypatch.setitem(BACKENDS, row.name, row)
    return row


def test_a_further_row_is_a_context_a_cluster_and_a_type(elsewhere: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "elsewhere?max_workers=3&grace=1.5")
    assert fray.get_job_context().engine.parallelism == 3
    assert fray.create_cluster("elsewhere?max_workers=3&grace=1.5").settings == {"max_workers": 3, "grace": 1.5}  # type: ignore[attr-defined]
    for name in ("elsewhere", "far"):
        with fray.create_job_ctx(name, max_workers=2) as ctx:
            assert ctx.made_later  # type: ignore[attr-defined]
            assert ctx.get(ctx.run(pow, 2, 5)) == 32
            assert ctx.engine.parallelism == 2


def test_worker_of_a_further_backend_is_in_its_context(elsewhere: Backend) -> None:
    module = sys.modules["elsewhere"]
    with module.Context(max_workers=1) as context:
        module.worker = context
        assert fray.get_job_context() is context
        module.worker = None


def test_errors_name_the_rows_and_the_keys_of_the_row(elsewhere: Backend) -> None:
    with pytest.raises(SettingsError, match=r"Unknown key 'grade' .* Keys of 'elsewhere': max_workers, grace\."):
        fray.create_cluster("elsewhere?grade=2")
    with pytest.raises(SettingsError, match=r"Known schemes: sync, thread, local, ray, iris, elsewhere\."):
        fray.create_cluster("nowhere")
    with pytest.raises(
        SettingsError, match=r"'sync' runs tasks in this process .* use one of local, ray, iris, elsewhere"
    ):
        fray.create_cluster("sync")
    with pytest.raises(ValueError, match=r"Known types: auto, sync, thread, threadpool, .*elsewhere, far\."):
        fray.create_job_ctx("nowhere")
    with pytest.raises(TypeError, match=r"'elsewhere' does not take grade, level; it takes max_workers$"):
        fray.create_job_ctx("elsewhere", grade=2, level=3)


@pytest.mark.parametrize("name", ["sync", "thread", "local", "iris"])
def test_keys_of_a_spec_are_keywords_of_the_context(name: str) -> None:
    row = BACKENDS[name]
    wanted = set(row.keys) - set(row.cluster_keys)
    assert wanted <= set(inspect.signature(row.context_class()).parameters)


def test_every_folder_has_a_row_and_every_row_a_folder() -> None:
    folders = {path.name for path in FOLDER.glob("*/") if (path / "__init__.py").exists()}
    named = {
        place.split(".")[2].partition(":")[0]
        for row in BACKENDS.values()
        for place in (row.context, row.cluster or row.context)
    }
    assert folders == named


def test_names_of_backends_are_unique() -> None:
    names = [name for row in BACKENDS.values() for name in (row.name, *row.aliases)]
    assert len(names) == len(set(names))
    assert all(backend_named(name) is not None for name in names)
    assert backend_named("auto") is None


def test_context_that_this_build_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fray.backend.iris.context", None)
    with pytest.raises(UnsupportedError, match="no 'iris' backend yet"):
        fray.create_job_ctx("iris")


def test_table_imports_no_backend() -> None:
    code = "import sys, fray.backend; print(*[name for name in sys.modules if name.startswith('fray.backend.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []
