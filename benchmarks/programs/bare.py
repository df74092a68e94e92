"""A Python that does nothing, for comparison; it stays until its input ends."""

import sys

print(flush=True)
sys.stdin.read()
