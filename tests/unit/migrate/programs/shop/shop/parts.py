"""What the shop has."""

import ray

CPUS = 0.5


@ray.remote(num_cpus=CPUS)
def price(name):
    return len(name)


@ray.remote(max_retries=1)
def weigh(name):
    return 2 * len(name)


@ray.remote
class Shelf:
    def __init__(self, stock):
        self.stock = dict(stock)

    def take(self, name):
        self.stock[name] -= 1
        return self.stock[name]
