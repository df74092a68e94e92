"""Classes of the main script: they are pickled once while they are unchanged, and workers have them as they are now."""

from __future__ import annotations

import pytest

from tests.chaos.harness import run_driver

CLASSES = """
import abc, collections, dataclasses, enum, functools, gc, os, pickle, sys, types, typing, weakref
from dataclasses import dataclass, field
from fray import TaskOptions

LIMIT = 1

def limit():
    return LIMIT

@dataclass
class Point:
    x: int
    y: list = field(default_factory=list)
    kind = "point"
    def limits(self):
        return limit(), LIMIT, self.kind

@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Frozen:
    x: int = 3
    inner: Point | None = None

class Color(enum.Enum):
    RED = 1
    BLUE = "b"
    _ = 7
    def shown(self):
        return f"<{self.name}>"

class Odd:
    def annotated(self, one: types.SimpleNamespace(__args__=5) = 1) -> 3:
        return 8
setattr(Odd, "", 1)

class Flag(enum.IntFlag):
    A = 1
    B = 2

Pair = collections.namedtuple("Pair", "a b")

class Typed(typing.NamedTuple):
    a: int
    point: Point

class Base(abc.ABC):
    __slots__ = ("kept",)
    @abc.abstractmethod
    def go(self): ...
    @property
    def twice(self):
        return 2 * self.kept
    @staticmethod
    def static():
        return LIMIT
    @classmethod
    def made(cls):
        return cls(8)

class Derived(Base):
    __slots__ = ()
    def __init__(self, kept):
        self.kept = kept
    def go(self):
        return super().twice, Point(self.kept)

class Meta(type):
    def hello(cls):
        return cls.__name__

class WithMeta(metaclass=Meta):
    pass

class Box(typing.Generic[typing.TypeVar("T")]):
    def __init__(self, value):
        self.value = value

class Failure(ValueError):
    def __init__(self, code):
        super().__init__(code)
        self.code = code

class Lists:
    items = []

class Node:
    def other(self):
        return Leaf(self)
class Leaf:
    def __init__(self, node):
        self.node = node
    def again(self):
        return Node()

def same(value):
    return value

def of_kind(value):
    return type(value).__qualname__, id(type(value)), value
"""


def check(text: str, start_method: str | None = None, cpus: int = 1) -> None:
    indented = "\n".join("    " + line for line in text.strip().splitlines())
    program = f"{CLASSES}\nwith NativeJobContext(cpus={cpus}, start_method={start_method!r}) as ctx:\n{indented}\n"
    run_driver(program).ok()


@pytest.mark.parametrize("start_method", [None, "fork", "forkserver"])
def test_objects_come_back_as_objects_of_the_classes_of_the_program(start_method: str | None) -> None:
    check(
        """
values = [
    Point(1), Frozen(x=4, inner=Point(2)), Color.RED, Color("b"), Flag.A | Flag.B, Pair(1, 2), Typed(1, Point(2)),
    Derived(3), WithMeta(), Box(4), Node(), Leaf(Node()), Lists(), Point, Meta, WithMeta, Color,
]
for value in [*values, values]:
    for _ in range(3):
        got = ctx.get(ctx.run(same, value))
        assert type(got) is type(value), (got, value)
        assert got == value or not hasattr(type(value), "__dataclass_fields__"), (got, value)
        kept = ctx.get(ctx.put(value))
        assert type(kept) is type(value)
assert ctx.get(ctx.run(same, Color.RED)) is Color.RED
assert ctx.get(ctx.run(Color.BLUE.shown)) == "<BLUE>"
assert ctx.get(ctx.run(Odd().annotated)) == 8
assert ctx.get(ctx.run(Derived(3).go)) == (6, Point(3))
assert ctx.get(ctx.run(Derived.made)).twice == 16
assert ctx.get(ctx.run(WithMeta.hello)) == "WithMeta"
assert type(ctx.get(ctx.run(Node().other)).again()) is Node
assert list(ctx.map(same, [Point(n) for n in range(2000)])) == [Point(n) for n in range(2000)]
try:
    ctx.get(ctx.run(lambda: (_ for _ in ()).throw(Failure(7))))
except Failure as error:
    assert error.code == 7
""",
        start_method,
    )


def test_a_class_is_made_once_in_a_worker_and_pickled_once() -> None:
    check("""
import cloudpickle
made = []
real = cloudpickle.cloudpickle._dynamic_class_reduce
cloudpickle.cloudpickle._dynamic_class_reduce = lambda cls: made.append(cls) or real(cls)
kinds = {ctx.get(ctx.run(of_kind, Point(n)))[:2] for n in range(50)}
assert len(kinds) == 1
assert made.count(Point) == 1, made
""")


@pytest.mark.parametrize("start_method", [None, "fork", "forkserver"])
@pytest.mark.parametrize(
    "change",
    [
        "Point.kind = 'other'",
        "LIMIT = 2",
        "Point.limits = lambda self: (LIMIT, LIMIT, 'lambda')",
        "limit.__code__ = (lambda: 5).__code__",
        "del Point.kind; Point.kind = 'late'",
        "Point.kind = ['a list']",
        "Point.kind = ['a list']; ctx.get(ctx.run(limits_of, point)); Point.kind = before",
        "Point.kind = 'other'; ctx.get(ctx.run(bump)); Point.kind = before",
    ],
)
def test_workers_have_a_class_as_it_is_now(change: str, start_method: str | None) -> None:
    check(
        f"""
def limits_of(point):
    return point.limits()
def bump():
    global LIMIT
    LIMIT = LIMIT
    return Point
point, before = Point(1), Point.kind
for _ in range(2):
    assert ctx.get(ctx.run(limits_of, point)) == limits_of(point) == (1, 1, "point")
{change}
for _ in range(2):
    got = ctx.get(ctx.run(limits_of, point))
    assert got == limits_of(point), (got, limits_of(point))
""",
        start_method,
    )


def test_a_class_that_another_one_uses_is_as_it_is_now_too() -> None:
    check("""
Leaf.name = "one"
Node.name_of_leaf = lambda self: Leaf.name
def name(node):
    return node.name_of_leaf()
assert ctx.get(ctx.run(name, Node())) == "one"
Leaf.name = "two"
assert ctx.get(ctx.run(name, Node())) == "two"
assert ctx.get(ctx.run(lambda leaf: leaf.name, Leaf(1))) == "two"
old = ctx.put(Node())
Leaf.name = "three"
assert ctx.get(ctx.run(name, Node())) == "three"
assert ctx.get(ctx.run(name, old)) == "two", "an object has its classes as they were when it was made"
assert ctx.get(ctx.run(name, Node())) == "three"
assert ctx.get(ctx.run(lambda leaf: leaf.name, Leaf(1))) == "three"
""")


def test_what_tasks_do_to_a_class_stays_in_their_worker() -> None:
    check("""
def counted(point):
    type(point).count = getattr(type(point), "count", 0) + 1
    return type(point).count, point
assert [ctx.get(ctx.run(counted, Point(n))) for n in range(3)] == [(n + 1, Point(n)) for n in range(3)]
assert not hasattr(Point, "count")
assert Point.limits.__globals__ is globals(), "the class of the program is as it was"
Point.kind = "new"
assert ctx.get(ctx.run(lambda point: point.limits()[2], Point(1))) == "new"
""")


def test_a_list_in_a_class_arrives_as_it_is_at_each_call() -> None:
    check("""
for count in range(4):
    assert ctx.get(ctx.run(lambda thing: len(thing.items), Lists())) == count
    Lists.items.append(count)
""")


def test_what_the_methods_of_a_class_read_arrives_as_it_is_at_each_call() -> None:
    check("""
import logging, re
names = ["a"]
settings = {"limit": {"low": 1}}
class Settings:
    def __init__(self):
        self.level = 1
now = Settings()
log = logging.getLogger("of the script")
pattern = re.compile("a+")
class Reads:
    table = {"x": [1]}
    @functools.cached_property
    def names(self):
        return list(names)
    @functools.lru_cache
    def limit(self, key):
        return settings["limit"][key]
    def all(self):
        log.debug("not shown")
        return self.names, self.limit("low"), now.level, self.table, bool(pattern.match("a"))
def read(reads):
    return reads.all()
for number in range(3):
    expected = Reads().all()
    assert ctx.get(ctx.run(read, Reads())) == expected
    assert ctx.get(ctx.run(lambda: Reads().all())) == expected
    assert list(ctx.map(read, [Reads()] * 3)) == [expected] * 3
    reader = ctx.create_actor(Reads)
    assert ctx.get(reader.all()) == expected
    names.append("b" * number)
    settings["limit"]["low"] += 1
    now.level += 1
    Reads.table["x"].append(number)
""")


def test_a_list_that_methods_change_stays_in_the_worker_until_the_program_changes_it() -> None:
    check("""
rows = []
class Rows:
    def add(self, row):
        rows.append(row)
        return list(rows)
def add(row):
    return Rows().add(row)
assert [ctx.get(ctx.run(add, n)) for n in range(3)] == [[0], [0, 1], [0, 1, 2]]
assert ctx.get(ctx.run(Rows().add, 3)) == [0, 1, 2, 3]
rows.append("new")
assert ctx.get(ctx.run(add, 4)) == ["new", 4]
""")


def test_a_list_that_two_classes_share_is_one_for_both() -> None:
    check("""
kept = []
class Writes:
    def go(self, value):
        kept.append(value)
class Reads:
    def go(self):
        return list(kept)
class Both:
    def go(self):
        Writes().go(5)
        return Reads().go()
def from_function(value):
    Writes().go(value)
    return Reads().go()
def from_arguments(things, value):
    things[0].go(value)
    return things[1].go()
def through_another():
    return Both().go()
for number in range(2):
    assert ctx.get(ctx.run(from_function, number))[-1] == number
    assert ctx.get(ctx.run(from_arguments, [Writes(), Reads()], number))[-1] == number
    assert ctx.get(ctx.run(through_another))[-1] == 5
    assert ctx.get(ctx.run(from_function, number))[-1] == number
assert kept == []
""")


def test_settings_that_functions_and_classes_read_are_one_object_for_every_way_to_call() -> None:
    check("""
import logging
settings = {"limit": 10, "words": ["a"]}
seen = []
log = logging.getLogger("job")
@dataclass
class Job:
    name: str
    tags: list = field(default_factory=list)
    def score(self):
        seen.append(self.name)
        return settings["limit"], list(seen), settings["words"] is words_of()
def words_of():
    return settings["words"]
def work(name):
    log.info("job %s", name)
    job = Job(name, list(settings["words"]))
    return job, job.score(), list(seen), settings["words"] is words_of()
def other(name):
    return Job(name).score()[1] == list(seen), len(settings["words"])
for number in range(3):
    ways = [
        [ctx.get(ctx.run(work, "run"))],
        list(ctx.map(work, ["map"])),
        [ctx.get(ctx.run(work, "again"))],
        [ctx.get(ctx.run(lambda name: work(name), "lambda"))],
    ]
    for (way,) in ways:
        job, (limit, from_method, is_one), from_function, is_one_here = way
        assert type(job) is Job and job.tags == ["a"] * (number + 1), way
        assert limit == 10 + number and is_one and is_one_here, way
        assert from_method == from_function and from_method[-1] == job.name, way
    assert ctx.get(ctx.run(other, "x")) == (True, number + 1)
    settings["limit"] += 1
    settings["words"].append("a")
assert seen == []
""")


def test_a_function_that_brings_its_own_copies_does_not_stay_in_the_way() -> None:
    check("""
seen = []
class Notes:
    def note(self, what):
        seen.append(what)
count = 0
def exact(what):
    Notes().note(what)
    return list(seen)
def assigns(what):
    global count
    count += 1
    Notes().note(what)
    return list(seen)
for number in range(3):
    assert ctx.get(ctx.run(exact, number))[-1] == number
    assert ctx.get(ctx.run(assigns, -number)) == [-number]
    assert ctx.get(ctx.run(Notes().note, 5)) is None
    assert ctx.get(ctx.run(lambda what: exact(what), "new"))[-1] == "new"
""")


def test_what_a_cached_function_returns_is_one_object_for_functions_and_methods() -> None:
    check("""
@functools.cache
def kept():
    return []
@functools.cache
class Only:
    def add(self, what):
        kept().append(what)
        return Only() is self
class Adds:
    def add(self, what):
        kept().append(what)
def by_class(what):
    Adds().add(what)
    return list(kept())
def by_only(what):
    return Only().add(what), list(kept())
def alone():
    kept().append("alone")
    return len(kept())
for number in range(3):
    assert ctx.get(ctx.run(by_class, number))[-1] == number
    assert ctx.get(ctx.run(by_only, number)) == (True, ctx.get(ctx.run(lambda: by_only(number)))[1])
    assert ctx.get(ctx.run(alone)) == number + 1, "the cache stays in the worker"
    ctx.get(ctx.run(Adds().add, "between"))
assert kept() == []
""")


def test_a_class_may_have_itself_in_its_registry() -> None:
    check("""
class Plugin:
    registry = {}
    def __init_subclass__(cls):
        Plugin.registry[cls.__name__] = cls
    def go(self):
        return sorted(self.registry), [type(one).__name__ for one in self.ready]
class One(Plugin): pass
class Two(Plugin): pass
Plugin.ready = [One(), Two()]
def names(plugin):
    return plugin.go()
for _ in range(2):
    assert ctx.get(ctx.run(names, One())) == (["One", "Two"], ["One", "Two"])
    assert ctx.get(ctx.run(lambda: Plugin.registry["Two"]().go())) == (["One", "Two"], ["One", "Two"])
class Three(Plugin): pass
assert ctx.get(ctx.run(names, Three()))[0] == ["One", "Three", "Two"]
assert type(ctx.get(ctx.run(lambda: One()))) is One
""")


def test_a_dict_that_functions_and_methods_share_is_one_for_both() -> None:
    check("""
shared = {}
class Writer:
    def write(self, key):
        shared[key] = 1
def keys(key):
    Writer().write(key)
    return sorted(shared)
def plain(key):
    shared[key] = 2
    return sorted(shared)
for number in range(3):
    assert f"key{number}" in ctx.get(ctx.run(keys, f"key{number}"))
assert [ctx.get(ctx.run(plain, key)) for key in "ab"] == [["a"], ["a", "b"]], "it stays in the worker"
assert shared == {}
shared["new"] = 3
assert ctx.get(ctx.run(plain, "c")) == ["c", "new"]
assert "new" in ctx.get(ctx.run(keys, "d"))
""")


def test_a_function_that_assigns_globals_shares_them_with_methods() -> None:
    check("""
def assigns():
    global LIMIT
    LIMIT = 7
    return Point(0).limits()
for _ in range(2):
    assert ctx.get(ctx.run(assigns)) == (7, 7, "point")
assert LIMIT == 1
both = ctx.get(ctx.run(same, [assigns, Point(1)]))
assert type(both[1]) is Point
""")


def test_workers_hand_classes_on_to_other_workers_and_actors() -> None:
    check(
        """
class Keeper:
    made = 3
    def __init__(self, point):
        self.point = point
    def kept(self):
        return self.point, Keeper.made
def inner(point):
    return Point(point.x + 1), point.limits()
def outer(ctx_point):
    ctx = NativeJobContext.current()
    return ctx.get([ctx.run(inner, Point(n)) for n in range(3)]), ctx.get(ctx.create_actor(Keeper, ctx_point).kept())
nested, kept = ctx.get(ctx.run(outer, Point(5)))
assert nested == [(Point(n + 1), (1, 1, "point")) for n in range(3)]
assert kept == (Point(5), 3)
Keeper.made = 4
actor = ctx.create_actor(Keeper, Point(6))
assert ctx.get(actor.kept()) == (Point(6), 4)
""",
        cpus=4,
    )


def test_classes_without_end_do_not_stay_in_memory() -> None:
    check("""
def made(number):
    names = {"text": str(number) * 20_000, "__module__": "__main__"}
    return dataclasses.make_dataclass("Made", [("x", int)], namespace=names)
kinds = []
for number in range(300):
    kind = made(number)
    kinds.append(weakref.ref(kind))
    value = ctx.get(ctx.run(same, kind(number)))
    assert type(value) is kind and value.x == number
    del kind, value
gc.collect()
left = sum(kind() is not None for kind in kinds)
assert left < 250, left
""")


def test_classes_that_equal_each_other_are_not_mixed_up() -> None:
    check("""
class Equal(type):
    def __eq__(cls, other):
        return True
    def __hash__(cls):
        return 1
One, Two = Equal("One", (), {"n": 1}), Equal("Two", (), {"n": 2})
for _ in range(2):
    assert ctx.get(ctx.run(lambda value: type(value).n, One())) == 1
    assert ctx.get(ctx.run(lambda value: type(value).n, Two())) == 2
""")


@pytest.mark.parametrize("start_method", [None, "fork", "forkserver"])
def test_objects_bring_their_arrays_and_refs_with_them(start_method: str | None) -> None:
    check(
        """
import numpy
@dataclass
class Holder:
    array: object
    more: object
    ref: object = None
big, small = numpy.arange(300_000.0), numpy.arange(9)
def summed(holders):
    assert not holders[0].array.flags.writeable
    values = [] if holders[0].ref is None else NativeJobContext.current().get([one.ref for one in holders])
    return [Holder(one.array * 2, one.more) for one in holders], values
holders = [Holder(big + number, [small, bytearray(8), Point(number)], ctx.put(number)) for number in range(3)]
for _ in range(2):
    got, values = ctx.get(ctx.run(summed, holders))
    assert values == [0, 1, 2]
    for number, one in enumerate(got):
        assert type(one) is Holder and (one.array == 2 * (big + number)).all() and one.more[2] == Point(number)
kept = ctx.put(holders[0])
del holders
assert ctx.get(ctx.run(lambda one: float(one.array[1]), kept)) == 1.0
assert ctx.get(ctx.get(kept).ref) == 0
many = [Point(number) for number in range(20_000)]
assert ctx.get(ctx.run(same, many)) == many
""",
        start_method,
    )


@pytest.mark.parametrize("start_method", [None, "fork", "forkserver"])
def test_classes_of_all_kinds_arrive(start_method: str | None) -> None:
    check(
        """
class Outer:
    class Inner:
        def __init__(self, value):
            self.value = value
def local():
    class Local:
        def __init__(self, value):
            self.value = value
    return Local
class Reduced:
    def __init__(self, value):
        self.value = value
    def __reduce__(self):
        return Reduced, (self.value + 1,)
class State:
    def __getstate__(self):
        return {"value": 5}
class Descriptor:
    def __get__(self, thing, kind):
        return "described"
class Described:
    value = Descriptor()
class Registry:
    kinds = {}
    def __init_subclass__(cls):
        Registry.kinds[cls.__name__] = cls
class Registered(Registry):
    value = 3
@functools.total_ordering
class Ordered:
    def __init__(self, value):
        self.value = value
    def __eq__(self, other):
        return self.value == other.value
    def __lt__(self, other):
        return self.value < other.value
class Cached:
    value = functools.cached_property(lambda self: 4) if sys.version_info >= (3, 12) else 4
class Slots:
    __slots__ = "value"
class Private:
    __slots__ = ("__value",)
    def __init__(self):
        self.__value = 6
    @property
    def value(self):
        return self.__value
class Dict(dict):
    value = 1
class Iterable(abc.ABC):
    value = 1
Iterable.register(list)
Local = local()
slots = Slots()
slots.value = 7
things = [Outer.Inner(1), Local(2), Reduced(3), State(), Described(), Registered(), Ordered(4), Cached(), slots]
things += [Private(), Dict(a=1), Iterable()]
def value_of(thing):
    return type(thing).__name__, getattr(thing, "value", None), isinstance([], Iterable)
def twice(thing):
    return thing, thing.__class__
for thing in things:
    for _ in range(2):
        name, value, has_list = ctx.get(ctx.run(value_of, thing))
        assert name == type(thing).__name__ and has_list
        assert value == {State: 5, Reduced: 4}.get(type(thing), getattr(thing, "value", None)), (name, value)
        got, kind = ctx.get(ctx.run(twice, thing))
        assert type(got) is kind is type(thing)
assert ctx.get(ctx.run(lambda: Ordered(1) >= Ordered(0)))
assert ctx.get(ctx.run(lambda: sorted(Registry.kinds))) == ["Registered"]
class Later(Registry):
    pass
assert ctx.get(ctx.run(lambda: sorted(Registry.kinds))) == ["Later", "Registered"]
Iterable.register(dict)
assert ctx.get(ctx.run(lambda: isinstance({}, Iterable)))
""",
        start_method,
    )


def test_a_class_that_is_defined_again_is_another_one() -> None:
    check("""
First = Point
@dataclass
class Point:
    x: int
    more: int = 9
def kinds(one, other):
    return type(one) is type(other), one, other
for _ in range(3):
    same_kind, one, other = ctx.get(ctx.run(kinds, First(1), Point(2)))
    assert not same_kind and type(one) is First and type(other) is Point and other.more == 9
    assert ctx.get(ctx.run(same, [First(1), Point(2)])) == [First(1), Point(2)]
    assert [type(each) for each in ctx.get(ctx.run(same, [Point(2), First(1)]))] == [Point, First]
""")


def test_a_task_can_pickle_objects_of_the_classes_that_it_got() -> None:
    check("""
def written(point):
    return pickle.dumps([point, type(point)]), pickle.loads(pickle.dumps(point)) == point
data, is_equal = ctx.get(ctx.run(written, Point(3)))
assert is_equal and pickle.loads(data) == [Point(3), Point]
""")


def test_threads_that_send_a_class_while_it_changes_get_it_in_one_of_its_states() -> None:
    check(
        """
def kind_of(point):
    return point.kind
Point.kind = 0
stop = threading.Event()
def change():
    while not stop.is_set():
        Point.kind += 1
changer = threading.Thread(target=change)
changer.start()
failures = []
def ask():
    last = -1
    for _ in range(100):
        before = Point.kind
        kind = ctx.get(ctx.run(kind_of, Point(1)))
        if not before <= kind <= Point.kind:
            failures.append((before, kind, Point.kind))
askers = [threading.Thread(target=ask) for _ in range(3)]
for asker in askers:
    asker.start()
for asker in askers:
    asker.join()
stop.set()
changer.join()
assert not failures, failures[:3]
""",
        cpus=1,
    )


def test_methods_that_run_at_once_get_classes_that_change_meanwhile() -> None:
    check(
        """
from fray import ActorOptions
Node.name_of_leaf = lambda self: Leaf.kind
Leaf.kind = 0
class Names:
    def of(self, things):
        return [thing.name_of_leaf() if isinstance(thing, Node) else type(thing).kind for thing in things]
names = ctx.create_actor(Names, options=ActorOptions(max_concurrency=8))
refs = []
for number in range(300):
    Leaf.kind = number
    refs.append(names.of([Node(), Leaf(Node())]) if number % 2 else names.of([Leaf(1), Node()]))
for number, kinds in enumerate(ctx.get(refs)):
    assert all(isinstance(kind, int) for kind in kinds[:2]), kinds
assert ctx.get(names.of([Leaf(1), Node()])) == [299, 299]
""",
        cpus=2,
    )


def test_generators_actors_and_errors_bring_classes() -> None:
    check(
        """
def points():
    for number in range(5):
        yield Point(number)
class Store:
    def __init__(self):
        self.points = []
    async def add(self, point):
        self.points.append(point)
        return self.points
    def fails(self, point):
        raise Failure(point)
assert [ctx.get(ref) for ref in ctx.run(points)] == [Point(number) for number in range(5)]
store = ctx.create_actor(Store)
for number in range(3):
    assert ctx.get(store.add(Point(number)))[-1] == Point(number)
for _ in range(2):
    try:
        ctx.get(store.fails(Point(8)))
    except Failure as error:
        assert error.code == Point(8) and type(error) is Failure
    else:
        raise AssertionError("it has not failed")
assert Point.limits.__globals__ is globals()
""",
        cpus=2,
    )


RANDOM_SCRIPTS = """
import fray, fray._classes_by_value, fray._function_parts, fray._snapshots
from tests.chaos.shared_state import check
fray._snapshots._LARGE_ITEMS = {least}  # from which on globals are pickled by themselves
fray._classes_by_value.LEAST_BYTES = fray._function_parts.LEAST_BYTES = 64 * {least}  # and parts are objects
with fray.init(cpus=1, start_method={start_method!r}) as ctx:
    for seed in range({first}, {last}):
        check(ctx, seed, globals())
"""


@pytest.mark.parametrize("start_method", ["fork", "forkserver"])
def test_functions_and_classes_have_their_globals_in_common_in_scripts_written_at_random(start_method: str) -> None:
    run_driver(RANDOM_SCRIPTS.format(least=0, start_method=start_method, first=0, last=60)).ok()


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 4000, 300))
def test_functions_and_classes_have_their_globals_in_common_in_many_scripts(first: int) -> None:
    settings = {"least": 0 if first % 600 else 1000, "start_method": "forkserver"}
    run_driver(RANDOM_SCRIPTS.format(**settings, first=first, last=first + 300)).ok()
