"""Programs that join a node and work, for pages to show."""

from __future__ import annotations

import subprocess
import sys
from types import TracebackType

from .conftest import Node

BUSY = """
import sys, time, fray

class Counter:
    def add(self, number):
        time.sleep(0.005)
        return number

def tokenize(number):
    time.sleep(0.005)
    return b"x" * 200_000

def shuffle(part):
    time.sleep(0.003)
    return part[::-1]

def flawed(number):
    raise ValueError(f"record {number} has no <img src=x onerror='document.title=1'>")

def asleep():
    time.sleep(3600)

ctx = fray.init(address="auto")
parts = [ctx.run(tokenize, number) for number in range(60)]
done = [ctx.run(shuffle, part) for part in parts]
failed = [ctx.run(flawed, number) for number in range(3)]
ctx.wait(done + failed, len(done + failed))
counter = ctx.create_actor(Counter, name="counter")
ctx.get([counter.add(number) for number in range(20)])
stuck = [ctx.run(asleep) for _ in range(2)]
waiting = [ctx.create_task(asleep, options=fray.TaskOptions(resources={"CPU": 2})) for _ in range(3)]
print("ready", flush=True)
sys.stdin.read()
"""
"""Functions that end, fail and wait, an actor and objects; then it stays until its standard input ends."""

HOSTILE = """
import sys, fray

def hostile():
    raise ValueError("</script><script>document.title='taken'</script>")

hostile.__qualname__ = hostile.__name__ = "<img src=x onerror=\\"document.title='taken'\\">"

class Hostile:
    def ping(self):
        return 1

Hostile.__name__ = Hostile.__qualname__ = "<b onmouseover=alert(1)>Hostile</b>"

ctx = fray.init(address="auto")
ref = ctx.run(hostile)
ctx.wait([ref], 1)
actor = ctx.create_actor(Hostile, name="<i>name</i>")
ctx.get(actor.ping())
print("ready", flush=True)
sys.stdin.read()
"""
"""Whatever has a name has one that tries to be HTML."""

SPINNING = """
import sys, fray

def adds_up(most):
    return sum(number * number for number in range(most))

def spin():
    while True:
        adds_up(1000)

ctx = fray.init(address="auto")
spinning = ctx.run(spin)
print("ready", flush=True)
sys.stdin.read()
"""
"""A task that uses the CPU."""

LEAKING = """
import sys, threading, time, fray

def make(number):
    return bytes(150_000)

def keep():
    while True:
        kept.append(ctx.run(make, len(kept)))
        ctx.wait(kept[-1:])
        time.sleep(0.2)

ctx = fray.init(address="auto")
kept = []
threading.Thread(target=keep, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""
"""A program that keeps the ref of each object that its tasks make, five a second."""

MANY = """
import sys, fray

def count(number):
    return number

ctx = fray.init(address="auto")
for _ in range(10):
    refs = [ctx.run(count, number) for number in range(10_000)]
    ctx.wait(refs, len(refs))
    del refs
print("ready", flush=True)
sys.stdin.read()
"""
"""100,000 tasks."""


class Program:
    """A program that joined the node and has done its work; it ends with the block."""

    def __init__(self, node: Node, source: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=node.environment,
            cwd=node.home,
            text=True,
        )

    def __enter__(self) -> Program:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()
