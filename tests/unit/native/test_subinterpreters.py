"""What Fray does in an interpreter that is not the process's first one."""

from __future__ import annotations

import subprocess
import sys

import pytest

HOST = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
legacy, source = sys.argv[1] == "legacy", sys.argv[2]
if sys.version_info >= (3, 13):
    made = interpreters.create("legacy" if legacy else "isolated")
    failed = interpreters.exec(made, source)
    if failed:
        sys.exit(failed.formatted)
else:
    interpreters.run_string(interpreters.create(isolated=not legacy), source)
"""

LOCAL = """
import os, fray
try:
    fray.create_job_ctx("local")
except fray.UnsupportedError as error:
    os.write(1, str(error).encode())
"""

SYNC = """
import os, fray
with fray.create_job_ctx("sync") as context:
    os.write(1, str(context.get(context.run(pow, 2, 5))).encode())
"""


def in_subinterpreter(kind: str, source: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HOST, kind, source], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("kind", ["isolated", "legacy"])
def test_engine_refuses_and_names_what_works_there(kind: str) -> None:
    done = in_subinterpreter(kind, LOCAL)
    assert "in a sub-interpreter use 'sync' or 'thread'" in done.stdout, done
    assert "(ImportError: " in done.stdout, done  # the cause, where only the text of an error leaves its interpreter
    assert done.returncode == 0


@pytest.mark.parametrize("kind", ["isolated", "legacy"])
def test_context_in_the_process_works(kind: str) -> None:
    done = in_subinterpreter(kind, SYNC)
    assert (done.stdout, done.returncode) == ("32", 0), done
