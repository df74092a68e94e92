"""The code of the guides runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import fray
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "contexts.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block_of_the_contexts_guide_runs(number: int):
    with fray.LocalJobContext() as context, fray.fray_default_job_ctx(context):
        exec(compile(BLOCKS[number], f"{PAGE.name} block {number}", "exec"), {"__name__": "guide"})
