"""In a process that `multiprocessing` has spawned, functions and classes of the main script work as in the program."""

from __future__ import annotations

import pytest

from tests.chaos.harness import run_driver

PROGRAM = """
import dataclasses, enum, multiprocessing

def double(x):
    return 2 * x

def calls_another(x):
    return double(x) + OFFSET

OFFSET = 1

class Thing:
    def __init__(self, value):
        self.value = value
    def twice(self):
        return Thing(2 * self.value)

@dataclasses.dataclass(slots=True)
class Point:
    x: int

class Colour(enum.Enum):
    RED = 1

class OwnError(Exception):
    pass

class Counter:
    def __init__(self):
        self.points = []
    def add(self, point):
        self.points.append(point)
        return self.points

def fail():
    raise OwnError("no")

def child():
    assert __name__ == "__mp_main__", __name__
    with NativeJobContext(cpus=1) as ctx:
        assert ctx.get(ctx.run(calls_another, 20)) == 41
        assert ctx.get(ctx.run(lambda: double(1))) == 2
        thing = ctx.get(ctx.run(Thing(3).twice))
        assert type(thing) is Thing and thing.value == 6
        assert type(ctx.get(ctx.put(thing))) is Thing
        assert ctx.get(ctx.run(Point, 5)) == Point(5)
        assert ctx.get([ctx.run(max, [Point(1), Point(1)], key=lambda point: point.x)]) == [Point(1)]
        assert ctx.get(ctx.run(lambda: Colour.RED)) is Colour.RED
        try:
            ctx.get(ctx.run(fail))
        except OwnError as error:
            assert str(error) == "no"
        counter = ctx.create_actor(Counter)
        assert ctx.get(counter.add.remote(Point(1))) == [Point(1)]
        assert list(ctx.map(double, range(5))) == [0, 2, 4, 6, 8]
        print("all is well")

if __name__ == "__main__":
    process = multiprocessing.get_context(sys.argv[1]).Process(target=child)
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_the_main_script_works_in_a_child_of_multiprocessing(method: str) -> None:
    source = PROGRAM if method != "fork" else PROGRAM.replace('__name__ == "__mp_main__"', '__name__ == "__main__"')
    driver = run_driver(source, method)
    assert (driver.code, driver.stdout) == (0, "all is well\n"), driver
