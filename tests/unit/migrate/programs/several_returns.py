"""num_returns on functions, calls and methods."""

import ray


@ray.remote(num_returns=2)
def divide(a, b):
    return a // b, a % b


@ray.remote
def three():
    return 1, 2, 3


@ray.remote
class Pair:
    @ray.method(num_returns=2)
    def both(self, left):
        return left, -left

    def many(self):
        return "x", "y"


ray.init(num_cpus=2)
quotient, rest = divide.remote(17, 5)
print(ray.get(quotient), ray.get(rest))
a, b, c = three.options(num_returns=3).remote()
print(ray.get([c, b, a]))
pair = Pair.remote()
left, right = pair.both.remote(4)
print(ray.get([left, right]))
first, second = pair.many.options(num_returns=2).remote()
print(ray.get(first) + ray.get(second))
ray.shutdown()
# > 3 2
# > [3, 2, 1]
# > [4, -4]
# > xy
