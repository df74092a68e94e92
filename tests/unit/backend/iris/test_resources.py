"""`ResourceConfig` as Iris has it."""

from __future__ import annotations

from dataclasses import replace

from fray import ResourceConfig
from fray.backend.iris.resources import Constraint, spec_of
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
def test_a_spec_has_all_that_was_asked(device: ResourceConfig, millicores: int, **fields: object) -> None:
    ram, disk = fields.pop("ram"), fields.pop("disk")
    asked = replace(device, cpu=millicores / 1000, ram=str(ram), disk=str(disk), **fields)
    spec = spec_of(asked)
    assert (spec.cpu_millicores, spec.memory_bytes, spec.disk_bytes) == (millicores, ram, disk)
    assert (spec.replicas, spec.task_image) == (asked.replicas, asked.image or "")
    expected = {
        "preemptible": None if asked.preemptible else ("false",),
        "region": tuple(asked.regions) if asked.regions else None,
        "zone": None if asked.zone is None else (asked.zone,),
    }
    found = {constraint.key: constraint.values for constraint in spec.constraints}
    assert found == {key: values for key, values in expected.items() if values is not None}


def test_alternatives_are_a_choice_of_variants() -> None:
    asked = ResourceConfig.with_tpu(["v4-8", "v5p-8"])
    spec = spec_of(asked)
    assert spec.constraints == (Constraint("device-variant", ("v4-8", "v5p-8")),)
    gpus = spec_of(replace(ResourceConfig.with_gpu("H100", 8), device_alternatives=["A100-80G"]))
    assert (gpus.device, gpus.variant, gpus.count) == ("gpu", "h100", 8)
    assert gpus.constraints == (Constraint("device-variant", ("h100", "a100-80g")),)


def test_a_slice_has_a_replica_on_each_machine() -> None:
    whole = spec_of(ResourceConfig.with_tpu("v5litepod-16"))
    assert (whole.replicas, whole.count) == (4, 4)
