"""The first use of a context, which starts its node."""

from __future__ import annotations

import fray


def test_first_task_gives_name_to_a_function_that_has_such_a_parameter() -> None:
    def greet(greeting: str, name: str = "world") -> str:
        return f"{greeting} {name}"

    with fray.create_job_ctx("local", max_workers=1) as ctx:
        assert ctx.get(ctx.run(greet, "hello", name="Bob")) == "hello Bob"
