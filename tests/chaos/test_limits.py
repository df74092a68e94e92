"""Memory, disk and descriptors that run out: a clear error, nothing lost, usable again."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from fray import OutOfMemoryError, StoreFullError, TaskOptions
from fray.backend.native import NativeJobContext

from tests.chaos.harness import eventually, run_driver, the_node, wait_for_workers
from tests.chaos.started import PROGRAM
from tests.chaos.tasks import array, echo, hold, pid
from tests.conformance.gates import Journal

MIB = 1 << 20


def can_mount() -> bool:
    """Whether a mount namespace of one's own can be had, so that nothing outside sees the small disk."""
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=1m none /mnt"]
    return subprocess.run(command, capture_output=True).returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="needs the right to mount in a namespace of its own")


def on_a_small_disk(folder: str, size: str) -> tuple[str, ...]:
    """Return the words before a command that runs it where `folder` is a disk of that size."""
    script = f'mount -t tmpfs -o size={size} none {folder} && exec "$0" "$@"'
    return ("unshare", "-m", "sh", "-c", script)


FILL = """
    import numpy
    ctx = NativeJobContext(cpus=2, store_memory=32 << 20, spill_dir=sys.argv[1])
    held = []
    error = None
    for number in range(40):
        try:
            held.append(ctx.put(numpy.full(1 << 20, number)))
        except fray.StoreFullError as caught:
            error = caught
            break
    assert error is not None, "40 objects of 8 MiB fit into 32 MiB and a disk of 16"
    print(len(held) >= 3, "MiB" in str(error) or "bytes" in str(error))
    for number, ref in enumerate(held):
        assert int(ctx.get(ref)[-1]) == number, "an object was lost when the disk ran full"
    assert ctx.get(ctx.run(pow, 2, 3)) == 8
    held.clear()
    del ref
    deadline = time.monotonic() + 60
    while True:
        try:
            again = ctx.put(numpy.full(1 << 20, 77))
            break
        except fray.StoreFullError:
            assert time.monotonic() < deadline, "the room of dropped objects never came back"
            time.sleep(0.01)
    print(int(ctx.get(again).sum()))
    ctx.close()
"""


@needs_mounts
def test_a_spill_disk_that_runs_full_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    finished = run_driver(FILL, tmp_path, wrapper=on_a_small_disk(str(tmp_path), "16m"))
    assert finished.ok() == f"True True\n{77 << 20}\n"


@needs_mounts
def test_a_task_whose_result_has_no_room_fails_alone(tmp_path: Path) -> None:
    finished = run_driver(
        """
        def make(count):
            import numpy
            return numpy.ones(count)
        ctx = NativeJobContext(cpus=2, store_memory=16 << 20, spill_dir=sys.argv[1])
        try:
            ctx.get(ctx.run(make, 16 << 20))
            print("no error")
        except fray.StoreFullError:
            print("full")
        print(int(ctx.get(ctx.run(make, 1 << 18)).sum()))
        ctx.close()
        """,
        tmp_path,
        wrapper=on_a_small_disk(str(tmp_path), "4m"),
    )
    assert finished.ok() == "full\n262144\n"


def test_a_driver_that_gets_no_thread_is_told_and_starts_once_there_is_one() -> None:
    finished = run_driver(
        """
        import os
        try:
            NativeJobContext(cpus=1)
        except Exception as error:
            print("cannot start a thread" in str(error), "ulimit -u" in str(error))
        del os.environ["FRAY_FAULT"]
        ctx = NativeJobContext(cpus=1)
        print(ctx.get(ctx.run(abs, -3)))
        ctx.close()
        """,
        env={"FRAY_FAULT": "thread:1"},
    )
    assert finished.ok() == "True True\n3\n"


@needs_mounts
def test_a_small_dev_shm_does_not_matter() -> None:
    finished = run_driver(
        """
        import numpy
        ctx = NativeJobContext(cpus=2)
        refs = [ctx.put(numpy.full(1 << 20, number)) for number in range(8)]
        def total(values):
            return int(values.sum())
        print(ctx.get([ctx.run(total, ref) for ref in refs]) == [number << 20 for number in range(8)])
        ctx.close()
        """,
        wrapper=on_a_small_disk("/dev/shm", "1m"),
    )
    assert finished.ok() == "True\n"


def test_objects_over_the_memory_limit_are_spilled_and_come_back(
    engine: Callable[..., NativeJobContext], tmp_path: Path
) -> None:
    ctx = engine(store_memory=32 * MIB, spill_dir=tmp_path)
    refs = [ctx.put(numpy.full(MIB, number)) for number in range(20)]
    refs += [ctx.run(array, MIB, number) for number in range(20, 30)]
    for number, ref in enumerate(refs):
        assert int(ctx.get(ref, timeout=30).sum()) == number * MIB
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], "spilled bytes lie in files without names"


def test_views_that_are_looked_at_are_not_counted_out_and_the_error_names_the_holders(
    engine: Callable[..., NativeJobContext], tmp_path: Path
) -> None:
    ctx = engine(store_memory=32 * MIB, spill_dir=tmp_path)
    views = []
    with pytest.raises(StoreFullError) as caught:
        for number in range(20):
            views.append(ctx.get(ctx.put(numpy.full(MIB, number))))
    assert len(views) >= 2
    assert str(os.getpid()) in str(caught.value) or "driver" in str(caught.value)
    assert [int(values[0]) for values in views] == list(range(len(views)))
    views.clear()
    assert int(ctx.get(ctx.put(numpy.full(MIB, 5)))[0]) == 5


def test_one_object_larger_than_the_store_says_so(engine: Callable[..., NativeJobContext], tmp_path: Path) -> None:
    ctx = engine(store_memory=16 * MIB, spill_dir=tmp_path)
    with pytest.raises(StoreFullError):
        ctx.get(ctx.put(numpy.zeros(100 * MIB, numpy.uint8)))
    assert ctx.get(ctx.put(1)) == 1


def test_memory_of_dropped_objects_is_used_again(engine: Callable[..., NativeJobContext], tmp_path: Path) -> None:
    ctx = engine(store_memory=64 * MIB, spill_dir=tmp_path)
    for number in range(100):
        assert int(ctx.get(ctx.put(numpy.full(MIB, number)))[-1]) == number


# ---- a memory limit of the container


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A memory cgroup of 400 MiB, version 1 or 2."""
    for root, limit in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        group = root / f"fray-test-{uuid.uuid4().hex[:12]}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(400 * MIB))
        except OSError:
            group.rmdir()
            continue
        yield group
        for line in (group / "cgroup.procs").read_text().split():
            os.kill(int(line), signal.SIGKILL)
        for _ in range(200):
            try:
                group.rmdir()
                return
            except OSError:
                time.sleep(0.01)
        return
    pytest.skip("no memory cgroup can be made here")


def inside(group: Path) -> tuple[str, ...]:
    return ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"')


def test_the_memory_of_the_node_is_what_the_container_gives(memory_group: Path) -> None:
    finished = run_driver(
        """
        ctx = NativeJobContext(cpus=1)
        print(ctx._client.total_resources()["memory"] <= 400 << 20)
        ctx.close()
        """,
        wrapper=inside(memory_group),
    )
    assert finished.ok() == "True\n"


def test_a_task_that_takes_all_the_memory_of_the_container_dies_alone(memory_group: Path) -> None:
    finished = run_driver(
        """
        def take_all():
            held = []
            while True:
                held.append(bytearray(os.urandom(1 << 20) * 8))
        with NativeJobContext(cpus=2) as ctx:
            kept = ctx.put([1, 2])
            ref = ctx.create_task(take_all, options=fray.TaskOptions(max_retries=0, name="glutton"))
            try:
                ctx.get(ref, timeout=50)
            except fray.OutOfMemoryError as error:
                print("out of memory" in str(error), "glutton" in str(error), "peak memory" in str(error))
            except MemoryError:
                print("True True True")
            print(ctx.get(kept), ctx.get(ctx.run(pow, 2, 3)))
        """,
        wrapper=inside(memory_group),
    )
    assert finished.stdout == "True True True\n[1, 2] 8\n", finished
    assert finished.code == 0


@pytest.mark.not_under_asan("keeps freed memory and has shadows of it")
def test_when_memory_is_short_the_newest_large_task_is_killed_and_the_oldest_gets_through(
    memory_group: Path, tmp_path: Path
) -> None:
    finished = run_driver(
        """
        from pathlib import Path
        def left(group):
            is_second = (group / "memory.current").exists()
            used = int((group / ("memory.current" if is_second else "memory.usage_in_bytes")).read_text())
            amounts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            caches = [("" if is_second else "total_") + name for name in ("inactive_file", "active_file")]
            return (400 << 20) - used + sum(int(amounts[name]) for name in caches)
        def grow(folder, group, name, most):
            held = []
            open(f"{folder}/{name}", "w").close()
            while len(held) < most:
                # Memory is short where less than 20 MiB are left. The kernel would kill at the limit, whoever is slow.
                if left(group) > 12 << 20:
                    held.append(os.urandom(4 << 20))
                time.sleep(0.02)
            while not os.path.exists(folder + "/end"):
                time.sleep(0.01)
            return len(held)
        folder, group = sys.argv[1], Path(sys.argv[2])
        once = fray.TaskOptions(max_retries=0)
        with NativeJobContext(cpus=2, store_memory=32 << 20) as ctx:
            old = ctx.create_task(grow, (folder, group, "old", 25), options=once)
            while not os.path.exists(folder + "/old"):
                time.sleep(0.01)
            new = ctx.create_task(grow, (folder, group, "new", 1000), options=once)
            try:
                ctx.get(new, timeout=50)
            except fray.OutOfMemoryError as error:
                print(error)
            open(folder + "/end", "w").close()
            print(ctx.get(old, timeout=20))
        """,
        tmp_path,
        memory_group,
        wrapper=inside(memory_group),
    )
    assert finished.code == 0, finished
    assert "SIGKILL) by the node: out of memory" in finished.stdout, finished
    assert "asked for none" in finished.stdout
    assert finished.stdout.endswith("\n25\n")


@pytest.mark.not_under_asan("keeps freed memory and has shadows of it")
def test_beyond_the_threshold_an_actor_that_can_be_restarted_goes_before_one_that_cannot(memory_group: Path) -> None:
    finished = run_driver(
        """
        class Hog:
            def __init__(self):
                self.held = []
            def hold(self, count):
                for _ in range(count):
                    self.held.append(os.urandom(1 << 20))
                    time.sleep(0.01)
                return len(self.held)
        with NativeJobContext(cpus=2, store_memory=32 << 20, memory_threshold=0.8) as ctx:
            first = ctx.create_actor(Hog, options=fray.ActorOptions(max_restarts=1, max_task_retries=1))
            second = ctx.create_actor(Hog)
            calls = [first.hold.remote(170), second.hold.remote(170)]
            try:
                ctx.get(calls[0], timeout=60)
            except fray.ActorDiedError as error:
                print(type(error.__cause__).__name__, "by the node: out of memory" in str(error))
            print(ctx.get(calls[1], timeout=60))
        """,
        wrapper=inside(memory_group),
    )
    assert finished.stdout == "OutOfMemoryError True\n170\n", finished


def test_a_threshold_that_is_no_share_is_refused() -> None:
    for wrong in (0, -0.5, 1.5, float("nan")):
        with pytest.raises(ValueError, match="memory_threshold"):
            NativeJobContext(cpus=1, memory_threshold=wrong)
    with pytest.raises(TypeError, match=r"memory_threshold must be a number, got '0\.4'"):
        NativeJobContext(cpus=1, memory_threshold="0.4")  # type: ignore[arg-type]


# ---- the memory that a task asked for


def test_a_task_that_uses_more_memory_than_it_asked_for_is_killed_with_both_amounts(ctx: NativeJobContext) -> None:
    options = TaskOptions(max_retries=0, name="glutton", resources={"memory": 50 * MIB})
    with pytest.raises(OutOfMemoryError) as caught:
        ctx.get(ctx.create_task(hold, (300,), options=options), timeout=20)
    text = str(caught.value)
    assert "the worker of task glutton" in text
    used = re.search(r"by the node: out of memory, used ([\d.]+) MiB of 50\.0 MiB asked", text)
    assert used is not None and float(used[1]) > 50, text
    assert ctx.get(ctx.run(hold, 1), timeout=20) == MIB


def test_a_task_killed_for_its_memory_is_retried_as_often_as_its_options_say(
    ctx: NativeJobContext, tmp_path: Path
) -> None:
    journal = Journal(str(tmp_path / "attempts"))

    def greedy_at_first() -> int:
        return hold(300) if journal.add("attempt") < 2 else hold(1)

    options = TaskOptions(max_retries=2, resources={"memory": 50 * MIB})
    assert ctx.get(ctx.create_task(greedy_at_first, options=options), timeout=30) == MIB
    assert len(journal.lines()) == 3


@pytest.mark.not_under_asan("keeps freed memory and has shadows of it")
def test_memory_within_the_request_and_arrays_in_the_store_are_free(ctx: NativeJobContext) -> None:
    values = ctx.put(numpy.ones(40 * MIB))

    def total(array: Any) -> float:
        answer = float(array.sum())
        time.sleep(0.5)
        return answer

    small = TaskOptions(max_retries=0, resources={"memory": 1000})
    assert ctx.get(ctx.create_task(total, (values,), options=small), timeout=20) == 40 * MIB
    large = TaskOptions(max_retries=0, resources={"memory": 400 * MIB})
    assert ctx.get(ctx.create_task(hold, (100,), options=large), timeout=20) == 100 * MIB


# ---- descriptors


FEW_DESCRIPTORS = """
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]),) * 2)
    ctx = NativeJobContext(cpus=2)
    assert ctx.get(ctx.run(pow, 2, 3)) == 8
"""


@pytest.mark.parametrize("limit", [40, 64, 128])
def test_large_objects_beyond_the_descriptors_are_an_error_or_work_and_nothing_is_lost(limit: int) -> None:
    finished = run_driver(
        FEW_DESCRIPTORS
        + """
    held, errors = [], 0
    for number in range(300):
        try:
            held.append((number, ctx.put(bytearray([number % 256]) * (1 << 20))))
        except (fray.FrayError, OSError):
            errors += 1
    for number, ref in held:
        try:
            value = ctx.get(ref)
        except (fray.FrayError, OSError):
            errors += 1
            continue
        assert value[0] == value[-1] == number % 256
        del value
    held.clear()
    del ref
    assert len(ctx.get(ctx.put(bytearray(1 << 20)))) == 1 << 20
    print(ctx.get(ctx.run(pow, 2, 3)))
    ctx.close()
    """,
        limit,
    )
    assert finished.ok() == "8\n"


def test_a_program_that_uses_up_its_descriptors_gets_errors_and_its_engine_back() -> None:
    finished = run_driver(
        FEW_DESCRIPTORS
        + """
    taken = []
    while True:
        try:
            taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            break
    try:
        refs = [ctx.run(pow, number, 2) for number in range(100)]
        ctx.get(refs, timeout=30)
    except (fray.FrayError, OSError):
        pass
    for descriptor in taken:
        os.close(descriptor)
    print(ctx.get(ctx.run(pow, 2, 3), timeout=30))
    ctx.close()
    """,
        128,
    )
    assert finished.ok() == "8\n"


@pytest.fixture
def ctx_of_a_node_with_few_descriptors(started_nodes: None) -> Iterator[NativeJobContext]:
    with_few = ("sh", "-c", 'ulimit -n 150 && exec "$0" start --cpus 1', PROGRAM)
    subprocess.run(with_few, check=True, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    context = NativeJobContext(address="auto")
    yield context
    context.close()


def fits(make: Callable[[], Any]) -> bool:
    """Whether it is not refused; the node hears a moment later of what has been dropped."""
    try:
        make()
    except StoreFullError:
        return False
    return True


def more_than_fit(make: Callable[[], Any]) -> tuple[list[Any], Exception]:
    """Call until it is refused; what came before, and the error."""
    held: list[Any] = []
    for _ in range(300):
        try:
            held.append(make())
        except StoreFullError as error:
            return held, error
    raise AssertionError("300 arrays fit into a node of 150 descriptors")


def test_a_node_without_descriptors_refuses_further_arrays_and_keeps_the_others(
    ctx_of_a_node_with_few_descriptors: NativeJobContext,
) -> None:
    ctx = ctx_of_a_node_with_few_descriptors
    values = numpy.ones(150_000)

    def put() -> Any:
        ref = ctx.put(values)
        assert ctx.get(ctx.run(len, ref), timeout=20) == 150_000  # the node gets to know it
        return ref

    held, error = more_than_fit(put)
    assert len(held) >= 40
    assert "150 descriptors" in str(error)
    assert "ulimit -n" in str(error)
    assert all(ctx.get(ref)[0] == 1.0 for ref in held)
    assert ctx.get(ctx.run(pow, 2, 3), timeout=20) == 8
    del held[5:]
    eventually(lambda: fits(put))
    assert ctx.get(held[-1])[0] == 1.0


def test_memory_that_a_worker_keeps_for_reuse_comes_back_when_the_node_lacks_descriptors(
    ctx_of_a_node_with_few_descriptors: NativeJobContext,
) -> None:
    ctx = ctx_of_a_node_with_few_descriptors

    def make(number: int) -> Any:
        return numpy.full(150_000, float(number))

    held, _ = more_than_fit(
        lambda: ctx.get(refs := [ctx.run(make, number) for number in range(10)], timeout=20) and refs
    )
    held.clear()
    eventually(lambda: fits(lambda: ctx.get(ctx.run(make, 5), timeout=20)))
    # What the worker kept would leave no room for arrays of this process.
    more, _ = more_than_fit(lambda: ctx.put({"a": numpy.ones(150_000)}))
    assert len(more) >= 40
    assert ctx.get(more[-1])["a"][0] == 1.0
    more.clear()
    eventually(lambda: fits(lambda: ctx.get(ctx.run(make, 6), timeout=20)))
    assert ctx.get(ctx.run(make, 7), timeout=20)[0] == 7.0


def test_too_few_descriptors_to_start_are_a_clear_error_and_no_hang() -> None:
    finished = run_driver(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 1,) * 2)
        try:
            ctx = NativeJobContext(cpus=2)
            print(ctx.get(ctx.run(pow, 2, 3)))
            ctx.close()
        except (fray.FrayError, OSError) as error:
            print("refused")
        """
    )
    assert finished.code == 0, finished
    assert finished.stdout in ("refused\n", "8\n")


def test_a_worker_without_descriptors_for_a_lease_makes_way_for_another(
    engine: Callable[..., NativeJobContext], tmp_path: Path
) -> None:
    ctx = engine(cpus=1)

    def take_all_descriptors() -> int:
        """Now, and in a thread those that come free later."""
        import resource
        import threading

        def take() -> None:
            taken = []
            while True:
                try:
                    taken.append(os.open("/dev/null", os.O_RDONLY))
                except OSError:
                    time.sleep(0.005)

        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        threading.Thread(target=take, daemon=True).start()
        return os.getpid()

    def has_ended_its_lease_without_descriptors() -> bool:
        states = {row["pid"]: row["state"] for row in json.loads(ctx._client.status())["workers"]}
        return states[first] == "idle" and len(os.listdir(f"/proc/{first}/fd")) == 64

    first = ctx.get(ctx.run(take_all_descriptors), timeout=20)
    journal = Journal(str(tmp_path / "starts"))

    def start() -> int:
        journal.add("started")
        return os.getpid()

    half = TaskOptions(max_retries=0, resources={"CPU": 0.5})

    def run_elsewhere() -> bool:
        # Until its lease ends, a worker that has a descriptor for it takes every task.
        eventually(has_ended_its_lease_without_descriptors)
        refs = [ctx.create_task(start, options=half) for _ in range(10)]
        try:
            return first not in ctx.get(refs, timeout=20)
        except OSError:  # a descriptor came free in that moment, and the worker took the lease
            return False

    assert any(run_elsewhere() for _ in range(5))
    assert len(journal.lines()) >= 10


def test_10000_tasks_leave_no_descriptor_behind(ctx: NativeJobContext) -> None:
    wait_for_workers(ctx, 2)
    worker = ctx.get(ctx.run(pid))
    ctx.get([ctx.run(echo, number) for number in range(100)])
    counts = [len(os.listdir(f"/proc/{number}/fd")) for number in (os.getpid(), the_node().pid, worker)]
    for _ in range(10):
        ctx.get([ctx.run(echo, number) for number in range(1000)])
    after = [len(os.listdir(f"/proc/{number}/fd")) for number in (os.getpid(), the_node().pid, worker)]
    assert all(now <= before + 2 for now, before in zip(after, counts, strict=True)), (counts, after)
