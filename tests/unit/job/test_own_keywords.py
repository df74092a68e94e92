"""Keywords that a context could take itself reach the function that has such a parameter."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import fray
import pytest
from fray.job.own_keywords import takes_keyword


def plain(name: str = "world") -> str:
    return f"hello {name}"


def second(greeting: str, name: str = "world") -> str:
    return f"{greeting} {name}"


def keyword_only(*, name: str) -> str:
    return name


def after_many(*words: str, name: str = "none") -> tuple[Any, ...]:
    return (*words, name)


def positional_only(name: str = "fixed", /) -> str:
    return name


def any_keywords(**keywords: Any) -> dict[str, Any]:
    return keywords


def local_variable() -> str:
    name = "mine"
    return name


def logged(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return call


class Greeter:
    def __init__(self, name: str = "class") -> None:
        self.name = name

    def __call__(self, name: str) -> str:
        return name

    def method(self, name: str) -> str:
        return name

    @classmethod
    def of_class(cls, name: str) -> str:
        return name

    @staticmethod
    def static(name: str) -> str:
        return name


TAKE_IT = [
    (plain, ()),
    (second, ("hi",)),
    (keyword_only, ()),
    (after_many, ("a", "b", "c")),
    (logged(plain), ()),
    (functools.partial(second, "hi"), ()),
    (functools.partial(plain, name="x"), ()),
    (Greeter, ()),
    (Greeter(), ()),
    (Greeter().method, ()),
    (Greeter.of_class, ()),
    (Greeter.static, ()),
    (lambda name: name, ()),
]
LEAVE_IT = [
    (plain, ("Al",)),
    (second, ("hi", "Al")),
    (positional_only, ()),
    (any_keywords, ()),
    (local_variable, ()),
    (logged(any_keywords), ()),
    (functools.partial(plain, "Al"), ()),
    (Greeter().method, ("Al",)),
    (pow, (2, 3)),
    (operator.itemgetter(0), ([1],)),
    (dict, ()),
    (print, ()),
]


@pytest.mark.parametrize(("fn", "args"), TAKE_IT)
def test_a_parameter_that_is_free_takes_the_keyword(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    for _ in range(2):
        assert takes_keyword(fn, "name", len(args))


@pytest.mark.parametrize(("fn", "args"), LEAVE_IT)
def test_a_function_without_such_a_parameter_leaves_it(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    for _ in range(2):
        assert not takes_keyword(fn, "name", len(args))


def test_the_signature_of_a_large_object_does_not_keep_it_alive() -> None:
    import gc
    import weakref

    greeter = Greeter()
    assert takes_keyword(greeter, "name", 0)
    dropped = weakref.ref(greeter)
    del greeter
    gc.collect()
    assert dropped() is None


def names_of_tasks(ctx: fray.JobContext) -> list[str]:
    return [event["name"] for event in ctx.engine.timeline_events()]


def test_what_the_parameter_takes_does_not_name_the_task() -> None:
    ctx = fray.LocalJobContext()
    assert ctx.get(ctx.run(plain, name="Bob")) == "hello Bob"
    assert ctx.get(ctx.run(plain, name=None)) == "hello None"
    assert ctx.get(ctx.run(plain, "Al", name="greeting of Al")) == "hello Al"
    assert ctx.get(ctx.run(any_keywords, a=1, name="odd")) == {"a": 1}
    assert ctx.get(ctx.run(any_keywords, a=1, name=None)) == {"a": 1}
    assert names_of_tasks(ctx) == ["plain", "plain", "greeting of Al", "odd", "any_keywords"]


def test_a_name_that_is_no_text_is_refused_where_it_would_name_the_task() -> None:
    ctx = fray.LocalJobContext()
    assert ctx.get(ctx.run(plain, name=7)) == "hello 7"
    with pytest.raises(TypeError, match="name"):
        ctx.run(any_keywords, name=7)


class Named:
    def __init__(self, name: str = "default", num_cpus: int = 0) -> None:
        self.values = (name, num_cpus)

    def get(self) -> tuple[str, int]:
        return self.values


def test_a_keyword_for_actor_and_constructor_alike_is_refused_with_both_ways_out() -> None:
    ctx = fray.LocalJobContext()
    with pytest.raises(TypeError, match=r"name could be meant .* constructor of Named.*ActorOptions\(\)"):
        ctx.create_actor(Named, name="Bob")
    with pytest.raises(TypeError, match="name, num_cpus could be meant"):
        ctx.create_actor(Named, name="Bob", num_cpus=1)


def test_beside_options_the_constructor_takes_its_own_keywords() -> None:
    ctx = fray.LocalJobContext()
    actor = ctx.create_actor(Named, name="Bob", num_cpus=3, options=fray.ActorOptions(name="the-actor"))
    assert ctx.get(actor.get.remote()) == ("Bob", 3)
    assert ctx.list_named_actors() == ["the-actor"]
    with pytest.raises(TypeError, match="options and the keywords get_if_exists are both given"):
        ctx.create_actor(Named, get_if_exists=True, options=fray.ActorOptions())


def test_a_parameter_given_by_position_leaves_the_keyword_to_the_actor() -> None:
    ctx = fray.LocalJobContext()
    actor = ctx.create_actor(Named, "Bob", name="the-actor")
    assert ctx.get(actor.get.remote()) == ("Bob", 0)
    assert ctx.list_named_actors() == ["the-actor"]
