"""Sub-interpreters: Fray refuses to be loaded there, and the main interpreter goes on."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from tests.chaos.harness import run_driver


def _interpreters() -> ModuleType | None:
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    return None


PROGRAM = """
    import {module} as interpreters
    ctx = fray.init(cpus=1)
    assert ctx.get(ctx.run(pow, 2, 3)) == 8
    inside = (
        "try:\\n    {source}\\n"
        "except Exception as error:\\n"
        "    assert type(error).__name__ in ('ImportError', 'UnsupportedError'), error\\n"
        "    assert 'sub-interpreter' in str(error), error\\n"
        "else:\\n    raise AssertionError('it was loaded')\\n"
    )
    for _ in range(2):
        other = interpreters.create()
        interpreters.run_string(other, inside)
        interpreters.destroy(other)
        assert ctx.get(ctx.run(pow, 2, 4)) == 16
    assert ctx.get(ctx.get(ctx.put([ctx.put(3)]))) == [3]
"""


@pytest.mark.parametrize(
    "source",
    ["import fray; fray.init(cpus=1)", "import fray._native", "import fray._ray_jobs", "import fray._ray_refs"],
)
def test_a_sub_interpreter_is_refused_and_the_main_one_goes_on(source: str) -> None:
    module = _interpreters()
    if module is None:
        pytest.skip("this Python has no interpreters to make")
    run_driver(PROGRAM.format(module=module.__name__, source=source)).ok()
