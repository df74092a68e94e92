"""The tables of behaviours, the page written from them and the tests agree."""

from __future__ import annotations

import re

from tests.conformance.behaviours import HERE, load
from tests.conformance.clusters import CLUSTERS
from tests.conformance.conftest import MAKERS, NATIVE_IS_MISSING
from tests.conformance.write_backends_doc import PAGE, page


def test_native_context_is_built():
    assert not NATIVE_IS_MISSING, f"no behaviour was checked on the native engine: {NATIVE_IS_MISSING}"


def test_contexts_and_clusters_of_the_tables_are_those_of_the_harness():
    tables = load()
    assert list(tables.contexts.places) == list(MAKERS)
    assert list(tables.clusters.places) == list(CLUSTERS)


def test_every_behaviour_has_a_test():
    text = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    tested = {name for args in re.findall(r"mark\.behaviour\(([^)]*)\)", text) for name in re.findall(r'"(\w+)"', args)}
    tables = load()
    assert tested == {*tables.contexts.titles, *tables.clusters.titles}


def test_backends_page_is_fresh():
    assert PAGE.read_text() == page(load()), "run: python -m tests.conformance.write_backends_doc"
