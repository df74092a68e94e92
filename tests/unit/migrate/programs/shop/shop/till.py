"""The till, which gets at the parts through their module."""

import ray

from . import parts


def cost(name):
    return ray.get(parts.price.remote(name))


def sell(shelf, name):
    left = ray.get(shelf.take.remote(name))
    return f"sold {name}, {left} left"
