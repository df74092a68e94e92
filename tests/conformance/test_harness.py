"""The table of behaviours, the page written from it and the tests agree."""

from __future__ import annotations

import re

from tests.conformance.behaviours import HERE, load
from tests.conformance.conftest import MAKERS, NATIVE_IS_MISSING
from tests.conformance.write_backends_doc import PAGE, page


def test_native_context_is_built():
    assert not NATIVE_IS_MISSING, f"no behaviour was checked on the native engine: {NATIVE_IS_MISSING}"


def test_contexts_of_the_table_are_those_of_the_harness():
    assert list(load().contexts) == list(MAKERS)


def test_every_behaviour_has_a_test():
    text = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    tested = {name for args in re.findall(r"mark\.behaviour\(([^)]*)\)", text) for name in re.findall(r'"(\w+)"', args)}
    assert tested == set(load().titles)


def test_backends_page_is_fresh():
    assert PAGE.read_text() == page(load()), "run: python -m tests.conformance.write_backends_doc"
