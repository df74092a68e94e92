"""``python -m fray._top [--once] [--interval SECONDS] FOLDER...``: what the program `fray top` becomes."""

from __future__ import annotations

import argparse
import os
import sys
import time

from fray._command_end import command_end, show
from fray._extras import needs
from fray._node_http import NodeHttp
from fray._top.figures import as_text, look
from fray.errors import FrayError

_FAILED, _INTERRUPTED = 1, 130
_FIRST_RATES = 1.2
"""Seconds until rates are known: a node counts events only while somebody reads them."""


def main() -> int:
    """Show the nodes in these folders; return the exit code."""
    parser = argparse.ArgumentParser(prog="fray top")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--interval", type=float, default=1.0)
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args()
    nodes = [NodeHttp(folder) for folder in options.folders]
    if options.once or not _is_terminal():
        _print_once(nodes)
        return 0
    with needs("top", "textual", "it"):
        from fray._top.app import TopApp
    # readline exports them, and Textual would take them for the terminal's size, also after a resize.
    os.environ.pop("COLUMNS", None)
    os.environ.pop("LINES", None)
    TopApp(nodes, options.interval).run()
    return 0


def _is_terminal() -> bool:
    """Return whether input and output are a terminal that can move its cursor."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def _print_once(nodes: list[NodeHttp]) -> None:
    for node in nodes:
        look(node)
    time.sleep(_FIRST_RATES)
    show("\n\n".join(as_text(look(node)) for node in nodes))


def _main_or_why() -> int:
    try:
        return main()
    except (FrayError, ModuleNotFoundError) as error:
        print(f"fray top: {error}", file=sys.stderr)
        return _FAILED
    except KeyboardInterrupt:  # people end it so
        return _INTERRUPTED


sys.exit(command_end("top", _main_or_why))
