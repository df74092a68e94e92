"""``python -m fray._job``: the program of a job that runs a function.

The call lies in the file that FRAY_JOB_CALL names. What the function raises is printed as Python prints it, and its
last line goes into the file that FRAY_JOB_ERROR_FILE names, for programs that wait for the job.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from pathlib import Path
from typing import Any

from fray._traces import job_attributes, running_job

__all__ = ["main"]

_FAILED = 1


def main(path: str | None = None) -> int:
    """Run the call in the file at `path`; return the exit code."""
    try:
        _run(path or os.environ["FRAY_JOB_CALL"])
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        _note(str(error.code))
        return _FAILED
    except Exception as error:
        traceback.print_exc()
        _note("".join(traceback.format_exception_only(error)).strip())
        return _FAILED
    return 0


def _run(path: str) -> None:
    module_path, pickled = pickle.loads(Path(path).read_bytes())
    sys.path[:] = [*module_path, *(entry for entry in sys.path if entry not in module_path)]
    call: tuple[Any, tuple[Any, ...], dict[str, Any]] = pickle.loads(pickled)
    function, args, kwargs = call
    with running_job(os.environ.get("FRAY_JOB_NAME", "job"), job_attributes()):
        function(*args, **kwargs)


def _note(text: str) -> None:
    path = os.environ.get("FRAY_JOB_ERROR_FILE")
    if path is not None:
        Path(path).write_text(text)


if __name__ == "__main__":
    sys.exit(main())
