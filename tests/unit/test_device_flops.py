from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from fray.device_flops import (
    DEVICE_FLOPS,
    device_flops,
    device_flops_for_jax_device,
    jax_device_kind_to_fray_device_type,
)

_H100 = {"fp64": 67, "fp32": 67, "tf32": 494.5, "fp16": 989.5, "bf16": 989.5, "fp8": 1979, "int8": 1979}
_A100 = {"fp64": 19.5, "fp32": 19.5, "tf32": 156, "fp16": 312, "bf16": 312}
_A10 = {"fp32": 31.2, "tf32": 62.5, "fp16": 125, "bf16": 125}
GOLDEN_TERAFLOPS = {
    "h100": _H100,
    "h200": _H100,
    "b100": _H100,
    "auto": _H100,
    "h100-pcie": {"fp64": 51, "fp32": 51, "tf32": 378, "fp16": 756.5, "bf16": 756.5, "fp8": 1513, "int8": 1513},
    "a100": _A100,
    "a100-40g": _A100,
    "a100-80g": _A100,
    "a10": _A10,
    "a10g": _A10,
    "a40": {"fp32": 37.4, "tf32": 74.8, "fp16": 149.7, "bf16": 149.7},
    "a6000": {"fp32": 19.35, "tf32": 154.85, "fp16": 154.85, "bf16": 154.85},
    "v100": {"fp64": 7, "fp32": 14, "fp16": 112},
    "v100-sxm": {"fp64": 7.8, "fp32": 15.7, "fp16": 125},
    "v100s": {"fp64": 8.2, "fp32": 16.4, "fp16": 130},
    "t4": {"fp32": 8.1, "fp16": 65, "int8": 130, "int4": 260},
    "l4": {"fp32": 30.3, "tf32": 120, "fp16": 242, "bf16": 242, "fp8": 485, "int8": 485},
    "l40s": {"fp32": 91.6, "tf32": 183.2, "fp16": 366.5, "bf16": 366.5, "fp8": 733, "int8": 733},
    "gb10": {"bf16": 100},
    "v3": {"bf16": 61.5},
    "v4": {"bf16": 275, "int8": 275},
    "v5litepod": {"bf16": 197, "int8": 393},
    "v5": {"bf16": 459},
    "v5p": {"bf16": 459},
    "v6e": {"bf16": 918, "int8": 1836},
    "trn1": {"fp32": 23.75, "tf32": 23.75, "fp16": 95, "bf16": 95, "int8": 190},
}


def test_table_has_the_published_rates():
    assert {
        device: {dtype: rate / 1e12 for dtype, rate in rates.items()} for device, rates in DEVICE_FLOPS.items()
    } == GOLDEN_TERAFLOPS


@pytest.mark.parametrize(
    ("device", "dtype", "rate"),
    [
        ("a100-80g", "bf16", 312e12),
        ("v4", "bf16", 275e12),
        ("v5litepod", "bf16", 197e12),
        ("A100-80G", "AMP_BF16", 312e12),
        ("v5litepod-256", "int8", 393e12),
        ("v6e-8", "bf16", 918e12),
        ("v100-sxm", "fp16", 125e12),
        ("h100-pcie", "fp8", 1513e12),
    ],
)
def test_rate_of_a_device(device: str, dtype: str, rate: float):
    assert device_flops(device, dtype) == rate


def test_bf16_is_the_default():
    assert device_flops("h100") == device_flops("h100", "bf16") == 989.5e12


@pytest.mark.parametrize(
    ("kind", "device"),
    [
        ("TPU v3", "v3"),
        ("TPU v4", "v4"),
        ("TPU v5 lite", "v5litepod"),
        ("TPU v5p", "v5p"),
        ("TPU v5", "v5p"),
        ("TPU v6 lite", "v6e"),
        ("TPU v4 lite", "tpu v4 lite"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H100-PCIE", "h100-pcie"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA A100-SXM4-80GB", "a100-80g"),
        ("NVIDIA A100-PCIE-40GB", "a100-40g"),
        ("NVIDIA A10G", "a10g"),
        ("NVIDIA A10", "a10"),
        ("NVIDIA A40", "a40"),
        ("NVIDIA RTX A6000", "a6000"),
        ("NVIDIA L4", "l4"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA L40", "nvidia l40"),
        ("Tesla T4", "t4"),
        ("Tesla V100-SXM2-16GB", "v100-sxm"),
        ("Tesla V100S-PCIE-32GB", "v100s"),
        ("Tesla V100-PCIE-16GB", "v100"),
        ("cpu", "cpu"),
    ],
)
def test_kind_of_jax_names_a_device(kind: str, device: str):
    assert jax_device_kind_to_fray_device_type(kind) == device


@pytest.mark.parametrize(
    ("kind", "rate"),
    [
        ("TPU v4", 275e12),
        ("TPU v5 lite", 197e12),
        ("TPU v5p", 459e12),
        ("TPU v6 lite", 918e12),
        ("NVIDIA H100 80GB HBM3", 989.5e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
    ],
)
def test_rate_of_a_jax_device(kind: str, rate: float):
    assert device_flops_for_jax_device(kind, "bf16") == rate


@pytest.mark.parametrize(
    ("device", "dtype", "said"),
    [
        ("abacus", "bf16", "unknown device 'abacus'; known are h100, "),
        ("v4", "fp64", "no rate of 'v4' for dtype 'fp64'; known are bf16, int8"),
    ],
)
def test_unknown_is_none_with_a_warning(device: str, dtype: str, said: str, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, "fray.device_flops"):
        assert device_flops(device, dtype) is None
    assert said in caplog.text


def test_table_loads_nothing_else_of_fray():
    code = (
        "import sys, fray; before = set(sys.modules); from fray.device_flops import device_flops; "
        "device_flops('v4'); print(*sorted(set(sys.modules) - before))"
    )
    brought = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert brought.split() == ["fray.device_flops"]
