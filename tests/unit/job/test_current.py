"""Which context code gets, in which order, and for how long."""

from __future__ import annotations

import sys
import threading
from types import ModuleType

import fray
import pytest
from fray import AlreadyInitializedError, LocalJobContext, ThreadContext, UnsupportedError
from fray.job import current, factory
from fray.job.factory import resolve
from fray.job.spec import Spec


def in_a_new_thread(fn):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(fn()))
    thread.start()
    thread.join()
    return seen[0]


def test_local_is_the_default_and_is_kept(fake_native):
    context = fray.get_job_context()
    assert type(context) is fake_native
    assert context is fray.get_job_context() is fray.get_default_job_ctx() is in_a_new_thread(fray.get_job_context)
    fray.set_job_context(None)
    assert fray.get_job_context() is not context


def test_spec_comes_before_the_default(monkeypatch, fake_native):
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "thread?max_workers=3")
    assert type(fray.get_job_context()) is ThreadContext
    fray.shutdown()
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "local?cpus=2&resources=TPU:4")
    assert fray.get_job_context().settings == {"cpus": 2, "resources": {"TPU": 4}}


def test_initialised_ray_comes_before_the_spec(monkeypatch):
    ray = ModuleType("ray")
    ray.is_initialized = lambda: True  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "sync")
    assert factory.resolve().scheme == "ray"
    ray.is_initialized = lambda: False  # type: ignore[attr-defined]
    assert factory.resolve().scheme == "sync"


def test_node_of_the_job_comes_before_ray(monkeypatch, fake_native):
    ray = ModuleType("ray")
    ray.is_initialized = lambda: True  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setenv("FRAY_NODE", "/run/node")
    assert fray.get_job_context().settings == {"address": "/run/node"}


def test_a_task_of_iris_is_where_its_program_runs_unless_something_else_is_said(monkeypatch):
    monkeypatch.setenv("IRIS_TASK_ID", "/bob/train/0:1")
    assert resolve() == Spec("local", {})  # whose controller, nobody says
    monkeypatch.setenv("IRIS_CONTROLLER_URL", "http://127.0.0.1:10000")
    assert resolve() == Spec("iris", {})
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "local?cpus=2")
    assert resolve() == Spec("local", {"cpus": 2})
    monkeypatch.setenv("FRAY_NODE", "/run/node")
    assert resolve() == Spec("local", {"address": "/run/node"})


def test_worker_comes_before_what_was_chosen(fake_native, monkeypatch):
    chosen = fray.get_job_context()
    worker = LocalJobContext()
    monkeypatch.setattr(fake_native, "worker", worker)
    assert fray.get_job_context() is worker is not chosen


def test_explicit_comes_first_and_reaches_threads(fake_native, monkeypatch):
    monkeypatch.setattr(fake_native, "worker", LocalJobContext())
    mine = LocalJobContext()
    fray.set_job_context(mine)
    assert fray.get_job_context() is mine is in_a_new_thread(fray.get_job_context)


def test_default_context_is_restored_also_after_an_error():
    outer, inner = LocalJobContext(), LocalJobContext()
    fray.set_job_context(outer)

    def use_inner():
        with fray.fray_default_job_ctx(inner) as entered:
            assert entered is fray.get_job_context() is in_a_new_thread(fray.get_job_context) is inner
            raise ValueError("out")

    with pytest.raises(ValueError, match="out"):
        use_inner()
    assert fray.get_job_context() is outer is in_a_new_thread(fray.get_job_context)


def test_overlapping_defaults_of_two_threads_end_clean():
    first, second = LocalJobContext(), LocalJobContext()
    entered, leave = threading.Event(), threading.Event()
    seen = []

    def other():
        with fray.fray_default_job_ctx(second):
            entered.set()
            leave.wait()
            seen.append(fray.get_job_context())

    thread = threading.Thread(target=other)
    with fray.fray_default_job_ctx(first):
        thread.start()
        entered.wait()
        assert fray.get_job_context() is first
    leave.set()
    thread.join()
    assert seen == [second]
    base = LocalJobContext()
    fray.set_job_context(base)
    assert in_a_new_thread(fray.get_job_context) is base


def test_set_job_context_refuses_other_things():
    with pytest.raises(TypeError, match="JobContext or None"):
        fray.set_job_context("sync")  # type: ignore[arg-type]


def test_init_makes_the_local_engine_with_its_settings(fake_native, monkeypatch):
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "sync")
    context = fray.init(cpus=2, memory="1GiB", resources={"TPU": 1}, namespace="n")
    assert type(context) is fake_native
    assert context.settings == {"cpus": 2, "memory": 1 << 30, "resources": {"TPU": 1}, "namespace": "n"}
    assert fray.get_job_context() is context is in_a_new_thread(fray.get_job_context)


def test_init_adds_to_the_keys_of_a_local_spec(fake_native, monkeypatch):
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "local?cpus=1&spill_dir=/s")
    assert fray.init(cpus=2).settings == {"cpus": 2, "spill_dir": "/s"}


def test_init_without_settings_is_the_chosen_context(monkeypatch):
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "sync")
    assert fray.init() is fray.get_job_context() is fray.init()


def test_init_again_with_the_same_settings_is_the_same_context(fake_native):
    assert fray.init(cpus=2, memory="1GiB") is fray.init(memory=1 << 30) is fray.init(cpus=2.0) is fray.init()


def test_init_again_with_other_settings_names_them(fake_native):
    fray.init(cpus=2)
    with pytest.raises(AlreadyInitializedError, match=r"cpus: asked for 3, has 2, namespace: .*has the default"):
        fray.init(cpus=3, namespace="x")
    fray.shutdown()
    assert fray.init(cpus=3).settings == {"cpus": 3}


def test_init_over_a_set_context_is_refused(fake_native):
    mine = LocalJobContext()
    fray.set_job_context(mine)
    assert fray.init() is mine
    with pytest.raises(AlreadyInitializedError, match="cpus"):
        fray.init(cpus=1)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"cpus": -1}, "cpus"),
        ({"memory": "lots"}, "memory"),
        ({"resources": {"cpus": 1}}, "CPU"),
        ({"cpus": True}, "cpus"),
    ],
)
def test_init_refuses_values_that_make_no_sense(fake_native, settings, text):
    with pytest.raises((ValueError, TypeError), match=text):
        fray.init(**settings)


def test_shutdown_closes_what_was_chosen_and_forgets_it(fake_native):
    context = fray.get_job_context()
    fray.shutdown()
    fray.shutdown()
    assert context.closed
    assert fray.get_job_context() is not context


def test_closed_choice_is_replaced(fake_native):
    with fray.get_job_context() as context:
        pass
    assert fray.get_job_context() is not context


def test_first_use_from_many_threads_chooses_once(fake_native):
    barrier = threading.Barrier(8)
    seen = []

    def use():
        barrier.wait()
        seen.append(fray.get_job_context())

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(context) for context in seen}) == 1


def test_missing_backends_say_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "fray.backend.native", None)
    with pytest.raises(UnsupportedError, match="native engine cannot be loaded"):
        fray.get_job_context()
    monkeypatch.setitem(sys.modules, "fray.backend.iris.context", None)
    with pytest.raises(NotImplementedError, match="no 'iris' backend yet"):
        fray.create_job_ctx("iris")


def test_create_job_ctx_sizes_contexts(fake_native):
    assert fray.create_job_ctx("local", max_workers=3).settings == {"cpus": 3}
    assert fray.create_job_ctx("native").settings == {}
    assert type(fray.create_job_ctx()) is fake_native
    with fray.create_job_ctx("threadpool", max_workers=1) as threads:
        assert threads.engine.parallelism == 1


def test_program_that_ray_started_as_a_job_is_on_ray_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.5:6379")
    assert resolve().scheme == "local"  # the shell of somebody who submits jobs has that one too
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    assert resolve() == Spec("ray", {})
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "thread?max_workers=2")
    assert resolve().scheme == "thread"
    monkeypatch.setenv("FRAY_NODE", "/somewhere")
    assert resolve() == Spec("local", {"address": "/somewhere"})


@pytest.mark.parametrize("kind", ["sync", "threadpool"])
def test_options_of_tasks_on_ray_fit_every_type(kind: str):
    with fray.create_job_ctx(kind, memory=2 << 30, num_cpus=1, num_gpus=0.5, resources={"x": 1}, max_retries=3) as ctx:
        assert ctx.get(ctx.run(pow, 2, 3)) == 8
    with pytest.raises(TypeError, match="nonsense"):
        fray.create_job_ctx(kind, nonsense=1)


def test_config_makes_the_context():
    from fray.job import ContextConfig

    with ContextConfig("threadpool", max_workers=1, memory=1 << 20, ray_options={"max_retries": 2}).create() as ctx:
        assert type(ctx) is fray.ThreadContext


def test_use_isolated_env_says_nothing_to_contexts(fake_native, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "local?use_isolated_env=true&cpus=2")
    assert fray.get_job_context().settings == {"cpus": 2}
    assert fray.create_job_ctx().settings == {"cpus": 2}


class InterruptedList(list):
    def append(self, item):
        super().append(item)
        raise KeyboardInterrupt


def test_an_interrupt_at_the_beginning_of_a_block_leaves_the_default_as_it_was(monkeypatch):
    process = current._process
    monkeypatch.setattr(process, "scopes", InterruptedList(process.scopes))
    with pytest.raises(KeyboardInterrupt), current.fray_default_job_ctx(LocalJobContext()):
        pass
    assert current.known_context() is None
