"""Tasks and actors in Iris jobs: what is shared, who is let in, and what is seen of ends."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import fray
import psutil
import pytest
from fray import ActorDiedError, ActorOptions, JobStatus, get_job_context
from fray._iris_jobs import IrisJobs
from fray.backend.iris.cluster import IrisCluster
from fray.backend.iris.directory import ENDED, ActorDirectory
from fray.backend.iris.task import current_task

from tests.iris.conftest import REAL, Cluster
from tests.iris.controller import Controller
from tests.iris.inside import Counter, ShopError, UnreadError, UnreadInHost, launch, results, run
from tests.iris.times import Times
from tests.iris.worker import Worker
from tests.waiting import LONG_PATIENCE, eventually

_TARDY = Times(log_batch=0.1, drain=0.5, kill_grace=60.0, schedule=0.1)
"""Processes live on after the ends of their tasks."""
PATTERN = {"get_if_exists": True, "preemptible": False, "num_cpus": 0}


@pytest.fixture
def iris(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IrisCluster]:
    monkeypatch.chdir(tmp_path)
    with IrisCluster(cluster.url, user="tester") as made:
        yield made


@pytest.fixture
def own_iris(stand_in: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IrisCluster]:
    monkeypatch.chdir(tmp_path)
    with IrisCluster(stand_in.url, user="tester") as made:
        yield made


def shared(name: str = "shared", **options: Any) -> Any:
    return get_job_context().create_actor(Counter, name=name, **{**PATTERN, **options})


def resilient(**options: Any) -> Any:
    return get_job_context().create_actor(Counter, options=ActorOptions(name="shared", get_if_exists=True, **options))


# ---- what is shared


def _add_together(number: int) -> list[Any]:
    ctx = get_job_context()
    counter = shared()
    return ctx.get([counter.add(), counter.add.remote()])


def test_replicas_share_a_named_actor(iris: IrisCluster) -> None:
    found = results(iris, launch(iris, _add_together, 0, replicas=3))
    assert sorted(number for pair in found for number in pair) == [1, 2, 3, 4, 5, 6]
    assert all(first < second for first, second in found)


def _add_in_child(controller: str) -> list[Any]:
    counter = shared()
    mine = counter.add().result()
    child = IrisCluster(controller, user="tester")
    theirs = results(child, launch(child, _add_together, 0))
    return [mine, theirs, counter.add().result()]


def test_jobs_of_one_root_share_a_named_actor(iris: IrisCluster, cluster: Cluster) -> None:
    assert run(iris, _add_in_child, cluster.url) == [1, [[2, 3]], 4]


def test_other_roots_have_actors_of_their_own(iris: IrisCluster) -> None:
    assert [run(iris, _add_together, 0) for _ in range(2)] == [[1, 2], [1, 2]]


def _use_refs() -> list[Any]:
    ctx = get_job_context()
    counter = shared()
    refs = [counter.add(ctx.run(abs, -2)), counter.add(amount=ctx.put(3))]
    assert ctx.wait(refs, num_returns=2) == (refs, [])
    assert {ref.result() for ref in ctx.as_completed(refs)} == {2, 5}
    stream, behind = counter.count_to(20), counter.add(0)
    assert ctx.get(list(stream)) == list(range(20))
    assert behind.result() == 25
    in_task = ctx.run(lambda handle, value: handle.add(value).result(), counter, counter.add())
    return [type(ctx).__name__, ctx.get(ctx.run(pow, 2, refs[1])), ctx.get(in_task)]


def test_refs_of_calls_are_refs_of_the_machine(iris: IrisCluster) -> None:
    assert run(iris, _use_refs) == ["IrisJobContext", 32, 52]


def _mix_streams_and_calls() -> list[list[int]]:
    ctx = get_job_context()
    counter = shared()
    found = []
    for _ in range(20):
        before, stream, behind = [counter.add() for _ in range(3)], counter.count_to(5), counter.add()
        first, *_ = ctx.get([*before, behind])
        found.append([value - first for value in ctx.get([*before, behind])])
        assert ctx.get(list(stream)) == list(range(5))
    return found


def test_streams_and_calls_begin_in_the_order_of_submission(iris: IrisCluster) -> None:
    assert run(iris, _mix_streams_and_calls) == [[0, 1, 2, 8]] * 20


def _cancel_at_once(journal: str, started: str, door: str) -> int:
    ctx = get_job_context()
    counter = shared()
    running = counter.wait_for_file(started, door)
    eventually(lambda: os.path.exists(started), LONG_PATIENCE, every=0.02)
    refs = [counter.append(journal, "cancelled") for _ in range(50)]
    for waiting in refs:
        ctx.cancel(waiting)
    with pytest.raises(UnreadError):  # the host reads what it is sent in order, so it has heard of the cancels now
        counter.add(UnreadInHost()).result()
    Path(door).write_text("")
    ctx.get(running)
    return counter.add().result()


def test_calls_that_are_cancelled_while_they_wait_never_run(iris: IrisCluster, tmp_path: Path) -> None:
    journal, started, door = tmp_path / "journal", tmp_path / "started", tmp_path / "door"
    assert run(iris, _cancel_at_once, str(journal), str(started), str(door)) == 1
    assert not journal.exists()


def _use_odd_names() -> list[Any]:
    ctx = get_job_context()
    names = ["..", "a/b.c %41 ~", "Zähler ✓" + "x" * 60]
    found = [shared(name).add(number).result() for number, name in enumerate(names)]
    assert ctx.list_named_actors() == sorted(names)
    assert [ctx.get_actor(name).add(0).result() for name in names] == found
    elsewhere = ctx.create_actor(Counter, 7, options=ActorOptions(name="..", namespace="a/b"))
    assert ctx.get_actor("..", namespace="a/b").add().result() == elsewhere.add(0).result() == 8
    return found


def test_names_may_have_any_characters(iris: IrisCluster) -> None:
    assert run(iris, _use_odd_names) == [0, 1, 2]


def _send_arrays() -> list[Any]:
    import numpy

    ctx = get_job_context()
    counter = shared()
    found = []
    for kind, shape in (("uint8", (8 << 20,)), ("float32", (300, 700)), ("int16", (3,)), ("float64", (0,))):
        array = numpy.arange(numpy.prod(shape), dtype=kind).reshape(shape)
        several = {"arrays": [array, array[::-1]], "text": "x" * 100_000}
        back = ctx.get(counter.give(several))
        assert numpy.array_equal(back["arrays"][0], array) and numpy.array_equal(back["arrays"][1], array[::-1])
        assert back["text"] == several["text"]
        one = ctx.get(counter.give(array))
        found.append([numpy.array_equal(one, array), bool(one.flags.owndata)])
    assert [len(value) for value in ctx.get([counter.give(b"y" * n) for n in (0, 65_535, 65_536, 3 << 20)])] == [
        0,
        65_535,
        65_536,
        3 << 20,
    ]
    return found


def test_arrays_travel_and_large_ones_lie_in_the_store(iris: IrisCluster) -> None:
    assert run(iris, _send_arrays)[:2] == [[True, False], [True, False]]


def _raise_errors() -> list[Any]:
    ctx = get_job_context()
    counter = shared()

    class LocalError(KeyError):
        pass

    found: list[Any] = []
    errors: list[Callable[[], BaseException]] = [
        lambda: ValueError("plain"),
        lambda: ShopError("tea", left=3),
        lambda: LocalError("by value"),
        lambda: SystemExit(3),
    ]
    for make in errors:
        try:
            ctx.get(counter.fail(make))
        except Exception as caught:
            found.append([type(caught).__name__, str(caught)[:40], type(caught) is type(make())])
            assert "in fail" in str(caught.__cause__)
    for wrong in (lambda: counter.add(1, 2, 3), lambda: counter.give(ctx.put), lambda: counter.give([ctx.put(1)])):
        try:
            ctx.get(wrong())
        except Exception as caught:
            found.append([type(caught).__name__, str(caught)])
    assert counter.add(0).result() == 0
    return found


def test_exceptions_keep_their_types(iris: IrisCluster) -> None:
    errors = run(iris, _raise_errors)
    assert errors[:3] == [
        ["ValueError", "plain", True],
        ["ShopError", "tea: 3 left", True],
        ["LocalError", "'by value'", True],
    ]
    assert errors[3][0] == "TaskError"
    assert errors[4][0] == "TypeError" and "add" in errors[4][1]
    assert errors[-1][0] == "SerializationError" and "cannot leave the machine" in errors[-1][1]


def _hand_handles_on(path: str) -> list[Any]:
    ctx = get_job_context()
    first, second = shared("first"), shared("second")
    Path(path).write_bytes(pickle.dumps({"method": second.add, "handle": first}))
    read = pickle.loads(Path(path).read_bytes())
    assert read["handle"] == first and hash(read["handle"]) == hash(first)
    assert ctx.get(ctx.run(lambda: read["method"](4).result())) == 4
    itself = ctx.get(first.myself())
    assert itself == first and itself.add(2).result() == 2
    assert ctx.get(first.call(second)) == first
    return [ctx.get(second.give([first, second.add]))[1](1).result(), repr(first)]


def test_handles_travel_to_every_machine(iris: IrisCluster, tmp_path: Path) -> None:
    total, text = run(iris, _hand_handles_on, str(tmp_path / "handles"))
    assert total == 5
    assert "actor Counter 'first'" in text
    with fray.fray_default_job_ctx(fray.LocalJobContext()), pytest.raises(fray.UnsupportedError, match="no task"):
        pickle.loads((tmp_path / "handles").read_bytes())


def _where_is_it() -> list[str]:
    return [os.environ["IRIS_TASK_ID"], shared().task().result()]


def test_host_is_a_child_of_the_root_job(iris: IrisCluster) -> None:
    mine, its = run(iris, _where_is_it)
    assert its == mine.rpartition("/")[0] + "/fray-actor.default.shared.0/0"


def _where_are_actors() -> list[Any]:
    first = shared("first", num_cpus=1)
    env = fray.RuntimeEnv(env={"WHO": "world"})
    options = ActorOptions(name="second", resources={"CPU": 2, "memory": 1 << 30}, runtime_env=env)
    second = get_job_context().create_actor(Counter, options=options)
    found = [[actor.variable(name).result() for name in ("IRIS_WORKER_ID", "WHO")] for actor in (first, second)]
    return [found, json.loads(second.variable("IRIS_TASK_RESOURCES").result())]


def test_host_has_what_its_actor_asks_for_in_the_region_of_its_creator(
    start: Callable[..., Controller], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stand_in = start(
        [
            Worker("preemptible", attributes={"region": "here", "preemptible": "true"}),
            Worker("elsewhere", attributes={"region": "there"}),
            Worker("right", attributes={"region": "here"}),
        ]
    )
    with IrisCluster(stand_in.url, user="tester") as iris:
        where = fray.ResourceConfig(cpu=1, ram="512m", disk="0", regions=["here"])
        found, resources = results(iris, launch(iris, _where_are_actors, resources=where))[0]
    assert found == [["right", None], ["preemptible", "world"]]
    assert int(resources["cpu_millicores"]) == 2000
    assert int(resources["memory_bytes"]) == 2 << 30


# ---- who is let in


def _host_address() -> str:
    counter = shared()
    counter.add().result()
    jobs = IrisJobs(os.environ["IRIS_CONTROLLER_URL"])
    root = os.environ["IRIS_TASK_ID"].rpartition("/")[0]
    (entry,) = jobs.endpoints(f"{root}/fray-actor.")
    return str(entry["address"])


def _stay(path: str, started: str, told: str) -> int:
    Path(told).write_text(json.dumps([_host_address(), os.environ["FRAY_JOB_SECRET"]]))
    shared().append(path, "from the job").result()
    Path(started).write_text("")
    while Path(started).exists():
        time.sleep(0.01)
    return shared().add().result()


def _strangers_frame(path: str) -> bytes:
    from fray.backend.iris import channel
    from fray.backend.iris.frames import Kind

    body = pickle.dumps(("append", (path, "from a stranger"), {}))
    return channel._HEAD.pack(Kind.CALL, 0, 1, len(body)) + body


def test_only_tasks_of_the_job_may_call(iris: IrisCluster, tmp_path: Path) -> None:
    journal, started, told = (str(tmp_path / name) for name in ("journal", "started", "told"))
    job = launch(iris, _stay, journal, started, told)
    eventually(lambda: Path(started).exists(), LONG_PATIENCE, every=0.02)
    address, secret = json.loads(Path(told).read_text())
    host, port = address.removeprefix("http://").split(":")
    call = _strangers_frame(journal)
    lines = "GET /fray/actor HTTP/1.1\r\nHost: x\r\nFray-Nonce: 00ff\r\n"
    openings = {
        b"": b"",
        lines.encode() + b"\r\n": b"401 Unauthorized",
        lines.encode() + b"Authorization: Fray 00\r\n\r\n": b"403 Forbidden",
        lines.encode() + f"Authorization: Bearer {secret}\r\n\r\n".encode(): b"403 Forbidden",
        b"GET /fray/actor HTTP/1.1\r\nAuthorization: \xff\r\n\r\n": b"403 Forbidden",
        b"POST /iris.actor.ActorService/Call HTTP/1.1\r\nContent-Length: 0\r\n\r\n": b"404 Not Found",
        b"x" * 20_000: b"",
    }
    for opening, expected in openings.items():
        with socket.create_connection((host, int(port)), timeout=20) as sock:
            answer = b""
            with suppress(OSError):  # it may be refused before all was sent
                sock.sendall(opening)
                sock.sendall(call)
                sock.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                while more := sock.recv(4096):
                    answer += more
            assert expected in answer, opening
            assert b"101 Switching" not in answer
            assert secret.encode() not in answer
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(address, timeout=20)
    Path(started).unlink()
    assert results(iris, job) == [2]
    assert Path(journal).read_text() == "from the job\n"


def test_secret_is_shown_nowhere(iris: IrisCluster, cluster: Cluster, tmp_path: Path) -> None:
    journal, started, told = (str(tmp_path / name) for name in ("journal", "started", "told"))
    job = launch(iris, _stay, journal, started, told)
    eventually(lambda: Path(started).exists(), LONG_PATIENCE, every=0.02)
    _, secret = json.loads(Path(told).read_text())
    assert len(secret) >= 32
    shown = [cluster.jobs.endpoints(job), cluster.jobs.list_jobs(prefix=job)]
    for each in cluster.jobs.list_jobs(prefix=job):
        shown += [cluster.jobs.get(each["id"]), cluster.jobs.logs(each["id"]), _record(cluster, each["id"])]
    assert "fray-actor" in repr(shown) and "REDACTED" in repr(shown)
    assert secret not in repr(shown)
    Path(started).unlink()
    assert secret not in iris.logs(job)
    results(iris, job)


def _record(cluster: Cluster, job: str) -> str:
    """All that the controller tells of a job, as JSON."""
    question = urllib.request.Request(
        f"{cluster.url}/iris.cluster.ControllerService/GetJobStatus",
        json.dumps({"jobId": job}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(question, timeout=20) as answer:
        return answer.read().decode()


def _secrets(controller: str) -> list[Any]:
    child = IrisCluster(controller, user="tester")
    return [os.environ.get("FRAY_JOB_SECRET"), *results(child, launch(child, os.environ.get, "FRAY_JOB_SECRET"))]


def test_jobs_of_one_root_have_one_secret_and_other_roots_another(iris: IrisCluster, cluster: Cluster) -> None:
    (first, its_child), (second, _) = (run(iris, _secrets, cluster.url) for _ in range(2))
    assert first == its_child
    assert first != second


def _try_named() -> list[str]:
    ctx = get_job_context()
    assert ctx.get(ctx.create_actor(Counter).add()) == 1
    try:
        shared()
    except fray.UnsupportedError as error:
        return [str(error)]
    return []


def test_job_without_a_secret_has_no_named_actors(iris: IrisCluster) -> None:
    (text,) = run(iris, _try_named, FRAY_JOB_SECRET="")
    assert "has no FRAY_JOB_SECRET" in text


def _call_what_a_stranger_registered(marker: str) -> str:
    """Register a host of one's own making in front of the actor's, and call the actor."""
    from fray.backend.iris.task import current_task

    ctx, task = get_job_context(), current_task()
    jobs = IrisJobs(task.controller)
    counter = ctx.create_actor(Counter, options=ActorOptions(name="shared", resources={"CPU": 1000}))  # never starts
    server = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{server.getsockname()[1]}"
    job = f"{task.root}/fray-actor.default.shared.0"
    jobs.register_endpoint("stranger", job, address, task.task, task.attempt, {})

    class Evil:
        def __reduce__(self) -> Any:
            return Path.write_text, (Path(marker), "was unpickled")

    def serve() -> None:
        from fray.backend.iris import channel
        from fray.backend.iris.frames import Kind

        body = pickle.dumps(Evil())
        while True:
            sock, _ = server.accept()
            with sock, suppress(OSError):  # it is not listened to until the end
                sock.recv(4096)
                proof = hashlib.sha256(b"guess").hexdigest()
                head = f'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Fray nonce="00", proof="{proof}"\r\n\r\n'
                sock.sendall(head.encode())
                sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
                for number in range(5):
                    sock.sendall(channel._HEAD.pack(Kind.VALUE, number, 0, len(body)) + body)

    threading.Thread(target=serve, daemon=True).start()
    try:
        return str(ctx.get(counter.add(), timeout=30))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def test_caller_believes_no_stranger(iris: IrisCluster, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    text = run(iris, _call_what_a_stranger_registered, str(marker))
    assert "does not know its job's secret" in text
    assert not marker.exists()


# ---- ends


def _outlive_host(started: str) -> list[Any]:
    ctx = get_job_context()
    counter = shared()
    host, first = ctx.get([counter.host_pid(), counter.task()])
    running, waiting = counter.wait_for_file(started, f"{started}.never"), counter.add()
    eventually(lambda: os.path.exists(started), LONG_PATIENCE, every=0.02)
    begun = time.monotonic()
    os.kill(host, signal.SIGKILL)
    found: list[Any] = []
    for call in (lambda: running, lambda: waiting, counter.add):
        try:
            ctx.get(call(), timeout=30)
        except ActorDiedError as error:
            found.append([error.executed, error.class_name, error.actor_name])
    seconds = time.monotonic() - begun
    assert ctx.list_named_actors() == []
    again = shared()
    return [found, seconds < 30, again == counter, again.add().result(), first != again.task().result()]


@pytest.mark.skipif(bool(REAL), reason="kills a process that runs on the same machine")
def test_actor_whose_host_died_is_dead_and_its_name_free(iris: IrisCluster, tmp_path: Path) -> None:
    found, soon, same, value, another = run(iris, _outlive_host, str(tmp_path / "started"))
    assert found == [["unknown", "Counter", "shared"], ["unknown", "Counter", "shared"], ["no", "Counter", "shared"]]
    assert (soon, same, value, another) == (True, False, 1, True)


def _call_over_restart(started: str, door: str, retries: int) -> list[Any]:
    ctx = get_job_context()
    counter = resilient(max_restarts=1, max_task_retries=retries, resources={"CPU": 1})
    assert ctx.get(counter.add(5)) == 5
    running = counter.wait_for_file(started, door)
    try:
        first = ctx.get(running, timeout=60)
    except ActorDiedError as error:
        first = error.executed
    return [first, ctx.get(counter.add(), timeout=60), ctx.get(counter.task())[-2:]]


@pytest.mark.parametrize("retries", [0, 1])
def test_machine_of_a_host_that_is_lost_is_a_restart(
    start: Callable[..., Controller], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retries: int
) -> None:
    monkeypatch.chdir(tmp_path)
    machines = [Worker(f"worker-{number}", cpu_millicores=1000) for number in range(3)]
    stand_in = start(machines[:2])  # one for the job, one for the host
    started, door = tmp_path / "started", tmp_path / "door"
    with IrisCluster(stand_in.url, user="tester") as iris:
        job = launch(iris, _call_over_restart, str(started), str(door), retries)
        eventually(started.exists, LONG_PATIENCE, every=0.02)
        stand_in.lose_worker(machines[1])
        stand_in.add_worker(machines[2])
        door.write_text("")
        first, after, end = results(iris, job)[0]
    assert first == ("found" if retries else "unknown")
    assert after == 1
    assert end == ":1"


def _write_numbers(journal: str, started: str, retries: int) -> list[Any]:
    """Write 600 numbers, and a 601st when those have ended; the machine is lost at the 300th."""
    ctx = get_job_context()
    writer = resilient(max_restarts=1, max_task_retries=retries, resources={"CPU": 1})
    refs = [writer.write(journal, number, started if number == 300 else "") for number in range(600)]
    ends: dict[str, list[int]] = {"done": [], "no": [], "yes": [], "unknown": []}
    for number, ref in enumerate(refs):
        try:
            assert ctx.get(ref, timeout=60) == number
            ends["done"].append(number)
        except ActorDiedError as error:
            ends[error.executed].append(number)
    return [ends, writer.write(journal, 600, "").result(timeout=60)]


@pytest.mark.parametrize("retries", [0, -1])
def test_no_call_is_lost_or_out_of_order_over_the_loss_of_a_machine(
    start: Callable[..., Controller], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retries: int
) -> None:
    monkeypatch.chdir(tmp_path)
    machines = [Worker(f"worker-{number}", cpu_millicores=1000) for number in range(3)]
    stand_in = start(machines[:2])
    journal, started = tmp_path / "journal", tmp_path / "started"
    with IrisCluster(stand_in.url, user="tester") as iris:
        job = launch(iris, _write_numbers, str(journal), str(started), retries)
        eventually(started.exists, LONG_PATIENCE, every=0.02)
        stand_in.lose_worker(machines[1])
        stand_in.add_worker(machines[2])
        ends, last = results(iris, job)[0]
    written = [int(line) for line in journal.read_text().split()]
    assert last == written[-1] == 600
    restart = written.index(300) + 1
    before, after = written[:restart], written[restart:]
    assert before == list(range(301))
    assert after == sorted(set(after))
    assert set(ends["done"]) <= set(written)
    assert not set(ends["no"]) & set(written)
    if retries:
        assert ends["done"] == list(range(600))
        assert written.count(300) == 2
    else:
        assert len(written) == len(set(written))
        assert 300 in ends["unknown"]


def _wait_for_a_stopped_host(started: str) -> list[Any]:
    counter = shared()
    running = counter.wait_for_file(started, f"{started}.never")
    begun = time.monotonic()
    try:
        get_job_context().get(running, timeout=60)
    except ActorDiedError as error:
        return [error.executed, time.monotonic() - begun < 30]
    return []


def test_actor_is_dead_once_its_endpoint_is_gone(
    start: Callable[..., Controller], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stand_in = start(times=_TARDY)
    started = tmp_path / "started"
    with IrisCluster(stand_in.url, user="tester") as iris:
        job = launch(iris, _wait_for_a_stopped_host, str(started))
        eventually(started.exists, LONG_PATIENCE, every=0.02)
        iris.terminate(f"{job}/fray-actor.default.shared.0")
        assert results(iris, job) == [["unknown", True]]


def _leave_an_actor() -> int:
    return shared().host_pid().result()


def test_actors_end_with_their_root_job(
    start: Callable[..., Controller], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stand_in = start(times=_TARDY)
    with IrisCluster(stand_in.url, user="tester") as iris:
        job = launch(iris, _leave_an_actor)
        (host,) = results(iris, job)
        eventually(lambda: not psutil.pid_exists(host), LONG_PATIENCE, every=0.02)
        its = f"{job}/fray-actor.default.shared.0"
        assert iris.poll(its).status is JobStatus.STOPPED
        assert iris.logs(its) == ""


def _lose_relay(started: str, door: str) -> list[Any]:
    ctx = get_job_context()
    counter = shared()
    ctx.get(counter.add())
    port = int(_host_address().rpartition(":")[2])
    running = counter.wait_for_file(started, door)
    eventually(lambda: os.path.exists(started), LONG_PATIENCE, every=0.02)
    links = [link for link in psutil.net_connections("tcp") if link.status == "ESTABLISHED"]
    (relay,) = [link.pid for link in links if link.raddr and link.raddr.port == port]
    os.kill(relay, signal.SIGKILL)
    try:
        found = ctx.get(running, timeout=30)
    except ActorDiedError as error:
        found = error.executed
    Path(door).write_text("")
    return [found, ctx.get(counter.add(), timeout=30)]


@pytest.mark.skipif(bool(REAL), reason="kills a process that runs on the same machine")
def test_calls_go_on_after_the_process_that_passes_them_on_has_died(iris: IrisCluster, tmp_path: Path) -> None:
    assert run(iris, _lose_relay, str(tmp_path / "started"), str(tmp_path / "door")) == ["unknown", 3]


def _call_while(started: str, door: str, ended: str) -> list[Any]:
    ctx = get_job_context()
    counter = shared()
    found = counter.wait_for_file(started, door).result(timeout=60)
    last = ctx.get([counter.add() for _ in range(10)])[-1]
    Path(ended).write_text("")
    return [found, last]


def test_calls_need_no_controller(own_iris: IrisCluster, stand_in: Controller, tmp_path: Path) -> None:
    started, door, ended = tmp_path / "started", tmp_path / "door", tmp_path / "ended"
    job = launch(own_iris, _call_while, str(started), str(door), str(ended))
    eventually(started.exists, LONG_PATIENCE, every=0.02)
    stand_in.go_away()
    door.write_text("")
    eventually(ended.exists, LONG_PATIENCE, every=0.02)
    stand_in.come_back()
    assert results(own_iris, job) == [["found", 10]]


class Fragile(Counter):
    def leave(self, code: int) -> None:
        os._exit(code)


class Broken:
    def __init__(self, text: str) -> None:
        raise KeyError(text)

    def get(self) -> None: ...


def _end_of(error: ActorDiedError) -> list[str]:
    return [error.executed, str(error).partition("(")[2], type(error.__cause__).__name__]


def _look_at_ends() -> list[Any]:
    ctx = get_job_context()
    found: list[Any] = []
    fragile = ctx.create_actor(Fragile, name="fragile")
    broken = ctx.create_actor(Broken, "no luck", name="broken")
    running, waiting = fragile.leave(3), fragile.add()
    for call in (lambda: running, lambda: waiting, fragile.add, broken.get, broken.get):
        try:
            ctx.get(call(), timeout=60)
        except ActorDiedError as error:
            found.append(_end_of(error))
    assert ctx.list_named_actors() == []
    killed = ctx.create_actor(Counter, name="fragile")
    refs = [killed.add() for _ in range(500)]
    ctx.kill(killed)
    again = ctx.create_actor(Counter, name="fragile")
    ends = set()
    for ref in [*refs, killed.add()]:
        try:
            ctx.get(ref, timeout=60)
            ends.add("done")
        except ActorDiedError as error:
            ends.add(error.executed)
    found.append(again.add().result())
    return [found, sorted(ends - {"done", "yes", "unknown"})]


def _find_the_host_of_an_ended_actor() -> str | None:
    task = current_task()
    jobs = IrisJobs(task.controller, user=task.user)
    jobs.register_endpoint("of-the-end", task.job + ENDED, "http://host:1", task.task, task.attempt, {})
    found = ActorDirectory(jobs, task).wait_for_host(task.job)
    return found and found.address


def test_a_caller_that_comes_after_the_end_of_an_actor_finds_its_host(own_iris: IrisCluster) -> None:
    assert results(own_iris, launch(own_iris, _find_the_host_of_an_ended_actor)) == ["http://host:1"]


def _kill_at_the_limit(started: str) -> list[Any]:
    ctx = get_job_context()
    options = ActorOptions(name="limited", max_pending_calls=1)
    for _ in range(2):
        counter = ctx.create_actor(Counter, options=options)
        running = counter.wait_for_file(started, f"{started}.never")
        eventually(lambda: os.path.exists(started), LONG_PATIENCE, every=0.02)
        os.unlink(started)
        try:
            counter.add()
        except fray.PendingCallsLimitError:
            ctx.kill(counter)
        try:
            ctx.get(running)
        except ActorDiedError as error:
            executed = error.executed
    stranger = fray.LocalJobContext().create_actor(Counter)
    try:
        ctx.create_actor(Counter, stranger, name="foreign")
    except fray.ForeignRefError as error:
        return [executed, ctx.list_named_actors(), str(error)]
    return []


def test_actor_with_too_many_calls_can_be_killed(iris: IrisCluster, tmp_path: Path) -> None:
    executed, names, error = run(iris, _kill_at_the_limit, str(tmp_path / "started"))
    assert (executed, names) == ("unknown", [])
    assert "another context" in error


def test_ends_say_what_was_executed(iris: IrisCluster, cluster: Cluster) -> None:
    job = launch(iris, _look_at_ends)
    ((found, ends),) = results(iris, job)
    assert found[0][:2] == ["unknown", "the call may have run)"]
    assert [end[:2] for end in found[1:5]] == [["no", "the call had not started)"]] * 4
    assert [end[2] for end in found[3:5]] == ["KeyError"] * 2
    assert found[5] == 1
    assert ends == ["no"]
    host = f"{job}/fray-actor.default.broken.0"
    eventually(lambda: cluster.jobs.states([host])[host] == "FAILED", LONG_PATIENCE, every=0.02)
    assert "its constructor raised KeyError: 'no luck'" in str(cluster.jobs.get(host)["error"])


def _end_while_the_controller_is_away(started: str, door: str, ended: str) -> list[Any]:
    ctx = get_job_context()
    fragile = ctx.create_actor(Fragile, name="fragile")
    ctx.get(fragile.add())
    Path(started).write_text("")
    eventually(lambda: os.path.exists(door), LONG_PATIENCE, every=0.02)
    begun = time.monotonic()
    found: list[Any] = []
    for ref in (fragile.leave(3), fragile.add()):
        try:
            ctx.get(ref, timeout=60)
        except ActorDiedError as error:
            found.append(error.executed)
    seconds = time.monotonic() - begun
    Path(ended).write_text("")
    return [*found, seconds < 60]


def test_end_is_told_while_the_controller_is_away(own_iris: IrisCluster, stand_in: Controller, tmp_path: Path) -> None:
    started, door, ended = tmp_path / "started", tmp_path / "door", tmp_path / "ended"
    job = launch(own_iris, _end_while_the_controller_is_away, str(started), str(door), str(ended))
    eventually(started.exists, LONG_PATIENCE, every=0.02)
    stand_in.go_away()
    door.write_text("")
    eventually(ended.exists, LONG_PATIENCE, every=0.02)
    stand_in.come_back()
    assert results(own_iris, job) == [["unknown", "no", True]]


# ---- refusals


def _refusals() -> list[str]:
    ctx = get_job_context()
    wrong: list[Callable[[], Any]] = [
        lambda: ctx.create_actor(Counter, options=ActorOptions(name="gpu", resources={"GPU": 1})),
        lambda: ctx.create_actor(Counter, threading.Lock(), name="lock"),
        lambda: ctx.get_actor("nobody"),
        lambda: ctx.create_actor(Counter, name="é" * 100),
    ]
    found = []
    for each in wrong:
        try:
            each()
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    assert ctx.list_named_actors() == []
    return found


def test_what_no_host_can_do_is_refused(iris: IrisCluster) -> None:
    gpu, lock, nobody, long = run(iris, _refusals)
    assert gpu.startswith("UnsupportedError") and "GPU" in gpu
    assert lock.startswith("SerializationError") and "lock" in lock
    assert nobody.startswith("ActorNotFoundError: no actor named 'nobody'")
    assert long.startswith("ValueError: the actor's name 'ééé") and "Iris takes 200" in long


def test_there_is_no_such_context_outside_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IRIS_TASK_ID", raising=False)
    for make in (fray.create_job_ctx, lambda kind: fray.create_job_ctx(kind, controller="http://127.0.0.1:1")):
        with pytest.raises(fray.UnsupportedError, match="no task of an Iris job"):
            make("iris")
    monkeypatch.setenv("FRAY_CLUSTER_SPEC", "iris?controller=http://127.0.0.1:1")
    fray.set_job_context(None)
    with pytest.raises(fray.UnsupportedError, match="no task of an Iris job"):
        fray.get_job_context()


def _contexts() -> list[Any]:
    ctx = get_job_context()
    mine = fray.create_job_ctx("iris")
    found = [
        type(each).__name__ for each in (ctx, mine, fray.create_job_ctx("auto"), ctx.get(ctx.run(get_job_context)))
    ]
    with mine:
        assert mine.get(mine.run(pow, 2, 3)) == 8
    assert mine.closed and not ctx.closed
    inner = ctx.get(ctx.run(lambda: type(get_job_context()).__name__))
    with fray.create_job_ctx("local", cpus=1) as local:
        plain = local.get(local.run(lambda: type(get_job_context()).__name__))
    return [found, inner, plain, ctx.engine.parallelism]


def test_every_process_of_a_task_has_the_context(iris: IrisCluster) -> None:
    found, inner, plain, cpus = run(iris, _contexts)
    assert found == ["IrisJobContext"] * 4
    assert (inner, plain, cpus) == ("IrisJobContext", "NativeJobContext", 1)
