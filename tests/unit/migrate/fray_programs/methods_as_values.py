"""Methods of actors in variables, returned, in containers, and given to what calls them."""

from functools import partial

import fray


class Adder:
    def add(self, a, b=1):
        return a + b

    def put(self, a):
        return a

    def get(self):
        return 0


ctx = fray.init(cpus=2)
adder = ctx.create_actor(Adder)


def direct():
    return adder.add


def named():
    method = adder.add
    return method


def held():
    return {"add": adder.add}


print(ctx.get([direct()(1), named()(2), held()["add"](3)]))
# > [2, 3, 4]
methods = [adder.add, adder.add]
print(ctx.get([method(5) for method in methods]))
# > [6, 6]
for method in methods:
    print(ctx.get(method(6, b=2)))
# > 8
# > 8


class Sum(Adder):
    def add(self, a, b=1):
        return super().add(a, b)


def twice(method, value):
    return [ctx.get(method(value)), ctx.get(method(value, b=2))]


queue = fray.ActorQueue()
queue.put(3)
print(twice(adder.add, 1), twice(method=adder.add, value=2), ctx.get(ctx.create_actor(Sum).add(queue.get())))
# > [2, 3] [3, 4] 4
add = adder.add
print(ctx.get(list(map(add, [1, 2]))), ctx.get(list(map(adder.add, [1, 2], [3, 4]))), ctx.get(partial(add, 1)(9)))
# > [2, 3] [4, 6] 10
