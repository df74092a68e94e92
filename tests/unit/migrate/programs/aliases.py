"""Ray by other names."""

import ray as r
from ray import get, put, remote, wait


@remote
def twice(value):
    return value * 2


@r.remote(max_retries=2)
def thrice(value):
    return value * 3


def main():
    import ray

    ray.init(num_cpus=2)
    done, rest = wait([twice.remote(put(4))])
    print(get(done), rest)
    print(list(map(r.get, [thrice.remote(1), thrice.remote(2)])))
    ray.shutdown()


main()
# > [8] []
# > [3, 6]
