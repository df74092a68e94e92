from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from fray import EnvironmentConfig, create_environment

CAPTURED = ("HF_TOKEN", "WANDB_API_KEY", "MARIN_CI_DISABLE_RUNTIME_ENVS")
DEFAULTS = {"HF_DATASETS_TRUST_REMOTE_CODE": "1", "TOKENIZERS_PARALLELISM": "false"}


@pytest.fixture(autouse=True)
def nothing_to_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CAPTURED:
        monkeypatch.delenv(name, raising=False)


def test_folder_or_image_must_be_given():
    with pytest.raises(ValueError, match=r"^Must specify either workspace or docker_image$"):
        EnvironmentConfig()


def test_folder_and_image_exclude_each_other():
    with pytest.raises(ValueError, match=r"^Cannot specify both workspace and docker_image$"):
        EnvironmentConfig(workspace=".", docker_image="me/it:1")
    with pytest.raises(ValueError, match=r"^Cannot specify both workspace and docker_image$"):
        create_environment(workspace=".", docker_image="me/it:1")


def test_defaults_of_create_environment():
    environment = create_environment()
    assert environment == EnvironmentConfig(workspace=os.getcwd(), env_vars=DEFAULTS)
    assert (environment.pip_packages, environment.extras, environment.docker_image) == ([], [], None)
    assert EnvironmentConfig.create() == environment


def test_image_leaves_the_workspace_out():
    environment = create_environment(docker_image="me/it:1")
    assert (environment.workspace, environment.docker_image) == (None, "me/it:1")


def test_own_variables_come_before_the_defaults():
    environment = create_environment(env_vars={"TOKENIZERS_PARALLELISM": "true", "A": "b"}, extras=["tpu"])
    assert environment.env_vars == {**DEFAULTS, "TOKENIZERS_PARALLELISM": "true", "A": "b"}
    assert environment.extras == ["tpu"]


@pytest.mark.parametrize("name", CAPTURED)
def test_variables_of_this_process_are_captured_where_set(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, "1")
    assert create_environment().env_vars == {**DEFAULTS, name: "1"}
    assert create_environment(env_vars={name: "mine"}).env_vars[name] == "mine"
    assert name not in create_environment(env_vars={name: None}).env_vars


def test_none_leaves_a_default_out():
    assert create_environment(env_vars={"TOKENIZERS_PARALLELISM": None, "B": None}).env_vars == {
        "HF_DATASETS_TRUST_REMOTE_CODE": "1"
    }


def test_workspace_may_be_a_path(tmp_path: Path):
    assert create_environment(tmp_path).workspace == str(tmp_path)
    assert EnvironmentConfig(workspace=tmp_path).workspace == str(tmp_path)  # type: ignore[arg-type]


def test_values_of_variables_stay_out_of_repr():
    text = repr(create_environment(env_vars={"TOKEN": "hunter2"}))
    assert "TOKEN" in text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"workspace": ""}, ValueError, "workspace must not be blank"),
        ({"docker_image": " "}, ValueError, "docker_image must not be blank"),
        ({"docker_image": 3}, TypeError, "docker_image must be text, got 3"),
        ({"pip_packages": "numpy"}, TypeError, "pip_packages must be a list of text, got 'numpy'"),
        ({"pip_packages": [1]}, TypeError, "pip_packages must be a list of text"),
        ({"extras": [""]}, ValueError, "extras: an item must not be blank"),
        ({"env_vars": {3: "a"}}, TypeError, "env_vars must map text to text; 3 maps to a str"),
        ({"env_vars": {"A": 3}}, TypeError, "'A' maps to a int"),
        ({"env_vars": ["A=b"]}, TypeError, "env_vars must be a dict of text to text, got a list"),
    ],
)
def test_wrong_environments_are_refused(options, kind, text: str):
    with pytest.raises(kind, match=text):
        create_environment(**options)


def test_messages_never_show_a_value():
    for env_vars in ({"TOKEN": b"hunter2"}, {"TOKEN": "hunter2\0"}, {"TOKEN=hunter2": ""}, {"": "hunter2"}):
        with pytest.raises((TypeError, ValueError), match="EnvironmentConfig: env_vars") as caught:
            create_environment(env_vars=env_vars)  # type: ignore[arg-type]
        assert "hunter2" not in str(caught.value)


def test_unknown_field_says_what_is_meant():
    with pytest.raises(TypeError, match=r"write env_vars=\{...\} for 'env'"):
        EnvironmentConfig(workspace=".", env={})  # type: ignore[call-arg]


def test_environments_are_values():
    environment = create_environment(pip_packages=["six"], extras=["a"], env_vars={"A": "b"})
    assert pickle.loads(pickle.dumps(environment)) == environment
