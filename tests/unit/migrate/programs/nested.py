"""Tasks that start tasks, and refs inside of containers."""

import ray


@ray.remote
def leaf(number):
    return [number]


@ray.remote
def tree(depth):
    if depth == 0:
        return ray.get(leaf.remote(1))
    left, right = tree.remote(depth - 1), tree.remote(depth - 1)
    return ray.get(left) + ray.get(right)


@ray.remote
def unpack(boxed):
    return sum(ray.get(boxed["refs"]))


ray.init(num_cpus=2)
print(len(ray.get(tree.remote(3))))
print(ray.get(unpack.remote({"refs": [ray.put(number) for number in (1, 2, 3)]})))
ray.shutdown()
# > 8
# > 6
