"""Remote functions and actors inside of functions, closures over refs."""

import ray


def run(offset):
    table = ray.put({"offset": offset})

    @ray.remote(num_cpus=0.5)
    def shifted(number):
        return number + ray.get(table)["offset"]

    @ray.remote
    class Cell:
        def __init__(self):
            self.items = []

        def keep(self, item):
            self.items.append(item)
            return len(self.items)

    cell = Cell.remote()
    values = ray.get([shifted.remote(number) for number in range(3)])
    return values, ray.get([cell.keep.remote(value) for value in values])


ray.init(num_cpus=2)
print(run(10))
ray.shutdown()
# > ([10, 11, 12], [1, 2, 3])
