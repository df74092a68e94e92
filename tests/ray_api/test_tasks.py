"""Remote functions."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import eventually


def test_a_task_gives_its_result(ray: Any) -> None:
    @ray.remote
    def add(a: int, b: int = 1) -> int:
        return a + b

    assert ray.get(add.remote(1)) == 2
    assert ray.get([add.remote(1, 2), add.remote(1, b=5)]) == [3, 6]
    assert ray.get([]) == []


def test_refs_among_arguments_are_replaced_by_their_values_and_refs_inside_lists_are_not(ray: Any) -> None:
    @ray.remote
    def double(value: int) -> int:
        return 2 * value

    @ray.remote
    def total(refs: list[Any]) -> int:
        return sum(ray.get(refs))

    assert ray.get(double.remote(double.remote(3))) == 12
    assert ray.get(double.remote(value=ray.put(4))) == 8
    assert ray.get(total.remote([double.remote(1), ray.put(5)])) == 7


def test_remote_functions_cannot_be_called(ray: Any) -> None:
    @ray.remote
    def f() -> None: ...

    with pytest.raises(TypeError, match="cannot be called directly"):
        f()


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((), {}, "missing a required argument: 'a'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1,), {"z": 1}, "got an unexpected keyword argument 'z'"),
        ((1,), {"a": 1}, "multiple values for argument 'a'"),
    ],
)
def test_arguments_are_checked_where_the_call_is(ray: Any, args: Any, kwargs: Any, text: str) -> None:
    @ray.remote
    def f(a: int, b: int = 0) -> None: ...

    with pytest.raises(TypeError, match=text):
        f.remote(*args, **kwargs)


def test_several_results(ray: Any) -> None:
    @ray.remote(num_returns=2)
    def two() -> tuple[int, int]:
        return 1, 2

    @ray.remote
    def none() -> int:
        return 1

    @ray.remote(num_returns=3)
    def generated() -> Any:
        yield from range(3)

    assert ray.get(two.remote()) == [1, 2]
    assert ray.get(generated.remote()) == [0, 1, 2]
    assert none.options(num_returns=0).remote() is None
    first, second = two.options(num_returns=2).remote()
    assert ray.get(second) == 2 and ray.get(first) == 1


def test_a_wrong_number_of_results_is_an_error_of_every_ref(ray: Any) -> None:
    @ray.remote(num_returns=2)
    def one() -> list[int]:
        return [1]

    @ray.remote(num_returns=2)
    def no_sequence() -> int:
        return 1

    for ref in one.remote():
        with pytest.raises(ValueError, match="num_returns=2"):
            ray.get(ref)
    with pytest.raises(TypeError):
        ray.get(no_sequence.remote())


def test_functions_are_frozen_at_the_first_call(ray: Any) -> None:
    values = [1]

    @ray.remote
    def look() -> list[int]:
        return list(values)

    assert ray.get(look.remote()) == [1]
    values.append(2)
    assert ray.get(look.remote()) == [1]


def test_a_function_calls_itself_and_others(ray: Any) -> None:
    @ray.remote
    def factorial(n: int) -> int:
        return 1 if n == 0 else n * ray.get(factorial.remote(n - 1))

    assert ray.get(factorial.remote(6)) == 720  # deeper than there are CPUs


def test_a_remote_function_can_be_passed_to_a_task(ray: Any) -> None:
    @ray.remote
    def inner(value: int) -> int:
        return value + 1

    @ray.remote
    def outer(fn: Any) -> int:
        return ray.get(fn.remote(1))

    assert ray.get(outer.remote(inner)) == 2


def test_what_a_remote_function_shows(ray: Any) -> None:
    def f(a: int) -> int:
        """Doc."""
        return a

    remote = ray.remote(f)
    assert isinstance(remote, ray.remote_function.RemoteFunction)
    assert remote._function is f
    assert remote._function_name == f"{__name__}.f"
    assert remote.remote.__name__ == "f"
    assert ray.get(remote._remote(args=[3])) == 3
    assert ray.get(remote.options(name="x").remote(4)) == 4
    assert ray.get(ray.remote(num_cpus=1)(f).remote(5)) == 5


@pytest.mark.parametrize("wrong", [(), (5,), (len,)])
def test_what_cannot_be_remote(ray: Any, wrong: tuple[Any, ...]) -> None:
    with pytest.raises((AssertionError, TypeError)):
        ray.remote(*wrong)


def test_coroutines_are_no_tasks(ray: Any) -> None:
    async def f() -> None: ...

    with pytest.raises(ValueError, match="async def"):
        ray.remote(f)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"foo": 1}, ValueError),
        ({"max_restarts": 1}, ValueError),
        ({"num_cpus": -1}, ValueError),
        ({"num_cpus": "1"}, TypeError),
        ({"num_cpus": 0.00001}, ValueError),
        ({"resources": {"CPU": 1}}, ValueError),
        ({"resources": [1]}, TypeError),
        ({"max_retries": -2}, ValueError),
        ({"max_calls": -1}, ValueError),
        ({"num_returns": -1}, ValueError),
        ({"num_returns": 1.5}, TypeError),
        ({"retry_exceptions": ValueError}, TypeError),
        ({"retry_exceptions": [1]}, ValueError),
        ({"runtime_env": "x"}, TypeError),
        ({"runtime_env": {"env_vars": {"A": 1}}}, TypeError),
        ({"runtime_env": {"working_dir": "/there/is/none"}}, ValueError),
        ({"name": 3}, TypeError),
        ({"_generator_backpressure_num_objects": 0}, ValueError),
        ({"enable_task_events": None}, TypeError),
        ({"_metadata": {}}, ValueError),
    ],
)
def test_options_of_functions_that_are_refused(ray: Any, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):

        @ray.remote(**options)
        def f() -> None: ...


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_retries": 0.5}, f"'max_retries' must be {(int, type(None))}, but received type {float}"),
        ({"num_returns": 0.5}, f"'num_returns' must be {(int, str, type(None))}, but received type {float}"),
        ({"max_calls": -1}, "'max_calls' only accepts None, 0 or a positive integer"),
        ({"max_retries": -2}, "'max_retries' only accepts None, 0, -1 or a positive integer, where -1 represents inf"),
        ({"num_returns": -1}, "'num_returns' only accepts None, a non-negative integer, 'streaming' (for generators)"),
        ({"num_gpus": 1e-7}, "fractional quantity of resource num_gpus cannot go beyond 0.0001"),
        ({"resources": {"own": 1e-7}}, "fractional quantity of resource own cannot go beyond 0.0001"),
        ({"num_cpus": -1}, "The quantity of resource num_cpus cannot be negative"),
    ],
)
def test_refusals_of_options_say_what_is_allowed(ray: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(text)):
        ray.remote(**options)(abs_of)


def abs_of(value: int) -> int:
    return abs(value)


def test_options_of_the_decorator_only(ray: Any) -> None:
    @ray.remote
    def f() -> None: ...

    with pytest.raises(ValueError):
        f.options(max_calls=1)
    with pytest.raises(ValueError, match="foo"):
        f.options(foo=1)


def test_a_number_of_results_is_streamed_by_generators_only(ray: Any) -> None:
    @ray.remote
    def f() -> None: ...

    with pytest.raises(ValueError):
        f.options(num_returns="streaming").remote()


def test_a_task_is_tried_again_after_exceptions_that_are_named(ray: Any, tmp_path: Path) -> None:
    @ray.remote(max_retries=2, retry_exceptions=[ValueError])
    def flaky(folder: str, error: type[Exception]) -> int:
        count = len(os.listdir(folder))
        Path(folder, str(count)).touch()
        if count < 2:
            raise error("again")
        return count

    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    assert ray.get(flaky.remote(str(first), ValueError)) == 2
    with pytest.raises(KeyError):
        ray.get(flaky.remote(str(second), KeyError))


def test_a_task_whose_worker_dies_is_tried_again(ray: Any, tmp_path: Path) -> None:
    @ray.remote(max_retries=1)
    def dies_once(path: str) -> str:
        if not os.path.exists(path):
            Path(path).touch()
            os._exit(1)
        return "here"

    @ray.remote(max_retries=0)
    def dies() -> None:
        os._exit(1)

    assert ray.get(dies_once.remote(str(tmp_path / "mark"))) == "here"
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(dies.remote())


def test_environment_variables_of_a_task(ray: Any) -> None:
    @ray.remote(runtime_env={"env_vars": {"RAY_API_TEST": "1"}})
    def look() -> str | None:
        return os.environ.get("RAY_API_TEST")

    assert ray.get(look.remote()) == "1"


def test_a_worker_ends_after_max_calls(ray: Any) -> None:
    @ray.remote(max_calls=1)
    def pid() -> int:
        return os.getpid()

    assert ray.get(pid.remote()) != ray.get(pid.remote())


def test_a_waiting_task_lends_its_cpu(ray: Any) -> None:
    @ray.remote(num_cpus=2)
    def inner() -> int:
        return 1

    @ray.remote(num_cpus=2)
    def outer() -> int:
        return ray.get(inner.remote())

    assert ray.get(outer.remote(), timeout=30) == 1


def test_generators_stream_refs(ray: Any) -> None:
    @ray.remote
    def items(n: int) -> Any:
        for item in range(n):  # noqa: UP028  (Ray cannot do `yield from range(n)`)
            yield item

    generator = items.remote(3)
    assert isinstance(generator, ray.ObjectRefGenerator)
    assert [ray.get(ref) for ref in generator] == [0, 1, 2]
    with pytest.raises(StopIteration):
        next(generator)
    assert ray.get(items.remote(1).completed()) is None
    with pytest.raises(NotImplementedError):
        generator.send(None)


def test_a_generator_gives_its_failure_as_its_last_ref(ray: Any) -> None:
    @ray.remote
    def items() -> Any:
        yield 1
        raise ValueError("done")

    generator = items.remote()
    assert ray.get(next(generator)) == 1
    with pytest.raises(ValueError, match="done"):
        ray.get(next(generator))
    with pytest.raises(StopIteration):
        next(generator)


def test_waiting_for_generators(ray: Any) -> None:
    @ray.remote
    def items() -> Any:
        yield 1

    generator = items.remote()
    ready, others = ray.wait([generator], timeout=30)
    assert ready == [generator] and others == []
    assert ray.get(generator) is generator
    with pytest.raises(TypeError):
        ray.put(generator)


def test_cancelling_a_task_that_waits(ray: Any) -> None:
    @ray.remote
    def never(value: Any) -> None: ...

    @ray.remote(num_cpus=2)
    def busy() -> None:
        time.sleep(60)

    running = busy.remote()
    waiting = never.remote(running)
    ray.cancel(waiting)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(waiting)
    ray.cancel(running, force=True)
    with pytest.raises((ray.exceptions.TaskCancelledError, ray.exceptions.WorkerCrashedError)):
        ray.get(running)


def test_a_running_task_is_interrupted_by_keyboard_interrupt(ray: Any, tmp_path: Path) -> None:
    @ray.remote
    def loop(path: str) -> str:
        try:
            Path(path).touch()
            while True:
                time.sleep(0.01)
        except KeyboardInterrupt:
            Path(path + ".caught").touch()
            raise

    mark = tmp_path / "mark"
    ref = loop.remote(str(mark))
    while not mark.exists():
        time.sleep(0.01)
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref, timeout=30)
    assert (tmp_path / "mark.caught").exists()


def test_a_cancelled_task_takes_nothing_with_it_that_another_has_started(ray: Any, tmp_path: Path) -> None:
    @ray.remote(num_cpus=0)
    def leaf(path: str) -> str:
        Path(path).touch()
        while not Path(path + ".door").exists():
            time.sleep(0.01)
        return "done"

    @ray.remote
    def start(path: str) -> Any:
        return [leaf.remote(path)]

    @ray.remote
    def hang(path: str) -> None:
        Path(path).touch()
        while True:
            time.sleep(0.01)

    others = [ray.get(start.remote(str(tmp_path / f"leaf{i}")))[0] for i in range(3)]  # by workers that serve again
    hanging = [hang.remote(str(tmp_path / f"hang{i}")) for i in range(2)]
    for i in range(2):
        eventually((tmp_path / f"hang{i}").exists, 30)
    for ref in hanging:
        ray.cancel(ref)
    for ref in hanging:
        with pytest.raises(ray.exceptions.TaskCancelledError):
            ray.get(ref, timeout=30)
    for i in range(3):
        (tmp_path / f"leaf{i}.door").touch()
    assert ray.get(others) == ["done"] * 3


def test_what_cannot_be_cancelled(ray: Any) -> None:
    with pytest.raises(TypeError):
        ray.cancel(3)
    value = ray.put(1)
    ray.cancel(value)
    assert ray.get(value) == 1
