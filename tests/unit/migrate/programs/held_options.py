"""Options that are kept in dicts of literals."""

import ray

SMALL = {"num_cpus": 0.5, "max_retries": 1}
OF_ACTORS = {"num_cpus": 0, "max_restarts": 1}


@ray.remote
def add(a, b=1):
    return a + b


@ray.remote(**OF_ACTORS)
class Counter:
    def __init__(self, start):
        self.count = start

    def next(self):
        self.count += 1
        return self.count


def both(value):
    several = {"name": "several", "num_cpus": 1}
    return ray.get([add.options(**SMALL).remote(value), add.options(max_retries=0, **several).remote(value, b=2)])


def main():
    ray.init(num_cpus=2)
    print(both(1))
    print(ray.get(add.options(**SMALL).remote(5)), ray.get(add.options(**{"num_cpus": 1}).remote(6)))
    counter = Counter.options(**{"name": "counted"}).remote(3)
    print(ray.get(counter.next.remote()), ray.get(counter.next.options(**{"name": "again"}).remote()))
    ray.shutdown()


if __name__ == "__main__":
    main()
# > [2, 3]
# > 6 7
# > 4 5
