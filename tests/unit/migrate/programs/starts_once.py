"""A program that starts Ray where it is not started, and ends it."""

import ray


@ray.remote
def hello(name):
    return f"hello {name}"


def ensure_started():
    if not ray.is_initialized():
        ray.init(num_cpus=2, ignore_reinit_error=True, log_to_driver=False, include_dashboard=False)


def greet(names):
    ensure_started()
    return ray.get([hello.remote(name) for name in names])


print(greet(["a", "b"]))
print(greet(["c"]), ray.is_initialized())
ray.shutdown()
# > ['hello a', 'hello b']
# > ['hello c'] True
