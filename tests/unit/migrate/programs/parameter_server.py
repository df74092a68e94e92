"""A server of parameters and its workers, with numpy."""

import numpy as np

import ray


@ray.remote
class ParameterServer:
    def __init__(self, size: int):
        self.weights = np.zeros(size)

    def apply(self, *gradients):
        self.weights = self.weights + sum(gradients)
        return self.weights

    def weights_now(self):
        return self.weights


@ray.remote
class Worker:
    def __init__(self, rank):
        self.rank = rank

    def gradient(self, weights):
        return np.ones_like(weights) * (self.rank + 1)


ray.init(num_cpus=2)
server = ParameterServer.remote(3)
workers = [Worker.remote(rank) for rank in range(2)]
weights = server.weights_now.remote()
for _ in range(3):
    gradients = [worker.gradient.remote(weights) for worker in workers]
    weights = server.apply.remote(*gradients)
print([float(value) for value in ray.get(weights)])
ray.shutdown()
# > [9.0, 9.0, 9.0]
