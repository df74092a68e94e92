from __future__ import annotations

import dataclasses
import pickle
import re
from pathlib import Path

import pytest
from fray import Entrypoint, JobRequest, ResourceConfig, create_environment

RUN = Entrypoint.from_callable(print)


def test_defaults():
    request = JobRequest("train", RUN)
    assert (request.name, request.entrypoint) == ("train", RUN)
    assert request.resources == ResourceConfig()
    assert request.environment is None
    assert (request.max_retries_failure, request.max_retries_preemption, request.replicas) == (0, 100, 1)


def test_replicas_come_from_the_resources_unless_given():
    resources = ResourceConfig.with_tpu("v4-16", slice_count=2)
    assert JobRequest("train", RUN, resources).replicas == 4
    assert JobRequest("train", RUN, resources, replicas=1).replicas == 1


def test_launch_of_a_training_is_a_request():
    request = JobRequest(
        name="train_lm",
        entrypoint=Entrypoint.from_callable(print, args=["config"]),
        resources=ResourceConfig.with_tpu("v5litepod-16"),
        environment=create_environment(env_vars={"WANDB_MODE": "offline"}),
    )
    assert request.environment is not None
    assert request.environment.env_vars["WANDB_MODE"] == "offline"
    assert request.replicas == 4


@pytest.mark.parametrize("name", ["rollout-0", "user.train_lm", "Zähler_計数", "n" * 255])
def test_names_without_spaces_and_slashes_are_allowed(name: str):
    assert JobRequest(name, RUN).name == name


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("my job", ValueError, "Job name must not contain spaces, got 'my job'; 'my-job' would do"),
        (" job", ValueError, "Job name must not contain spaces"),
        ("", ValueError, "1 to 255 bytes, got 0"),
        ("n" * 256, ValueError, "got 256"),
        ("計" * 86, ValueError, "got 258"),
        ("user/train", ValueError, "must not contain slashes, got 'user/train'; 'user-train' would do"),
        ("a\tb", ValueError, "printable"),
        ("a\0", ValueError, "printable"),
        (None, TypeError, "name must be text, got None"),
    ],
)
def test_other_names_are_refused(name, kind, text: str):
    with pytest.raises(kind, match=text):
        JobRequest(name, RUN)


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"entrypoint": print}, TypeError, r"entrypoint must be Entrypoint.from_callable\(...\) or from_binary"),
        ({"entrypoint": "train.py"}, TypeError, "got 'train.py'"),
        ({"resources": {"CPU": 1}}, TypeError, "resources must be ResourceConfig"),
        ({"environment": {}}, TypeError, "environment must be create_environment"),
        ({"max_retries_failure": -1}, ValueError, "max_retries_failure must be at least 0"),
        ({"max_retries_preemption": 1.5}, TypeError, "max_retries_preemption must be a whole number"),
        ({"priority": 1.5}, TypeError, "priority must be a whole number"),
        ({"priority": 10**7}, ValueError, "priority must be at most 1000000"),
        ({"deadline_seconds": 0}, ValueError, "deadline_seconds must be above 0"),
        ({"deadline_seconds": "2h"}, TypeError, "deadline_seconds must be a number of seconds"),
        ({"grace_seconds": -1}, ValueError, "grace_seconds must be a finite number"),
        ({"grace_seconds": 10**400}, ValueError, "grace_seconds must be a finite number"),
        ({"grace_seconds": float("inf")}, ValueError, "grace_seconds must be a finite number"),
        ({"deadline": 5}, TypeError, "write deadline_seconds=n for 'deadline'"),
        ({"replicas": 0}, ValueError, "replicas must be at least 1, got 0"),
        ({"max_retries": 3}, TypeError, "write max_retries_failure=n for 'max_retries'. It knows: name, entrypoint"),
    ],
)
def test_wrong_requests_are_refused(options, kind, text: str):
    with pytest.raises(kind, match=text):
        JobRequest(**{"name": "job", "entrypoint": RUN, **options})


def test_a_request_says_its_id_and_metadata():
    texts = {"owner": "me"}
    request = JobRequest("train", RUN, id="train-2026.1_a", metadata=texts)
    texts["owner"] = "somebody else"
    assert (request.id, request.metadata) == ("train-2026.1_a", {"owner": "me"})


@pytest.mark.parametrize("name", ["", "a b", "a/b", ".a", "-a", "a" * 129, "ä", 7])
def test_an_id_that_can_be_no_folder_is_refused(name: object):
    with pytest.raises(ValueError, match="id must have 1 to 128 letters"):
        JobRequest("train", RUN, id=name)  # type: ignore[arg-type]


@pytest.mark.parametrize("metadata", [None, "owner=me", {"owner": 1}, {1: "me"}, ["owner"]])
def test_metadata_are_texts(metadata: object):
    with pytest.raises(TypeError, match="metadata must be a dict of text to text"):
        JobRequest("train", RUN, metadata=metadata)  # type: ignore[arg-type]


def test_requests_are_values():
    request = JobRequest("job", RUN, environment=create_environment())
    assert pickle.loads(pickle.dumps(request)) == request == dataclasses.replace(request)
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.name = "other"  # type: ignore[misc]


def test_example_of_the_reference_page_runs():
    page = Path(__file__).parents[3] / "docs" / "reference" / "jobs-types.md"
    (example,) = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    exec(compile(example, str(page), "exec"), {})


def test_a_blank_name_is_refused_without_a_hint_and_spaces_with_one():
    with pytest.raises(ValueError, match=r"must not contain spaces, got ' '$"):
        JobRequest(" ", RUN)
    with pytest.raises(ValueError, match=r"got ' a  b'; 'a-b' would do$"):
        JobRequest(" a  b", RUN)
