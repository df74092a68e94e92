"""Tasks by the dozen."""

import ray

ray.init(num_cpus=2)


@ray.remote
def square(number):
    return number * number


refs = [square.remote(number) for number in range(5)]
print(ray.get(refs))
print(sum(ray.get(refs)))
ray.shutdown()
# > [0, 1, 4, 9, 16]
# > 30
