"""What refs of the Ray backend are made of. No Ray is needed."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest
from fray._ray_refs import HeldRef, uncollected


@uncollected
class Ref(HeldRef):
    __slots__ = ()


def test_ref_holds_what_it_was_made_of():
    raw, context = object(), object()
    before = sys.getrefcount(raw), sys.getrefcount(context)
    refs = [Ref(raw, context) for _ in range(1000)]
    assert refs[0]._raw is raw
    assert refs[0]._context is context
    assert sys.getrefcount(raw) == before[0] + 1000
    del refs
    assert (sys.getrefcount(raw), sys.getrefcount(context)) == before


def test_ref_is_seen_by_weak_references_and_not_by_the_collector():
    ref = Ref(1)
    seen = weakref.ref(ref)
    assert not gc.is_tracked(ref)
    assert seen() is ref
    assert ref._context is None
    ref._context = seen
    with pytest.raises(AttributeError):
        ref._raw = 2  # type: ignore[misc]
    del ref
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("arguments", [(), (1, 2, 3)])
def test_ref_of_too_little_or_too_much_is_refused(arguments: tuple[int, ...]):
    with pytest.raises(TypeError):
        Ref(*arguments)
    with pytest.raises(TypeError, match="keyword"):
        Ref(raw=1)  # type: ignore[call-arg]


def test_only_classes_that_add_nothing_are_left_out_of_the_collection():
    class WithMore(HeldRef):
        __slots__ = ("more",)

    for other in (WithMore, object, 1, HeldRef):
        with pytest.raises(TypeError, match="derives from HeldRef and adds no attributes"):
            uncollected(other)  # type: ignore[type-var]
