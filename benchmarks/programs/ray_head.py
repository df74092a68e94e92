"""Starts Ray, prints its address, and ends it when the input ends; with an argument it prints its dashboard's URL."""

import sys

from benchmarks.engines.ray_engine import connection

with connection(None, dashboard=len(sys.argv) > 1) as context:
    print(f"http://{context.dashboard_url}" if len(sys.argv) > 1 else context.address_info["gcs_address"], flush=True)
    sys.stdin.read()
