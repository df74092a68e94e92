"""Runs one block in this process, which starts a Ray of its own: ``python -m tests.snippets.own_ray 000.4``."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

import ray
from tests.on_ray.agent_port import set_agent_port
from tests.ports import free_port
from tests.snippets.blocks import blocks
from tests.snippets.books import programs
from tests.snippets.programs import Around, run


def main() -> None:
    """Run it, and end its Ray."""
    place = "a Ray of its own"
    program = next(program for name, program, _ in programs((place,)) if name == f"{sys.argv[1]}-{place}")
    set_agent_port(free_port())
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run(program, Around(blocks()[program.id], place, Path(folder), patch))
        assert ray.is_initialized()
        ray.shutdown()
        os.chdir("/")
    print("done")


if __name__ == "__main__":
    main()
