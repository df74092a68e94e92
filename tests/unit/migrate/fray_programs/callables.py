"""Tasks of what is no function of Python: builtins, partials, methods, and what a parameter holds."""

import math
from functools import partial
from operator import add

import fray


def multiply(a, b):
    return a * b


class Tools:
    def __init__(self, step):
        self.step = step

    @staticmethod
    def same(x):
        return x

    @classmethod
    def name(cls, x):
        return f"{cls.__name__} {x}"

    def further(self, x):
        return x + self.step

    def all(self):
        return [ctx.run(self.further, 1), ctx.run(self.same, 1), ctx.run(self.name, 1)]


def start(function, *args):
    return ctx.create_task(function, args)


ctx = fray.init(cpus=2)
half = partial(multiply, 0.5)
tools = Tools(3)
print(ctx.get([ctx.create_task(len, ([1, 2],)), ctx.run(math.sqrt, 4.0), ctx.run(add, 4, 5)]))
# > [2, 2.0, 9]
print(ctx.get([ctx.run(str.upper, "a"), ctx.run("-".join, ["a", "b"]), ctx.run(sorted, [2, 1], reverse=True)]))
# > ['A', 'a-b', [2, 1]]
print(ctx.get([ctx.run(partial(multiply, 3), 4), ctx.run(half, 4), ctx.run(lambda x: x + 1, 4)]))
# > [12, 2.0, 5]
print(
    ctx.get([ctx.run(function, 2.5) for function in (math.floor, math.ceil)]),
    ctx.get([start(multiply, 4, 4), start(len, "ab")]),
)
# > [2, 3] [16, 2]
print(ctx.get(tools.all()), ctx.get([ctx.run(tools.further, 2), ctx.run(Tools.same, 2), ctx.run(Tools.name, 2)]))
# > [4, 1, 'Tools 1'] [5, 2, 'Tools 2']
print(tools.further(3), Tools.same(3), Tools.name(3), half(3))
# > 6 3 Tools 3 1.5
