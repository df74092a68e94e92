"""``python -m benchmarks.programs.short PEER KIND TURNS``: runs 16 short calls and prints their sum."""

import sys

from benchmarks.payloads import burn
from benchmarks.real.tools import open_tools

tools = open_tools(sys.argv[1], sys.argv[2], None)
with tools.closing:
    print(sum(tools.map(burn, [int(sys.argv[3]) + at for at in range(16)])))
