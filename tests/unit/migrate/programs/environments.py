"""Environments of tasks and actors."""

import os

import ray


@ray.remote(runtime_env={"env_vars": {"COLOUR": "blue"}})
def colour():
    return os.environ["COLOUR"]


@ray.remote
class Painter:
    def colour(self):
        return os.environ.get("COLOUR")


settings = {"env_vars": {"COLOUR": "green"}}

ray.init(num_cpus=2)
print(ray.get(colour.remote()))
print(ray.get(colour.options(runtime_env={"env_vars": {"COLOUR": "red"}}).remote()))
painter = Painter.options(runtime_env=settings).remote()
print(ray.get(painter.colour.remote()))
ray.shutdown()
# > blue
# > red
# > green
