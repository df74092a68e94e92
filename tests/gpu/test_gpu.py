"""A real GPU is used by a task; skipped where there is none."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import fray
import pytest
from fray import TaskOptions
from fray.backend.native import NativeJobContext

PRESENT = sorted(Path("/dev").glob("nvidia[0-9]*"))


def cuda() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


pytestmark = pytest.mark.skipif(not PRESENT or cuda() is None, reason="there is no GPU with a driver")

ONE = TaskOptions(resources={"GPU": 1})


@pytest.fixture
def ctx() -> Iterator[NativeJobContext]:
    with NativeJobContext(cpus=2) as context:
        yield context


def check(code: int, what: str) -> None:
    if code != 0:
        raise RuntimeError(f"{what}: CUDA error {code}")


def count_devices() -> int:
    driver = cuda()
    assert driver is not None
    check(driver.cuInit(0), "cuInit")
    count = ctypes.c_int()
    check(driver.cuDeviceGetCount(ctypes.byref(count)), "cuDeviceGetCount")
    return count.value


def fill_and_read(words: int) -> tuple[int, dict[str, list[int]]]:
    """Fill memory of the GPU and read the last word of it back."""
    driver = cuda()
    assert driver is not None
    check(driver.cuInit(0), "cuInit")
    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    check(driver.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    check(driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(words * 4)), "cuMemAlloc")
    try:
        check(driver.cuMemsetD32_v2(memory, ctypes.c_uint(42), ctypes.c_size_t(words)), "cuMemsetD32")
        word = ctypes.c_uint()
        last = ctypes.c_uint64(memory.value + (words - 1) * 4)
        check(driver.cuMemcpyDtoH_v2(ctypes.byref(word), last, ctypes.c_size_t(4)), "cuMemcpyDtoH")
    finally:
        driver.cuMemFree_v2(memory)
    return word.value, fray.get_job_context().resource_ids()


def test_the_node_finds_the_gpus(ctx: NativeJobContext) -> None:
    assert ctx._client.total_resources()["GPU"] >= 1  # pyright: ignore[reportPrivateUsage]


def test_a_task_computes_on_its_gpu(ctx: NativeJobContext) -> None:
    word, ids = ctx.get(ctx.create_task(fill_and_read, (1 << 20,), options=ONE), timeout=60)
    assert (word, ids) == (42, {"GPU": [0]})


def test_a_task_sees_the_gpus_that_it_asked_for_and_no_others(ctx: NativeJobContext) -> None:
    total = int(ctx._client.total_resources()["GPU"])  # pyright: ignore[reportPrivateUsage]
    for count in {1, total}:
        options = TaskOptions(resources={"GPU": count})
        assert ctx.get(ctx.create_task(count_devices, options=options), timeout=60) == count


def test_memory_of_a_gpu_is_free_for_the_next_task(ctx: NativeJobContext) -> None:
    """Each takes more than a third of it, in processes that end one after the other."""
    words = ctx.get(ctx.create_task(memory_words, options=ONE), timeout=60) * 2 // 5
    for number in range(4):
        env = fray.RuntimeEnv(env={"NUMBER": str(number)})
        options = TaskOptions(resources={"GPU": 1}, runtime_env=env)
        assert ctx.get(ctx.create_task(keep, (words,), options=options), timeout=60) > 0


def memory_words() -> int:
    driver = cuda()
    assert driver is not None
    check(driver.cuInit(0), "cuInit")
    total = ctypes.c_size_t()
    check(driver.cuDeviceTotalMem_v2(ctypes.byref(total), 0), "cuDeviceTotalMem")
    return total.value // 4


def keep(words: int) -> int:
    """Allocate and never free."""
    driver = cuda()
    assert driver is not None
    check(driver.cuInit(0), "cuInit")
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")
    check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    check(driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(words * 4)), "cuMemAlloc")
    return os.getpid()
