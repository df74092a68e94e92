"""How the examples run a job: start it, show what it prints, and end as it ends."""

from __future__ import annotations

import sys

import fray

INTERRUPTED = 130


def run_and_follow(request: fray.JobRequest) -> int:
    """Run a job on the current cluster, print what it prints, and return its exit code; Ctrl-C ends the job too."""
    try:
        cluster = fray.current_cluster()
        job = cluster.launch(request)
    except (fray.FrayError, ValueError) as error:
        print(f"{request.name} cannot be started: {error}", file=sys.stderr)
        return 2
    return follow(cluster, job)


def follow(cluster: fray.Cluster, job: fray.JobId) -> int:
    """Print what a job prints until it ends, and return its exit code; Ctrl-C ends the job too."""
    try:
        for text in cluster.follow(job):
            print(text, end="", flush=True)
        info = cluster.wait(job)
    except KeyboardInterrupt:
        cluster.terminate(job)
        return INTERRUPTED
    if info.status is fray.JobStatus.SUCCEEDED:
        return 0
    print(f"job {job} {info.status}: {info.error_message}", file=sys.stderr)
    return info.exit_code or 1
