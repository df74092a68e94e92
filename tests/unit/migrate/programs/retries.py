"""Retries of tasks and actors' tasks."""

import os
import tempfile

import ray


@ray.remote(max_retries=3, retry_exceptions=[OSError])
def flaky(folder):
    count = len(os.listdir(folder))
    open(os.path.join(folder, str(count)), "w").close()
    if count < 2:
        raise OSError("not yet")
    return count


@ray.remote(max_retries=2, retry_exceptions=True)
def never(folder):
    open(os.path.join(folder, str(len(os.listdir(folder)))), "w").close()
    raise ValueError("no")


ray.init(num_cpus=2)
with tempfile.TemporaryDirectory() as folder:
    print(ray.get(flaky.remote(folder)))
with tempfile.TemporaryDirectory() as folder:
    try:
        ray.get(never.remote(folder))
    except ValueError:
        print(len(os.listdir(folder)))
ray.shutdown()
# > 2
# > 3
