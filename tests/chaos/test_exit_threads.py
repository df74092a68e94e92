"""Interpreters that end while daemon threads are inside Fray: with their own exit code, promptly and silently."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.chaos.harness import run_driver

SETUP = """
    import atexit, asyncio, itertools
    import numpy
    ctx = NativeJobContext(cpus=2)
    large = numpy.ones(300_000)
    small = numpy.ones(2_000)
    rounds = threading.Semaphore(0)
    def again(call):
        for number in itertools.count():
            call(number)
            rounds.release()
    def start(call):
        threading.Thread(target=again, args=(call,), daemon=True).start()
    class Reduces:
        def __init__(self, value):
            self.value = value
        def __reduce__(self):
            return list, (sum(([n] for n in range(30)), []),)
    class Actor:
        def total(self, values):
            return float(values.sum())
"""

FINISH = """
    for _ in range(int(sys.argv[1])):
        rounds.acquire()
"""

SHAPES = {
    "put": "start(lambda n: ctx.put([large, Reduces(n)])); start(lambda n: ctx.put(small))",
    "get": "start(lambda n: ctx.get(ctx.put(large))); start(lambda n: ctx.get(ctx.run(numpy.sum, large)))",
    "wait": "start(lambda n: ctx.wait([ctx.run(numpy.sum, large), ctx.run(pow, n, 2)], num_returns=2))",
    "create_actor": """
        def call(n):
            actor = ctx.create_actor(Actor, name=f"a{n}")
            ctx.get(actor.total(large))
            ctx.kill(actor)
        start(call)
    """,
    "map": "start(lambda n: list(ctx.map(numpy.sum, [large, small, large])))",
    "Executor": """
        executor = fray.Executor(context=ctx)
        def call(n):
            try:
                future = executor.submit(numpy.sum, large)
            except RuntimeError:  # as any executor's: the interpreter is about to end
                sys.exit()
            future.result()
        start(call)
    """,
    "callbacks": """
        from fray import _native
        queue = _native.make_queue(ctx.engine.client)
        def call(n):
            queue.add(ctx.put(n), lambda: sum(len(str(i)) for i in range(3000)))
            queue.wait(None)
            queue.run()
        start(call)
    """,
    "asyncio": """
        async def both():
            await asyncio.gather(*(wait(n) for n in range(3)))
        async def wait(n):
            return await ctx.run(numpy.sum, large)
        start(lambda n: asyncio.run(both()))
    """,
    "atexit": """
        def late():
            assert ctx.get(ctx.put(large)).sum() == 300_000
            start(lambda n: ctx.get(ctx.put(small)))
            rounds.acquire()
        atexit.register(late)
        start(lambda n: ctx.put(large))
    """,
}


def _indented(source: str) -> str:
    import textwrap

    return textwrap.indent(textwrap.dedent(source).strip(), "    ") + "\n"


def _end(shape: str, rounds: int) -> None:
    finished = run_driver(SETUP + _indented(SHAPES[shape]) + FINISH, rounds, within=60)
    assert (finished.code, finished.stderr) == (0, ""), (rounds, finished)


def _end_often(shape: str, times: int) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: _end(shape, number % 9), range(times)))


@pytest.mark.not_under_asan("ends a process in which a thread that exits is unwound through a handler")
@pytest.mark.parametrize("shape", SHAPES)
def test_an_interpreter_ends_well_while_daemon_threads_use_fray(shape: str) -> None:
    _end_often(shape, 8)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shape", SHAPES)
def test_200_interpreters_end_well_while_daemon_threads_use_fray(shape: str) -> None:
    _end_often(shape, 200)
