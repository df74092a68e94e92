"""The pipe by which spans of C++ processes come."""

from __future__ import annotations

import os
import resource
import threading
from contextlib import ExitStack
from pathlib import Path

from fray._trace_pipe import TracePipe

from tests.waiting import LONG_PATIENCE


def test_lines_come_to_a_program_with_more_files_than_select_can_watch(tmp_path: Path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    came, taken = threading.Event(), list[bytes]()

    def take(lines: list[bytes]) -> None:
        taken.extend(lines)
        came.set()

    with ExitStack() as closing:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        closing.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1100):
            closing.callback(os.close, os.open("/dev/null", os.O_RDONLY))
        pipe = TracePipe(str(tmp_path / "spans"), take)
        closing.callback(pipe.close)
        (tmp_path / "spans").write_bytes(b"one\n")
        assert came.wait(LONG_PATIENCE)
        (tmp_path / "spans").write_bytes(b"two\n")
    assert taken == [b"one", b"two"]
