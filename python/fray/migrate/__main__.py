"""``python -m fray.migrate [OPTIONS] PATH...``: the command `fray migrate` replaces itself by this program."""

from __future__ import annotations

import sys

from fray._command_end import command_end
from fray._extras import needs

_FAILED = 1


def _main() -> int:
    try:
        with needs("migrate", "libcst", "it"):
            from fray.migrate.command import main
    except ModuleNotFoundError as error:
        print(f"fray migrate: {error}", file=sys.stderr)
        return _FAILED
    return main(sys.argv[1:])


sys.exit(command_end("migrate", _main, "interrupted; nothing is half written"))
