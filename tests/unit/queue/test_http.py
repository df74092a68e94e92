"""Queues in a node, over HTTP: what outlives what, and what is said where something is wrong."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fray
import pytest
from fray import NodeDiedError, QueueNotFoundError
from fray.backend.native import NativeJobContext
from fray.backend.native.programs import fray_program
from fray.errors import FrayError
from fray.queue import HttpQueue, HttpQueueServer, Lease

from .conftest import QueueNode

WORKER = """
import sys
from fray.queue import HttpQueue
queue = HttpQueue(*sys.argv[1:4])
while leases := queue.pop_many(7):
    print(*(lease.item for lease in leases))
    queue.done_many(leases)
"""


class Unreadable:
    """Can be pickled, not unpickled."""

    def __reduce__(self):
        return int, ("no number",)


class Home:
    """A started node of a home of its own, which can be killed and started anew."""

    def __init__(self, folder: Path) -> None:
        self._environment = {**os.environ, "FRAY_HOME": str(folder)}
        self.pid = 0
        self.url = ""
        self.token_file = ""

    def start(self) -> None:
        words = [fray_program(), "start", "--json", "--cpus", "1"]
        if self.url:
            words += ["--http-port", self.url.rpartition(":")[2]]
        told = json.loads(subprocess.run(words, env=self._environment, capture_output=True, check=True).stdout)
        self.pid, self.url, self.token_file = told["pid"], told["url"], told["token_file"]

    def kill(self) -> None:
        descriptor = os.pidfd_open(self.pid)
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        wait_for_end(descriptor)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([fray_program(), *words], env=self._environment, capture_output=True, text=True)


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    folder = tmp_path_factory.mktemp("q")
    monkeypatch.setenv("FRAY_HOME", str(folder))
    node = Home(folder)
    node.start()
    yield node
    node.command("stop")


@contextlib.contextmanager
def answering(answer: Callable[[http.server.BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """Run a server that answers every request as `answer` does; yield its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer(self)

        do_GET = do_PUT = do_POST

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def wait_for_end(descriptor: int) -> None:
    assert select.select([descriptor], [], [], 60)[0]
    os.close(descriptor)


def ask(queue: HttpQueue[Any], token_file: str, verb: str, body: dict[str, object]) -> dict[str, Any]:
    """Send a request as a program does that knows nothing of Fray."""
    headers = {"Authorization": f"Bearer {Path(token_file).read_text().strip()}", "Content-Type": "application/json"}
    url = f"{queue.url}/api/v1/queues/{queue.name}/{verb}"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.loads(answer.read())


def wait_for_waiters(queue: HttpQueue[Any], token_file: str, count: int) -> None:
    headers = {"Authorization": f"Bearer {Path(token_file).read_text().strip()}"}
    request = urllib.request.Request(f"{queue.url}/api/v1/queues/{queue.name}", headers=headers)
    end = time.monotonic() + 60
    while True:
        with urllib.request.urlopen(request) as answer:
            if json.loads(answer.read())["waiters"] == count:
                return
        assert time.monotonic() < end


def test_processes_get_every_item_once(queue_node: QueueNode):
    queue = queue_node.new_queue()
    queue.push_many(range(200))
    words = [sys.executable, "-c", WORKER, queue.url, queue.name, queue_node.server.token_file]
    workers = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    items = [line for worker in workers for line in worker.communicate()[0].split()]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert sorted(map(int, items)) == list(range(200))


def test_lease_can_be_ended_by_a_copy(queue_node: QueueNode):
    queue = queue_node.new_queue()
    queue.push("a")
    lease, copy = pickle.loads(pickle.dumps((queue.pop(), queue)))
    assert (copy.url, copy.name) == (queue.url, queue.name)
    copy.done(lease)
    assert (queue.size(), queue.pending()) == (0, 0)


def test_pickle_of_a_queue_holds_no_token(queue_node: QueueNode):
    queue = queue_node.new_queue()
    queue.push("a")
    token = Path(queue_node.server.token_file).read_text().strip()
    assert token.encode() not in pickle.dumps(queue)
    assert token not in repr(queue)


def test_forked_process_has_requests_of_its_own(queue_node: QueueNode):
    queue = queue_node.new_queue()
    queue.push_many("ab")
    child = os.fork()
    if child == 0:
        lease = queue.pop()
        os._exit(0 if lease is not None and lease.item in ("a", "b") else 1)
    lease = queue.pop()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert lease is not None
    queue.done(lease)
    assert (queue.size(), queue.pending()) == (0, 1)


def test_item_that_cannot_be_read_does_not_block_the_others(queue_node: QueueNode):
    queue = queue_node.new_queue()
    queue.push_many([1, Unreadable(), 3])
    with pytest.raises(ValueError, match="no number"):
        queue.pop_many(3)
    assert (queue.size(), queue.pending()) == (2, 1)
    assert [lease.item for lease in queue.pop_many(3)] == [1, 3]


def test_item_that_cannot_be_pickled_leaves_nothing_of_its_batch(queue_node: QueueNode):
    queue = queue_node.new_queue()
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        queue.push_many([1, lambda: None])
    assert queue.size() == 0


def test_large_items_travel_in_several_requests(queue_node: QueueNode):
    queue = queue_node.new_queue()
    large = [bytes([i]) * (3 << 20) for i in range(3)]
    queue.push_many(large)
    found: list[bytes] = []
    while leases := queue.pop_many(10):
        found += [lease.item for lease in leases]
        queue.done_many(leases)
    assert found == large


def test_item_that_is_too_large_is_told_before_anything_is_sent(queue_node: QueueNode):
    queue = queue_node.new_queue()
    with pytest.raises(ValueError, match=r"the item has 4\.0 MiB pickled, and an item may have 4\.0 MiB at most"):
        queue.push_many(["small", b"x" * (4 << 20)])
    assert queue.size() == 0


def test_more_items_than_one_request_takes_are_pushed_and_ended(queue_node: QueueNode):
    queue = queue_node.new_queue()
    queue.push_many(range(2500))
    leases: list[Lease[object]] = []
    while some := queue.pop_many(10_000):
        leases += some
    assert [lease.item for lease in leases] == list(range(2500))
    queue.done_many(leases)
    assert (queue.size(), queue.pending()) == (0, 0)


def test_acknowledged_items_and_leases_outlive_kill_9_of_the_node(home: Home):
    queue: HttpQueue[str] = HttpQueue("auto", "pages", create=True)
    queue.push_many("abc")
    done, held = queue.pop_many(2)
    queue.done(done)
    home.kill()
    home.start()
    assert (queue.size(), queue.pending()) == (1, 1)
    queue.done(held)
    lease = queue.pop()
    assert lease is not None
    assert lease.item == "c"


def test_workers_lose_and_double_nothing_while_the_node_is_killed_again_and_again(home: Home):
    made: HttpQueue[int] = HttpQueue(home.url, "numbers", home.token_file, create=True)
    count, finished, done, refused = 300, threading.Event(), [], []

    def produce(first: int) -> None:
        queue = pickle.loads(pickle.dumps(made))
        for item in range(first, count, 2):
            queue.push(item)

    def consume() -> None:
        queue = pickle.loads(pickle.dumps(made))
        while not (finished.is_set() and queue.size() == 0):
            for lease in queue.pop_many(5, 3600, wait=0.2):
                try:
                    queue.done(lease)
                except ValueError:
                    refused.append(lease)
                else:
                    done.append(lease.item)

    with ThreadPoolExecutor() as pool:
        producers = [pool.submit(produce, first) for first in range(2)]
        consumers = [pool.submit(consume) for _ in range(2)]
        for _ in range(3):
            reached = len(done) + count // 6
            while len(done) < reached and not all(producer.done() for producer in producers):
                finished.wait(0.005)
            home.kill()
            home.start()
        for producer in producers:
            producer.result()
        finished.set()
        for consumer in consumers:
            consumer.result()
    assert refused == []
    assert sorted(done) == list(range(count))
    assert made.pending() == 0


def test_repeated_request_is_carried_out_once_by_the_node_after_this_one(home: Home):
    queue: HttpQueue[Any] = HttpQueue(home.url, "pages", home.token_file, create=True)
    body = {"items": ["gARLAS4="], "client": "me", "sequence": 1}
    assert ask(queue, home.token_file, "push", body)["pushed"] == 1
    home.kill()
    home.start()
    assert ask(queue, home.token_file, "push", body)["pushed"] == 1
    assert queue.size() == 1


def test_who_waits_goes_on_waiting_at_the_next_node(home: Home):
    queue: HttpQueue[str] = HttpQueue("auto", "pages", create=True)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(queue.pop, 60, 120)
        wait_for_waiters(HttpQueue(home.url, "pages"), home.token_file, 1)
        home.kill()
        home.start()
        queue.push("a")
        lease = waiting.result(60)
    assert lease is not None
    assert lease.item == "a"


def test_node_that_stays_away_is_told_after_the_patience(home: Home):
    queue: HttpQueue[str] = HttpQueue(home.url, "pages", home.token_file, create=True, patience=0.2)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(queue.pop, 60, 120)
        wait_for_waiters(queue, home.token_file, 1)
        home.command("stop")
        with pytest.raises(NodeDiedError, match=rf"the queues at {home.url} have not answered for 0\.2 s"):
            waiting.result(60)
    with pytest.raises(NodeDiedError, match="have not answered"):
        queue.push("a")
    with pytest.raises(NodeDiedError, match="no node of this home is started"):
        HttpQueue("auto", "pages", patience=0).size()


def test_queue_that_is_not_there_is_told(queue_node: QueueNode):
    queue: HttpQueue[str] = HttpQueue(queue_node.server.url, "nobodys", queue_node.server.token_file)
    for use in (queue.pop, queue.peek, queue.size, queue.pending, lambda: queue.push("a")):
        with pytest.raises(QueueNotFoundError, match="there is no queue nobodys here"):
            use()


def test_queue_that_is_there_keeps_its_items_when_it_is_made_again(queue_node: QueueNode):
    queue_node.server.new_queue("twice").push("a")
    assert queue_node.server.new_queue("twice").peek() == "a"


@pytest.mark.parametrize("name", ["", "a/b", "a b", "..", "-x", "ä", "a\n", "x" * 101])
def test_names_that_no_queue_can_have_are_refused(queue_node: QueueNode, name: str):
    with pytest.raises(ValueError, match="a queue's name has 1 to 100 letters"):
        queue_node.server.new_queue(name)


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:40113", "ftp://x", "http://", "http://x:no", "http://x?y=1", "http://x:99999", "http://a b"]
)
def test_addresses_that_are_none_are_refused(url: str):
    with pytest.raises(ValueError, match="url must be the address of a node"):
        HttpQueue(url, "pages")


def test_password_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(ValueError, match="the token belongs into a file") as raised:
        HttpQueue("http://me:hidden-word@127.0.0.1:1", "pages")
    assert "hidden-word" not in str(raised.value)


def test_values_of_other_types_are_refused():
    for arguments in ((None, "pages"), ("auto", None), (1, "pages")):
        with pytest.raises(TypeError):
            HttpQueue(*arguments)  # type: ignore[arg-type]
    for patience in (-1, float("nan"), 241):
        with pytest.raises(ValueError, match="patience must be"):
            HttpQueue("auto", "pages", patience=patience)


def test_wrong_token_is_told_without_it(queue_node: QueueNode, tmp_path: Path):
    wrong = tmp_path / "token"
    wrong.write_text("hidden-word\n")
    queue: HttpQueue[str] = HttpQueue(queue_node.server.url, "pages", wrong)
    with pytest.raises(PermissionError, match=r"refuses the token in .*token: the token is not this node's") as raised:
        queue.push("a")
    assert "hidden-word" not in str(raised.value)
    wrong.write_text("two words\n")
    with pytest.raises(PermissionError, match="holds no token"):
        HttpQueue(queue_node.server.url, "pages", wrong).size()
    with pytest.raises(NodeDiedError, match=r"the token file .* is not there"):
        HttpQueue(queue_node.server.url, "pages", tmp_path / "nothing", patience=0).size()
    with pytest.raises(PermissionError, match="give token_file="):
        HttpQueue(queue_node.server.url, "pages").size()


def test_port_where_nobody_listens_is_told(queue_node: QueueNode):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        queue: HttpQueue[str] = HttpQueue(url, "pages", queue_node.server.token_file, patience=0.1)
        with pytest.raises(NodeDiedError, match=r"have not answered for 0\.1 s \(Connection refused\)"):
            queue.size()


def test_page_of_something_else_is_told(queue_node: QueueNode):
    def page(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html")
        handler.end_headers()
        handler.wfile.write(b"<html>")

    with answering(page) as url:
        queue: HttpQueue[str] = HttpQueue(url, "pages", queue_node.server.token_file)
        with pytest.raises(FrayError, match="answered 200 with text/html, which no node of Fray does"):
            queue.push("a")


def test_proxy_that_cannot_reach_the_node_is_asked_again(queue_node: QueueNode):
    sent: list[dict[str, Any]] = []

    def busy(handler: http.server.BaseHTTPRequestHandler) -> None:
        sent.append(json.loads(handler.rfile.read(int(handler.headers["Content-Length"]))))
        if len(sent) == 1:
            return handler.send_error(502)
        text = b'{"pushed": 1}'
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)
        return None

    with answering(busy) as url:
        HttpQueue(url, "pages", queue_node.server.token_file).push("a")
    assert len(sent) == 2
    assert sent[0] == sent[1]


def test_server_keeps_what_is_in_its_folder_for_the_next(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("q")
    with HttpQueueServer(folder) as server:
        queue = server.new_queue("pages")
        queue.push_many("ab")
        assert queue.pop() is not None
        with pytest.raises(NodeDiedError, match="a node of this home runs already"), HttpQueueServer(folder):
            pass
    with HttpQueueServer(folder) as server:
        assert server.new_queue("pages").size() == 1
        assert server.new_queue("pages").pending() == 1


def test_server_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("t")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with HttpQueueServer() as server:
        server.new_queue("pages").push("a")
        assert list(folder.iterdir())
    assert not list(folder.iterdir())
    for use in (lambda: server.url, lambda: server.token_file, lambda: server.new_queue("a")):
        with pytest.raises(RuntimeError, match="does not run; use it as"):
            use()


def test_server_ends_with_a_program_that_is_killed(tmp_path_factory: pytest.TempPathFactory):
    program = (
        "import os, signal, sys\nfrom fray.queue import HttpQueueServer\n"
        "with HttpQueueServer(sys.argv[1]) as server:\n"
        "    print(server._process.pid, flush=True)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    folder = tmp_path_factory.mktemp("q")
    ended = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        wait_for_end(os.pidfd_open(int(ended.stdout)))


def test_server_in_what_is_no_folder_says_so(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NodeDiedError, match="file for queues cannot be made: File exists"):
        HttpQueueServer(tmp_path / "file").__enter__()


def test_interrupted_wait_takes_no_item(queue_node: QueueNode):
    queue = queue_node.new_queue()
    program = "import sys\nfrom fray.queue import HttpQueue\nHttpQueue(*sys.argv[1:4]).pop(60, wait=60)\n"
    words = [sys.executable, "-c", program, queue.url, queue.name, queue_node.server.token_file]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as process:
        wait_for_waiters(queue, queue_node.server.token_file, 1)
        process.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in process.communicate()[1]
    wait_for_waiters(queue, queue_node.server.token_file, 0)
    queue.push("a")
    assert (queue.size(), queue.pending()) == (1, 0)


@pytest.mark.parametrize("make", [fray.LocalJobContext, fray.ThreadContext, lambda: NativeJobContext(cpus=2)])
def test_tasks_of_any_context_share_a_queue(queue_node: QueueNode, make: Callable[[], fray.JobContext]):
    queue = queue_node.new_queue()

    def work(shared: HttpQueue[int]) -> list[int]:
        leases = shared.pop_many(3)
        shared.done_many(leases)
        return [lease.item for lease in leases]

    queue.push_many(range(9))
    with make() as context:
        items = context.get([context.run(work, queue) for _ in range(3)])
    assert sorted(item for each in items for item in each) == list(range(9))
    assert (queue.size(), queue.pending()) == (0, 0)


def test_node_that_is_to_end_with_its_input_needs_a_pipe(tmp_path_factory: pytest.TempPathFactory):
    environment = {**os.environ, "FRAY_HOME": str(tmp_path_factory.mktemp("q"))}
    words = [fray_program(), "start", "--foreground", "--until-eof"]
    refused = subprocess.run(words, stdin=subprocess.DEVNULL, env=environment, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "needs a pipe there" in refused.stderr
    alone = subprocess.run([fray_program(), "start", "--until-eof"], env=environment, capture_output=True, text=True)
    assert alone.returncode == 2


def test_server_on_a_port_that_is_taken_says_so():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(NodeDiedError, match=f"127.0.0.1:{port}"), HttpQueueServer(port=port):
            pass
    for port, kind in ((-1, ValueError), (65536, ValueError), ("80", TypeError), (True, TypeError)):
        with pytest.raises(kind, match="port must be"):
            HttpQueueServer(port=port)  # type: ignore[arg-type]


def test_command_lists_shows_and_purges_queues(home: Home):
    assert "NAME" in home.command("queue", "list").stdout
    queue: HttpQueue[str] = HttpQueue("auto", "pages", create=True)
    queue.push_many("abc")
    assert queue.pop() is not None
    listed = json.loads(home.command("queue", "list", "--json").stdout)["queues"]
    assert [(each["name"], each["waiting"], each["leased"]) for each in listed] == [("pages", 2, 1)]
    assert "waiting  2\nleased   1\n" in home.command("queue", "show", "pages").stdout
    assert home.command("queue", "purge", "pages").stdout == "removed 2 items of the queue pages\n"
    assert home.command("queue", "purge", "pages", "--leased").stdout == "removed 1 items of the queue pages\n"
    assert (queue.size(), queue.pending()) == (0, 0)


def test_command_says_what_is_wrong(home: Home):
    unknown = home.command("queue", "show", "nobodys")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (3, 1)
    assert "there is no queue nobodys here" in unknown.stderr
    assert home.command("queue", "show", "a b").returncode == 2
    assert home.command("queue", "purge", "a/b").returncode == 2
    assert home.command("queue", "show").returncode == 2
    home.command("stop")
    away = home.command("queue", "list")
    assert away.returncode == 5
    assert away.stderr.startswith("fray queue list: ")
