"""ray.remote as a function, with and without options, and names given to options."""

import ray


def add(a, b):
    return a + b


class Box:
    def __init__(self, content):
        self.content = content

    def open(self):
        return self.content


remote_add = ray.remote(add)
small_add = ray.remote(num_cpus=0.5)(add)
named_add = small_add.options(name="sum", max_retries=0)
RemoteBox = ray.remote(Box)

ray.init(num_cpus=2)
print(ray.get(remote_add.remote(1, 2)), add(3, 4))
print(ray.get(small_add.remote(5, 6)))
print(ray.get([named_add.remote(7, 8), named_add.remote(1, 1)]))
box = RemoteBox.remote("gold")
print(ray.get(box.open.remote()))
print(ray.get(ray.remote(lambda x: x + 1).remote(9)))
ray.shutdown()
# > 3 7
# > 11
# > [15, 2]
# > gold
# > 10
