"""A pickle refers to the main script where it names one of its classes or functions, not where it holds the text."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Iterator

import pytest
from fray import _native


class Importable:
    pass


@pytest.fixture
def of_main(monkeypatch: pytest.MonkeyPatch) -> Iterator[type]:
    made = type("MadeInMain", (), {"__module__": "__main__"})
    monkeypatch.setattr(sys.modules["__main__"], "MadeInMain", made, raising=False)
    yield made


def refers(value: object) -> bool:
    return _native.refers_to_main(pickle.dumps(value, 5))


def test_the_text_alone_is_no_reference() -> None:
    filters = [("default", None, DeprecationWarning, "__main__", 0)]
    for value in ("__main__", b"__main__", filters, warnings.filters, ["__main__", Importable()]):
        assert not refers(value)
    assert not refers(["__main__", "Importable", Importable(), "__main__" * 100, b"__main__" * 9000, 1 << 2000, 1.5])


def test_classes_and_what_is_of_them_are_references(of_main: type) -> None:
    for value in (of_main, of_main(), [1, {"a": (of_main(), None)}], [Importable(), of_main]):
        assert refers(value)


def test_the_name_may_have_been_written_before_as_a_text(of_main: type) -> None:
    name = of_main.__module__
    assert refers([name, of_main])
    assert refers([name, *(str(number) for number in range(1000)), of_main])
    assert refers(["x" * 70_000, "__main__", {1, 2}, frozenset((3,)), bytearray(9), 2**40, -1, of_main])


def test_the_main_script_of_a_spawned_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    made = type("MadeInMain", (), {"__module__": "__mp_main__"})
    monkeypatch.setitem(sys.modules, "__mp_main__", sys.modules["__main__"])
    monkeypatch.setattr(sys.modules["__main__"], "MadeInMain", made, raising=False)
    assert refers(made)


@pytest.mark.parametrize("pickled", [b"__main__", b"\x80\x05\x8c\xff__main__", b"\x80\x05X\x08\0\0\0__main__\x8d\1"])
def test_what_cannot_be_read_counts_as_a_reference(pickled: bytes) -> None:
    assert _native.refers_to_main(pickled)


def test_a_frame_may_begin_between_the_name_of_the_module_and_that_of_the_class(of_main: type) -> None:
    """Frames of 64 KiB end where an object does, and these two texts are two objects."""
    for before in range(65_400, 65_560):
        assert refers(["x" * before, of_main]), before
        assert refers([*("x" * 60 for _ in range(before // 66)), "y" * (before % 66), of_main]), before
