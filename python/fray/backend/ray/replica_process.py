"""A replica of a function job in the worker process that runs it: its variables, folder, output and end."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fray import _traces
from fray._functions import send_main_by_value
from fray._unpicklable import serialization_error
from fray.backend.ray.functions import can_pickle
from fray.backend.ray.job_output import printing_to
from fray.backend.ray.library import cloudpickle, ray
from fray.backend.ray.refs import trial_pickling
from fray.cluster import CallableEntrypoint

__all__ = ["JobExit", "ReplicaProcess", "put_call"]


class JobExit(Exception):
    """The function ended itself with ``sys.exit``."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return self.text


def put_call(called: CallableEntrypoint) -> Any:
    """Return Ray's ref of a function and its arguments as they are now.

    Raises:
        SerializationError: they cannot be pickled; the message names the part that cannot.
    """
    call = (called.callable, tuple(called.args), dict(called.kwargs))
    send_main_by_value(cloudpickle)
    try:
        return ray.put(call)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        plain = error
    try:  # Ray's own message is long and coloured
        with trial_pickling():
            cloudpickle.dumps(call, protocol=5)
    except Exception as error:
        plain = error
    raise serialization_error("the call of a job", call, plain, can_pickle) from plain


@dataclass(frozen=True)
class ReplicaProcess:
    """Runs a job's function as a process of its own would: in the job's folder, with its variables and its output.

    Args:
        call: Ray's ref of the function, its positional and its keyword arguments, as they were at the launch.
        sink: the actor that gets the output; see `fray.backend.ray.job_output`.
        job_id: id of the job.
        numbered: whether lines begin with the number of their replica.
        variables: environment variables of the job.
        folder: the current folder of the job, on machines that have it.
    """

    call: Any
    sink: Any
    job_id: str
    numbered: bool
    variables: Mapping[str, str]
    folder: str | None

    def __call__(self) -> None:
        replica = int(os.environ.get("FRAY_REPLICA_ID", "0"))
        printing = printing_to(self.sink, self.job_id, replica, self.numbered)
        with printing, _surroundings(self.variables, self.folder):
            try:
                function, args, kwargs = ray.get(self.call)
                self._traced(function)(*args, **kwargs)
            except SystemExit as error:
                _end_with(error.code)
            except BaseException:
                traceback.print_exc()
                raise
            finally:
                _traces.settle()  # the job has ended for whoever waits, and so have its spans

    def _traced(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what runs in the place of the function: its span, where the launch was traced."""
        trace = self.variables.get("TRACEPARENT")
        if trace is None:
            return function
        _traces.switch_on_in_worker()
        return _traces.around(function, trace, os.environ["FRAY_JOB_NAME"], **_traces.job_attributes())


def _end_with(code: Any) -> None:
    """Raise JobExit for what ``sys.exit`` was given, as Python would treat it at the end of a program."""
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        raise JobExit(1, str(code)) from None
    if code:
        raise JobExit(code & 0xFF, "") from None


@contextmanager
def _surroundings(variables: Mapping[str, str], folder: str | None) -> Generator[None]:
    """Set variables and the current folder inside the block, and restore them: the worker runs other tasks after it."""
    before = {name: os.environ.get(name) for name in variables}
    come_from = os.getcwd()
    going_to = folder if folder is not None and os.path.isdir(folder) else None
    try:
        os.environ.update(variables)
        if going_to is not None:
            os.chdir(going_to)
        yield
    finally:
        if going_to is not None:
            os.chdir(come_from)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
