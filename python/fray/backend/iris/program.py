"""What an Iris task runs for a `JobRequest`: its command, and the files that the command needs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fray._unpicklable import serialization_error
from fray._version import VERSION
from fray.cluster.entrypoint import CallableEntrypoint, Entrypoint

__all__ = ["Program", "program_of"]

_CALL = "_fray_call.pkl"
_RUNNER = "_fray_runner.py"

_RUNNER_TEXT = """\
# Runs the call of a job. The versions must be those of the program that pickled it: code is pickled as bytecode.
import os, sys
wanted, wanted_fray = {version!r}, {fray!r}
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
def check_fray():
    fray = sys.modules.get("fray")
    if fray and fray.__version__ != wanted_fray:
        sys.exit("this job was launched by fray %s and its task has fray %s (%s); give both the same"
                 % (wanted_fray, fray.__version__, fray.__file__))
try:
    with open(os.path.join(folder, {call!r}), "rb") as file:
        function, args, kwargs = cloudpickle.load(file)
except ModuleNotFoundError as error:
    name = (error.name or "a module").partition(".")[0]
    sys.exit("the Python of this task (%s) lacks %s, which the function of this job needs (%s); add it to pip_packages"
             % (sys.executable, "fray==" + wanted_fray if name == "fray" else name, error))
finally:
    check_fray()  # says more than what a function of another version fails with
function(*args, **kwargs)
"""


@dataclass(frozen=True, slots=True)
class Program:
    """The program of a task, which runs in the folder of its files.

    Args:
        command: the words of the command.
        files: files that are put beside the workspace.
        packages: packages that its Python needs in addition to those that the job names.
    """

    command: list[str]
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    packages: Sequence[str] = ()


def program_of(entrypoint: Entrypoint) -> Program:
    """Return the program of an entrypoint.

    Raises:
        SerializationError: its function cannot be pickled.
    """
    called = entrypoint.callable_entrypoint
    if called is not None:
        runner = _RUNNER_TEXT.format(version=sys.version_info[:2], fray=VERSION, call=_CALL)
        files = {_CALL: _pickled(called), _RUNNER: runner.encode()}
        return Program(["sh", "-c", f'exec "$IRIS_PYTHON" -u {_RUNNER}'], files, ("cloudpickle",))
    binary = entrypoint.binary_entrypoint
    assert binary is not None
    return Program([binary.command, *binary.args])


def _pickled(called: CallableEntrypoint) -> bytes:
    from fray._by_value import can_pickle, dumps

    call = (called.callable, tuple(called.args), dict(called.kwargs))
    try:
        return dumps(call)
    except Exception as error:
        raise serialization_error("the call of a job", call, error, can_pickle) from error
