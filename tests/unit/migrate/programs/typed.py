"""Annotations with Ray's types."""

from __future__ import annotations

from ray.actor import ActorHandle

import ray
from ray import ObjectRef


@ray.remote
class Store:
    def __init__(self) -> None:
        self.refs: list[ObjectRef] = []
        self.others: dict[str, ActorHandle] = {}

    def know(self, others: dict[str, ActorHandle]) -> None:
        self.others = others

    def totals(self) -> dict[str, int]:
        return {name: ray.get(other.total.remote()) for name, other in self.others.items()}

    def add(self, refs: list[ObjectRef]) -> int:
        self.refs.extend(refs)
        return len(self.refs)

    def total(self) -> int:
        return sum(ray.get(self.refs))


def fill(store: ActorHandle, refs: list[ray.ObjectRef]) -> int:
    return ray.get(store.add.remote(refs))


def is_ref(value: object) -> bool:
    return isinstance(value, ray.ObjectRef)


ray.init(num_cpus=2)
keeper = Store.remote()
ones: list[ray.ObjectRef] = [ray.put(1) for _ in range(3)]
print(fill(keeper, ones), is_ref(ones[0]), is_ref(1))
print(ray.get(keeper.total.remote()))
asker = Store.remote()
ray.get(asker.know.remote({"keeper": keeper}))
print(ray.get(asker.totals.remote()))
ray.shutdown()
# > 3 True False
# > 3
# > {'keeper': 3}
