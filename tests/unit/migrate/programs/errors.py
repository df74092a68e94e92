"""Exceptions of tasks and of the engine."""

import time

from ray.exceptions import GetTimeoutError, RayTaskError

import ray


class OutOfStock(ValueError):
    pass


@ray.remote(max_retries=0)
def sell(name):
    if name == "nothing":
        raise OutOfStock("no " + name)
    return name


@ray.remote
def slow():
    time.sleep(60)


def main():
    ray.init(num_cpus=2)
    try:
        ray.get(sell.remote("nothing"))
    except OutOfStock as error:
        print("own type", isinstance(error, ValueError))
    try:
        ray.get(sell.remote("nothing"))
    except RayTaskError as error:
        print("any", isinstance(error.cause, OutOfStock))
    ref = slow.remote()
    try:
        ray.get(ref, timeout=0.05)
    except GetTimeoutError:
        print("too slow")
    ray.cancel(ref, force=True)
    try:
        ray.get(ref)
    except (ray.exceptions.TaskCancelledError, ray.exceptions.WorkerCrashedError):
        print("cancelled")
    ray.shutdown()


main()
# > own type True
# > any True
# > too slow
# > cancelled
