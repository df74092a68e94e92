"""What a started node tells its dashboard, asked as the page asks: with a link, a cookie, and a stream of events."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fray
import pytest
from fray.backend.native import NativeJobContext
from fray.errors import UnsupportedError

from tests.waiting import eventually

from .conftest import Program

PATIENCE = 60.0
HTML = "<img src=x onerror=alert(1)>"


class Page:
    """Somebody who looks at a node, with its token."""

    def __init__(self, url: str, token: str) -> None:
        self.host = url.removeprefix("http://")
        self.token = token

    def ask(
        self, path: str, method: str = "GET", body: object = None, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, str]:
        """Status, headers and body; without headers with the token, and with them with those alone."""
        sent = headers or {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            sent = {**sent, "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        status, _, body = self.ask(f"/api/v1/dashboard/{path}")
        assert status == 200, body
        return json.loads(body)

    def events(self, topics: str, after: int | None = None) -> Iterator[tuple[str, Any]]:
        """What the node tells as it changes: names and data of events."""
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        try:
            place = "" if after is None else f"&after={after}"
            connection.request(
                "GET",
                f"/api/v1/dashboard/live?topics={topics}{place}",
                headers={"Authorization": f"Bearer {self.token}"},
            )
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            assert answer.headers["Content-Type"] == "text/event-stream"
            name = ""
            for line in answer:
                text = line.decode().rstrip("\n")
                if text.startswith("event: "):
                    name = text.removeprefix("event: ")
                elif text.startswith("data: "):
                    yield name, json.loads(text.removeprefix("data: "))
        finally:
            connection.close()

    def until(self, topic: str, holds: Callable[[Any], bool]) -> Any:
        """Follow until what is told fits; return that."""
        for name, data in self.events(topic):
            if name == topic and holds(data):
                return data
        raise AssertionError("the node ended the stream")

    def link(self, fray_program: Program) -> str:
        made = fray_program("dashboard", "--no-open")
        assert made.returncode == 0, made.stderr
        assert "works once" in made.stderr
        return made.stdout.strip().removeprefix(f"http://{self.host}")

    def log_in(self, fray_program: Program) -> str:
        """Return the cookie of a browser that has followed a link."""
        status, headers, _ = self.ask(self.link(fray_program), Accept="text/html")
        assert status == 303
        return headers["Set-Cookie"].partition(";")[0]


@pytest.fixture
def page(fray_program: Program) -> Iterator[Page]:
    started = fray_program("start", "--cpus", 2, "--json")
    assert started.returncode == 0, started.stderr
    document = json.loads(started.stdout)
    yield Page(document["url"], Path(document["token_file"]).read_text().strip())
    fray_program("stop")


@pytest.fixture
def ctx(page: Page) -> Iterator[NativeJobContext]:
    with NativeJobContext(address="auto") as context:
        yield context


def step(number: int) -> int:
    return number


def fail(text: str) -> None:
    raise ValueError(text)


def hold(begun: str, end: str) -> None:
    """Tell that this runs, and run until the other end of a pipe is closed."""
    Path(begun).touch()
    with open(end) as pipe:
        pipe.read()


class Gate:
    """Tasks that run until the test says so."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "gate")
        os.mkfifo(self.path)

    def arguments(self, name: str) -> tuple[str, str]:
        return self.path + name, self.path

    def open(self) -> None:
        os.close(os.open(self.path, os.O_WRONLY))


class Counter:
    def add(self, begun: str, end: str) -> None:
        hold(begun, end)

    def leave(self) -> None:
        os._exit(3)


def by_name(document: Any) -> dict[str, Any]:
    return {row["name"]: row for row in document["functions"]}


# ---- who may look


def test_a_link_logs_a_browser_in_once_and_for_what_a_page_needs(page: Page, fray_program: Program) -> None:
    link = page.link(fray_program)
    status, headers, _ = page.ask(link, Accept="text/html")
    assert status == 303 and headers["Location"] == "/dashboard/"
    assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"]
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert page.ask("/api/v1/dashboard/session", Cookie=cookie)[0] == 200
    assert page.ask("/api/v1/jobs", Cookie=cookie)[0] == 200
    order = {"command": ["true"]}
    origin = f"http://{page.host}"
    status, _, body = page.ask("/api/v1/jobs", "POST", order, Cookie=cookie, Origin=origin)
    assert status == 403 and "needs the token" in body
    status, _, body = page.ask(link, Accept="text/html")
    assert status == 403 and "fray dashboard" in body
    assert page.ask("/api/v1/dashboard/session", Accept="*/*")[0] == 401
    assert page.ask("/api/v1/dashboard/session", Authorization="Bearer wrong")[0] == 403


def test_a_login_ends_with_its_node_and_is_not_anothers(
    page: Page, fray_program: Program, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cookie = page.log_in(fray_program)
    other = {"FRAY_HOME": str(tmp_path_factory.mktemp("other"))}
    started = json.loads(fray_program("start", "--cpus", 1, "--json", env=other).stdout)
    try:
        host = started["url"].removeprefix("http://")
        name, _, secret = cookie.partition("=")
        another = Page(started["url"], "")
        assert another.ask("/api/v1/dashboard/session", Cookie=cookie)[0] == 401
        status, _, body = another.ask("/api/v1/dashboard/session", Cookie=f"fray_{host.rpartition(':')[2]}={secret}")
        assert status == 401 and "login over" in body
        assert name == f"fray_{page.host.rpartition(':')[2]}"
    finally:
        fray_program("stop", env=other)


def test_a_home_without_a_node_says_how_to_start_one(fray_program: Program) -> None:
    told = fray_program("dashboard", "--no-open")
    assert told.returncode != 0
    assert "fray start" in told.stderr and told.stdout == ""


# ---- what is told


@pytest.mark.parametrize("end", ["ctx.close()", ""], ids=["closed", "left open"])
def test_a_program_that_comes_and_goes_while_somebody_looks_tells_all_that_it_ran(
    page: Page, fray_program: Program, end: str
) -> None:
    brief = (
        "import fray; ctx = fray.init(address='auto')\n"
        "ctx.get([ctx.run(abs, -number, name='brief') for number in range(50)])\n"
    )
    looking = page.events("now")
    next(looking)
    for programs in range(1, 4):
        done = subprocess.run([sys.executable, "-c", brief + end], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        # The node reads what a client said before it sees that the client is gone.
        page.until("now", lambda data: data["drivers"] == 0)
        assert by_name(page.get("functions"))["brief"]["ok"] == 50 * programs
    looking.close()


def test_what_ran_before_and_what_runs_is_told_by_function(ctx: NativeJobContext, page: Page, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    ctx.get([ctx.create_task(step, (number,)) for number in range(1000)])
    with pytest.raises(ValueError, match="<img"):
        ctx.get(ctx.create_task(fail, (HTML,)))
    running = ctx.create_task(hold, gate.arguments("a"))
    page.until("now", lambda data: data["tasks"]["ended"] == 1001 and data["tasks"]["running"] == 1)
    told = page.get("tasks")
    names = dict(told["functions"])
    ended = {names[row[0]]: row for row in told["rows"]}
    assert sum(row[5] for row in told["rows"] if names[row[0]] == "step") == 1000
    assert len([row for row in told["rows"] if names[row[0]] == "step"]) < 100, "short runs are one bar"
    assert ended["fail"][4] == "failed"
    function, _, start, seconds, state, _, task, _ = told["running"][0]
    assert (
        (names[function], state) == ("hold", "running") and seconds >= 0 and abs(start + seconds - told["time"]) < 0.01
    )

    failure = page.get(f"tasks/{ended['fail'][6]}")
    assert failure["runs"][0]["state"] == "failed" and failure["stack"] is None
    assert HTML in failure["error"] and "Traceback" in failure["error"]
    now = page.get(f"tasks/{task}")
    assert now["function"] == "hold" and now["runs"][0]["worker"]["alive"]
    stack = page.get(now["stack"])
    assert any(frame["function"] == "hold" for thread in stack["threads"] for frame in thread["frames"])

    rows = by_name(page.get("functions?sort=count"))
    assert next(iter(rows)) == "step" and rows["step"]["ok"] == 1000 and rows["hold"]["running"] == 1
    assert rows["fail"]["failed"] == 1
    assert 0 <= rows["step"]["seconds_p50"] <= rows["step"]["seconds_p99"] <= rows["step"]["seconds_max"]
    assert [row["name"] for row in page.get("functions?search=FAI")["functions"]] == ["fail"]
    gate.open()
    ctx.get(running)


def test_many_tasks_are_counted_to_the_last_and_rates_are_told(ctx: NativeJobContext, page: Page) -> None:
    events = page.events("now,tasks")
    refs = [ctx.create_task(step, (number,)) for number in range(100_000)]
    told, fastest, names, rows = 0, 0.0, {}, 0
    for name, data in events:
        if name == "now":
            fastest = max(fastest, data["tasks"]["per_second"])
            if data["tasks"]["ended"] == 100_000 and told == 100_000:
                break
        elif name == "tasks":
            names.update(data["functions"])
            told += sum(row[5] for row in data["rows"]) + data["left_out"]
            rows += len(data["rows"])
    events.close()
    ctx.get(refs)
    assert names and set(names.values()) == {"step"}
    assert fastest > 1000
    assert rows < 20_000


def test_what_waits_says_why_and_how_it_goes_on(ctx: NativeJobContext, page: Page, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    running = ctx.create_task(hold, gate.arguments("a"))
    page.until("now", lambda data: data["tasks"]["running"] == 1)
    wide = [ctx.create_task(step, (number,), options=fray.TaskOptions(resources={"CPU": 2})) for number in range(3)]
    told = page.until("now", lambda data: data["waiting"])
    group = told["waiting"][0]
    assert "waits for" in group["reason"] and group["way_on"].endswith(".")
    assert (group["kind"], group["resources"]) == ("tasks", {"CPU": 2.0})
    assert group["processes"][0]["pid"] == os.getpid()
    assert told["tasks"]["running"] == 1 and told["workers"]["total"] >= 1
    told = page.until("now", lambda data: data["tasks"]["unfinished"] == 4)
    assert told["drivers"] == 1
    gate.open()
    ctx.get([running, *wide])
    page.until("now", lambda data: data["waiting"] == [] and data["tasks"]["unfinished"] == 0)


def test_actors_objects_and_workers_are_listed(ctx: NativeJobContext, page: Page, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    actor = ctx.create_actor(Counter, name=HTML)
    calls = [actor.add.remote(*gate.arguments("a")), *[actor.leave.remote() for _ in range(3)]]
    page.until("now", lambda data: data["tasks"]["unfinished"] == 4 and data["tasks"]["running"] == 1)
    row = page.get("actors")["actors"][0]
    assert (row["class"], row["name"], row["state"]) == ("Counter", HTML, "alive")
    assert row["pending_calls"] == 4 and row["memory_bytes"] > 0 and row["running"].endswith("add")
    worker = next(each for each in page.get("workers")["workers"] if each["pid"] == row["pid"])
    assert worker["actor"] == row["actor"] and worker["cpu_seconds"] >= 0
    assert page.get("workers")["drivers"][0]["pid"] == os.getpid()
    ref = ctx.put(bytes(5_000_000))
    ctx.get(ctx.create_task(len, (ref,)))
    objects = page.get("objects")
    assert objects["objects"][0]["bytes"] >= 5_000_000 and objects["objects"][0]["place"] == "shared"
    assert objects["objects"][0]["owner"]["pid"] == os.getpid()
    gate.open()
    with pytest.raises(fray.ActorDiedError):
        ctx.get(calls[-1])
    dead = page.get("actors")["actors"][0]
    assert dead["state"] == "dead" and "3" in dead["error"]


def test_what_is_asked_wrongly_is_refused_with_what_there_is(page: Page) -> None:
    for path, status, word in [
        ("functions?sort=speed", 400, "seconds_total"),
        ("actors?order=down", 400, "asc or desc"),
        ("workers?limit=2000", 400, "1000"),
        ("live?topics=all", 400, "now, tasks, log"),
        ("tasks/1-1", 404, "1-1"),
        ("tasks/nothing", 404, "1-42"),
        ("workers/1/stack", 404, "process 1"),
        ("nothing", 404, "openapi.json"),
    ]:
        got, _, body = page.ask(f"/api/v1/dashboard/{path}")
        assert (got, word in body) == (status, True), (path, got, body)


def test_the_log_is_followed(page: Page) -> None:
    document = page.get("log?limit=5")
    assert document["path"].endswith("node.log") and document["problem"] is None
    events = page.events("log")
    assert next(events)[0] == "hello"
    assert next(events)[0] == "log"
    with open(document["path"], "a") as log:
        log.write(f"fray node: {HTML}\nhalf a line")
        log.flush()
        name, data = next(events)
        assert (name, [line["text"] for line in data["lines"]]) == ("log", [f"fray node: {HTML}"])
        log.write(", and the rest\n")
        log.flush()
        assert [line["text"] for line in next(events)[1]["lines"]] == ["half a line, and the rest"]
    events.close()


def test_a_node_that_nobody_looks_at_sleeps(page: Page) -> None:
    pid = page.get("session")["pid"]

    def sleeps() -> int:
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.partition("voluntary_ctxt_switches:")[2].split()[0])

    def of_a_while() -> int:
        before = sleeps()
        threading.Event().wait(0.7)
        return sleeps() - before

    assert any(of_a_while() == 0 for _ in range(30))
    page.get("now")
    assert any(of_a_while() > 0 for _ in range(3)), "who has asked for a document looks for a while"
    assert any(of_a_while() == 0 for _ in range(30))


# ---- of a program's own node


def _refuses(page: Page) -> bool:
    try:
        page.ask("/")
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # the node is just ending
        return False
    return False


def test_an_embedded_node_has_a_dashboard_when_it_is_asked_for(home: Path) -> None:
    with NativeJobContext(cpus=1, dashboard=True) as context:
        link = fray.dashboard(context=context)
        url, _, path = str(link).partition("/dashboard/")
        page = Page(url, "")
        status, headers, _ = page.ask("/dashboard/" + path, Accept="text/html")
        assert status == 303
        cookie = headers["Set-Cookie"].partition(";")[0]
        assert json.loads(page.ask("/api/v1/dashboard/session", Cookie=cookie)[2])["release"] == fray.__version__
        frame = link._repr_html_()
        assert 'src="http://localhost:' in frame and path not in frame
    eventually(lambda: _refuses(page), what="the dashboard ends with its context")


def test_a_context_without_a_dashboard_says_how_to_have_one(home: Path) -> None:
    with NativeJobContext(cpus=1) as context, pytest.raises(UnsupportedError, match="dashboard=True"):
        fray.dashboard(context=context)
    with pytest.raises(UnsupportedError, match=r"fray\.init\(dashboard=True\)"):
        fray.dashboard(context=fray.SyncContext())
