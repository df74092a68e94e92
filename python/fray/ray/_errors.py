"""Gives errors Ray's types: errors of tasks where they are raised, errors of the engine where the program gets them."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import Any, NoReturn, cast

from fray import errors
from fray.ray import exceptions as ray_errors
from fray.ray.exceptions import RayError, RayTaskError, cut_chain

__all__ = ["raise_translated", "task_failure", "translated"]

_KINDS: list[tuple[type[Exception], type[Exception]]] = [
    (errors.TaskCancelledError, ray_errors.TaskCancelledError),
    (errors.GetTimeoutError, ray_errors.GetTimeoutError),
    (errors.OutOfMemoryError, ray_errors.OutOfMemoryError),
    (errors.WorkerDiedError, ray_errors.WorkerCrashedError),
    (errors.NodeDiedError, ray_errors.LocalRayletDiedError),
    (errors.OwnerDiedError, ray_errors.OwnerDiedError),
    (errors.ObjectLostError, ray_errors.ObjectLostError),
    (errors.ActorDiedError, ray_errors.ActorDiedError),
    (errors.NameTakenError, ray_errors.ActorAlreadyExistsError),
    (errors.PendingCallsLimitError, ray_errors.PendingCallsLimitExceeded),
    (errors.StoreFullError, ray_errors.ObjectStoreFullError),
    (errors.RuntimeEnvError, ray_errors.RuntimeEnvSetupError),
    (errors.ReservationEndedError, ray_errors.TaskPlacementGroupRemoved),
    (errors.InfeasibleError, ray_errors.TaskUnschedulableError),
    (errors.FrayError, ray_errors.RaySystemError),
]
_LEFT_ALONE = (errors.SerializationError, errors.UnsupportedError, errors.ForeignRefError, errors.ActorNotFoundError)
_FRAMES_OF_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


# ---- of the engine


class _TwoTyped:
    """An error of the engine that has a type of Ray as well; it is pickled as the engine's error."""

    ours: type[Exception]
    rays: type[Exception]

    def __reduce__(self) -> Any:
        error: Any = self
        return _as_rays, (self.ours, self.rays, error.args, dict(vars(error)), isinstance(self, RayTaskError))


def _as_rays(
    kind: type[Exception], rays: type[Exception], args: tuple[Any, ...], attributes: dict[str, Any], of_a_task: bool
) -> Exception:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return _add_type(error, rays, of_a_task)


@cache
def _two_typed(kind: type[Exception], rays: type[Exception], of_a_task: bool = False) -> type[Exception]:
    bases: tuple[type[Any], ...] = (_TwoTyped, RayTaskError, rays, kind) if of_a_task else (_TwoTyped, rays, kind)
    return cast(
        "type[Exception]", type(rays.__name__, bases, {"__module__": rays.__module__, "ours": kind, "rays": rays})
    )


def _type_of_rays(error: Exception, *, creates_actor: bool) -> type[Exception]:
    if isinstance(error, errors.ActorDiedError) and error.fate == "lives_on":
        return ray_errors.ActorUnavailableError
    if isinstance(error, errors.ActorDiedError) and isinstance(error.__cause__, errors.RuntimeEnvError):
        return ray_errors.RuntimeEnvSetupError
    if isinstance(error, errors.ActorDiedError) and isinstance(error.__cause__, errors.OutOfMemoryError):
        return ray_errors.OutOfMemoryError
    if isinstance(error, errors.InfeasibleError) and creates_actor:
        ended = isinstance(error, errors.ReservationEndedError)
        return ray_errors.ActorPlacementGroupRemoved if ended else ray_errors.ActorUnschedulableError
    return next(rays for ours, rays in _KINDS if isinstance(error, ours))


def _add_type(error: Exception, rays: type[Exception], of_a_task: bool) -> Exception:
    text = str(error)
    made: Any = _two_typed(type(error), rays, of_a_task)
    error = _copy(error, made.__new__(made, *error.args))
    if isinstance(error, RayTaskError):
        error.__dict__["traceback_str"] = text
    for field in ("error_msg", "error_message", "message"):
        if hasattr(rays, field):
            error.__dict__[field] = text
    if isinstance(error, errors.ActorDiedError):
        error.__dict__["actor_init_failed"] = error.fate == "constructor_failed"
    return error


def _copy(error: Exception, made: Exception) -> Exception:
    made.args = error.args
    made.__dict__.update(vars(error))
    made.__traceback__, made.__cause__ = error.__traceback__, error.__cause__
    return made


def translated(error: BaseException, *, creates_actor: bool = False) -> BaseException:
    """Return the error that a program of Ray gets in place of `error`: mostly a copy that has Ray's type as well.

    Args:
        error: the exception that an engine raised.
        creates_actor: whether it was raised where an actor was created.
    """
    if isinstance(error, RayError):
        if isinstance(error.__cause__, errors.RemoteTraceback):
            error.__cause__ = None  # its text is the error's own
        return error
    remote = _remote_traceback(error)
    if remote is not None and (not isinstance(error, errors.FrayError) or isinstance(error, _LEFT_ALONE)):
        cut_chain(error)
        return RayTaskError("", remote.text, error).as_instanceof_cause()
    if isinstance(error, errors.TaskError):
        text = error.remote_traceback or str(error)
        return RayTaskError(error.task_name, text, RayError(str(error)))
    if isinstance(error, _LEFT_ALONE) or not isinstance(error, errors.FrayError):
        return error
    rays = _type_of_rays(error, creates_actor=creates_actor)
    # Ray raises a RayTaskError where a task was cancelled while it ran.
    return _add_type(error, rays, rays is ray_errors.TaskCancelledError)


def raise_translated(error: BaseException, *, creates_actor: bool = False) -> NoReturn:
    """Raise the error that `translated` returns, without `error` in its traceback."""
    again = translated(error, creates_actor=creates_actor)
    if again is error:
        raise error
    raise again from None


def _remote_traceback(error: BaseException) -> errors.RemoteTraceback | None:
    here: BaseException | None = error
    while here is not None and not isinstance(here, errors.RemoteTraceback):
        here = here.__cause__
    return here


# ---- of tasks


def task_failure(
    error: BaseException, name: str, actor: Callable[[], tuple[str, str]] | None = None
) -> RayTaskError | RayError:
    """Return the error that the caller of the task `name` gets; `actor` returns the id and the repr of its actor."""
    actor_id, actor_repr = actor() if actor is not None else (None, None)
    cause = error
    if isinstance(error, RayTaskError) and error.cause is not None:
        cause = error.cause
    elif isinstance(error, _TwoTyped) and isinstance(error, RayTaskError):
        plain = _two_typed(error.ours, error.rays)
        cause = _copy(error, plain.__new__(plain, *error.args))
    elif isinstance(error, KeyboardInterrupt):
        cause = ray_errors.TaskCancelledError("the task was interrupted")
    place = f"pid={os.getpid()}, ip=127.0.0.1"
    if actor_id is not None:
        place += f", actor_id={actor_id}, repr={actor_repr}"
    text = f"ray::{name}() ({place})\n" + _frames_and_message(error)
    made = RayTaskError(name, text, cause, actor_repr=actor_repr, actor_id=actor_id)
    return made.as_instanceof_cause()


def _frames_and_message(error: BaseException) -> str:
    lines = traceback.format_exception(type(error), error, _users_frames(error.__traceback__))
    opening = "Traceback (most recent call last):\n"
    if opening in lines:
        lines.remove(opening)  # the line with the task's name stands in its place
    return "".join(lines)


def _users_frames(frames: TracebackType | None) -> TracebackType | None:
    here = frames
    while here is not None and here.tb_frame.f_code.co_filename.startswith(_FRAMES_OF_OURS):
        here = here.tb_next
    return here
