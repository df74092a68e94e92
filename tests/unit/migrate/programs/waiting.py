"""ray.wait in a loop, with a timeout and leftovers."""

import time

import ray


@ray.remote
def nap(seconds):
    time.sleep(seconds)
    return seconds


def drain(refs):
    seen = []
    while refs:
        done, refs = ray.wait(refs, num_returns=1, timeout=30, fetch_local=False)
        seen += ray.get(done)
    return sorted(seen)


ray.init(num_cpus=2)
pending = [nap.remote(seconds) for seconds in (0.05, 0.01, 0.03)]
print(drain(pending))
slow = nap.remote(30)
ready, rest = ray.wait([slow], timeout=0)
print(len(ready), len(rest))
ray.cancel(slow, force=True, recursive=True)
ray.shutdown()
# > [0.01, 0.03, 0.05]
# > 0 1
