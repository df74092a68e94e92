"""Several drivers of one started node: each finds workers like itself, and none is the worse for another's end."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import sysconfig
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import fray
import pytest
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE, Driver, eventually, look_at, resident_bytes
from tests.chaos.started import command, report, start
from tests.chaos.tasks import echo


@pytest.fixture(autouse=True)
def node() -> Iterator[dict[str, Any]]:
    """Start the node of this test's home, and stop it after the test."""
    yield start("--cpus", "2", "--store-memory", "256MiB")
    fray.shutdown()
    command("stop")


# ---- workers that mirror their driver

MIRROR = """
import json, os, sys
import fray

ctx = fray.init(address="auto")

def look():
    import flavour
    return {
        "prefix": sys.prefix,
        "flavour": flavour.NAME,
        "folder": os.getcwd(),
        "variable": os.environ.get("FLAVOUR"),
        "first": sys.path[0],
        "pid": os.getpid(),
    }

print(json.dumps([look(), *ctx.get([ctx.run(look) for _ in range(4)])]), flush=True)
sys.stdin.readline()
print(json.dumps(ctx.get(ctx.run(look))), flush=True)
"""


def make_venv(folder: Path, flavour: str) -> Path:
    """Make a virtual environment that has this one's packages and a module `flavour` of its own."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (packages / "flavour.py").write_text(f"NAME = {flavour!r}\n")
    return folder / "bin" / "python"


def test_drivers_from_two_virtual_environments_get_workers_like_themselves(tmp_path: Path) -> None:
    drivers: list[subprocess.Popen[str]] = []
    for flavour in ("vanilla", "lemon"):
        work = tmp_path / f"work of {flavour}"
        work.mkdir()
        (work / "program.py").write_text(textwrap.dedent(MIRROR))
        python = make_venv(tmp_path / f"venv {flavour}", flavour)
        environment = {**os.environ, "FLAVOUR": flavour}
        environment.pop("PYTHONPATH", None)
        drivers.append(
            subprocess.Popen(
                [str(python), "program.py"],
                cwd=work,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    try:
        pids: list[set[int]] = []
        for driver, flavour in zip(drivers, ("vanilla", "lemon"), strict=True):
            assert driver.stdout is not None
            own, *seen = json.loads(driver.stdout.readline())
            assert own["flavour"] == flavour
            assert own["prefix"] == str(tmp_path / f"venv {flavour}")
            for worker in seen:
                assert {**worker, "pid": 0} == {**own, "pid": 0}
            pids.append({worker["pid"] for worker in seen})
        assert not pids[0] & pids[1]
        for driver, flavour in zip(drivers, ("vanilla", "lemon"), strict=True):
            out, _ = driver.communicate("\n", timeout=PATIENCE)
            assert json.loads(out)["flavour"] == flavour
            assert driver.returncode == 0
    finally:
        for driver in drivers:
            driver.kill()
            driver.communicate()


# ---- a driver's end

WORKS = """
import numpy
ctx = fray.init(address="auto")
kept = [ctx.put(numpy.ones(1 << 20)) for _ in range(4)]
nested = ctx.put([ctx.run(pow, 2, 3), ctx.put(b"x" * 200_000)])
running = [ctx.run(time.sleep, 1000) for _ in range(6)]
ctx.get(ctx.create_task(pow, (2, 3), options=fray.TaskOptions(resources={"CPU": 0})))
print("works", flush=True)
time.sleep(1000)
"""


def test_a_killed_driver_takes_its_tasks_workers_and_objects_with_it_and_nothing_else() -> None:
    with NativeJobContext(address="auto") as ctx:
        kept = ctx.put(os.urandom(2 << 20))
        before = eventually(lambda: report() if report()["objects"]["count"] <= 1 else None)
        with Driver(WORKS) as driver:
            assert driver.line() == "works"
            busy = report()
            assert len(busy["clients"]) == 2
            assert busy["store"]["used_bytes"] > before["store"]["used_bytes"]
            of_driver = eventually(
                lambda: [row["pid"] for row in report()["workers"] if row.get("task") == "sleep"],
                what="a worker that sleeps",
            )
            driver.signal(signal.SIGKILL)
        eventually(lambda: len(report()["clients"]) == 1)
        eventually(lambda: all(not is_alive(pid) for pid in of_driver))
        eventually(lambda: not report()["waiting"])
        eventually(lambda: report()["store"]["used_bytes"] <= before["store"]["used_bytes"])
        assert len(ctx.get(kept)) == 2 << 20
        assert ctx.get([ctx.run(echo, n) for n in range(20)], timeout=PATIENCE) == list(range(20))
        eventually(lambda: report()["resources"]["free"].get("CPU") == 2)


def test_leases_go_back_whichever_thread_of_the_driver_read_that_they_were_granted() -> None:
    allowed = os.sched_getaffinity(0)
    with NativeJobContext(address="auto") as ctx:
        os.sched_setaffinity(0, {min(allowed)})  # one thread reads before the other that was woken looks
        try:
            for _ in range(5):
                assert ctx.get([ctx.run(echo, n) for n in range(20)], timeout=PATIENCE) == list(range(20))
                eventually(lambda: report()["resources"]["free"].get("CPU") == 2)
        finally:
            os.sched_setaffinity(0, allowed)


def is_alive(pid: int) -> bool:
    found = look_at(pid)
    return found is not None and found.state not in "ZX"


def test_workers_of_a_driver_that_is_gone_serve_the_next_like_it_and_end_after_a_while(node: dict[str, Any]) -> None:
    source = """
    ctx = fray.init(address="auto")
    print(ctx.get(ctx.run(os.getpid)), flush=True)
    """
    script = Path(os.environ["FRAY_HOME"], "same.py")
    script.write_text("import fray, os\n" + textwrap.dedent(source))
    run = lambda: subprocess.run(  # noqa: E731
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=True
    ).stdout.strip()
    first = run()

    def idle() -> set[int]:
        return {row["pid"] for row in report()["workers"] if row["state"] == "idle"}

    eventually(lambda: int(first) in idle())
    known = idle()
    assert int(run()) in known
    eventually(lambda: report()["workers"] == [], within=2 * PATIENCE)
    eventually(lambda: children_of(node["pid"]) == [])


def test_many_different_drivers_leave_few_fork_servers_behind(node: dict[str, Any]) -> None:
    for number in range(8):
        with Driver(
            'ctx = fray.init(address="auto"); print(ctx.get(ctx.run(pow, 2, 3)), flush=True)', env={"WHO": str(number)}
        ) as driver:
            assert driver.line() == "8"
            driver.finish()
    eventually(lambda: len(children_of(node["pid"])) <= 4)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


# ---- coming and going

COMES_AND_GOES = """
import random, numpy
random.seed(int(sys.argv[1]))
ctx = fray.init(address="auto", namespace=f"of{sys.argv[1]}")
def square(values):
    return values * values
def nested(n):
    inner = fray.get_job_context()
    return sum(inner.get([inner.run(pow, i, 2) for i in range(n)]))
def stuck():
    time.sleep(1000)
print("here", flush=True)
while True:
    refs = [ctx.run(square, ctx.put(numpy.arange(random.choice([10, 50_000, 200_000])))) for _ in range(8)]
    refs += [ctx.run(nested, 5) for _ in range(2)]
    if random.random() < 0.3:
        ctx.run(stuck)
    ctx.get(refs)
    time.sleep(random.random() / 20)
"""


def live_and_die(seconds: float, drivers: int, seed: int) -> None:
    """Keep `drivers` programs running, each killed at a random moment and followed by another."""
    choose = random.Random(seed)
    deadline = time.monotonic() + seconds
    running: list[tuple[float, Driver]] = []
    number = 0
    try:
        while time.monotonic() < deadline:
            while len(running) < drivers:
                number += 1
                # Few kinds of surroundings, so that some are seen again.
                driver = Driver(COMES_AND_GOES, seed * 1000 + number, env={"KIND": str(number % 3)})
                running.append((time.monotonic() + choose.uniform(0.2, 8.0), driver))
            for entry in list(running):
                if time.monotonic() > entry[0]:
                    running.remove(entry)
                    entry[1].signal(signal.SIGKILL)
                    entry[1].process.communicate()
            time.sleep(0.02)
    finally:
        for _, driver in running:
            driver.process.kill()
            driver.process.communicate()


def rests(node: dict[str, Any]) -> bool:
    now = report()
    return (
        now["clients"] == []
        and now["workers"] == []
        and now["waiting"] == []
        and now["objects"] == {"count": 0, "inline_bytes": 0}
        and (now["store"]["used_bytes"], now["store"]["segments"], now["store"]["spilled_bytes"]) == (0, 0, 0)
        and now["resources"]["free"] == now["resources"]["total"]
        and children_of(node["pid"]) == []
    )


def descriptors(pid: int) -> Counter[str]:
    """Count what a process's descriptors are, without numbers; the spill thread's, which starts late, left out."""
    found: list[str] = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            found.append(re.sub(r"\d+", "", os.readlink(f"/proc/{pid}/fd/{name}")))
    return Counter(what for what in found if what != "anon_inode:[eventfd]")


def check_that_nothing_leaks(node: dict[str, Any], seconds: float, drivers: int) -> None:
    with NativeJobContext(address="auto") as ctx:
        ctx.get(ctx.run(echo, 1), timeout=PATIENCE)
    eventually(lambda: rests(node), within=30)
    before = descriptors(node["pid"])
    memory = resident_bytes(node["pid"])
    live_and_die(seconds, drivers, seed=1)
    eventually(lambda: rests(node), within=60, what=str(report()))
    # The last question's own connection may still be there, and may have been there before.
    with suppress(AssertionError):
        eventually(lambda: not descriptors(node["pid"]) - before, within=10)
    assert descriptors(node["pid"]) - before == Counter()
    assert resident_bytes(node["pid"]) < memory + (16 << 20)
    assert report()["counters"]["broken_frames"] == 0
    with NativeJobContext(address="auto") as ctx:
        assert ctx.get([ctx.run(echo, n) for n in range(50)], timeout=PATIENCE) == list(range(50))


@pytest.mark.not_under_asan("keeps freed memory and has shadows of it")
@pytest.mark.timeout(180)
def test_drivers_that_come_and_go_leave_nothing(node: dict[str, Any]) -> None:
    check_that_nothing_leaks(node, seconds=8, drivers=4)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_twenty_drivers_that_come_and_go_for_three_minutes_leave_nothing(node: dict[str, Any]) -> None:
    check_that_nothing_leaks(node, seconds=180, drivers=20)
