"""What is true of tasks and actors on Ray alone."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import fray
import pytest
from fray import ActorOptions, InfeasibleError, Lifetime, RuntimeEnv, TaskOptions
from fray.backend.ray import RayJobContext
from fray.backend.ray.ray_job import RayActorHandle, RayBackendContext, RayContext

import ray
from tests.on_ray.head import ROOT, RayHead

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]


def add(a, b=0):
    return a + b


def read(name):
    return os.environ.get(name)


class Counter:
    def __init__(self, start=0):
        self.value = start

    def add(self, amount=1):
        self.value += amount
        return self.value


def test_names_of_old_are_the_same_context():
    assert RayContext is RayBackendContext is RayJobContext is fray.RayJobContext
    assert fray.job.RayContext is RayJobContext


def test_raw_ray_get_of_our_refs_says_what_to_do(ctx: RayJobContext):
    ref = ctx.run(add, 1, 2)
    with pytest.raises(ValueError, match=r"ctx\.get\(ref\) or ref\.result\(\)"):
        ray.get(ref)
    with pytest.raises(TypeError, match=r"ctx\.get\(ref\) or ref\.result\(\)"):
        ray.get([ref])
    assert ray.get(ref.ray_ref) == ref.result() == 3


def test_rays_own_refs_are_arguments_as_values(ctx: RayJobContext):
    assert ctx.get(ctx.run(add, ray.put(1), ctx.put(2))) == 3


def test_function_of_a_remote_function_runs(ctx: RayJobContext):
    remote = ray.remote(max_calls=1)(add)
    assert ctx.get(ctx.create_task(remote._function, (1, 2))) == 3
    assert ctx.get(ctx.create_task(remote, (1, 2))) == 3  # type: ignore[arg-type]


def test_decorated_function_runs(ctx: RayJobContext):
    @functools.wraps(add)
    def traced(*args):
        return "traced", add(*args)

    assert ctx.get(ctx.run(traced, 1, 2)) == ("traced", 3)


def test_handle_is_a_ray_actor_handle(ctx: RayJobContext):
    counter = ctx.create_actor(Counter, 5)
    assert isinstance(counter, RayActorHandle)
    assert ctx.get(counter.add()) == 6


def test_zero_cpus_stay_zero(ctx: RayJobContext):
    demand = TaskOptions(resources={"CPU": 0})
    assert ctx.get(ctx.create_task(lambda: ray.get_runtime_context().get_assigned_resources(), options=demand)) == {}


def test_task_has_its_name_on_rays_side(ctx: RayJobContext):
    task = ctx.create_task(lambda: ray.get_runtime_context().get_task_name(), options=TaskOptions(name="fn:step"))
    assert ctx.get(task) == "fn:step"


def test_impossible_request_says_what_the_most_is(ctx: RayJobContext):
    with pytest.raises(InfeasibleError, match=r"GPU: asked for 1, the most that a node has is 0.*autoscaling=true"):
        ctx.create_task(add, (1,), options=TaskOptions(resources={"GPU": 1}))
    with pytest.raises(InfeasibleError, match="actor Counter"):
        ctx.create_actor(Counter, options=ActorOptions(resources={"TPU": 4}))


def test_impossible_request_waits_where_nodes_may_come(initialised_ray: RayHead):
    with RayJobContext(autoscaling=True) as ctx:
        ref = ctx.create_task(add, (1,), options=TaskOptions(resources={"GPU": 1}))
        assert ctx.wait([ref], timeout=0.1) == ([], [ref])
        ctx.cancel(ref)


def test_detached_actor_outlives_its_context(initialised_ray: RayHead):
    options = ActorOptions(name="detached", lifetime=Lifetime.DETACHED, get_if_exists=True, resources={"CPU": 0})
    with RayJobContext(namespace="on_ray") as first:
        assert first.get(first.create_actor(Counter, 5, options=options).add()) == 6
        kept = first.create_actor(Counter, name="kept")
        assert first.get(kept.add()) == 1
    with RayJobContext(namespace="on_ray") as second:
        assert second.list_named_actors() == ["detached"]
        assert second.get(second.create_actor(Counter, 99, options=options).add()) == 7
        second.kill(second.get_actor("detached"))


def test_actor_of_rays_own_can_be_called(ctx: RayJobContext):
    raw = ray.remote(num_cpus=0)(Counter).options(name="raw", namespace="on_ray").remote(3)
    assert ctx.get(ctx.get_actor("raw").add(4)) == 7
    del raw


@pytest.mark.long
def test_packages_that_cannot_be_installed_are_told(ctx: RayJobContext):
    env = RuntimeEnv(package_requirements=["no-such-package-of-fray==0.0.0"], env={"SECRET": "do-not-print"})
    ref = ctx.create_task(add, (1,), options=TaskOptions(runtime_env=env, max_retries=0))
    with pytest.raises(fray.FrayError) as caught:
        ctx.get(ref, timeout=900)
    assert "environment" in str(caught.value)
    assert "do-not-print" not in str(caught.value)


def test_variables_reach_nested_tasks(ctx: RayJobContext):
    def outer():
        inner = fray.get_job_context()
        return inner.get(inner.run(read, "FRAY_ON_RAY"))

    env = RuntimeEnv(env={"FRAY_ON_RAY": "seen"})
    assert ctx.get(ctx.create_task(outer, options=TaskOptions(runtime_env=env))) == "seen"


def test_tasks_share_the_namespace_of_their_context(ctx: RayJobContext):
    counter = ctx.create_actor(Counter, name="shared")
    assert ctx.get(ctx.run(lambda: fray.get_job_context().get_actor("shared").add().result())) == 1
    assert ctx.get(counter.add()) == 2


def test_initialised_ray_is_found(initialised_ray: RayHead):
    fray.set_job_context(None)
    try:
        context = fray.get_job_context()
        assert type(context) is RayJobContext
        assert context.get(context.run(add, 1, 2)) == 3
        assert context is fray.get_job_context()
    finally:
        fray.shutdown()
        fray.set_job_context(None)


def run_program(code: str, head: RayHead | None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **(head.environment if head else {}), "RAY_ADDRESS": "", **variables}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_spec_names_the_cluster(ray_head: RayHead):
    code = "import fray; c = fray.get_job_context(); print(type(c).__name__, c.namespace, c.get(c.run(pow, 2, 5)))"
    spec = f"ray?address={ray_head.address}&namespace=marin"
    done = run_program(code, ray_head, FRAY_CLUSTER_SPEC=spec)
    assert done.stdout.split() == ["RayJobContext", "marin", "32"], done.stderr[-2000:]


def test_wrong_token_is_told(ray_head: RayHead):
    code = "import fray; fray.get_job_context()"
    spec = f"ray?address={ray_head.address}"
    done = run_program(code, ray_head, FRAY_CLUSTER_SPEC=spec, RAY_AUTH_TOKEN="0" * 64)
    assert "fray.errors.NodeDiedError" in done.stderr, done.stderr[-2000:]
    assert ray_head.environment["RAY_AUTH_TOKEN"] not in done.stderr


def test_missing_ray_says_what_to_install():
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "import fray\n"
        "try:\n    fray.create_job_ctx('ray')\n"
        "except fray.UnsupportedError as error:\n    print(error)"
    )
    done = run_program(code, None)
    assert "pip install 'fray[ray]'" in done.stdout, done.stderr[-2000:]


def test_closed_ray_says_so(ray_head: RayHead):
    code = (
        "import fray, ray\n"
        "ray.init(address=ADDRESS, log_to_driver=False)\n"
        "c = fray.RayJobContext()\nref = c.put(1)\nray.shutdown()\n"
        "for use in (lambda: c.run(pow, 1, 1), lambda: c.get(ref), ref.result, lambda: c.put(2)):\n"
        "    try:\n        use()\n    except fray.ContextClosedError as error:\n        print(error)\n"
    ).replace("ADDRESS", repr(ray_head.address))
    done = run_program(code, ray_head)
    assert done.stdout.count("Ray was shut down") == 4, done.stdout + done.stderr[-2000:]
