"""How many threads numerical libraries use in a task: as many as it has CPUs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from fray import RuntimeEnv, TaskOptions
from fray.backend.native import NativeJobContext

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@pytest.fixture
def ctx(monkeypatch: pytest.MonkeyPatch) -> Iterator[NativeJobContext]:
    for name in (*VARIABLES, "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    with NativeJobContext(cpus=4, max_workers=1) as context:
        yield context


def settings() -> list[str | None]:
    return [os.environ.get(name) for name in VARIABLES]


def blas_threads() -> int:
    import numpy  # noqa: F401  (loads its BLAS)
    from threadpoolctl import threadpool_info

    return max(info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas")


def with_cpus(cpus: float, env: dict[str, str] | None = None) -> TaskOptions:
    runtime_env = None if env is None else RuntimeEnv(env=env)
    return TaskOptions(resources={"CPU": cpus}, runtime_env=runtime_env)


@pytest.mark.parametrize(("cpus", "threads"), [(4, "4"), (1, "1"), (0.5, "1"), (2.5, "2"), (0, "1")])
def test_a_task_gets_as_many_threads_as_cpus(ctx: NativeJobContext, cpus: float, threads: str) -> None:
    assert ctx.get(ctx.create_task(settings, options=with_cpus(cpus))) == [threads] * 3


def test_a_library_that_is_loaded_already_follows(ctx: NativeJobContext) -> None:
    def with_pid() -> tuple[int, int]:
        return os.getpid(), blas_threads()

    answers = [ctx.get(ctx.create_task(with_pid, options=with_cpus(cpus))) for cpus in (1, 4, 2)]
    assert len({pid for pid, _ in answers}) == 1
    assert [threads for _, threads in answers] == [1, 4, 2]


def test_what_the_user_has_set_wins(ctx: NativeJobContext) -> None:
    assert ctx.get(ctx.create_task(settings, options=with_cpus(4, {"OMP_NUM_THREADS": "3"}))) == ["3", None, None]
    one = ctx.create_task(settings, options=with_cpus(4, {"OPENBLAS_NUM_THREADS": "2"}))
    assert ctx.get(one) == ["4", "2", "4"]


def test_what_a_task_sets_itself_stays(ctx: NativeJobContext) -> None:
    def choose() -> None:
        os.environ["OMP_NUM_THREADS"] = "7"

    ctx.get(ctx.create_task(choose, options=with_cpus(1)))
    assert ctx.get(ctx.create_task(settings, options=with_cpus(2)))[0] == "7"
