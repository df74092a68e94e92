"""What an Iris task runs for a `JobRequest`: its command, its files, and what is set up before it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from fray._unpicklable import serialization_error
from fray.cluster.entrypoint import CallableEntrypoint, Entrypoint
from fray.cluster.environment import EnvironmentConfig

__all__ = ["Program", "program_of"]

_CALL = "_fray_call.pkl"
_RUNNER = "_fray_runner.py"
_IN_WORKDIR = 'cd "$IRIS_WORKDIR" && exec "$@"'

_RUNNER_TEXT = """\
# Runs the call of a job. The versions must be those of the program that pickled it: code is pickled as bytecode.
import os, sys
wanted = {version!r}
if sys.version_info[:2] != wanted:
    sys.exit("this job was pickled by Python %d.%d and its task has Python %d.%d; give both the same, or launch a "
             "program with Entrypoint.from_binary" % (wanted + sys.version_info[:2]))
try:
    import cloudpickle
except ImportError:
    sys.exit("the Python of this task (%s) lacks cloudpickle, which functions need; add it to pip_packages"
             % sys.executable)
folder = os.environ["IRIS_WORKDIR"]
sys.path.insert(0, folder)
with open(os.path.join(folder, {call!r}), "rb") as file:
    function, args, kwargs = cloudpickle.load(file)
function(*args, **kwargs)
"""


@dataclass(frozen=True, slots=True)
class Program:
    """What a task runs.

    Args:
        argv: its command.
        setup: shell lines that run before it, where Iris runs such.
        files: put beside the workspace.
    """

    argv: list[str]
    setup: list[str] = field(default_factory=list[str])
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def program_of(entrypoint: Entrypoint, environment: EnvironmentConfig) -> Program:
    """Return the program of an entrypoint.

    Raises:
        SerializationError: its function cannot be pickled.
    """
    setup = setup_lines(environment)
    called = entrypoint.callable_entrypoint
    if called is not None:
        runner = _RUNNER_TEXT.format(version=sys.version_info[:2], call=_CALL)
        files = {_CALL: _pickled(called), _RUNNER: runner.encode()}
        script = f'cd "$IRIS_WORKDIR" && exec "$IRIS_PYTHON" -u {_RUNNER}'
        return Program(["bash", "-c", script], setup, files)
    binary = entrypoint.binary_entrypoint
    assert binary is not None
    return Program(["bash", "-c", _IN_WORKDIR, "bash", binary.command, *binary.args], setup)


def setup_lines(environment: EnvironmentConfig) -> list[str]:
    """Return the lines that make the environment with uv; none where nothing was asked for."""
    if not environment.pip_packages and not environment.extras:
        return []
    lines = ['cd "$IRIS_WORKDIR"', f"uv venv --quiet --python {sys.version_info[0]}.{sys.version_info[1]}"]
    lines.append("source .venv/bin/activate")
    if environment.extras:
        extras = ",".join(environment.extras)
        lines.append(f"uv pip install --quiet {shlex.quote(f'.[{extras}]')}")
    packages = " ".join(shlex.quote(package) for package in ["cloudpickle", *environment.pip_packages])
    lines.append(f"uv pip install --quiet {packages}")
    return lines


def _pickled(called: CallableEntrypoint) -> bytes:
    from fray._by_value import dumps

    call = (called.callable, tuple(called.args), dict(called.kwargs))
    try:
        return dumps(call)
    except Exception as error:
        raise serialization_error("the call of a job", call, error, _can_pickle) from error


def _can_pickle(value: object) -> bool:
    from fray._by_value import dumps

    try:
        dumps(value)
    except Exception:
        return False
    return True
