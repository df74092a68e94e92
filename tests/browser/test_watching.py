"""What takes a minute of looking to be seen: it begins with the first test of the session, and is looked at last."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .conftest import SCREENSHOTS
from .test_dashboard import findings, pytestmark  # noqa: F401  (the same page has to be built)

if TYPE_CHECKING:
    from playwright.sync_api import Page

MOST_HEAP_BYTES = 64 << 20
MINUTE_MS = 120_000  # and the patience of a busy machine


def test_objects_of_a_program_that_keeps_making_more_are_seen_to_grow(watched_for_long: Page) -> None:
    page = watched_for_long
    row = page.get_by_role("group", name="Objects whose sum grows").get_by_role("row").filter(has_text="make")
    row.wait_for(timeout=MINUTE_MS)
    page.get_by_role("columnheader", name="Growing since").wait_for()
    cells = row.get_by_role("cell").all_inner_texts()
    made_by, owner, since, objects_then, objects, *_ = cells
    assert (made_by, bool(re.fullmatch(r"pid \d+", owner))) == ("make", True), cells
    assert re.fullmatch(r"\d\d:\d\d:\d\d", since), cells
    assert int(objects) > int(objects_then), cells
    assert findings(page) == []
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "leak.png")


def test_a_page_that_is_open_for_long_keeps_little(watched_for_long: Page) -> None:
    page = watched_for_long
    page.get_by_text("Live", exact=True).wait_for()
    assert page.evaluate("performance.memory.usedJSHeapSize") < MOST_HEAP_BYTES
    assert page.evaluate("document.querySelectorAll('*').length") < 1000
