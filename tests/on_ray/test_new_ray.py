"""Contexts that outlive the Ray that they used, and those that are made before there is one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.on_ray.head import ROOT, RayHead

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default"), pytest.mark.timeout(180)]

PROGRAM = """
import fray, ray
from tests.conformance.actors import Counter
from tests.conformance.pipeline import Dataset
{make}
def expect(kind, use):
    try:
        use()
    except kind as error:
        print(type(error).__name__)
    else:
        raise AssertionError(f"no {{kind.__name__}}")
for number in range(3):
    ray.init(address={address!r}, log_to_driver=False, logging_level="ERROR")
    {each}
    assert ctx.get(ctx.run(pow, 2, number)) == 2**number
    assert ctx.get(ctx.run(lambda: fray.get_job_context().get(ctx.put("in a task")))) == "in a task"
    assert sorted(Dataset.of(range(4)).map(lambda n: n + number).collect(ctx)) == [n + number for n in range(4)]
    if number:
        expect(fray.ObjectLostError, old.result)
        expect(fray.ObjectLostError, lambda: ctx.get([old, old]))
        expect(fray.ObjectLostError, lambda: ctx.wait([old]))
        expect(fray.ObjectLostError, lambda: ctx.run(len, old))
        expect(fray.ObjectLostError, lambda: next(stream))
        expect(fray.ActorDiedError, counter.add)
    old, stream = ctx.put("old"), ctx.run(lambda: (yield 1))
    counter = ctx.create_actor(Counter, name="counter", get_if_exists=True)
    assert ctx.get(counter.add()) == 1
    assert not ctx.closed
    ray.shutdown()
    assert ctx.closed
    expect(fray.ContextClosedError, lambda: ctx.put(1))
print("end")
"""


def run(program: str, head: RayHead) -> str:
    environment = {**os.environ, **head.environment, "RAY_ADDRESS": ""}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.stdout.endswith("end\n"), done.stdout + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize(
    ("make", "each"),
    [
        ("ctx = fray.create_job_ctx('ray')", "pass"),
        ("ctx = None", "ctx = ctx or fray.RayJobContext(namespace='outlives')"),
        ("ctx = None", "ctx = ctx or fray.get_job_context()"),
    ],
    ids=["made before", "constructed", "found"],
)
def test_context_goes_on_with_the_next_ray(ray_head: RayHead, make: str, each: str):
    lost = ["ObjectLostError"] * 5 + ["ActorDiedError"]
    told = run(PROGRAM.format(make=make, each=each, address=ray_head.address), ray_head).split()
    assert told == ["ContextClosedError", *([*lost, "ContextClosedError"] * 2), "end"]


def test_context_made_before_ray_connects_at_its_first_use(ray_head: RayHead):
    program = (
        "import fray, ray\nctx = fray.create_job_ctx('ray')\nassert not ray.is_initialized() and not ctx.closed\n"
        "assert ctx.get(ctx.put(3)) == 3 and ray.is_initialized()\nctx.close()\nassert not ray.is_initialized()\n"
        "try:\n    ctx.put(1)\nexcept fray.ContextClosedError:\n    print('end')\n"
    )
    run(f"import os\nos.environ['RAY_ADDRESS'] = {ray_head.address!r}\n{program}", ray_head)


def test_options_of_ray_are_those_of_each_task(ray_head: RayHead):
    program = (
        f"import fray, ray\nray.init(address={ray_head.address!r}, log_to_driver=False)\n"
        "ctx = fray.create_job_ctx('ray', num_cpus=2, max_retries=0)\n"
        "seen = ctx.get(ctx.run(lambda: ray.get_runtime_context().get_assigned_resources()['CPU'], name='named'))\n"
        "assert seen == 2, seen\n"
        "try:\n    fray.create_job_ctx('ray', nonsense=1)\nexcept TypeError:\n    print('end')\n"
    )
    run(program, ray_head)
