"""Does as submit_fray.py does, through Ray's own client."""

import json
import sys
import time

from benchmarks.peak import peak_megabytes

start = time.perf_counter()

from ray.job_submission import JobSubmissionClient  # noqa: E402

job = JobSubmissionClient(sys.argv[1]).submit_job(entrypoint="true")
milliseconds = 1e3 * (time.perf_counter() - start)
print(json.dumps({"job": job, "submit_ms": milliseconds, "peak_mb": peak_megabytes()}), flush=True)
