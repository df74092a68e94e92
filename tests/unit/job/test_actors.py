"""Handles and methods over a link that only writes down what it is asked."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import cloudpickle
import pytest
from fray.job.actor_methods import MethodKind
from fray.job.actors import (
    ActorContext,
    ActorHandle,
    ActorLink,
    ActorMethod,
    CallOptions,
    current_actor,
    enter_actor,
)


class Recorder(ActorLink):
    def __init__(self, actor_id: str = "0123456789abcdef") -> None:
        self.actor_id = actor_id
        self.class_name = "Shop"
        self.name = "corner"
        self.methods = {"buy": MethodKind.PLAIN, "items": MethodKind.GENERATOR}
        self.calls: list[Any] = []
        self.bound: list[str] = []

    def submit(self, method, args, kwargs, options):
        self.calls.append((method, args, kwargs, options))
        return "ref"

    def bind(self, method):
        self.bound.append(method)
        return super().bind(method)

    def reduce(self):
        return handle_of, (self.actor_id,)


def handle_of(actor_id: str) -> ActorHandle:
    return ActorHandle(Recorder(actor_id))


@pytest.fixture
def link():
    return Recorder()


@pytest.fixture
def shop(link):
    return ActorHandle(link)


def test_calls_reach_the_link(shop, link):
    assert shop.buy(1, colour="red") == shop.buy.remote(1, colour="red") == "ref"
    assert link.calls == [("buy", (1,), {"colour": "red"}, CallOptions())] * 2


def test_options_change_a_copy(shop, link):
    special = shop.buy.options(num_returns=2).options(name="special")
    special()
    shop.buy()
    assert [call[3] for call in link.calls] == [CallOptions(2, "special"), CallOptions()]
    assert special != shop.buy
    assert pickle.loads(pickle.dumps(special)) == special


def test_a_method_is_bound_once(shop, link):
    assert shop.buy is shop.buy
    assert link.bound == ["buy"]


def test_nothing_keeps_the_link_but_handles_and_methods():
    link = Recorder()
    shop = ActorHandle(link)
    alive, method = weakref.ref(link), shop.buy
    del link, shop
    gc.disable()  # no circle has to be found
    try:
        assert alive() is not None
        method()
        del method
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("dump", [pickle.dumps, cloudpickle.dumps])
def test_handles_and_methods_pickle_by_their_actor(shop, dump):
    shop.buy()
    assert pickle.loads(dump(shop)) == shop
    assert pickle.loads(dump({"method": shop.buy}))["method"] == shop.buy
    assert copy.copy(shop) == copy.deepcopy(shop) == shop


def test_equality_is_that_of_the_actor(shop):
    assert shop == ActorHandle(Recorder())
    assert hash(shop) == hash(ActorHandle(Recorder()))
    assert shop != ActorHandle(Recorder("other"))
    assert shop != "shop"
    assert shop.buy != shop.items
    assert shop.buy != "buy"


def test_representation_says_which_actor(shop):
    assert repr(shop) == "<fray actor Shop 'corner' (01234567)>"
    assert repr(shop.buy) == "<fray method 'buy' of actor Shop 'corner' (01234567)>"
    assert {"buy", "items"} <= set(dir(shop))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("by", "the actor Shop has no method 'by'; did you mean 'buy'"),
        ("item", "did you mean 'items'"),
        ("q", "it has buy, items"),
        ("_private", "private to the actor Shop"),
        ("__wrapped__", "no attribute '__wrapped__'"),
    ],
)
def test_what_is_not_there_is_an_attribute_error(shop, name, text):
    with pytest.raises(AttributeError, match=text):
        getattr(shop, name)


def test_data_cannot_be_set(shop):
    with pytest.raises(AttributeError, match="'price' cannot be set"):
        shop.price = 3


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"num_returns": 0}, ValueError, "at least 1, got 0"),
        ({"num_returns": True}, TypeError, "whole number"),
        ({"name": ""}, TypeError, "not empty"),
        ({"timeout": 3}, TypeError, "allowed are num_returns and name"),
    ],
)
def test_wrong_options_are_refused(shop, changes, kind, text):
    with pytest.raises(kind, match=text):
        shop.buy.options(**changes)


def test_faster_methods_can_take_the_place(link):
    class Fast:
        def __init__(self, method):
            self.method = method

        def __call__(self, *args):
            return self.method, args

    class FastLink(Recorder):
        def bind(self, method):
            return Fast(method)

    assert ActorHandle(FastLink()).buy(3) == ("buy", (3,))
    assert isinstance(ActorHandle(link).buy, ActorMethod)
    ActorMethod.register(Fast)
    assert isinstance(ActorHandle(FastLink()).buy, ActorMethod)


def test_current_actor_is_what_was_entered(shop):
    context = ActorContext(shop, 2, "shops")
    enter_actor(context)
    try:
        assert current_actor() is context
    finally:
        enter_actor(None)
    with pytest.raises(RuntimeError, match=r"current_actor\(\) called outside of an actor context"):
        current_actor()
