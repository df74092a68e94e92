from __future__ import annotations

import pickle

import pytest
from fray import BinaryEntrypoint, CallableEntrypoint, Entrypoint


def test_function_with_its_arguments():
    entrypoint = Entrypoint.from_callable(pow, args=[2, 3], kwargs={"mod": 5})
    assert entrypoint.callable_entrypoint == CallableEntrypoint(pow, (2, 3), {"mod": 5})
    assert entrypoint.binary_entrypoint is None
    assert Entrypoint.from_callable(print).callable_entrypoint == CallableEntrypoint(print, (), {})


def test_program_with_its_arguments():
    entrypoint = Entrypoint.from_binary("python", ["-c", "print('a b')"])
    assert entrypoint.binary_entrypoint == BinaryEntrypoint("python", ["-c", "print('a b')"])
    assert entrypoint.callable_entrypoint is None
    assert Entrypoint.from_binary("true").binary_entrypoint == BinaryEntrypoint("true", [])


def test_caller_may_go_on_with_its_lists():
    args, kwargs, words = [1], {"a": 1}, ["x"]
    called = Entrypoint.from_callable(print, args, kwargs).callable_entrypoint
    program = Entrypoint.from_binary("echo", words).binary_entrypoint
    args.append(2)
    kwargs["b"] = 2
    words.append("y")
    assert called == CallableEntrypoint(print, (1,), {"a": 1})
    assert program == BinaryEntrypoint("echo", ["x"])


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (Entrypoint, ValueError, "exactly one of .* got neither"),
        (lambda: Entrypoint(CallableEntrypoint(print), BinaryEntrypoint("a", [])), ValueError, "got both"),
        (lambda: Entrypoint(print), TypeError, r"callable_entrypoint must be a CallableEntrypoint\(...\) or None"),
        (lambda: Entrypoint.from_callable("train.py"), TypeError, "must be a function, got 'train.py'; .*from_binary"),
        (lambda: Entrypoint.from_callable(print, "abc"), TypeError, "args must be a list or a tuple, got 'abc'"),
        (lambda: Entrypoint.from_callable(print, 3), TypeError, "args must be a list or a tuple, got 3"),
        (lambda: Entrypoint.from_callable(print, kwargs=[1]), TypeError, "kwargs must be a dict"),
        (lambda: Entrypoint.from_callable(print, kwargs={1: 2}), TypeError, "kwargs must be named by text, got 1"),
        (lambda: Entrypoint.from_binary("", []), ValueError, "command must not be blank"),
        (lambda: Entrypoint.from_binary(["a"], []), TypeError, "command must be text"),
        (lambda: Entrypoint.from_binary("a\0b", []), ValueError, "NUL"),
        (lambda: Entrypoint.from_binary("echo", "a b"), TypeError, "args must be a list of text, got 'a b'"),
        (lambda: Entrypoint.from_binary("echo", [1]), TypeError, "args must be a list of text"),
        (lambda: Entrypoint.from_binary("echo", ["a\0"]), ValueError, "NUL"),
    ],
)
def test_wrong_entrypoints_are_refused(make, kind, text: str):
    with pytest.raises(kind, match=text):
        make()


@pytest.mark.parametrize("entrypoint", [Entrypoint.from_callable(pow, [2, 3]), Entrypoint.from_binary("a", ["b"])])
def test_entrypoints_are_values(entrypoint: Entrypoint):
    assert pickle.loads(pickle.dumps(entrypoint)) == entrypoint
