"""An actor, its name, its handle in tasks."""

import ray


@ray.remote
class Counter:
    """Counts."""

    STEP = 1

    def __init__(self, start=0):
        self.value = start

    def add(self, amount=STEP):
        self.value += amount
        return self.value

    def read(self):
        return self.value


@ray.remote
def add_many(counter, times):
    for _ in range(times):
        ray.get(counter.add.remote())
    return times


if __name__ == "__main__":
    ray.init(num_cpus=2, namespace="counting")
    counter = Counter.options(name="total", get_if_exists=True, max_concurrency=1).remote(start=10)
    print(sum(ray.get([add_many.remote(counter, 3) for _ in range(2)])))
    print(ray.get(counter.read.remote()))
    again = ray.get_actor("total")
    print(ray.get(again.add.remote(amount=4)))
    ray.kill(counter)
    ray.shutdown()
# > 6
# > 16
# > 20
