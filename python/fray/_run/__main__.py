"""``python -m fray._run [--json] [--debug] TARGET ARGUMENT...``: the Python program that `fray run` executes."""

from __future__ import annotations

import sys

from fray._command_end import command_end
from fray._run.command import main

sys.exit(command_end("run", lambda: main(sys.argv[1:])))
