"""Supervisors that make actors of their own, kept in fields and dicts."""

from collections import defaultdict

import ray


@ray.remote(num_cpus=0)
class Trainer:
    def __init__(self, factor, data):
        self.factor = factor
        self.data = data

    def fit(self):
        return self.factor * sum(self.data)


@ray.remote(num_cpus=0)
class Supervisor:
    def __init__(self, factor, data):
        self.trainers = [Trainer.remote(factor, part) for part in data]

    def fit(self):
        return ray.get([trainer.fit.remote() for trainer in self.trainers])


class Registry:
    def __init__(self):
        self.supervisors = {}
        self.results = defaultdict(list)

    def start(self, data):
        for factor in (1, 2):
            self.supervisors[factor] = Supervisor.remote(factor, data)

    def run(self):
        for factor, supervisor in self.supervisors.items():
            self.results[factor] = ray.get(supervisor.fit.remote())
        return dict(self.results)


ray.init(num_cpus=2)
registry = Registry()
registry.start([[1, 2], [3]])
print(registry.run())
ray.shutdown()
# > {1: [3, 3], 2: [6, 6]}
