"""Runs programs one after another in this process and prints what each wrote, as one JSON document.

run_programs.py (fray|ray) PROGRAM...     on Ray all of them share the Ray of the environment
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import sys
import threading
import traceback
from pathlib import Path
from typing import Any


def share_ray() -> None:
    """Make the programs use one Ray: starting takes seconds."""
    import ray

    folders = os.pathsep.join({str(Path(program).parent.resolve()) for program in sys.argv[2:]})
    environment = {"env_vars": {"PYTHONPATH": folders}}
    ray.init(namespace="programs", log_to_driver=False, logging_level="ERROR", runtime_env=environment)
    started: list[bool] = []

    def init(*args: Any, **options: Any) -> None:
        started.append(True)

    ray.init, ray.shutdown, ray.is_initialized = init, started.clear, lambda: bool(started)


class Main(io.StringIO):
    """Keeps what the main thread writes; Ray's own threads write what its daemons say."""

    def write(self, text: str) -> int:
        return super().write(text) if threading.current_thread() is threading.main_thread() else len(text)


def run(program: str) -> str:
    written = Main()
    folder = str(Path(program).parent)
    sys.path.insert(0, folder)
    before = set(sys.modules)
    print(program, file=sys.stderr, flush=True)  # for whoever wonders where it hangs
    try:
        with contextlib.redirect_stdout(written):
            runpy.run_path(program, run_name="__main__")
    except BaseException:
        written.write(traceback.format_exc())
    finally:
        sys.path.remove(folder)
        for name in set(sys.modules) - before:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
                del sys.modules[name]
    return written.getvalue()


if __name__ == "__main__":
    if sys.argv[1] == "ray":
        share_ray()
    printed = {program: run(program) for program in sys.argv[2:]}
    Path(os.environ["PRINTED"]).write_text(json.dumps(printed))
