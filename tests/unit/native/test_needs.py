"""What a driver tells the fork server of its node of the packages that its calls name."""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fray.backend.native.loading import Loading
from fray.backend.native.needs import Known, Needs

LARGE = "fray_large_package"


class Told(Loading):
    """What the other side reads."""

    @property
    def names(self) -> list[str]:
        return self._names()


@pytest.fixture
def needs() -> Iterator[Needs]:
    made = Needs()
    yield made
    made.close()


@pytest.fixture
def told(needs: Needs) -> Told:
    return Told(needs.path)


def put_module(monkeypatch: pytest.MonkeyPatch, name: str, place: Path | None, **names: Any) -> ModuleType:
    module = ModuleType(name)
    if place is not None:
        module.__file__ = str(place / (name.replace(".", "/") + ".py"))
    vars(module).update(names)
    monkeypatch.setitem(sys.modules, name, module)
    return module


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Be a package of 25 modules, installed."""
    site = tmp_path / "site-packages"
    package = put_module(monkeypatch, LARGE, site)
    for number in range(24):
        put_module(monkeypatch, f"{LARGE}.part{number}", site)
    return package


def test_nothing_is_known_before_the_first_call(told: Told) -> None:
    assert told.needs() == Known.UNKNOWN
    assert told.names == []


def test_a_pickle_that_names_a_large_package_tells_all_of_its_modules(
    needs: Needs, told: Told, large: ModuleType
) -> None:
    del large
    needs.see_pickle(b"\x8c\x1afray_large_package.part3\x94")
    assert told.needs() == Known.LOADED
    assert told.names == [LARGE, *(f"{LARGE}.part{number}" for number in range(24))]


@pytest.mark.parametrize(
    "pickled",
    [
        b"",
        b"x" * 1000,
        b"my_fray_large_package.part3",
        b"fray_large_packages",
        b"x.fray_large_package",
        pickle.dumps(1),
    ],
)
def test_pickles_that_name_no_large_package_tell_that_nothing_is_needed(
    needs: Needs, told: Told, large: ModuleType, pickled: bytes
) -> None:
    del large
    assert needs.see_pickle(pickled)
    assert told.needs() == Known.NOTHING
    assert told.names == []


def test_packages_that_are_small_or_the_programs_own_are_not_told(
    monkeypatch: pytest.MonkeyPatch, needs: Needs, told: Told, tmp_path: Path
) -> None:
    put_module(monkeypatch, "fray_small_package", tmp_path / "site-packages")
    put_module(monkeypatch, "fray_own_package", tmp_path)
    for number in range(30):
        put_module(monkeypatch, f"fray_own_package.part{number}", tmp_path)
    needs.see_pickle(b"fray_small_package fray_own_package.part1")
    assert told.needs() == Known.NOTHING


def test_a_package_that_is_named_later_is_told_later(
    monkeypatch: pytest.MonkeyPatch, needs: Needs, told: Told, large: ModuleType, tmp_path: Path
) -> None:
    del large
    needs.see_pickle(b"something else")
    assert told.needs() == Known.NOTHING
    needs.see_pickle(LARGE.encode())
    for number in range(20):
        put_module(monkeypatch, f"fray_late_package.part{number}", tmp_path / "site-packages")
    put_module(monkeypatch, "fray_late_package", tmp_path / "site-packages")
    needs.see_pickle(b"fray_late_package " + LARGE.encode())
    assert told.needs() == Known.LOADED
    assert len(told.names) == 25 + 21
    assert told.names[0] == LARGE


def test_a_module_of_the_program_needs_what_its_modules_have_names_of(
    monkeypatch: pytest.MonkeyPatch, needs: Needs, told: Told, large: ModuleType, tmp_path: Path
) -> None:
    inner = put_module(monkeypatch, "fray_own_inner", tmp_path, the_package=large)
    put_module(monkeypatch, "fray_own_outer", tmp_path, inner=inner, itself=inner)
    inner.outer = sys.modules["fray_own_outer"]  # type: ignore[attr-defined]
    needs.see_module("fray_own_outer")
    assert told.names[0] == LARGE


def test_values_in_a_module_are_looked_at_without_running_their_code(
    monkeypatch: pytest.MonkeyPatch, needs: Needs, told: Told, large: ModuleType, tmp_path: Path
) -> None:
    class Touchy:
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError(f"{name} was looked at")

    part = type("Part", (), {"__module__": f"{LARGE}.part7"})
    put_module(monkeypatch, "fray_own_touchy", tmp_path, touchy=Touchy(), part=part(), __name__=7)
    del large
    needs.see_module("fray_own_touchy")
    needs.see_module("no such module")
    assert told.needs() == Known.LOADED


def test_looking_ends_some_time_and_after_close(needs: Needs, told: Told, large: ModuleType) -> None:
    del large
    looks = 1
    while needs.see_pickle(b"nothing"):
        looks += 1
    assert looks < 1000
    needs.see_pickle(LARGE.encode())
    assert told.needs() == Known.NOTHING
    other = Needs()
    other.close()
    assert not other.see_pickle(LARGE.encode())
    other.see_module("os")
    other.close()


def test_without_threadpoolctl_nothing_is_to_be_loaded(
    monkeypatch: pytest.MonkeyPatch, needs: Needs, told: Told, large: ModuleType
) -> None:
    def find_nothing(name: str) -> None:
        del name

    del large
    monkeypatch.delitem(sys.modules, "threadpoolctl", raising=False)
    monkeypatch.setattr("fray.backend.native.imported.find_spec", find_nothing)
    needs.see_pickle(LARGE.encode())
    assert told.needs() == Known.NOTHING


def test_a_path_that_nobody_can_search_does_no_harm(
    monkeypatch: pytest.MonkeyPatch, needs: Needs, told: Told, large: ModuleType
) -> None:
    del large
    monkeypatch.delitem(sys.modules, "threadpoolctl", raising=False)
    monkeypatch.setattr(sys, "path", ["a\0b"])
    needs.see_pickle(LARGE.encode())
    assert told.needs() == Known.NOTHING


def test_a_file_that_is_another_by_now_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "other", "wb") as other, pytest.raises(OSError):
        Loading(f"/proc/self/fd/{other.fileno()}")
    with pytest.raises(OSError):
        Loading("/proc/self/fd/999999")


def test_what_is_loaded_is_kept_from_the_garbage_collector_which_is_on_again(
    monkeypatch: pytest.MonkeyPatch, needs: Needs, told: Told, large: ModuleType
) -> None:
    collecting: list[bool] = []

    def note(name: str) -> None:
        del name
        collecting.append(gc.isenabled())

    monkeypatch.setattr("fray.backend.native.loading._import", note)
    monkeypatch.setattr("fray.backend.native.loading.use_threads", str)
    del large
    needs.see_pickle(LARGE.encode())
    before = gc.get_freeze_count()
    try:
        told.load()
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()
    assert gc.isenabled()
    assert len(collecting) == 1 + 25  # with threadpoolctl
    assert not any(collecting)
