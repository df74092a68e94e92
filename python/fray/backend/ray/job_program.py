"""The name of a job on Ray, and the command, variables and metadata that it is submitted with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from fray.cluster import GpuConfig, ResourceConfig

__all__ = ["command_line", "demand_of", "name_in_id", "variables_of"]

_NAME_BYTES = 64
_LONGEST_PAUSE_SECONDS = 64


def name_in_id(name: str) -> str:
    """Return a job's name as it stands in its id: letters, digits, dots, dashes and underscores, 64 at most."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", name)[:_NAME_BYTES]
    return plain if plain[0].isalnum() else f"job{plain}"


def variables_of(job_id: str, name: str, attempt: int = 1) -> dict[str, str]:
    """Return the variables by which the processes of a job know their job."""
    return {"FRAY_JOB_ID": job_id, "FRAY_JOB_NAME": name, "FRAY_JOB_ATTEMPT": str(attempt)}


def demand_of(resources: ResourceConfig) -> dict[str, float]:
    """Return what each replica without a TPU asks Ray for; memory only where it was asked for."""
    demand: dict[str, float] = {"CPU": resources.cpu}
    if isinstance(resources.device, GpuConfig):
        demand["GPU"] = resources.device.count
    if resources.asked_ram_bytes():
        demand["memory"] = resources.asked_ram_bytes()
    return demand


def command_line(words: Sequence[str], folder: str | None, retries: int) -> str:
    """Return the line that Ray's shell runs for a program.

    Args:
        words: the program and its arguments.
        folder: where it runs, on a machine that has it.
        retries: how often it is tried again, after pauses of 1 s, 2 s, 4 s and so on; Ray itself tries once.
    """
    line = shlex.join(words)
    if not retries:
        # Ray stops the shell and the children that it has at that moment; a child that is just starting would live on.
        line = f"exec {line}"
    else:
        line = (
            f"attempt=1; until FRAY_JOB_ATTEMPT=$attempt {line}; do code=$?; "
            f"[ $attempt -gt {retries} ] && exit $code; "
            f"sleep ${{pause:=1}}; [ $pause -lt {_LONGEST_PAUSE_SECONDS} ] && pause=$((2 * pause)); "
            "attempt=$((attempt + 1)); done"
        )
    if folder is None:
        return line
    quoted = shlex.quote(folder)
    return f"[ -d {quoted} ] && cd {quoted}; {line}"
