from __future__ import annotations

import contextlib

import pytest
from fray.errors import SettingsError
from fray.job.spec import parse_spec
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "scheme", "settings"),
    [
        ("sync", "sync", {}),
        (" sync ", "sync", {}),
        ("sync?", "sync", {}),
        ("sync?serialize=true", "sync", {"serialize": True}),
        ("thread?max_workers=4", "thread", {"max_workers": 4}),
        ("thread?max_workers=4&max_workers=2", "thread", {"max_workers": 2}),
        ("local", "local", {}),
        (
            "local?cpus=2.5&memory=4GiB&store_memory=1000",
            "local",
            {"cpus": 2.5, "memory": 4 << 30, "store_memory": 1000},
        ),
        ("local?spill_dir=%2Ftmp%2Fa%20b&debug=0", "local", {"spill_dir": "/tmp/a b", "debug": False}),
        ("local?resources=TPU:4,head_node:1", "local", {"resources": {"TPU": 4, "head_node": 1}}),
        ("ray?address=auto&namespace=marin", "ray", {"address": "auto", "namespace": "marin"}),
        ("ray?autoscaling=true", "ray", {"autoscaling": True}),
        ("iris?controller=http://host:1234/x", "iris", {"controller": "http://host:1234/x"}),
    ],
)
def test_specs_are_read(text, scheme, settings):
    spec = parse_spec(text)
    assert (spec.scheme, spec.settings) == (scheme, settings)


@pytest.mark.parametrize("text", ["localhost", "Local", "rayon?address=auto", "", "?cpus=1", "local:1"])
def test_unknown_schemes_list_the_known_ones(text: str):
    with pytest.raises(SettingsError, match=r"Unknown cluster spec: .* Known schemes: sync, thread, local, ray, iris"):
        parse_spec(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("thread?workers=2", "Unknown key 'workers' .* Keys of 'thread': max_workers"),
        ("local?max_workers", "no value"),
        ("thread?max_workers=0", "at least 1"),
        ("thread?max_workers=two", "whole number"),
        ("local?cpus=-1", "at least 0"),
        ("local?cpus=many", "number"),
        ("local?memory=lots", "4GiB"),
        ("local?debug=maybe", "true or false"),
        ("local?resources=TPU", "TPU:4"),
        ("local?resources=gpus:1", "did you mean 'GPU'"),
        ("ray?address=", "empty"),
    ],
)
def test_unknown_keys_and_values_are_refused(text: str, message: str):
    with pytest.raises(SettingsError, match=message):
        parse_spec(text)


@pytest.mark.parametrize(
    "text",
    [
        "rai?address=http://bob:hunter2@host:1",
        "ray?addres=http://bob:hunter2@host:1",
        "local?cpus=http://bob:hunter2@host:1",
        "ray?address=http://bob:hunter2@host:1&namespace",
        "rai?address=http%3A%2F%2Fbob%3Ahunter2%40host",
        "rai?address=http%3a%2f%2fbob:hunter2,p%40x@host",
    ],
)
def test_a_password_in_a_spec_is_not_shown(text: str):
    with pytest.raises(SettingsError, match=r"(//|%2[fF]%2[fF])\.\.\.(@|%40)host") as caught:
        parse_spec(text)
    assert "hunter2" not in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_is_a_spec_or_a_settings_error(text: str):
    for candidate in (text, "local?" + text):
        with contextlib.suppress(SettingsError):
            parse_spec(candidate)
