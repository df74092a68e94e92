from __future__ import annotations

import functools
import inspect

import fray
import pytest
from fray.job.actor_methods import (
    CREATE_ACTOR_KEYWORDS,
    MethodKind,
    check_constructor,
    methods_of,
    missing_method,
    runs_on_loop,
)


class Base:
    colour = "red"

    class Inner: ...

    def inherited(self): ...

    @property
    def size(self):
        raise AssertionError("a property is never read")


class Shop(Base):
    def __init__(self, name, *, open_at=9): ...

    def plain(self): ...

    def items(self):
        yield 1

    @staticmethod
    def static(): ...

    @classmethod
    def made(cls): ...

    partial = functools.partialmethod(plain)

    def _private(self): ...


class AsyncShop(Shop):
    async def wait(self): ...

    async def stream(self):
        yield 1


def test_methods_are_the_public_callables():
    plain = dict.fromkeys(["inherited", "made", "partial", "plain", "static"], MethodKind.PLAIN)
    assert methods_of(Shop) == {**plain, "items": MethodKind.GENERATOR}


def test_one_async_method_brings_the_loop():
    methods = methods_of(AsyncShop)
    assert methods["wait"] is MethodKind.ASYNC
    assert methods["stream"] is MethodKind.ASYNC_GENERATOR
    assert methods["plain"] is MethodKind.PLAIN
    assert runs_on_loop(methods)
    assert not runs_on_loop(methods_of(Shop))


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((), {}, r"Shop\(name, \*, open_at=9\) missing a required argument: 'name'"),
        ((), {}, "name as a keyword is create_actor's own: give the constructor's by position"),
        (("a", "b"), {}, "too many positional arguments"),
        (("a",), {"size": 1}, "unexpected keyword argument 'size'"),
        (("a",), {"max_restarts": 1}, r"write options=ActorOptions\(max_restarts=...\)"),
    ],
)
def test_wrong_arguments_are_named_with_the_signature(args, kwargs, text):
    with pytest.raises(TypeError, match=text):
        check_constructor(Shop, args, kwargs, ["max_restarts"])


def test_classes_that_do_not_say_what_they_take_are_let_through():
    check_constructor(type("Odd", (), {"__signature__": 3}), (1, 2), {}, [])
    check_constructor(dict, (1, 2, 3), {"x": 1}, [])


def test_missing_method_of_a_class_without_any():
    assert "it has no public methods" in str(missing_method("Empty", {}, "go"))


def test_reserved_keywords_are_those_of_create_actor():
    parameters = inspect.signature(fray.JobContext.create_actor).parameters.values()
    assert tuple(item.name for item in parameters if item.kind is item.KEYWORD_ONLY) == CREATE_ACTOR_KEYWORDS
