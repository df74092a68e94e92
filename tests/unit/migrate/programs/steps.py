"""A framework that starts steps by name, with functions that come in as values."""

import dataclasses
from collections.abc import Callable

import ray.remote_function

import ray


@dataclasses.dataclass
class Step:
    name: str
    fn: Callable
    config: dict


def tokenize(config):
    return config["text"].split()


def count(config):
    return len(config["text"])


class Executor:
    def __init__(self):
        self.refs = {}

    def launch(self, step: Step):
        runtime_env = {"env_vars": {"STEP": step.name}}
        if isinstance(step.fn, ray.remote_function.RemoteFunction):
            ref = step.fn.options(name=f"step:{step.name}", runtime_env=runtime_env).remote(step.config)
        else:
            remote_fn = ray.remote(step.fn)
            ref = remote_fn.options(name=f"step:{step.name}", runtime_env=runtime_env).remote(step.config)
        self.refs[step.name] = ref

    def run(self, steps):
        for step in steps:
            self.launch(step)
        return {name: ray.get(ref) for name, ref in self.refs.items()}


ray.init(num_cpus=2)
print(Executor().run([Step("tokens", tokenize, {"text": "a b"}), Step("size", count, {"text": "abc"})]))
ray.shutdown()
# > {'tokens': ['a', 'b'], 'size': 3}
