"""Options say what was given, what is allowed and what to do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from typing import get_args, get_origin

import fray
import numpy
import pytest
from fray import ActorOptions, EntryPoint, Lifetime, RuntimeEnv, TaskOptions


def test_defaults_are_those_of_the_requirements():
    options = TaskOptions()
    assert (options.name, options.resources, options.max_calls, options.max_retries) == (None, {}, None, 3)
    assert (options.retry_exceptions, options.timeout, options.num_returns) == (False, None, 1)
    assert options.runtime_env is None
    assert RuntimeEnv() == RuntimeEnv(package_requirements=[], env={}, container_image=None)
    assert ActorOptions().lifetime is Lifetime.JOB
    assert Lifetime.DETACHED == "detached"
    assert Lifetime.JOB == "non_detached"


@pytest.mark.parametrize(
    ("given", "demand"),
    [
        ({}, {"CPU": 1}),
        ({"CPU": 0}, {"CPU": 0}),
        ({"CPU": 0.5, "GPU": 1}, {"CPU": 0.5, "GPU": 1}),
        ({"TPU": 4, "memory": 1 << 30}, {"CPU": 1, "TPU": 4, "memory": 1 << 30}),
    ],
)
def test_demand_fills_in_one_cpu(given, demand):
    assert TaskOptions(resources=given).demand() == demand


@pytest.mark.parametrize("key", ["cpu", "cpus", "num_cpus", "Cpu", "gpus", "num_gpus", "Memory", "mem", "ram"])
def test_misspelt_resource_says_what_was_meant(key: str):
    with pytest.raises(ValueError, match=r"unknown resource .* did you mean '(CPU|GPU|memory)'"):
        TaskOptions(resources={key: 1})


@pytest.mark.parametrize("amount", [-1, -0.5, float("nan"), float("inf"), 10**400, Fraction(10**400)])
def test_impossible_amounts_are_refused(amount: float):
    with pytest.raises(ValueError, match="'CPU' must be a finite number of at least 0"):
        TaskOptions(resources={"CPU": amount})


@pytest.mark.parametrize("amount", [True, "2", None, [1]])
def test_amounts_that_are_no_numbers_are_refused(amount):
    with pytest.raises(TypeError, match="must be a number"):
        TaskOptions(resources={"CPU": amount})


def test_numpy_numbers_are_amounts():
    assert TaskOptions(resources={"CPU": numpy.float32(2), "memory": numpy.int64(5)}).resources == {
        "CPU": 2,
        "memory": 5,
    }


@pytest.mark.parametrize(
    ("key", "value", "kind", "text"),
    [
        ("max_retries", -2, ValueError, "max_retries must be at least -1, got -2"),
        ("max_retries", 1.5, TypeError, "max_retries"),
        ("max_calls", 0, ValueError, "max_calls must be at least 1"),
        ("timeout", 0, ValueError, "above 0"),
        ("timeout", float("nan"), ValueError, "above 0"),
        ("timeout", "1s", TypeError, "seconds"),
        ("num_returns", 0, ValueError, "num_returns must be at least 1"),
        ("num_returns", True, TypeError, "num_returns"),
        ("num_returns", 65_536, ValueError, "num_returns must be at most 65535, got 65536"),
        ("num_returns", 2**40 + 1, ValueError, "num_returns must be at most 65535"),
        ("max_retries", 2**31, ValueError, "max_retries must be at most 2147483647"),
        ("max_calls", 2**32 + 1, ValueError, "max_calls must be at most 2147483647"),
        ("retry_exceptions", (ValueError, 3), TypeError, "exception types"),
        ("retry_exceptions", "ValueError", TypeError, "exception types"),
        ("name", "", TypeError, "name"),
        ("resources", [("CPU", 1)], TypeError, "must be a dict"),
        ("resources", {"": 1}, ValueError, "empty"),
        ("resources", {3: 1}, TypeError, "named by text"),
        ("resources", {"memory": 0.5}, ValueError, "whole number of bytes"),
        ("runtime_env", {"env": {}}, TypeError, "RuntimeEnv"),
    ],
)
def test_wrong_values_are_refused(key, value, kind, text):
    with pytest.raises(kind, match=text):
        TaskOptions(**{key: value})


def test_unknown_keyword_lists_the_known_ones_and_a_hint():
    with pytest.raises(TypeError, match=r"does not know 'num_cpus'; write resources=.* It knows: name, resources"):
        TaskOptions(num_cpus=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"package_requirements=\[...\] for 'pip'"):
        RuntimeEnv(pip=["six"])  # type: ignore[call-arg]


def test_env_values_stay_out_of_repr():
    text = repr(TaskOptions(runtime_env=RuntimeEnv(env={"TOKEN": "hunter2"})))
    assert "TOKEN" in text
    assert "hunter2" not in text


def test_passwords_of_package_indexes_stay_out_of_repr():
    index = "--index-url https://me:hunter2@host/simple"
    text = repr(RuntimeEnv(package_requirements=[index, "six"]))
    assert "--index-url https://...@host/simple" in text
    assert "hunter2" not in text


@pytest.mark.parametrize("env", [{"A": 1}, {1: "a"}, {"A=B": "c"}, {"": "x"}, {"A": "b\0"}, ["A=B"]])
def test_impossible_variables_are_refused_without_their_values(env):
    with pytest.raises((TypeError, ValueError), match="RuntimeEnv"):
        RuntimeEnv(env=env)


@pytest.mark.parametrize(
    "value",
    [
        TaskOptions(name="a", resources={"CPU": 2}, retry_exceptions=(OSError,)),
        RuntimeEnv(env={"A": "b"}, package_requirements=["six"]),
        ActorOptions(name="x", lifetime="detached"),  # type: ignore[arg-type]
    ],
)
def test_options_are_values(value):
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == dataclasses.replace(value) == value
    first = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, first, "other")


def test_options_of_tasks_are_a_dataclass_for_those_who_ask():
    options = TaskOptions(name="a", resources={"CPU": 2})
    assert dataclasses.is_dataclass(options)
    assert dataclasses.asdict(options) == {
        "name": "a",
        "resources": {"CPU": 2},
        "max_calls": None,
        "max_retries": 3,
        "retry_exceptions": False,
        "timeout": None,
        "num_returns": 1,
        "runtime_env": None,
        "priority": 0,
    }
    assert repr(options) == (
        "TaskOptions(name='a', resources={'CPU': 2}, max_calls=None, max_retries=3, retry_exceptions=False, "
        "timeout=None, num_returns=1, runtime_env=None, priority=0)"
    )
    assert options != TaskOptions(name="b", resources={"CPU": 2})
    assert options != "a"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del options.name


def test_options_keep_their_own_copy_of_resources():
    resources = {"CPU": 1.0}
    options = TaskOptions(resources=resources)
    resources["CPU"] = 5
    assert options.resources == {"CPU": 1}


def test_actor_options_accept_old_texts_and_refuse_others():
    assert ActorOptions(name="a", lifetime="detached").lifetime is Lifetime.DETACHED  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="known are 'detached', 'non_detached'"):
        ActorOptions(lifetime="forever")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs a name"):
        ActorOptions(get_if_exists=True)


@pytest.mark.parametrize(
    ("key", "value", "kind", "text"),
    [
        ("name", "", ValueError, "name is empty"),
        ("name", 3, TypeError, "name must be text, got 3"),
        ("name", "a\tb", ValueError, r"unprintable character '\\t' at position 1"),
        ("name", "a\x00", ValueError, "unprintable character"),
        ("name", "\ud800", ValueError, "unprintable character"),
        ("name", "n" * 256, ValueError, "has 256 bytes in UTF-8; at most 255"),
        ("name", "ä" * 128, ValueError, "has 256 bytes in UTF-8; at most 255"),
        ("name", "  ", ValueError, "name is blank"),
        ("namespace", "a\nb", ValueError, "namespace has the unprintable character"),
        ("namespace", "", ValueError, "namespace is empty"),
        ("get_if_exists", 1, TypeError, "get_if_exists must be True or False, got 1"),
        ("schedule_on_head", "no", TypeError, "schedule_on_head must be True or False"),
        ("lifetime", "detached", ValueError, "a detached actor needs a name"),
        ("max_concurrency", 0, ValueError, "max_concurrency must be at least 1, got 0"),
        ("max_concurrency", 1.5, TypeError, "max_concurrency must be a whole number"),
        ("max_restarts", -2, ValueError, "max_restarts must be at least -1"),
        ("max_task_retries", True, TypeError, "max_task_retries must be a whole number"),
        ("max_pending_calls", 0, ValueError, "at least 1, or -1 for no limit"),
        ("max_pending_calls", -2, ValueError, "at least -1"),
        ("runtime_env", {}, TypeError, "RuntimeEnv"),
        ("resources", {"cpu": 1}, ValueError, "did you mean 'CPU'"),
        ("preemptible", False, TypeError, "write schedule_on_head=True for 'preemptible'"),
    ],
)
def test_wrong_actor_options_are_refused(key, value, kind, text):
    with pytest.raises(kind, match=text):
        ActorOptions(**{key: value})


def test_longest_name_and_any_script_are_allowed():
    assert ActorOptions(name="n" * 255).name == "n" * 255
    assert ActorOptions(name="ä" * 127).name == "ä" * 127
    assert ActorOptions(name="Zähler 計数/1", namespace="täst").namespace == "täst"


@pytest.mark.parametrize(
    ("options", "demand"),
    [
        (ActorOptions(), {"CPU": 0}),
        (ActorOptions(resources={"CPU": 2, "GPU": 0.5}), {"CPU": 2, "GPU": 0.5}),
        (ActorOptions(schedule_on_head=True), {"CPU": 0, "head_node": 0.0001}),
        (ActorOptions(schedule_on_head=True, resources={"head_node": 0.5}), {"CPU": 0, "head_node": 0.5}),
    ],
)
def test_actors_hold_no_cpu_by_default(options, demand):
    assert options.demand() == demand


def test_the_type_of_entry_points_can_be_part_of_another():
    kinds = get_args(EntryPoint | None)
    assert (kinds[0], kinds[2]) == (str, type(None))
    assert get_origin(kinds[1]) is Callable


def test_version_has_three_numbers():
    assert re.fullmatch(r"\d+\.\d+\.\d+", fray.__version__)


@pytest.mark.parametrize(
    ("keywords", "kind", "text"),
    [
        ({"package_requirements": "six"}, TypeError, "must be a list of text"),
        ({"package_requirements": [" "]}, ValueError, "must not be blank"),
        ({"package_requirements": ["six\nattrs"]}, ValueError, "one requirement an item"),
        ({"package_requirements": ["-r requirements.txt"]}, ValueError, "write the lines of a requirements file here"),
        ({"package_requirements": ["--editable=."]}, ValueError, "'--editable' is not allowed"),
        ({"package_requirements": ["six"], "conda": ["six"]}, ValueError, "package_requirements and conda both"),
        ({"container_image": ""}, TypeError, "name of an image"),
        ({"container_image": "--privileged"}, ValueError, "name of an image"),
        ({"container_image": "a b"}, ValueError, "name of an image"),
        ({"working_dir": ""}, ValueError, "must not be blank"),
        ({"working_dir": 7}, TypeError, "must be text"),
        ({"container": {"image": "x"}}, TypeError, "write container_image='...' for 'container'"),
    ],
)
def test_wrong_runtime_envs_are_refused(keywords, kind, text):
    with pytest.raises(kind, match=text):
        RuntimeEnv(**keywords)


def test_a_runtime_env_takes_a_path_and_options_of_an_index(tmp_path):
    env = RuntimeEnv(package_requirements=["six>=1", "--index-url http://127.0.0.1/"], working_dir=tmp_path)
    assert env.working_dir == str(tmp_path)
