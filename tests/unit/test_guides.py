"""The code of the guides runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import fray
import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
BLOCKS = [
    pytest.param(page, block, id=f"{page}-{number}")
    for page in ("actors.md", "contexts.md", "from-ray.md", "queues.md")
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", (GUIDES / page).read_text(), re.DOTALL))
]


@pytest.mark.parametrize("make", [fray.LocalJobContext, fray.ThreadContext])
@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_block_of_a_guide_runs(page: str, block: str, make: type[fray.JobContext]):
    with make() as context, fray.fray_default_job_ctx(context):
        exec(compile(block, page, "exec"), {"__name__": "guide"})
