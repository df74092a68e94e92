"""`ResourceConfig` as Iris has it, and back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fray import ResourceConfig
from fray.backend.iris.resources import Constraint, config_of, spec_of
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.text("abcdefgh-1", min_size=1, max_size=12)
DEVICES = st.one_of(
    st.builds(lambda: ResourceConfig.with_cpu()),
    st.builds(ResourceConfig.with_gpu, st.sampled_from(["auto", "H100", "A100-80G"]), st.integers(1, 16)),
    st.builds(ResourceConfig.with_tpu, st.sampled_from(["v4-8", "v5litepod-16", "v5p-64"]), st.integers(1, 3)),
)


@given(
    device=DEVICES,
    millicores=st.integers(0, 512_000),
    ram=st.integers(1, 2**50),
    disk=st.integers(0, 2**50),
    preemptible=st.booleans(),
    regions=st.none() | st.lists(NAMES, min_size=1, max_size=3),
    zone=st.none() | NAMES,
    image=st.none() | NAMES,
)
def test_nothing_is_lost_there_and_back(device: ResourceConfig, millicores: int, **fields: object) -> None:
    ram, disk = fields.pop("ram"), fields.pop("disk")
    asked = replace(device, cpu=millicores / 1000, ram=str(ram), disk=str(disk), **fields)
    back = config_of(spec_of(asked))
    assert (back.ram_bytes(), back.disk_bytes()) == (asked.ram_bytes(), asked.disk_bytes())
    assert replace(back, ram=asked.ram, disk=asked.disk) == asked
    assert spec_of(back) == spec_of(asked)


def test_alternatives_are_a_choice_of_variants() -> None:
    asked = ResourceConfig.with_tpu(["v4-8", "v5p-8"])
    spec = spec_of(asked)
    assert spec.constraints == (Constraint("device-variant", ("v4-8", "v5p-8")),)
    assert config_of(spec) == asked
    gpus = replace(ResourceConfig.with_gpu("H100", 8), device_alternatives=["A100-80G"])
    assert config_of(spec_of(gpus)) == gpus


def test_a_slice_has_a_replica_on_each_machine() -> None:
    whole = spec_of(ResourceConfig.with_tpu("v5litepod-16"))
    assert (whole.replicas, whole.count) == (4, 4)


def test_a_constraint_that_nobody_knows_is_no_resource() -> None:
    spec = replace(spec_of(ResourceConfig()), constraints=(Constraint("rack", ("7",)),))
    with pytest.raises(ValueError, match="rack"):
        config_of(spec)
