"""`ray.util`, graphs, the runtime context and what the machine has."""

from __future__ import annotations

import asyncio
import importlib
import os
import time
from pathlib import Path
from typing import Any

import pytest


def _module(ray: Any, name: str) -> Any:
    return importlib.import_module(f"{ray.__name__}.{name}")


# ---- pools and queues


def test_actor_pool(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Doubler:
        def double(self, value: int) -> int:
            if value < 0:
                raise ValueError("negative")
            return 2 * value

    pool = ray.util.ActorPool([Doubler.remote(), Doubler.remote()])
    assert list(pool.map(lambda actor, value: actor.double.remote(value), range(5))) == [0, 2, 4, 6, 8]
    assert sorted(pool.map_unordered(lambda actor, value: actor.double.remote(value), range(5))) == [0, 2, 4, 6, 8]
    pool.submit(lambda actor, value: actor.double.remote(value), -1)
    assert pool.has_next()
    with pytest.raises(ValueError, match="negative"):
        pool.get_next()
    assert not pool.has_next() and pool.has_free()
    with pytest.raises(StopIteration):
        pool.get_next()
    idle = pool.pop_idle()
    pool.push(idle)
    with pytest.raises(ValueError, match="already belongs"):
        pool.push(idle)


def test_actor_pool_with_methods_of_several_results(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Divider:
        @ray.method(num_returns=2)
        def divide(self, value: int) -> tuple[int, int]:
            return divmod(value, 3)

    pool = ray.util.ActorPool([Divider.remote(), Divider.remote()])
    for value in (7, 8, 9):
        pool.submit(lambda actor, number: actor.divide.remote(number), value)
    assert [pool.get_next() for _ in range(3)] == [[2, 1], [2, 2], [3, 0]]


def test_as_completed_and_map_unordered(ray: Any) -> None:
    @ray.remote
    def double(value: int) -> int:
        return 2 * value

    assert sorted(ray.util.as_completed([double.remote(i) for i in range(5)])) == [0, 2, 4, 6, 8]
    assert sorted(ray.util.map_unordered(double, range(30))) == list(range(0, 60, 2))


def test_queue(ray: Any) -> None:
    queues = _module(ray, "util.queue")
    queue = queues.Queue(maxsize=2)
    queue.put(1)
    queue.put(2, timeout=30)
    assert queue.full() and queue.size() == queue.qsize() == len(queue) == 2
    with pytest.raises(queues.Full):
        queue.put_nowait(3)
    with pytest.raises(queues.Full):
        queue.put(3, timeout=0.05)
    assert queue.get() == 1 and queue.get_nowait() == 2 and queue.empty()
    with pytest.raises(queues.Empty):
        queue.get(block=False)
    with pytest.raises(queues.Empty):
        queue.get(timeout=0.05)
    with pytest.raises(ValueError):
        queue.get(timeout=-1)
    queue.put_nowait_batch([4, 5])
    assert queue.get_nowait_batch(2) == [4, 5]

    @ray.remote
    def fill(target: Any) -> None:
        target.put("from a task")

    fill.remote(queue)
    assert queue.get(timeout=30) == "from a task"

    async def both() -> Any:
        await queue.put_async(6)
        return await queue.get_async()

    assert asyncio.run(both()) == 6
    queue.shutdown(force=True)
    assert queue.actor is None


def test_multiprocessing_pool(ray: Any) -> None:
    with _module(ray, "util.multiprocessing").Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]
        assert pool.apply(max, (1, 2)) == 2
        assert pool.starmap(pow, [(2, 3), (3, 2)]) == [8, 9]
        assert list(pool.imap(abs, [-1, -2, -3])) == [1, 2, 3]
        assert sorted(pool.imap_unordered(abs, [-1, -2, -3])) == [1, 2, 3]
        result = pool.apply_async(abs, (-5,))
        assert result.get(30) == 5 and result.ready() and result.successful()
        with pytest.raises(ValueError) as caught:
            pool.apply(int, ("x",))
        assert type(caught.value) is ValueError
        with pytest.raises(ValueError):
            pool.join()
    with pytest.raises(ValueError):
        pool.map(abs, [1])
    with pytest.raises(ValueError):
        _module(ray, "util.multiprocessing").Pool(0)


def test_results_of_a_pool_come_by_callbacks_too_and_its_end_waits_for_what_was_given(ray: Any) -> None:
    told: list[Any] = []
    pool = _module(ray, "util.multiprocessing").Pool(2)
    good = pool.map_async(abs, range(-3, 0), callback=told.append)
    bad = pool.starmap_async(divmod, [(1, 0), (7, 2)], error_callback=told.append)
    with pytest.raises(ZeroDivisionError):
        bad.get(30)
    assert good.get(30) == [3, 2, 1] and not bad.successful()
    assert list(pool.imap(abs, range(-40, 0))) == list(range(40, 0, -1))
    assert sorted(pool.imap_unordered(abs, range(-9, 0), 4)) == list(range(1, 10))
    last = pool.apply_async(abs, (-1,))
    pool.close()
    pool.join()
    assert last.get(30) == 1
    end = time.monotonic() + 30
    while len(told) < 2:
        assert time.monotonic() < end
    assert sorted(type(each) is list for each in told) == [False, True]
    waiting = _module(ray, "util.multiprocessing").Pool(1)
    late = waiting.apply_async(time.sleep, (10,))
    with pytest.raises(_module(ray, "util.multiprocessing").TimeoutError):
        late.get(0.01)
    with pytest.raises(ValueError):
        late.successful()
    waiting.terminate()
    waiting.join()


def test_joblib(ray: Any) -> None:
    joblib = pytest.importorskip("joblib")
    _module(ray, "util.joblib").register_ray()
    with joblib.parallel_backend("ray", n_jobs=2):
        assert joblib.Parallel()(joblib.delayed(abs)(-i) for i in range(5)) == [0, 1, 2, 3, 4]


@pytest.fixture
def dask_on_ray(ray: Any) -> Any:
    pytest.importorskip("dask")
    return _module(ray, "util.dask")


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_dask_computes_on_ray_while_it_is_enabled(ray: Any, dask_on_ray: Any) -> None:
    import dask

    @dask.delayed(pure=False)  # type: ignore[untyped-decorator]
    def process() -> int:
        return os.getpid()

    with dask_on_ray.enable_dask_on_ray():
        assert dask.config.get("scheduler") is dask_on_ray.ray_dask_get
        assert os.getpid() not in dask.compute(process(), process())
    assert dask.config.get("scheduler", None) is None


def test_scheduler_and_persist_of_dask(ray: Any, dask_on_ray: Any) -> None:
    import dask.array

    graph = {"a": 1, "b": (abs, -2), "c": (max, "a", "b")}
    assert list(dask_on_ray.ray_dask_get(graph, ["c", "b"])) == [2, 2]
    array = dask.array.arange(10, chunks=5)
    (kept,) = dask_on_ray.ray_dask_persist(array, scheduler=dask_on_ray.ray_dask_get)
    assert kept.sum().compute(scheduler=dask_on_ray.ray_dask_get) == 45


def test_dask_takes_remote_args_for_all_and_by_annotation(ray: Any, dask_on_ray: Any) -> None:
    import dask

    @dask.delayed(pure=False)  # type: ignore[untyped-decorator]
    def place() -> str | None:
        return os.environ.get("FRAY_TEST_PLACE")

    def chosen(value: str) -> dict[str, Any]:
        return {"runtime_env": {"env_vars": {"FRAY_TEST_PLACE": value}}}

    with dask.annotate(ray_remote_args=chosen("own")):
        own = place()
    scheduler = dask_on_ray.ray_dask_get
    found = dask.compute(place(), own, scheduler=scheduler, ray_remote_args=chosen("common"))
    assert found == ("common", "own")
    with pytest.raises(ValueError, match="ray_remote_args"):
        place().compute(scheduler=scheduler, resources={"CPU": 1})


def test_dask_raises_what_a_task_raised(ray: Any, dask_on_ray: Any) -> None:
    import dask

    with pytest.raises(ZeroDivisionError):
        dask.delayed(lambda: 1 / 0)().compute(scheduler=dask_on_ray.ray_dask_get)


# ---- placement


def test_placement_groups(ray: Any) -> None:
    strategies = _module(ray, "util.scheduling_strategies")
    group = ray.util.placement_group([{"CPU": 1}, {"CPU": 1}], name="pair")
    assert group.wait(30) and ray.get(group.ready()) == group
    assert group.bundle_count == 2 and str(group.bundle_specs[0]["CPU"]) == "1.0" and len(group.id.hex()) == 36
    assert ray.util.get_placement_group("pair") == group
    assert ray.util.placement_group_table(group)["state"] == "CREATED"
    assert ray.util.get_current_placement_group() is None

    @ray.remote
    def inside() -> Any:
        return ray.get_runtime_context().get_placement_group_id()

    chosen = strategies.PlacementGroupSchedulingStrategy(group)
    refs = [inside.options(scheduling_strategy=chosen).remote() for _ in range(4)]
    assert set(ray.get(refs, timeout=60)) == {group.id.hex()}

    @ray.remote(num_cpus=1)
    class Member:
        def answer(self) -> int:
            return 3

    member = Member.options(scheduling_strategy=chosen).remote()
    assert ray.get(member.answer.remote(), timeout=60) == 3
    with pytest.raises(ValueError):
        inside.options(num_cpus=2, scheduling_strategy=chosen).remote()
    with pytest.raises(ValueError):
        wrong = strategies.PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=5)
        inside.options(scheduling_strategy=wrong).remote()
    ray.util.remove_placement_group(group)
    ray.util.remove_placement_group(group)
    with pytest.raises(ray.exceptions.RayActorError):
        for _ in range(3000):  # Ray ends the actors of a group after the removal has returned
            ray.get(member.answer.remote(), timeout=60)
            time.sleep(0.01)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_older_options_of_placement_groups_name_the_group_too(ray: Any) -> None:
    group = ray.util.placement_group([{"CPU": 1}])

    @ray.remote(num_cpus=1)
    def inside() -> Any:
        return ray.util.get_current_placement_group()

    older = {"placement_group": group, "placement_group_bundle_index": 0}
    assert ray.get(inside.options(**older).remote(), timeout=60) == group
    ray.util.remove_placement_group(group)


def test_what_a_task_of_a_placement_group_starts_is_in_the_group_where_that_was_asked(ray: Any) -> None:
    strategies = _module(ray, "util.scheduling_strategies")
    group = ray.util.placement_group([{"CPU": 2}])
    ray.get(group.ready(), timeout=30)
    captures = strategies.PlacementGroupSchedulingStrategy(group, placement_group_capture_child_tasks=True)
    nowhere = strategies.PlacementGroupSchedulingStrategy(placement_group=None)

    @ray.remote(num_cpus=1)
    def where() -> Any:
        return ray.get_runtime_context().get_placement_group_id()

    @ray.remote(num_cpus=0)
    class Where:
        def ask(self) -> Any:
            return ray.get_runtime_context().get_placement_group_id()

    @ray.remote(num_cpus=1)
    def start() -> list[Any]:
        actor = Where.remote()
        elsewhere = Where.options(scheduling_strategy=nowhere).remote()
        asked = [where.remote(), actor.ask.remote(), elsewhere.ask.remote()]
        return [*ray.get(asked, timeout=30), ray.wait([where.options(scheduling_strategy=nowhere).remote()], timeout=0)]

    first, second, third, outside = ray.get(start.options(scheduling_strategy=captures).remote(), timeout=60)
    assert (first, second, third) == (group.id.hex(), group.id.hex(), None)
    assert outside[0] == []  # the group has all CPUs
    ray.util.remove_placement_group(group)
    assert ray.get(where.remote(), timeout=30) is None  # by a worker that was in the group before


@pytest.mark.parametrize(("index", "depths"), [(-1, (2, 0, 1)), (0, (1,))])
def test_a_task_of_a_placement_group_that_waits_lets_others_of_the_group_run(
    ray: Any, index: int, depths: tuple[int, ...]
) -> None:
    strategies = _module(ray, "util.scheduling_strategies")

    @ray.remote
    def child(depth: int) -> int:
        if depth == 0:
            return 3
        ready, _ = ray.wait([child.remote(depth - 1)])
        return ray.get(ready[0])

    group = ray.util.placement_group([{"CPU": 1}])
    strategy = strategies.PlacementGroupSchedulingStrategy(group, index, placement_group_capture_child_tasks=True)
    parents = [child.options(scheduling_strategy=strategy).remote(depth) for depth in depths]
    assert ray.get(parents, timeout=30) == [3] * len(depths)
    ray.util.remove_placement_group(group)


def test_a_placement_group_has_all_its_resources_or_waits_and_so_does_what_is_of_it(ray: Any) -> None:
    strategies = _module(ray, "util.scheduling_strategies")

    @ray.remote
    def where() -> Any:
        return ray.get_runtime_context().get_placement_group_id()

    first = ray.util.placement_group([{"CPU": 1}, {"CPU": 1}])
    assert first.wait(30)
    second = ray.util.placement_group([{"CPU": 1}, {"CPU": 1}], strategy="STRICT_PACK", name="waits")
    inside = strategies.PlacementGroupSchedulingStrategy(second)
    ref = where.options(scheduling_strategy=inside).remote()
    assert not second.wait(0.2)
    assert ray.util.placement_group_table(second)["state"] == "PENDING"
    assert ray.wait([ref, second.ready()], timeout=0)[0] == []
    ray.util.remove_placement_group(first)
    assert second.wait(30) and ray.get(ref, timeout=60) == second.id.hex()
    ray.util.remove_placement_group(second)
    assert ray.util.placement_group_table(second)["state"] == "REMOVED"
    with pytest.raises(Exception, match="does not exist"):
        second.wait(5)


def test_bundles_of_a_placement_group_are_apart(ray: Any, tmp_path: Path) -> None:
    strategies = _module(ray, "util.scheduling_strategies")
    group = ray.util.placement_group([{"CPU": 1}, {"CPU": 1}])

    @ray.remote
    def wait(mark: str | None, door: str) -> str:
        if mark is not None:
            Path(mark).touch()
            while not Path(door).exists():
                time.sleep(0.01)
        return door

    def start(index: int, mark: str | None) -> Any:
        inside = strategies.PlacementGroupSchedulingStrategy(group, index)
        return wait.options(scheduling_strategy=inside).remote(mark, str(tmp_path / "door"))

    holds = start(0, str(tmp_path / "mark"))
    while not (tmp_path / "mark").exists():
        time.sleep(0.01)
    behind, beside = start(0, None), start(1, None)
    ray.get(beside, timeout=60)
    assert ray.wait([behind], timeout=0)[0] == []
    (tmp_path / "door").touch()
    ray.get([holds, behind], timeout=60)
    ray.util.remove_placement_group(group)


@pytest.mark.parametrize("bundles", [[], [{}], [{"CPU": 0}], {"CPU": 1}])
def test_placement_groups_that_are_refused(ray: Any, bundles: Any) -> None:
    with pytest.raises(ValueError):
        ray.util.placement_group(bundles)


def test_unknown_strategies(ray: Any) -> None:
    with pytest.raises(ValueError):
        ray.util.placement_group([{"CPU": 1}], strategy="ANY")

    @ray.remote
    def f() -> int:
        return 1

    with pytest.raises(ValueError):
        f.options(scheduling_strategy="ANY").remote()
    assert ray.get(f.options(scheduling_strategy="SPREAD").remote()) == 1


def test_affinity_to_nodes(ray: Any) -> None:
    strategies = _module(ray, "util.scheduling_strategies")

    @ray.remote
    def f() -> int:
        return 1

    here = ray.get_runtime_context().get_node_id()
    own = strategies.NodeAffinitySchedulingStrategy(here, soft=False)
    assert ray.get(f.options(scheduling_strategy=own).remote()) == 1
    other = "ab" * 28
    soft = strategies.NodeAffinitySchedulingStrategy(other, soft=True)
    assert ray.get(f.options(scheduling_strategy=soft).remote()) == 1
    with pytest.raises(ray.exceptions.TaskUnschedulableError):
        hard = strategies.NodeAffinitySchedulingStrategy(other, soft=False)
        ray.get(f.options(scheduling_strategy=hard).remote(), timeout=60)
    with pytest.raises(ValueError):
        strategies.NodeAffinitySchedulingStrategy("zz", soft=False)


# ---- graphs


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_graphs(ray: Any) -> None:
    dag = _module(ray, "dag")

    @ray.remote
    def add(a: int, b: int = 1) -> int:
        return a + b

    @ray.remote
    class Keeper:
        def __init__(self, start: int) -> None:
            self.value = start

        def more(self, amount: int) -> int:
            self.value += amount
            return self.value

    node = add.bind(add.bind(1), b=add.bind(2))
    assert ray.get(node.execute()) == 5
    with dag.InputNode() as given:
        twice = add.bind(given, given)
    assert ray.get(twice.execute(4)) == 8
    with dag.InputNode() as given:
        parts = add.bind(given[0], given.b)
    assert ray.get(parts.execute(4, b=6)) == 10
    keeper = Keeper.bind(10)
    both = dag.MultiOutputNode([keeper.more.bind(1), add.bind(0)])
    assert ray.get(both.execute()) == [11, 1]


# ---- where code runs


def test_runtime_context(ray: Any) -> None:
    @ray.remote(num_cpus=0.5, name="called")
    def task() -> dict[str, Any]:
        context = ray.get_runtime_context()
        return {
            "task": context.get_task_id(),
            "name": context.get_task_name(),
            "actor": context.get_actor_id(),
            "node": context.get_node_id(),
            "job": context.get_job_id(),
            "cpus": context.get_assigned_resources()["CPU"],
            "cancelled": context.is_canceled(),
        }

    @ray.remote
    class Actor:
        def look(self) -> tuple[Any, ...]:
            context = ray.get_runtime_context()
            return context.get_actor_id(), context.get_actor_name(), context.get_task_name(), context.current_actor

    here = ray.get_runtime_context()
    found = ray.get(task.remote())
    assert len(found.pop("task")) == 48 and found.pop("job") == here.get_job_id()
    assert found == {"name": "called", "actor": None, "node": here.get_node_id(), "cpus": 0.5, "cancelled": False}
    actor = Actor.options(name="looked at").remote()
    assert ray.get(actor.look.remote()) == (actor._actor_id.hex(), "looked at", "Actor.look", actor)
    assert here.get_actor_id() is None and here.namespace
    assert len(here.get_worker_id()) == 56
    with pytest.raises(RuntimeError):
        here.current_actor  # noqa: B018
    with pytest.raises(RuntimeError):
        here.is_canceled()


def test_a_task_has_the_id_that_its_ref_tells(ray: Any) -> None:
    @ray.remote(num_cpus=0.5)
    def task() -> str:
        return ray.get_runtime_context().get_task_id()

    @ray.remote(num_cpus=0)
    class Plain:
        def look(self) -> str:
            return ray.get_runtime_context().get_task_id()

    @ray.remote(num_cpus=0, max_concurrency=4)
    class Threads:
        def look(self) -> str:
            return ray.get_runtime_context().get_task_id()

    @ray.remote(num_cpus=0, concurrency_groups={"others": 2})
    class Async:
        async def look(self) -> str:
            before = ray.get_runtime_context().get_task_id()
            await asyncio.sleep(0)
            assert before == ray.get_runtime_context().get_task_id()
            return before

        @ray.method(concurrency_group="others")
        async def look_elsewhere(self) -> str:
            return ray.get_runtime_context().get_task_id()

    actors = [kind.remote() for kind in (Plain, Threads, Async)]
    refs = [start.remote() for start in [task, *(actor.look for actor in actors), actors[-1].look_elsewhere] * 3]
    assert ray.get(refs) == [ref.task_id().hex() for ref in refs]
    assert len(set(ray.get(refs))) == len(refs)


def test_what_the_machine_has(ray: Any) -> None:
    (node,) = [node for node in ray.nodes() if node["Alive"]]  # Ray lists those that have gone as well
    assert node["NodeID"] == ray.get_runtime_context().get_node_id()
    assert ray.cluster_resources()["CPU"] == 2
    assert ray.available_resources().get("CPU", 0) <= 2
    assert ray.get_gpu_ids() == [] and ray.is_initialized()
    assert ray.util.get_node_ip_address().count(".") == 3
    assert ray.__version__ == "2.60.0"


def test_timeline(ray: Any, tmp_path: Any) -> None:
    @ray.remote
    def seen() -> None: ...

    ray.get(seen.remote())
    assert isinstance(ray.timeline(), list)
    assert ray.timeline(str(tmp_path / "t.json")) is None and (tmp_path / "t.json").exists()


def test_metrics(ray: Any) -> None:
    metrics = _module(ray, "util.metrics")
    counter = metrics.Counter("made", description="d", tag_keys=("kind",))
    counter.inc(1.0, tags={"kind": "a"})
    counter.set_default_tags({"kind": "b"})
    counter.inc()
    with pytest.raises(ValueError):
        counter.inc(0)
    with pytest.raises(ValueError):
        counter.set_default_tags({"other": "x"})
    metrics.Gauge("level").set(3)
    metrics.Histogram("times", boundaries=[1, 2]).observe(1.5)
    with pytest.raises(ValueError):
        metrics.Counter("")
    assert counter.info["name"] == "made"


def test_progress_bars_let_values_through(ray: Any) -> None:
    bars = _module(ray, "experimental.tqdm_ray")
    assert list(bars.tqdm(range(3), desc="x")) == [0, 1, 2]
    bar = bars.tqdm(total=2)
    bar.update(2)
    bar.close()


def test_a_second_init_is_refused(ray: Any) -> None:
    with pytest.raises(RuntimeError, match="ignore_reinit_error"):
        ray.init()
    assert ray.init(ignore_reinit_error=True).address_info["node_id"]
    with pytest.raises(RuntimeError):
        ray.init(foo=1)


def test_names_that_there_are_not(ray: Any) -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        ray.nothing_of_the_kind  # noqa: B018
