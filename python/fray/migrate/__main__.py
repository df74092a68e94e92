"""``python -m fray.migrate [OPTIONS] PATH...``: the command `fray migrate` replaces itself by this program."""

from __future__ import annotations

import os
import sys

FAILED, INTERRUPTED = 1, 130

try:
    from fray._extras import needs

    with needs("migrate", "libcst", "it"):
        from fray.migrate.command import main

    code = main(sys.argv[1:])
    sys.stdout.flush()
except ModuleNotFoundError as error:
    print(f"fray migrate: {error}", file=sys.stderr)
    code = FAILED
except KeyboardInterrupt:
    print("fray migrate: interrupted; nothing is half written", file=sys.stderr)
    code = INTERRUPTED
except BrokenPipeError:  # the reader of the report has closed the pipe; Python must not flush into it at its exit
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    code = FAILED
sys.exit(code)
