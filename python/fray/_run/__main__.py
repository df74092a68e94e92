"""``python -m fray._run [--json] [--debug] TARGET ARGUMENT...``: the Python program that `fray run` executes."""

from __future__ import annotations

import os
import sys

from fray._run.command import FAILED, main

INTERRUPTED = 130

try:
    code = main(sys.argv[1:])
    sys.stdout.flush()
except KeyboardInterrupt:
    print("fray run: interrupted", file=sys.stderr)
    code = INTERRUPTED
except BrokenPipeError:  # the reader of standard output has closed it
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    code = FAILED
sys.exit(code)
