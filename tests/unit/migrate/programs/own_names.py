"""A program that makes functions and classes remote under their own names."""

import ray


class Counter:
    def __init__(self, start):
        self.value = start

    def add(self, amount):
        self.value += amount
        return self.value


class Doubler(Counter):
    def add(self, amount):
        return super().add(2 * amount)


Counter = ray.remote(Counter)
Doubler = ray.remote(num_cpus=1)(Doubler)


def square(x):
    return x * x


square = ray.remote(num_cpus=1)(square)


def last():
    class Inner:
        def get(self):
            return "inner"

    if True:
        Inner = ray.remote(Inner)
    return ray.get(Inner.remote().get.remote())


ray.init(num_cpus=4)
actors = {"b": Doubler.remote(1), "a": Counter.options(name="first").remote(1)}
for name, actor in sorted(actors.items()):
    print(name, ray.get(actor.add.remote(5)))
print(ray.get([actor.add.remote(1) for _, actor in reversed(list(actors.items()))]))
print(ray.get(square.remote(3)), last())
ray.shutdown()
# > a 6
# > b 11
# > [7, 13]
# > 9 inner
