"""Devices have indices: each has one user at a time, fractions share one, and a process keeps what it was given."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import fray
import pytest
from fray import ActorOptions, LocalJobContext, TaskOptions, ThreadContext
from fray.backend.native import NativeJobContext

from tests.chaos.device_user import DeviceUser
from tests.chaos.harness import PATIENCE, eventually, look_at
from tests.conformance.gates import Gate

Engine = Callable[..., NativeJobContext]


def gpus(amount: float, **more: Any) -> TaskOptions:
    return TaskOptions(resources={"GPU": amount, "CPU": 0}, **more)


def devices() -> tuple[dict[str, list[int]], str | None, int]:
    return fray.get_job_context().resource_ids(), os.environ.get("CUDA_VISIBLE_DEVICES"), os.getpid()


def devices_between(arrived: Gate, leave: Gate) -> tuple[dict[str, list[int]], str | None, int]:
    arrived.open()
    leave.wait()
    return devices()


def devices_around_a_child(options: TaskOptions) -> list[Any]:
    ctx = fray.get_job_context()
    return [devices(), ctx.get(ctx.create_task(devices, options=options)), devices()]


def start_child_with_a_gpu() -> Any:
    ctx = fray.get_job_context()
    return [ctx.create_task(devices, options=gpus(1))]


def test_each_task_has_devices_of_its_own(engine: Engine, gate: Callable[[], Gate]) -> None:
    ctx = engine(cpus=4, resources={"GPU": 4})
    doors = [(gate(), gate()) for _ in range(3)]
    refs = [ctx.create_task(devices_between, door, options=gpus(n)) for door, n in zip(doors, (1, 2, 1), strict=True)]
    for arrived, _ in doors:
        arrived.wait()
    for _, leave in doors:
        leave.open()
    found = ctx.get(refs, timeout=PATIENCE)
    used = [index for ids, _, _ in found for index in ids["GPU"]]
    assert sorted(used) == [0, 1, 2, 3]
    for ids, visible, _ in found:
        assert visible == ",".join(map(str, ids["GPU"]))


def test_halves_share_one_device_and_leave_the_other_whole(engine: Engine, gate: Callable[[], Gate]) -> None:
    ctx = engine(cpus=4, resources={"GPU": 2})
    doors = [(gate(), gate()) for _ in range(2)]
    halves = [ctx.create_task(devices_between, door, options=gpus(0.5)) for door in doors]
    for arrived, _ in doors:
        arrived.wait()
    whole = ctx.get(ctx.create_task(devices, options=gpus(1)), timeout=PATIENCE)
    for _, leave in doors:
        leave.open()
    assert [ids["GPU"] for ids, _, _ in ctx.get(halves, timeout=PATIENCE)] == [[0], [0]]
    assert whole[0]["GPU"] == [1]


def test_a_whole_device_waits_for_two_shares_of_different_ones(engine: Engine) -> None:
    """And is served, although those who hold shares always have more to do."""
    ctx = engine(cpus=4, resources={"GPU": 2})
    shares = [ctx.create_task(time.sleep, (0.02,), options=gpus(0.6)) for _ in range(100)]
    whole = ctx.create_task(devices, options=gpus(1))
    assert ctx.get(whole, timeout=PATIENCE)[0]["GPU"] in ([0], [1])
    ctx.get(shares, timeout=60)


def test_a_process_is_bound_before_it_runs_anything_and_for_its_life(engine: Engine) -> None:
    ctx = engine(cpus=2, resources={"GPU": 3})
    plain = {ctx.get(ctx.run(os.getpid), timeout=PATIENCE) for _ in range(4)}
    bound: dict[int, str | None] = {}
    for amount in (1, 2, 0.5, 3, 1):
        _, visible, pid = ctx.get(ctx.create_task(devices, options=gpus(amount)), timeout=PATIENCE)
        assert bound.setdefault(pid, visible) == visible
        assert pid not in plain
    ids, visible, pid = ctx.get(ctx.run(devices), timeout=PATIENCE)
    assert (ids, visible) == ({}, os.environ.get("CUDA_VISIBLE_DEVICES"))
    assert pid not in bound


def test_a_process_with_devices_ends_with_its_lease(engine: Engine) -> None:
    """Its memory on the device is free for the next one."""
    ctx = engine(cpus=2, resources={"GPU": 1})
    _, _, pid = ctx.get(ctx.create_task(devices, options=gpus(1)), timeout=PATIENCE)
    eventually(lambda: (process := look_at(pid)) is None or process.state in "ZX")


def test_a_blocked_task_lets_its_child_have_the_device_and_keeps_its_own_index(engine: Engine) -> None:
    ctx = engine(cpus=2, resources={"GPU": 1})
    before, child, after = ctx.get(ctx.create_task(devices_around_a_child, (gpus(1),), options=gpus(1)), timeout=20)
    assert before == after
    assert child[0]["GPU"] == [0]
    assert child[2] != before[2]


def test_a_child_that_nobody_waits_for_is_not_lost_with_its_parents_lease(engine: Engine) -> None:
    ctx = engine(cpus=1, resources={"GPU": 1})
    [child] = ctx.get(ctx.create_task(start_child_with_a_gpu, options=gpus(1)), timeout=PATIENCE)
    assert ctx.get(child, timeout=PATIENCE)[0]["GPU"] == [0]


def test_devices_of_a_killed_worker_come_back(engine: Engine) -> None:
    ctx = engine(cpus=2, resources={"GPU": 1})
    for _ in range(3):
        with pytest.raises(fray.WorkerDiedError):
            ctx.get(ctx.create_task(kill_self, options=gpus(1, max_retries=0)), timeout=PATIENCE)
    assert ctx.get(ctx.create_task(devices, options=gpus(1)), timeout=PATIENCE)[0]["GPU"] == [0]


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_other_devices_have_indices_too(engine: Engine) -> None:
    ctx = engine(cpus=2, resources={"TPU": 4, "WIDGET": 4})
    both = TaskOptions(resources={"TPU": 2, "WIDGET": 2})
    assert ctx.get(ctx.create_task(devices, options=both), timeout=PATIENCE)[0] == {"TPU": [0, 1]}


def actor_gpus(amount: float, **more: Any) -> ActorOptions:
    return ActorOptions(resources={"GPU": amount}, **more)


def test_actors_have_devices_of_their_own_from_before_their_class_is_loaded(engine: Engine) -> None:
    ctx = engine(cpus=2, resources={"GPU": 2})
    users = [ctx.create_actor(DeviceUser, options=actor_gpus(1)) for _ in range(2)]
    found = ctx.get([user.found() for user in users], timeout=PATIENCE)
    assert sorted(each["method"]["GPU"] for each in found) == [[0], [1]]
    for each in found:
        assert each["constructor"] == each["method"]
        assert each["visible_at_import"] == str(each["method"]["GPU"][0])


def test_shares_of_actors_lie_on_one_device(engine: Engine) -> None:
    ctx = engine(cpus=2, resources={"GPU": 2})
    users = [ctx.create_actor(DeviceUser, options=actor_gpus(0.5)) for _ in range(2)]
    found = ctx.get([user.found() for user in users], timeout=PATIENCE)
    assert [each["method"] for each in found] == [{"GPU": [0]}] * 2
    assert found[0]["pid"] != found[1]["pid"]
    assert ctx.get(ctx.create_task(devices, options=gpus(1)), timeout=PATIENCE)[0]["GPU"] == [1]


def test_an_actor_that_waits_keeps_its_device(engine: Engine) -> None:
    """A blocked task would yield it."""
    ctx = engine(cpus=2, resources={"GPU": 2})
    user = ctx.create_actor(DeviceUser, options=actor_gpus(1))
    own, child = ctx.get(user.around_a_child(gpus(1)), timeout=PATIENCE)
    assert sorted(own["GPU"] + child["GPU"]) == [0, 1]


def test_a_restarted_actor_is_bound_anew(engine: Engine) -> None:
    ctx = engine(cpus=2, resources={"GPU": 2})
    user = ctx.create_actor(DeviceUser, options=actor_gpus(1, max_restarts=1))
    before = ctx.get(user.found(), timeout=PATIENCE)
    os.kill(before["pid"], signal.SIGKILL)
    again = ctx.create_actor(DeviceUser, options=actor_gpus(1))
    found = [ctx.get(each.found(), timeout=PATIENCE) for each in (user, again)]
    assert found[0]["pid"] != before["pid"]
    assert sorted(each["method"]["GPU"] for each in found) == [[0], [1]]
    for each in found:
        assert each["visible_at_import"] == str(each["method"]["GPU"][0])


def test_the_device_of_a_killed_actor_goes_to_the_next(engine: Engine) -> None:
    ctx = engine(cpus=2, resources={"GPU": 1})
    for _ in range(3):
        user = ctx.create_actor(DeviceUser, options=actor_gpus(1))
        assert ctx.get(user.found(), timeout=PATIENCE)["method"] == {"GPU": [0]}
        ctx.kill(user)
    assert ctx.get(ctx.create_task(devices, options=gpus(1)), timeout=PATIENCE)[0]["GPU"] == [0]


@pytest.mark.parametrize("amount", [1.5, 2.25])
def test_more_than_one_device_and_a_fraction_is_refused(amount: float) -> None:
    with pytest.raises(ValueError, match="'GPU' must be a whole number of devices or a fraction of one"):
        gpus(amount)


def test_half_a_device_cannot_be_declared() -> None:
    with pytest.raises(ValueError, match="whole number of devices"):
        NativeJobContext(cpus=1, resources={"GPU": 0.5})


def test_contexts_in_the_process_count_from_zero() -> None:
    for make in (LocalJobContext, ThreadContext):
        with make() as ctx, fray.fray_default_job_ctx(ctx):
            assert ctx.get(ctx.create_task(devices, options=gpus(2)))[0] == {"GPU": [0, 1]}
            assert ctx.get(ctx.create_task(devices, options=gpus(0.5)))[0] == {"GPU": [0]}
            assert ctx.get(ctx.run(devices))[0] == {}
            user = ctx.create_actor(DeviceUser, options=actor_gpus(2))
            found = ctx.get(user.found())
            assert found["constructor"] == found["method"] == {"GPU": [0, 1]}
            assert ctx.resource_ids() == {}
