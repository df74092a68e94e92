"""The till, which never names Ray in what it calls."""

import ray


def sell(shelf, name):
    left = ray.get(shelf.take.remote(name))
    return f"sold {name}, {left} left"
