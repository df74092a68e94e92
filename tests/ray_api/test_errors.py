"""What `get` raises."""

from __future__ import annotations

import re
from typing import Any

import pytest


def test_an_error_is_of_both_types(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        raise ValueError("bad v")

    with pytest.raises(ValueError) as caught:
        ray.get(fail.remote())
    error = caught.value
    assert isinstance(error, ray.exceptions.RayTaskError) and isinstance(error, ray.exceptions.RayError)
    assert type(error).__name__ == "RayTaskError(ValueError)" and type(error).__module__ == "ray.exceptions"
    assert type(error.cause) is ValueError and error.args == (error.cause,)
    assert error.__cause__ is None
    text = re.sub(r"\x1b\[\d+m", "", str(error))  # Ray colours it
    assert text.startswith("ray::") and "fail()" in text.splitlines()[0] and "pid=" in text
    assert text.splitlines()[-1] == "ValueError: bad v" and "in fail" in text


def test_attributes_of_an_error_are_there(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        error = KeyError("k")
        error.code = 3  # type: ignore[attr-defined]
        raise error

    with pytest.raises(KeyError) as caught:
        ray.get(fail.remote())
    assert caught.value.code == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [StopIteration, OSError, UnicodeError, AssertionError, ArithmeticError])
def test_errors_of_other_types(ray: Any, kind: type[Exception]) -> None:
    @ray.remote
    def fail() -> None:
        raise kind("x")

    with pytest.raises(kind) as caught:
        ray.get(fail.remote())
    assert isinstance(caught.value, ray.exceptions.RayTaskError)


def test_groups_of_errors(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        raise ExceptionGroup("several", [ValueError("a"), KeyError("b")])

    with pytest.raises(ray.exceptions.RayTaskError) as caught:
        ray.get(fail.remote())
    assert isinstance(caught.value, ExceptionGroup)
    assert [type(part) for part in caught.value.exceptions] == [ValueError, KeyError]


def test_an_error_of_a_nested_task(ray: Any) -> None:
    @ray.remote
    def inner() -> None:
        raise ValueError("deep")

    @ray.remote
    def outer() -> None:
        ray.get(inner.remote())

    with pytest.raises(ValueError) as caught:
        ray.get(outer.remote())
    assert type(caught.value.cause) is ValueError  # type: ignore[attr-defined]
    assert "outer()" in str(caught.value) and "inner()" in str(caught.value)


def test_an_argument_that_failed(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        raise ValueError("first")

    @ray.remote
    def takes(value: Any) -> None: ...

    with pytest.raises(ValueError, match="first"):
        ray.get(takes.remote(fail.remote()))


def test_results_that_cannot_be_pickled(ray: Any) -> None:
    @ray.remote
    def lock() -> Any:
        import threading

        return threading.Lock()

    with pytest.raises(TypeError) as caught:
        ray.get(lock.remote())
    assert isinstance(caught.value, ray.exceptions.RayTaskError)


def test_an_error_that_is_no_exception(ray: Any) -> None:
    class Odd(BaseException):
        pass

    @ray.remote
    def fail() -> None:
        raise Odd("x")

    with pytest.raises(ray.exceptions.RayTaskError):
        ray.get(fail.remote())


def test_an_error_with_a_lock_in_it(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        import threading

        error = ValueError("locked")
        error.lock = threading.Lock()  # type: ignore[attr-defined]
        raise error

    with pytest.raises(ray.exceptions.RayTaskError, match="locked"):
        ray.get(fail.remote())


def test_the_tree_of_errors(ray: Any) -> None:
    errors = ray.exceptions
    assert issubclass(errors.GetTimeoutError, TimeoutError)
    assert issubclass(errors.ActorDiedError, errors.RayActorError)
    assert issubclass(errors.ActorUnavailableError, errors.RayActorError)
    assert issubclass(errors.OwnerDiedError, errors.ObjectLostError)
    assert issubclass(errors.ActorAlreadyExistsError, ValueError)
    assert issubclass(errors.ActorHandleNotFoundError, ValueError)
    assert issubclass(errors.RayChannelError, errors.RaySystemError)
    assert all(issubclass(kind, errors.RayError) for kind in errors.RAY_EXCEPTION_TYPES)


def test_a_task_that_failed_because_an_actor_had_ended_says_which(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Ended:
        def answer(self) -> int:
            return 42

    @ray.remote(num_cpus=0)
    def ask(actor: Any) -> int:
        return ray.get(actor.answer.remote())

    actor = Ended.remote()
    assert ray.get(ask.remote(actor)) == 42
    ray.kill(actor)
    with pytest.raises(ray.exceptions.RayTaskError) as caught:
        while True:  # Ray may answer a call that comes right behind
            ray.get(ask.remote(actor), timeout=60)
    assert isinstance(caught.value, ray.exceptions.RayActorError)
    assert caught.value.actor_id == actor._actor_id.hex()
