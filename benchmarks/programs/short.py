"""``python -m benchmarks.programs.short PEER TURNS``: runs 16 short calls and prints their sum."""

import sys

from benchmarks.payloads import burn
from benchmarks.real.tools import open_tools

tools = open_tools(sys.argv[1], "native", None)
with tools.closing:
    print(sum(tools.map(burn, [int(sys.argv[2]) + at for at in range(16)])))
