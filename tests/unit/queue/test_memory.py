from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest
from fray.queue import MemoryQueue


def test_queue_in_memory_does_not_leave_its_process():
    with pytest.raises(TypeError, match="put it into an actor, or use a FileQueue"):
        pickle.dumps(MemoryQueue())


def test_items_are_not_copied():
    item = object()
    queue = MemoryQueue[object]()
    queue.push(item)
    lease = queue.pop()
    assert lease is not None
    assert lease.item is item


def test_example_of_the_reference_page_runs():
    page = Path(__file__).parents[3] / "docs" / "reference" / "queues.md"
    (example,) = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    exec(compile(example, str(page), "exec"), {})
