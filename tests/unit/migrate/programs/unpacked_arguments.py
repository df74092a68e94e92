"""Arguments of all forms, and calls over several lines."""

import ray


@ray.remote
def show(*args, **kwargs):
    return args, sorted(kwargs.items())


@ray.remote
class Keeper:
    def __init__(self, *parts, name="none", **more):
        self.kept = parts, name, sorted(more.items())

    def kept_parts(self):
        return self.kept


ray.init(num_cpus=2)
pair = (1, 2)
more = {"x": 1}
print(ray.get(show.remote(*pair, 3, y=2, **more)))
print(ray.get(show.remote(**more)))
print(
    ray.get(
        show.remote(
            "a",  # the first
            # and the second
            "b",
        )
    )
)
print(ray.get(Keeper.remote(*pair, name="keeper", **more).kept_parts.remote()))
ray.shutdown()
# > ((1, 2, 3), [('x', 1), ('y', 2)])
# > ((), [('x', 1)])
# > (('a', 'b'), [])
# > ((1, 2), 'keeper', [('x', 1)])
