"""An actor whose class inherits, holds itself, and is detached."""

import ray


class Base:
    def __init__(self, name):
        self.name = name

    def hello(self):
        return f"hello from {self.name}"


@ray.remote
class Child(Base):
    def __init__(self, name, peers=()):
        super().__init__(name)
        self.peers = list(peers)

    def ask(self):
        return ray.get([peer.hello.remote() for peer in self.peers])

    def me(self):
        return ray.get_runtime_context().current_actor


ray.init(num_cpus=2, namespace="family")
first = Child.options(name="first", lifetime="detached").remote("first")
second = Child.remote("second", peers=[first])
print(ray.get(second.ask.remote()))
itself = ray.get(first.me.remote())
print(ray.get(itself.hello.remote()), itself == first)
ray.kill(first)
ray.shutdown()
# > ['hello from first']
# > hello from first True
