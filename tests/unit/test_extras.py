import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import fray
import pytest
from fray._extras import needs
from fray.errors import UnsupportedError


class Missing:
    """Makes a package look as if it were not installed."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] == self._package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def hide(package: str) -> None:
        for name in list(sys.modules):
            if name.partition(".")[0] == package:
                monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [Missing(package), *sys.meta_path])

    yield hide


def import_anew(monkeypatch: pytest.MonkeyPatch, name: str) -> Any:
    module = sys.modules.get(name)
    if module is not None:
        monkeypatch.delitem(sys.modules, name)
    return importlib.import_module(name)


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("fray.dask", "dask", "dask"),
        ("fray.joblib", "joblib", "joblib"),
        ("fray.backend.ray.library", "ray", "ray"),
    ],
)
def test_plug_without_its_package_names_the_extra(
    without: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, module: str, package: str, extra: str
) -> None:
    without(package)
    with pytest.raises(ModuleNotFoundError, match=rf"{package}, which is not installed; .*'fray\[{extra}\]'") as caught:
        import_anew(monkeypatch, module)
    assert caught.value.name == package


def test_context_on_ray_without_ray_names_the_extra(
    without: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    backends = importlib.import_module("fray.backend")
    monkeypatch.setattr(backends, "ray", importlib.import_module("fray.backend.ray"))  # put back at the end
    for name in list(sys.modules):
        if name.startswith("fray.backend.ray"):
            monkeypatch.delitem(sys.modules, name)
    without("ray")
    with pytest.raises(UnsupportedError, match=r"'fray\[ray\]'"):
        fray.create_job_ctx("ray")


@pytest.mark.parametrize("kind", ["sync", "local"])
def test_empty_array_without_numpy_names_the_extra(without: Callable[[str], None], kind: str) -> None:
    with fray.create_job_ctx(kind) as context:
        without("numpy")
        with pytest.raises(ModuleNotFoundError, match=r"ctx.empty needs numpy.*'fray\[numpy\]'"):
            context.empty(3, "float64")


def test_report_without_plotly_names_the_extra(without: Callable[[str], None]) -> None:
    from fray._report.figures import library_source

    without("plotly")
    with pytest.raises(UnsupportedError, match=r"fray.report needs plotly.*'fray\[report\]'"):
        library_source()


def test_package_that_lacks_a_module_is_told_from_one_that_is_missing() -> None:
    with (
        pytest.raises(
            ModuleNotFoundError, match=r"another version: it has no json\.nowhere; .*--upgrade 'fray\[web\]'"
        ),
        needs("web", "json", "fray.web"),
    ):
        importlib.import_module("json.nowhere")


def test_other_errors_of_an_import_stay_as_they_are() -> None:
    with pytest.raises(ModuleNotFoundError, match="named 'something_else'"), needs("web", "json", "fray.web"):
        importlib.import_module("something_else")
    with pytest.raises(ZeroDivisionError), needs("web", "json", "fray.web"):
        raise ZeroDivisionError
