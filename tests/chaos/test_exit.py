"""Programs end in every state: with their own exit code, promptly, silently, and with nothing left."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.chaos.harness import run_driver

SETUP = """
    def hang():
        time.sleep(3600)
    def items():
        for number in range(1000):
            yield bytes(100_000)
    ctx = NativeJobContext(cpus=2)
"""


@dataclass(frozen=True)
class Ending:
    source: str
    code: int = 0
    stderr: str = ""
    """What stderr must hold; with nothing here it must be empty."""


ENDINGS = {
    "idle": Ending("assert ctx.get(ctx.run(pow, 2, 3)) == 8"),
    "never used": Ending(""),
    "import only": Ending("ctx.close()"),
    "task running": Ending("ref = ctx.run(hang); ctx.wait([ref], timeout=0.05)"),
    "tasks queued": Ending("refs = [ctx.run(hang) for _ in range(100)]"),
    "submitted just now": Ending("ctx.run(pow, 2, 3)"),
    "get blocked in a daemon thread": Ending(
        """
        ref = ctx.run(hang)
        inside = threading.Event()
        def wait():
            inside.set()
            ctx.get(ref)
        threading.Thread(target=wait, daemon=True).start()
        inside.wait()
        """
    ),
    "busy daemon threads": Ending(
        """
        def churn():
            while True:
                ctx.get(ctx.run(pow, 2, 3))
        for _ in range(4):
            threading.Thread(target=churn, daemon=True).start()
        ctx.get(ctx.run(pow, 2, 3))
        """,
    ),
    "generator half read": Ending("gen = ctx.run(items); next(gen); next(gen)"),
    "big object held": Ending("ref = ctx.put(bytearray(20_000_000)); value = ctx.get(ref)"),
    "array held by a module": Ending(
        """
        import numpy
        sys.modules["holder"] = type(sys)("holder")
        sys.modules["holder"].value = ctx.get(ctx.put(numpy.ones(1_000_000)))
        """
    ),
    "refs in a cycle": Ending("cycle = [ctx.run(hang)]; cycle.append(cycle); del ctx"),
    "context closed twice": Ending("ctx.get(ctx.run(pow, 2, 3)); ctx.close(); ctx.close()"),
    "two contexts": Ending("other = NativeJobContext(cpus=1); other.get(other.run(pow, 2, 3)); ctx.run(hang)"),
    "os._exit": Ending("ctx.run(hang); os._exit(5)", code=5),
    "sys.exit": Ending("ctx.run(hang); sys.exit(7)", code=7),
    "sys.exit in with": Ending("with ctx:\n    ctx.run(hang)\n    sys.exit(7)", code=7),
    "uncaught exception": Ending("ctx.run(hang); raise KeyError('mine')", code=1, stderr="KeyError: 'mine'"),
    "uncaught exception of a task": Ending("ctx.get(ctx.run(divmod, 1, 0))", code=1, stderr="ZeroDivisionError"),
    "atexit before fray": Ending(
        """
        import atexit
        atexit.register(lambda: print(ctx.get(ctx.run(pow, 2, 3))))
        ctx.run(hang)
        """
    ),
    "killed by SIGTERM": Ending("ctx.run(hang); os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", code=-15),
    "killed by SIGKILL": Ending("ctx.run(hang); os.kill(os.getpid(), signal.SIGKILL); time.sleep(60)", code=-9),
    "interrupted": Ending(
        "ctx.run(hang); os.kill(os.getpid(), signal.SIGINT); time.sleep(60)", code=-2, stderr="KeyboardInterrupt"
    ),
    "stdout closed": Ending("sys.stdout.close(); ctx.get(ctx.run(print, 'to nobody')); ctx.get(ctx.run(pow, 2, 3))"),
    "atexit of a worker": Ending(
        """
        def register():
            import atexit
            atexit.register(time.sleep, 0)
        ctx.get(ctx.run(register))
        """
    ),
    "cancelled at the end": Ending("ref = ctx.run(hang); ctx.cancel(ref)"),
    "loop abandoned": Ending(
        """
        import asyncio
        async def main():
            future = asyncio.ensure_future(wait())
            await asyncio.sleep(0.01)
        async def wait():
            await ctx.run(hang)
        asyncio.run(main())
        """
    ),
    "by init": Ending("ctx.close(); job = fray.init(cpus=2); job.run(hang); job.get(job.run(pow, 2, 3))"),
    "forked child lives on a little": Ending(
        """
        if os.fork() == 0:
            os._exit(0)
        ctx.get(ctx.run(pow, 2, 3)); os.wait()
        """
    ),
    "worker killed at the end": Ending("ctx.run(os._exit, 3)"),
}


def check_ending(name: str) -> None:
    ending = ENDINGS[name]
    lines = "\n".join("    " + line for line in _dedent(ending.source).splitlines())
    finished = run_driver(SETUP + lines, within=30)
    assert finished.code == ending.code, finished
    if ending.stderr:
        assert ending.stderr in finished.stderr
        assert "fray" not in finished.stderr.lower().replace("fray-test-", "").replace("fray/", "") or name.startswith(
            "uncaught"
        ), finished.stderr
    else:
        assert finished.stderr == ""


def _dedent(source: str) -> str:
    import textwrap

    return textwrap.dedent(source).strip()


@pytest.mark.parametrize("name", ENDINGS)
def test_an_interpreter_that_ends_keeps_its_exit_code_and_leaves_nothing(name: str) -> None:
    check_ending(name)


@pytest.mark.long
@pytest.mark.parametrize("name", ENDINGS)
def test_1000_interpreter_exits_leave_nothing(name: str) -> None:
    for _ in range(1000 // len(ENDINGS) + 1):
        check_ending(name)
