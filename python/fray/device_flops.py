"""Peak rates of accelerators: operations a second by device and number format.

Training code computes its model FLOPs utilisation from them without the rest of Fray: this module imports no other one.
Rates are those of dense arithmetic, from the makers' data sheets.
"""

from __future__ import annotations

from typing import Final, Literal

__all__ = [
    "DEVICE_FLOPS",
    "FlopDtype",
    "device_flops",
    "device_flops_for_jax_device",
    "jax_device_kind_to_fray_device_type",
]

FlopDtype = Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "int4"]
"""Number formats of the table. Not every device has each of them."""

_T = 1e12

_H100: Final[dict[str, float]] = {
    "fp64": 67 * _T,
    "fp32": 67 * _T,
    "tf32": 494.5 * _T,
    "fp16": 989.5 * _T,
    "bf16": 989.5 * _T,
    "fp8": 1979 * _T,
    "int8": 1979 * _T,
}
_A100: Final[dict[str, float]] = {
    "fp64": 19.5 * _T,
    "fp32": 19.5 * _T,
    "tf32": 156 * _T,
    "fp16": 312 * _T,
    "bf16": 312 * _T,
}
_A10: Final[dict[str, float]] = {"fp32": 31.2 * _T, "tf32": 62.5 * _T, "fp16": 125 * _T, "bf16": 125 * _T}
_V5P: Final[dict[str, float]] = {"bf16": 459 * _T}

DEVICE_FLOPS: Final[dict[str, dict[str, float]]] = {
    # NVIDIA GPUs
    "h100": _H100,
    "h200": _H100,
    "b100": _H100,
    "auto": _H100,
    "h100-pcie": {
        "fp64": 51 * _T,
        "fp32": 51 * _T,
        "tf32": 378 * _T,
        "fp16": 756.5 * _T,
        "bf16": 756.5 * _T,
        "fp8": 1513 * _T,
        "int8": 1513 * _T,
    },
    "a100": _A100,
    "a100-40g": _A100,
    "a100-80g": _A100,
    "a10": _A10,
    "a10g": _A10,
    "a40": {"fp32": 37.4 * _T, "tf32": 74.8 * _T, "fp16": 149.7 * _T, "bf16": 149.7 * _T},
    "a6000": {"fp32": 19.35 * _T, "tf32": 154.85 * _T, "fp16": 154.85 * _T, "bf16": 154.85 * _T},
    "v100": {"fp64": 7 * _T, "fp32": 14 * _T, "fp16": 112 * _T},
    "v100-sxm": {"fp64": 7.8 * _T, "fp32": 15.7 * _T, "fp16": 125 * _T},
    "v100s": {"fp64": 8.2 * _T, "fp32": 16.4 * _T, "fp16": 130 * _T},
    "t4": {"fp32": 8.1 * _T, "fp16": 65 * _T, "int8": 130 * _T, "int4": 260 * _T},
    "l4": {
        "fp32": 30.3 * _T,
        "tf32": 120 * _T,
        "fp16": 242 * _T,
        "bf16": 242 * _T,
        "fp8": 485 * _T,
        "int8": 485 * _T,
    },
    "l40s": {
        "fp32": 91.6 * _T,
        "tf32": 183.2 * _T,
        "fp16": 366.5 * _T,
        "bf16": 366.5 * _T,
        "fp8": 733 * _T,
        "int8": 733 * _T,
    },
    "gb10": {"bf16": 100 * _T},
    # TPUs, one chip
    "v3": {"bf16": 61.5 * _T},
    "v4": {"bf16": 275 * _T, "int8": 275 * _T},
    "v5litepod": {"bf16": 197 * _T, "int8": 393 * _T},
    "v5": _V5P,
    "v5p": _V5P,
    "v6e": {"bf16": 918 * _T, "int8": 1836 * _T},
    # AWS Trainium
    "trn1": {"fp32": 23.75 * _T, "tf32": 23.75 * _T, "fp16": 95 * _T, "bf16": 95 * _T, "int8": 190 * _T},
}
"""Operations a second of one device (GPU, TPU chip), by its name in lower case and by number format."""

_TPU_KINDS: Final = {
    "tpu v3": "v3",
    "tpu v4": "v4",
    "tpu v5 lite": "v5litepod",
    "tpu v5e": "v5litepod",
    "tpu v5": "v5p",
    "tpu v5p": "v5p",
    "tpu v6 lite": "v6e",
    "tpu v6e": "v6e",
}
_GPU_WORDS: Final = ("h200", "a10g", "a10", "a40", "v100s", "v100", "t4", "a6000", "l40s", "l4", "gb10")


def device_flops(device_type: str, dtype: str = "bf16") -> float | None:
    """Return the operations a second that one device can do at most, None (and a warning in the log) if unknown.

    Args:
        device_type: name of a GPU, TPU generation or TPU slice: ``"H100"``, ``"v4"``, ``"v5p-128"``.
        dtype: number format, also as ``"amp_bf16"``.
    """
    rates = DEVICE_FLOPS.get(_device_key(device_type))
    if rates is None:
        _warn(f"device_flops: unknown device {device_type!r}; known are {', '.join(DEVICE_FLOPS)}")
        return None
    rate = rates.get(dtype.lower().removeprefix("amp_"))
    if rate is None:
        _warn(f"device_flops: no rate of {device_type!r} for dtype {dtype!r}; known are {', '.join(rates)}")
    return rate


def device_flops_for_jax_device(jax_device_kind: str, dtype: str = "bf16") -> float | None:
    """Return `device_flops` of a device as JAX names it in ``jax.Device.device_kind``, such as ``"TPU v5 lite"``."""
    return device_flops(jax_device_kind_to_fray_device_type(jax_device_kind), dtype)


def jax_device_kind_to_fray_device_type(jax_device_kind: str) -> str:
    """Return the name of a device in the table; for a kind that is not known, the kind in lower case."""
    kind = jax_device_kind.lower()
    if kind in _TPU_KINDS:
        return _TPU_KINDS[kind]
    words = kind.replace("-", " ").split()
    if "h100" in words:
        return "h100-pcie" if "pcie" in words else "h100"
    if "a100" in words:
        return "a100-80g" if any(word.startswith("80g") for word in words) else "a100-40g"
    if "v100" in words and any(word.startswith("sxm") for word in words):
        return "v100-sxm"
    return next((word for word in words if word in _GPU_WORDS), kind)


def _device_key(device_type: str) -> str:
    """Return the key of a device; the size of a slice, as in ``v5p-128``, makes no difference to one chip."""
    name = device_type.lower()
    generation, _, size = name.partition("-")
    return generation if name not in DEVICE_FLOPS and size.isdigit() else name


def _warn(message: str) -> None:
    import logging  # only here, because the import is slow

    logging.getLogger(__name__).warning(message)
