"""Iris's own actor protocol: its clients call actors of Fray, and actors of its own are called from here."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import pickle
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fray
import pytest
from fray import get_job_context
from fray._iris_jobs import IrisJobs
from fray.backend.iris.cluster import IrisCluster
from fray.backend.iris.task import current_task

from tests.iris import messages
from tests.iris.conftest import Cluster
from tests.iris.inside import Counter, launch, make_shop_error, results, run
from tests.waiting import LONG_PATIENCE, eventually

SERVICE = "/iris.actor.ActorService/"


@pytest.fixture
def iris(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IrisCluster]:
    monkeypatch.chdir(tmp_path)
    with IrisCluster(cluster.url, user="tester") as made:
        yield made


# ---- ours, called by clients of theirs


class TheirClient:
    """Asks as Iris's own client does: binary, compressed, on a connection that is kept."""

    def __init__(self, address: str, actor: str) -> None:
        self.actor = actor
        self.connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)

    def ask(self, verb: str, body: bytes, kind: str = "application/proto") -> tuple[int, bytes]:
        headers = {"content-type": kind, "content-encoding": "gzip", "connect-protocol-version": "1"}
        self.connection.request("POST", SERVICE + verb, gzip.compress(body), headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        question = messages.ActorCall(
            method_name=method,
            actor_name=self.actor,
            serialized_args=pickle.dumps(args, 4),
            serialized_kwargs=pickle.dumps(kwargs, 4),
        )
        status, data = self.ask("Call", question.SerializeToString())
        assert status == 200
        answer = messages.ActorResponse.FromString(data)
        return answer.error if answer.HasField("error") else pickle.loads(answer.serialized_value)


def _be_open(started: str, door: str) -> int:
    counter = get_job_context().create_actor(Counter, name="counter")
    counter.add().result()
    Path(started).write_text("")
    eventually(lambda: os.path.exists(door), LONG_PATIENCE, every=0.02)
    return counter.add(0).result()


def test_their_clients_call_our_actors(iris: IrisCluster, cluster: Cluster, tmp_path: Path) -> None:
    started, door = tmp_path / "started", tmp_path / "door"
    job = launch(iris, _be_open, str(started), str(door), FRAY_IRIS_OPEN_ACTORS="1")
    eventually(started.exists, LONG_PATIENCE, every=0.02)
    (entry,) = cluster.jobs.endpoints(f"{job}/counter", True)
    client = TheirClient(str(entry["address"]), f"{job}/counter")
    assert [client.call("add", 3), client.call("add", amount=4), client.call("count_nothing").error_type] == [
        4,
        8,
        "NotFound",
    ]
    error = client.call("fail", make_shop_error)
    assert (error.error_type, error.message) == ("ShopError", "tea: 3 left")
    assert client.call("_secret").error_type == "NotFound"
    for known in ("", "counter"):
        client.actor = known
        assert client.call("add", 0) == 8
    client.actor = f"{job}/another"
    assert client.call("add", 1).error_type == "NotFound"
    names = messages.ListMethodsResponse.FromString(client.ask("ListMethods", b"")[1]).methods
    assert {"add", "give", "fail"} <= {each.name for each in names}
    assert messages.HealthResponse.FromString(client.ask("HealthCheck", b"")[1]).healthy
    wrong = messages.ActorCall(method_name="add", serialized_args=b"\0\0").SerializeToString()
    for verb, body, kind, status, code in (
        ("Call", wrong, "application/proto", 500, "unknown"),
        ("Call", b"\xff" * 9, "application/proto", 500, "unknown"),
        ("Call", b"{}", "application/json", 400, "invalid_argument"),
        ("StartOperation", b"", "application/proto", 501, "unimplemented"),
    ):
        found, data = client.ask(verb, body, kind)
        assert (found, json.loads(data)["code"]) == (status, code)
    client.connection.close()
    door.write_text("")
    assert results(iris, job) == [8]


# ---- theirs, called from here


class TheirActor:
    """Counts, and is slow when it is told to."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def add(self, number: int, *, twice: bool = False) -> list[int]:
        self.calls.append(2 * number if twice else number)
        return self.calls

    def fail(self) -> None:
        raise ValueError("theirs")


class TheirServer(BaseHTTPRequestHandler):
    """Serves actors as Iris does; without a name the first one is meant."""

    actors: dict[str, object]

    def instance(self, name: str) -> object | None:
        return self.actors.get(name or next(iter(self.actors)))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == SERVICE + "ListMethods":
            found = self.instance(messages.ListMethodsRequest.FromString(body).actor_name)
            names = () if found is None else ("add", "fail", "die", "refuse")
            listed = [messages.MethodInfo(name=name) for name in names]
            return self.reply(messages.ListMethodsResponse(methods=listed).SerializeToString())
        call = messages.ActorCall.FromString(body)
        if call.method_name == "die":
            return self.connection.close()
        if call.method_name == "refuse":
            return self.reply(b'{"code": "unknown", "message": "cannot read that"}', 500)
        try:
            args, kwargs = pickle.loads(call.serialized_args), pickle.loads(call.serialized_kwargs)
            value = getattr(self.instance(call.actor_name), call.method_name)(*args, **kwargs)
            answer = messages.ActorResponse(serialized_value=pickle.dumps(value))
        except Exception as error:
            failure = messages.ActorError(
                error_type=type(error).__name__, message=str(error), serialized_exception=pickle.dumps(error)
            )
            answer = messages.ActorResponse(error=failure)
        return self.reply(answer.SerializeToString())

    def reply(self, data: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


def _call_theirs(known_as: str) -> list[Any]:
    ctx, task = get_job_context(), current_task()
    jobs = IrisJobs(task.controller)
    TheirServer.actors = {known_as.format(root=task.root): TheirActor()}
    if known_as != "chosen freely":
        TheirServer.actors = {"another": object(), **TheirServer.actors}
    server = ThreadingHTTPServer(("127.0.0.1", 0), TheirServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"127.0.0.1:{server.server_port}"
    jobs.register_endpoint("theirs", f"{task.root}/theirs", address, task.task, task.attempt, {})
    theirs = ctx.get_actor("theirs")
    refs = [theirs.add(number) for number in range(20)]
    found: list[Any] = [ctx.get(refs)[-1] == list(range(20)), ctx.get(theirs.add.remote(21, twice=True))[-1]]
    found.append(ctx.get(ctx.run(lambda actor: actor.add(5).result()[-1], theirs)))
    for call in (theirs.fail, theirs.die, theirs.refuse, lambda: theirs.add(threading.Lock)):
        try:
            ctx.get(call(), timeout=30)
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    try:
        ctx.kill(theirs)
    except fray.UnsupportedError as error:
        found.append(str(error))
    jobs.unregister_endpoint("theirs")
    try:
        ctx.get(theirs.add(1))
    except fray.ActorDiedError as error:
        found.append(str(error))
    try:
        ctx.get_actor("theirs")
    except fray.ActorNotFoundError as error:
        found.append(str(error))
    server.shutdown()
    return found


@pytest.mark.parametrize("known_as", ["{root}/theirs", "theirs", "chosen freely"])
def test_their_actors_are_called_in_order(iris: IrisCluster, known_as: str) -> None:
    in_order, twice, in_task, failed, died, refused, killed, gone, missing = run(
        iris, _call_theirs, known_as, FRAY_IRIS_OPEN_ACTORS="1"
    )
    assert (in_order, twice, in_task) == (True, 42, 5)
    assert failed == "ValueError: theirs"
    assert died.startswith("ActorDiedError") and "connection was lost" in died
    assert refused.startswith("TaskError") and "cannot read that" in refused
    assert "another program" in killed
    assert "endpoint is gone" in gone
    assert "no actor named 'theirs'" in missing


def _look_for_theirs() -> str:
    task = current_task()
    IrisJobs(task.controller).register_endpoint("x", f"{task.root}/theirs", "127.0.0.1:1", task.task, task.attempt, {})
    try:
        get_job_context().get_actor("theirs")
    except fray.ActorNotFoundError:
        return "not found"
    return "found"


def test_nobody_is_called_who_was_not_asked_for(iris: IrisCluster) -> None:
    assert run(iris, _look_for_theirs) == "not found"
