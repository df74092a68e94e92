"""What tasks print, on the driver's terminal."""

from __future__ import annotations

import re

import pytest

from tests.unit.cli.conftest import Start

PRINTS = """
    import fray

    def shout(text):
        print(text)

    if __name__ == "__main__":
        with fray.init(cpus=1) as ctx:
            ctx.get(ctx.run(shout, "here"))
        print("end")
"""


def test_a_workers_lines_have_its_colour_on_a_terminal(start: Start) -> None:
    driver = start(PRINTS, env={"TERM": "xterm", "NO_COLOR": ""})
    assert re.search(r"\x1b\[\d+m\(shout pid=\d+\) \x1b\[0mhere", driver.expect("end"))
    assert driver.end() == 0


@pytest.mark.parametrize("env", [{"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb", "NO_COLOR": ""}], ids=str)
def test_a_terminal_that_wants_no_colour_gets_none(start: Start, env: dict[str, str]) -> None:
    driver = start(PRINTS, env=env)
    shown = driver.expect("end")
    assert re.search(r"\(shout pid=\d+\) here", shown)
    assert "\x1b" not in shown
    assert driver.end() == 0
