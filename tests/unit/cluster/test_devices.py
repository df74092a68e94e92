from __future__ import annotations

from typing import get_args

import pytest
from fray.cluster import CpuConfig, GpuConfig, GpuType, TpuConfig
from fray.device_flops import device_flops


def test_defaults():
    assert (CpuConfig().kind, CpuConfig().variant) == ("cpu", "cpu")
    assert (GpuConfig("H100").kind, GpuConfig("H100").count) == ("gpu", 1)
    assert (TpuConfig("v4-8").kind, TpuConfig("v4-8").topology) == ("tpu", None)


@pytest.mark.parametrize(
    ("device", "chips"),
    [(CpuConfig(), 0), (GpuConfig("A10G", count=4), 4), (TpuConfig("v4-16"), 4), (TpuConfig("v5litepod-8"), 8)],
)
def test_chips_are_those_of_one_replica(device, chips: int):
    assert device.chip_count() == chips


def test_rates_come_from_the_table():
    assert GpuConfig("A100-80G").device_flops() == 312e12
    assert GpuConfig("T4", count=2).total_flops("int8") == 260e12
    assert TpuConfig("v4-16").device_flops() == 275e12
    assert TpuConfig("v4-16").total_flops() == 4 * 275e12
    assert TpuConfig("v4-16").vm_count() == 2


def test_every_kind_of_gpu_has_a_rate():
    assert all(device_flops(name, "fp16") or device_flops(name) for name in get_args(GpuType))


def test_gpu_kinds_are_the_same_in_upper_and_lower_case():
    assert GpuConfig("h100") == GpuConfig("H100")
    assert GpuConfig("AUTO").variant == "auto"


def test_rate_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match="the fp64 rate of v4-8 is not known"):
        TpuConfig("v4-8").device_flops("fp64")
    with pytest.raises(NotImplementedError, match="CPUs"):
        CpuConfig().device_flops()


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: GpuConfig("H900"), ValueError, "Unknown GPU type: H900. Known are A10, .*auto"),
        (lambda: GpuConfig(""), ValueError, "variant must not be blank"),
        (lambda: GpuConfig(3), TypeError, "variant must be text, got 3"),
        (lambda: GpuConfig("H100", count=0), ValueError, "count must be at least 1, got 0"),
        (lambda: GpuConfig("H100", count=1.5), TypeError, "count must be a whole number"),
        (lambda: GpuConfig("H100", "tpu"), ValueError, "kind must be 'gpu', got 'tpu'"),
        (lambda: TpuConfig("v9-1"), ValueError, "Unknown TPU type: v9-1. Known are"),
        (lambda: TpuConfig("v4-8", topology=2), TypeError, "topology must be text"),
        (lambda: TpuConfig("v4-8", "gpu"), ValueError, "kind must be 'tpu'"),
        (lambda: CpuConfig(variant="arm"), ValueError, "variant must be 'cpu'"),
    ],
)
def test_wrong_devices_are_refused(make, kind, text: str):
    with pytest.raises(kind, match=text):
        make()


@pytest.mark.parametrize(
    ("device", "variables"),
    [
        (CpuConfig(), {"JAX_PLATFORMS": "cpu"}),
        (GpuConfig("H100"), {"JAX_PLATFORMS": ""}),
        (TpuConfig("v4-8"), {"JAX_PLATFORMS": ""}),
        (
            TpuConfig("v5litepod-4"),
            {"JAX_PLATFORMS": "", "LIBTPU_INIT_ARGS": "--xla_tpu_scoped_vmem_limit_kib=50000"},
        ),
        (TpuConfig("v5p-8"), {"JAX_PLATFORMS": "", "LIBTPU_INIT_ARGS": "--xla_tpu_scoped_vmem_limit_kib=50000"}),
        (TpuConfig("v6e-4"), {"JAX_PLATFORMS": "", "LIBTPU_INIT_ARGS": "--xla_tpu_scoped_vmem_limit_kib=98304"}),
    ],
)
def test_device_has_its_variables(device, variables: dict[str, str]):
    assert device.default_env_vars() == variables
