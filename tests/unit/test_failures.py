"""Exceptions survive the way, or arrive as what can be told of them; packing never raises."""

from __future__ import annotations

import functools
import threading
import traceback

import pytest
from fray import _failures
from fray._failures import in_process_failure, pack_exception, unpack_exception
from fray.errors import RemoteTraceback, TaskError
from hypothesis import given
from hypothesis import strategies as st


def raised(exc: BaseException) -> BaseException:
    try:
        raise exc
    except BaseException as caught:
        return caught


def travel(exc: BaseException) -> BaseException:
    return unpack_exception(pack_exception(raised(exc), "the task"))


plain_values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
builtin_kinds = st.sampled_from([ValueError, KeyError, RuntimeError, OSError, ZeroDivisionError, LookupError])


@given(kind=builtin_kinds, args=st.lists(plain_values, max_size=3), notes=st.lists(st.text(), max_size=2))
def test_builtin_exceptions_arrive_equal(kind, args, notes):
    exc = kind(*args)
    for note in notes:
        exc.add_note(note)
    got = travel(exc)
    assert type(got) is type(exc)
    assert got.args == exc.args
    assert getattr(got, "__notes__", []) == notes


@given(st.binary(max_size=200))
def test_bytes_that_are_no_report_give_an_error_to_raise(data: bytes):
    got = unpack_exception(b"\x00" + data)
    assert isinstance(got, TaskError)
    assert "cannot be read" in str(got)


@given(st.data())
def test_cut_report_gives_an_error_to_raise(data: st.DataObject):
    whole = pack_exception(raised(ValueError("x")), "task")
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert isinstance(unpack_exception(whole[:cut]), TaskError)


def test_remote_traceback_is_the_cause_and_begins_with_user_code():
    got = travel(ValueError("x"))
    assert isinstance(got.__cause__, RemoteTraceback)
    assert got.__cause__.text.startswith("Traceback (most recent call last)")
    assert "in raised" in got.__cause__.text
    assert "in raised" in "".join(traceback.format_exception(got))


class Prefixed(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"code {code}")
        self.code = code


def test_constructor_is_not_run_again():
    got = travel(Prefixed(5))
    assert (type(got), str(got), vars(got)["code"]) == (Prefixed, "code 5", 5)
    assert str(travel(got)) == "code 5"


class Wrapped(Exception):
    def __init__(self, *, key: str) -> None:
        super().__init__()
        self.key = key


class Decoding(UnicodeDecodeError):
    def __init__(self) -> None:
        super().__init__("utf-8", b"\xff", 0, 1, "bad")


def test_keyword_only_and_builtin_fields_survive():
    got = travel(Wrapped(key="k"))
    assert isinstance(got, Wrapped)
    assert got.key == "k"
    decoding = travel(Decoding())
    assert isinstance(decoding, Decoding)
    assert (decoding.encoding, decoding.start, decoding.reason) == ("utf-8", 0, "bad")
    error = travel(FileNotFoundError(2, "No such file", "name"))
    assert isinstance(error, FileNotFoundError)
    assert error.filename == "name"


def test_local_exception_classes_travel_by_value():
    class LocalError(Exception):
        pass

    got = travel(LocalError("here"))
    assert type(got).__name__ == "LocalError"
    assert got.args == ("here",)


def test_unpicklable_exception_becomes_a_task_error():
    exc = ValueError("locked")
    exc.lock = threading.Lock()  # type: ignore[attr-defined]
    got = travel(exc)
    assert isinstance(got, TaskError)
    assert (got.task_name, got.type_name) == ("the task", "ValueError")
    assert "locked" in str(got)
    assert "cannot be pickled" in str(got)
    assert "in raised" in got.remote_traceback


def _fail_on_load() -> None:
    raise SystemExit(3)


class Poisoned(Exception):
    def __reduce__(self):
        return _fail_on_load, ()


def test_exception_that_ends_the_process_on_load_does_not():
    got = travel(Poisoned("x"))
    assert isinstance(got, TaskError)
    assert got.type_name.endswith("Poisoned")


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, BaseException])
def test_what_is_no_exception_becomes_a_task_error(kind: type[BaseException]):
    for got in (travel(kind(7)), in_process_failure(raised(kind(7)), "the task")):
        assert isinstance(got, TaskError)
        assert got.type_name == kind.__name__
        assert isinstance(got.__cause__, RemoteTraceback)


def test_exception_stays_itself_inside_the_process():
    exc = ValueError("same")
    assert in_process_failure(exc, "task") is exc


def test_groups_arrive_whole_and_groups_of_base_exceptions_by_name():
    got = travel(ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [KeyError("k")])]))
    assert isinstance(got, ExceptionGroup)
    assert [type(part) for part in got.exceptions] == [ValueError, ExceptionGroup]
    assert isinstance(travel(BaseExceptionGroup("g", [SystemExit(1)])), TaskError)


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit(1)


def test_exception_whose_text_cannot_be_made():
    assert isinstance(travel(Mute()), Mute)
    mute = Mute()
    mute.lock = threading.Lock()  # type: ignore[attr-defined]
    assert "str() of the exception failed" in str(travel(mute))


def test_causes_arrive_in_order_and_end_with_the_traceback():
    try:
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error
    except ValueError as error:
        got = unpack_exception(pack_exception(error, "task"))
    assert isinstance(got.__cause__, KeyError)
    assert isinstance(got.__cause__.__cause__, RemoteTraceback)
    # Through a second task the chain stays as short.
    again = travel(got)
    assert isinstance(again.__cause__, KeyError)
    assert isinstance(again.__cause__.__cause__, RemoteTraceback)
    assert again.__cause__.__cause__.__cause__ is None


def test_cause_that_cannot_travel_is_named():
    exc = ValueError("outer")
    cause = KeyError("inner")
    cause.lock = threading.Lock()  # type: ignore[attr-defined]
    exc.__cause__ = cause
    got = travel(exc)
    assert isinstance(got, ValueError)
    assert isinstance(got.__cause__, TaskError)


def test_circular_causes_end():
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert isinstance(travel(one), ValueError)


def test_huge_exceptions_are_reported_within_limits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_failures, "MAX_PAYLOAD_BYTES", 1000)
    data = pack_exception(raised(ValueError("x" * 1_000_000)), "task")
    assert len(data) < 5 * _failures.MAX_TEXT_CHARS
    got = unpack_exception(data)
    assert isinstance(got, TaskError)
    assert "characters left out" in str(got)


def test_lone_surrogates_do_not_break_the_report():
    got = travel(ValueError("\ud800"))
    assert got.args == ("\ud800",)


def test_deep_recursion_is_reported():
    def recurse():
        recurse()

    with pytest.raises(RecursionError) as info:
        recurse()
    assert isinstance(unpack_exception(pack_exception(info.value, "task")), RecursionError)


def test_task_error_travels_through_further_tasks():
    first = travel(SystemExit(1))
    second = functools.reduce(lambda exc, _: travel(exc), range(3), first)
    assert isinstance(second, TaskError)
    assert second.type_name == "SystemExit"
    assert "in raised" in second.remote_traceback
