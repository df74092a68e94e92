"""Children of fork() begin anew with the contexts of their parent."""

from __future__ import annotations

import subprocess
import sys

import pytest

FORKS = """
import os
import threading
import fray


class Counter:
    async def count(self):
        return 1


def work(number):
    return number + 1


def keep_busy():
    while not over.is_set():
        ctx.get(ctx.create_task(work, (0,), options=env))


over = threading.Event()
env = fray.TaskOptions(runtime_env=fray.RuntimeEnv(env={"KEY": "value"}))
ctx = CONTEXT
done, counter = ctx.run(work, 1), ctx.create_actor(Counter)
print(ctx.get(done), ctx.get(counter.count()), flush=True)
threads = [threading.Thread(target=keep_busy) for _ in range(3)]
for thread in threads:
    thread.start()
codes = set()
for _ in range(50):
    child = os.fork()
    if child == 0:
        try:
            assert ctx.get(ctx.create_task(work, (2,), options=env)) == 3
            assert ctx.get(list(ctx.map(work, [3, 4]))) == [4, 5]
            assert ctx.get(ctx.create_actor(Counter).count()) == 1
            for use in (lambda: ctx.get(done), lambda: ctx.run(work, done), counter.count):
                try:
                    use()
                except fray.ForeignRefError as error:
                    assert "forked" in str(error)
                else:
                    raise AssertionError(use)
            ctx.close()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    codes.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
over.set()
for thread in threads:
    thread.join()
print(codes, ctx.get(done), ctx.get(ctx.run(work, 5)), ctx.get(counter.count()))
"""


@pytest.mark.parametrize("context", ["ThreadContext(2)", "LocalJobContext()", "LocalJobContext(serialize=True)"])
def test_a_child_of_fork_begins_anew_and_refuses_what_is_its_parents(context: str) -> None:
    program = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS.replace("CONTEXT", f"fray.{context}")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert program.stderr == ""
    assert program.stdout.split("\n") == ["2 1", "{0} 2 6 1", ""]
