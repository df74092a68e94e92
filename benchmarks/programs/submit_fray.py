"""Submits `true` to the dashboard at the URL given; prints the job, the milliseconds and the most memory as JSON."""

import json
import sys
import time

from benchmarks.peak import peak_megabytes

start = time.perf_counter()

from fray._ray_jobs import RayJobs  # noqa: E402

job = RayJobs(sys.argv[1]).submit("true")
milliseconds = 1e3 * (time.perf_counter() - start)
print(json.dumps({"job": job, "submit_ms": milliseconds, "peak_mb": peak_megabytes()}), flush=True)
