"""Options as the keywords that Ray takes."""

from __future__ import annotations

import pytest
from fray import ActorOptions, Lifetime, RuntimeEnv, TaskOptions
from fray.backend.ray.options import (
    BACKPRESSURE_ITEMS,
    _say_that_ray_has_no_priorities,  # pyright: ignore[reportPrivateUsage]
    actor_keywords,
    resource_keywords,
    runtime_env_dict,
    task_keywords,
)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (TaskOptions(), {}),
        (TaskOptions(resources={"CPU": 0}), {"num_cpus": 0}),
        (
            TaskOptions(name="fn:step", max_retries=0, num_returns=2),
            {"name": "fn:step", "max_retries": 0, "num_returns": 2},
        ),
        (
            TaskOptions(resources={"CPU": 4, "GPU": 1, "memory": 8 * 1024**3, "TPU": 8, "TPU-v4-32-head": 1}),
            {"num_cpus": 4, "num_gpus": 1, "memory": 8 * 1024**3, "resources": {"TPU": 8, "TPU-v4-32-head": 1}},
        ),
        (
            TaskOptions(runtime_env=RuntimeEnv(package_requirements=["numpy"], env={"FOO": "bar"})),
            {"runtime_env": {"pip": ["numpy"], "env_vars": {"FOO": "bar"}}},
        ),
    ],
)
def test_task_options_are_rays_keywords(options: TaskOptions, expected: dict[str, object]):
    assert task_keywords(options, options.demand(), streams=False) == expected


def test_generator_tasks_wait_for_their_readers():
    keywords = task_keywords(TaskOptions(), TaskOptions().demand(), streams=True)
    assert keywords == {"_generator_backpressure_num_objects": BACKPRESSURE_ITEMS}


def test_actor_options_are_rays_keywords():
    options = ActorOptions(
        name="status_actor",
        get_if_exists=True,
        lifetime=Lifetime.DETACHED,
        resources={"CPU": 0, "head_node": 0.0001},
        max_restarts=-1,
        max_task_retries=2,
        max_concurrency=8,
        max_pending_calls=10,
    )
    assert actor_keywords(options, options.demand(), "marin") == {
        "name": "status_actor",
        "namespace": "marin",
        "get_if_exists": True,
        "lifetime": "detached",
        "num_cpus": 0,
        "resources": {"head_node": 0.0001},
        "max_restarts": -1,
        "max_task_retries": 2,
        "max_concurrency": 8,
        "max_pending_calls": 10,
    }


def test_actor_without_options_holds_no_cpu():
    assert actor_keywords(ActorOptions(), ActorOptions().demand(), "default") == {"num_cpus": 0}
    assert resource_keywords(ActorOptions(schedule_on_head=True).demand()) == {
        "num_cpus": 0,
        "resources": {"head_node": 0.0001},
    }


def test_image_leaves_the_packages_out_and_says_so():
    env = RuntimeEnv(package_requirements=["six"], env={"A": "1"}, container_image="gcr.io/my-project/trainer:v1")
    with pytest.warns(UserWarning, match="packages are left out"):
        found = runtime_env_dict(env)
    assert found == {"container": {"image": "gcr.io/my-project/trainer:v1"}, "env_vars": {"A": "1"}}


def test_empty_environment_is_an_empty_dict():
    assert runtime_env_dict(RuntimeEnv()) == {}


def test_priority_is_left_out_and_said_once():
    _say_that_ray_has_no_priorities.cache_clear()
    task, actor = TaskOptions(priority=5), ActorOptions(priority=-5)
    with pytest.warns(UserWarning, match="Ray has no priorities") as said:
        assert task_keywords(task, task.demand(), streams=False) == {}
        assert actor_keywords(actor, actor.demand(), "default") == {"num_cpus": 0}
        task_keywords(task, task.demand(), streams=True)
    assert len(said) == 1
