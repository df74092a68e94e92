from __future__ import annotations

import dataclasses
import pickle

import pytest
from fray import CpuConfig, GpuConfig, ResourceConfig, TpuConfig


def test_defaults():
    assert ResourceConfig() == ResourceConfig(
        cpu=1,
        ram="4g",
        disk="16g",
        device=CpuConfig(),
        preemptible=True,
        regions=None,
        zone=None,
        replicas=1,
        device_alternatives=None,
        image=None,
    )
    assert ResourceConfig.with_cpu() == ResourceConfig()


def test_with_cpu_takes_the_other_fields():
    resources = ResourceConfig.with_cpu(cpu=0.5, ram="1g", replicas=3, regions=["us-west4"], preemptible=False)
    assert resources == ResourceConfig(cpu=0.5, ram="1g", replicas=3, regions=["us-west4"], preemptible=False)


def test_with_gpu():
    assert ResourceConfig.with_gpu().device == GpuConfig("auto")
    resources = ResourceConfig.with_gpu("H100", 8, replicas=2, cpu=16)
    assert (resources.device, resources.replicas, resources.cpu) == (GpuConfig("H100", count=8), 2, 16)
    assert resources.chip_count() == 16
    assert resources.total_flops() == 16 * 989.5e12


def test_with_tpu_has_a_replica_for_each_machine():
    resources = ResourceConfig.with_tpu("v4-16", slice_count=3)
    assert resources.device == TpuConfig("v4-16")
    assert (resources.replicas, resources.chip_count()) == (6, 24)
    assert (resources.cpu, resources.ram, resources.disk) == (32, "128g", "50g")
    assert resources.total_flops() == 24 * 275e12
    assert ResourceConfig.with_tpu("v4-16", 3) == resources
    assert resources.device_alternatives is None


def test_with_tpu_keeps_what_is_given():
    resources = ResourceConfig.with_tpu("v4-8", cpu=8, ram="10g", disk="1g", zone="us-central2-b", image="me/it:1")
    assert (resources.cpu, resources.ram, resources.disk) == (8, "10g", "1g")
    assert (resources.zone, resources.image) == ("us-central2-b", "me/it:1")


@pytest.mark.parametrize(
    ("types", "first", "others", "replicas"),
    [
        (["v4-8"], "v4-8", None, 1),
        (["v4-8", "v5p-8"], "v4-8", ["v5p-8"], 1),
        (("v5litepod-16", "v6e-16", "v4-32"), "v5litepod-16", ["v6e-16", "v4-32"], 4),
    ],
)
def test_first_of_several_tpu_types_is_preferred(types, first: str, others, replicas: int):
    resources = ResourceConfig.with_tpu(types)
    assert resources.device == TpuConfig(first)
    assert resources.device_alternatives == others
    assert resources.replicas == replicas


@pytest.mark.parametrize("types", [["v4-8", "v4-16"], ["v6e-4", "v6e-8"]])
def test_tpu_types_that_differ_do_not_stand_in_for_each_other(types: list[str]):
    with pytest.raises(ValueError, match=f"vm_count and chips_per_vm: {types[0]} has . and .*{types[1]}"):
        ResourceConfig.with_tpu(types)


@pytest.mark.parametrize(
    ("text", "size"),
    [("8g", 8 << 30), ("128m", 128 << 20), ("8gb", 8 << 30), ("8GiB", 8 << 30), ("1.5g", 3 << 29), ("77", 77)],
)
def test_sizes_are_powers_of_two(text: str, size: int):
    assert ResourceConfig(ram=text, disk=text).ram_bytes() == size
    assert ResourceConfig(ram=text, disk=text).disk_bytes() == size


def test_no_disk_can_be_asked_for():
    assert ResourceConfig(disk="0").disk_bytes() == 0


def test_cpus_have_a_guessed_rate_and_no_chips():
    assert ResourceConfig(replicas=4).total_flops() == 100e9
    assert ResourceConfig(replicas=4).chip_count() == 0


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"cpu": -1}, ValueError, "cpu must be a finite number of at least 0, got -1"),
        ({"cpu": float("nan")}, ValueError, "cpu must be a finite number"),
        ({"cpu": "2"}, TypeError, "cpu must be a number"),
        ({"ram": "much"}, ValueError, "ram must be a number of bytes or text such as '4GiB' or '512MB', got 'much'"),
        ({"ram": ""}, ValueError, "ram must be"),
        ({"disk": "-1g"}, ValueError, "disk must be"),
        ({"ram": 4}, TypeError, "ram must be text such as '4g', got 4"),
        ({"device": "H100"}, TypeError, r"device must be a CpuConfig\(...\).* got 'H100'"),
        ({"preemptible": "no"}, TypeError, "preemptible must be True or False"),
        ({"regions": "us-west4"}, TypeError, "regions must be a list of text, got 'us-west4'"),
        ({"regions": [" "]}, ValueError, "a region must not be blank"),
        ({"zone": ""}, ValueError, "zone must not be blank"),
        ({"replicas": 0}, ValueError, "replicas must be at least 1, got 0"),
        ({"device_alternatives": ["v4-8"]}, ValueError, "a CPU has no device_alternatives"),
        ({"image": 3}, TypeError, "image must be text"),
        ({"memory": "4g"}, TypeError, "does not know 'memory'; write ram='4g' for 'memory'. It knows: cpu, ram, disk"),
        ({"num_gpus": 1}, TypeError, "write ResourceConfig.with_gpu"),
    ],
)
def test_wrong_resources_are_refused(options, kind, text: str):
    with pytest.raises(kind, match=text):
        ResourceConfig(**options)


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: ResourceConfig.with_tpu([]), ValueError, "tpu_type must be non-empty"),
        (lambda: ResourceConfig.with_tpu(""), ValueError, "tpu_type must be non-empty"),
        (lambda: ResourceConfig.with_tpu(4), TypeError, "tpu_type must be a list of text, got 4"),
        (lambda: ResourceConfig.with_tpu("v4-9"), ValueError, "Unknown TPU type: v4-9"),
        (lambda: ResourceConfig.with_tpu(["v4-8", "v4-9"]), ValueError, "Unknown TPU type: v4-9"),
        (lambda: ResourceConfig.with_tpu("v4-8", 0), ValueError, "slice_count must be at least 1"),
        (lambda: ResourceConfig.with_tpu("v4-8", replicas=2), TypeError, "slice_count times the machines"),
        (lambda: ResourceConfig.with_gpu("H999"), ValueError, "Unknown GPU type: H999"),
        (lambda: ResourceConfig.with_cpu(cpus=2), TypeError, "write cpu=n for 'cpus'"),
        (
            lambda: ResourceConfig(device=GpuConfig("L4"), device_alternatives=["T4", "no"]),
            ValueError,
            "Unknown GPU type: no",
        ),
    ],
)
def test_wrong_arguments_of_constructors_are_refused(make, kind, text: str):
    with pytest.raises(kind, match=text):
        make()


def test_resources_are_values():
    regions = ["a"]
    resources = ResourceConfig.with_tpu(["v4-8", "v5p-8"], regions=regions)
    regions.append("b")
    assert resources.regions == ["a"]
    assert pickle.loads(pickle.dumps(resources)) == resources == dataclasses.replace(resources)
    with pytest.raises(dataclasses.FrozenInstanceError):
        resources.cpu = 2  # type: ignore[misc]
