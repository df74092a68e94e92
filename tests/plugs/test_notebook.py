"""Fray in a notebook: a real kernel runs the cells."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from fray._leaks import MARKER, marked_processes
from nbclient.exceptions import CellExecutionError

from tests.waiting import eventually

PATIENCE = 30.0
PROMPT = 30.0
"""Seconds within which an interrupt must have arrived, on a busy machine too."""

pytestmark = [
    pytest.mark.timeout(120),
    # Those of other projects.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


class Notebook:
    """A notebook whose cells are run one by one."""

    def __init__(self, client: nbclient.NotebookClient, marker: str) -> None:
        self.client = client
        self.marker = marker

    def processes(self) -> set[int]:
        """Return the kernel and all that it has started."""
        return {process.pid for process in marked_processes(self.marker)}

    def run(self, source: str) -> Any:
        """Run a cell, as if typed at the end, and return its outputs."""
        cell = nbformat.v4.new_code_cell(source)
        self.client.nb.cells.append(cell)
        return self.client.execute_cell(cell, len(self.client.nb.cells) - 1).outputs

    def value(self, source: str) -> Any:
        """Return the value of the last expression of a cell."""
        results = [output for output in self.run(source) if output.output_type == "execute_result"]
        return json.loads(results[-1].data["text/plain"])

    def text(self, source: str, stream: str = "stdout") -> str:
        """Return what a cell prints."""
        return "".join(
            output.text for output in self.run(source) if output.output_type == "stream" and output.name == stream
        )

    def interrupt(self) -> None:
        """Do what the stop button does."""
        asyncio.run(self.client.km.interrupt_kernel())


@contextmanager
def open_notebook() -> Iterator[Notebook]:
    """Start a kernel, and check in the end that nothing of it is left."""
    marker = uuid.uuid4().hex
    client = nbclient.NotebookClient(nbformat.v4.new_notebook(), timeout=int(PATIENCE), kernel_name="python3")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARKER, marker)
        patch.delenv("FRAY_CLUSTER_SPEC", raising=False)
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)  # a kernel that sees it does not show what goes to fd 1
        with client.setup_kernel():
            notebook = Notebook(client, marker)
            notebook.run("import fray, os, time\nctx = fray.init(cpus=2)")
            yield notebook
    eventually(lambda: not notebook.processes(), PATIENCE)


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    """One kernel for the tests that do not end it."""
    with open_notebook() as opened:
        yield opened


def test_cells_that_run_again_never_call_what_was_there_before(notebook: Notebook) -> None:
    call = "ctx.get([ctx.run(task, 1) for _ in range(8)])"
    notebook.run("def task(x): return x + 1")
    assert notebook.value(call) == [2] * 8
    notebook.run("def task(x): return helper(x) * factor")
    notebook.run("def helper(x): return x + 10\nfactor = 2")
    assert notebook.value(call) == [22] * 8
    notebook.run("factor = 3")
    assert notebook.value(call) == [33] * 8
    notebook.run("def helper(x): return Thing(x).value")
    notebook.run("class Thing:\n    def __init__(self, x): self.value = x")
    assert notebook.value(call) == [3] * 8
    notebook.run("class Thing:\n    def __init__(self, x): self.value = x + 100")
    assert notebook.value(call) == [303] * 8
    assert notebook.value("list(fray.Executor().map(task, range(3)))") == [300, 303, 306]


def test_init_may_run_again(notebook: Notebook) -> None:
    before = notebook.value("os.getpid()")
    assert notebook.run("fray.init(cpus=2) is ctx")[0].data["text/plain"] == "True"
    assert notebook.value("ctx.get(ctx.run(os.getpid))") != before


def test_refs_can_be_awaited_in_a_cell(notebook: Notebook) -> None:
    assert notebook.value("await ctx.run(abs, -3)") == 3
    assert notebook.value("import asyncio\nawait asyncio.gather(*(ctx.run(abs, -n) for n in range(3)))") == [0, 1, 2]


def test_what_tasks_print_appears_below_the_cell(notebook: Notebook) -> None:
    eventually(lambda: "hello from a task" in notebook.text("ctx.get(ctx.run(print, 'hello from a task'))"), PATIENCE)


def test_progress_is_one_bar_that_is_updated_in_place(notebook: Notebook) -> None:
    outputs = notebook.run("refs = fray.progress([ctx.run(time.sleep, 0.05) for _ in range(20)], label='naps')")
    shown = [output for output in outputs if output.output_type == "display_data"]
    assert len(shown) == len(outputs) == 1, outputs
    assert '<progress value="20" max="20">' in shown[0].data["text/html"]
    assert "naps 20/20" in shown[0].data["text/html"]


def test_the_dashboard_is_shown_in_the_cell(notebook: Notebook) -> None:
    notebook.run("own = fray.create_job_ctx('local', dashboard=True)\nown.get(own.run(abs, -1))")
    shown = notebook.run("fray.dashboard(context=own)")[-1].data
    assert shown["text/plain"].startswith("<dashboard at http://127.0.0.1:")
    frame = re.fullmatch(r'<iframe src="http://(localhost:\d+)(/[^"]*)".*</iframe>', shown["text/html"])
    assert frame, shown
    connection = http.client.HTTPConnection(frame[1], timeout=PATIENCE)
    connection.request("GET", frame[2])
    answer = connection.getresponse()
    connection.close()
    assert (answer.status, answer.headers["Location"]) == (303, "/dashboard/")
    assert answer.headers["Set-Cookie"].startswith("fray_")
    notebook.run("own.close()")


def test_an_exception_shows_where_the_task_raised_it(notebook: Notebook) -> None:
    notebook.run("def fails():\n    raise ValueError('in a task')")
    with pytest.raises(CellExecutionError) as caught:
        notebook.run("ctx.get(ctx.run(fails))")
    assert caught.value.ename == "ValueError"
    assert "RemoteTraceback" in caught.value.traceback
    assert "line 2, in fails" in caught.value.traceback


@pytest.mark.parametrize(
    "wait",
    [
        "ctx.get(ref)",
        "ctx.wait([ref])",
        "fray.progress([ref])",
        "executor.submit(time.sleep, 60).result()",
        "list(ctx.map(time.sleep, [60]))",
    ],
)
def test_interrupt_ends_the_wait_and_nothing_else(notebook: Notebook, wait: str, tmp_path: Path) -> None:
    notebook.run("ref = ctx.run(time.sleep, 60)\nexecutor = fray.Executor(context=ctx)")
    pid, begun = notebook.value("os.getpid()"), tmp_path / "begun"
    interrupted: list[float] = []

    def interrupt() -> None:
        eventually(lambda: begun.exists() and _sleeps(pid), PATIENCE)
        interrupted.append(time.monotonic())
        notebook.interrupt()

    helper = threading.Thread(target=interrupt)
    helper.start()
    with pytest.raises(CellExecutionError) as caught:
        notebook.run(f"open({str(begun)!r}, 'w').close()\n{wait}")
    helper.join()
    assert caught.value.ename == "KeyboardInterrupt"
    assert time.monotonic() - interrupted[0] < PROMPT
    assert notebook.value("executor.interrupt(); executor.shutdown(wait=False); ctx.get(ctx.run(abs, -5))") == 5
    assert notebook.run("ref")[0].data["text/plain"].endswith("pending)"), "the task goes on until it is cancelled"
    notebook.run("ctx.cancel(ref)")


def _sleeps(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def test_restarted_kernel_leaves_nothing_and_works_again() -> None:
    with open_notebook() as notebook:
        notebook.run("ref = ctx.run(time.sleep, 60)\nctx.get(ctx.run(abs, -1))")
        before = notebook.processes()
        assert len(before) > 3
        nbclient.util.run_sync(notebook.client.km.restart_kernel)(now=False)
        nbclient.util.run_sync(notebook.client.kc.wait_for_ready)(timeout=PATIENCE)
        eventually(lambda: not before & notebook.processes(), PATIENCE)
        assert notebook.value("import fray\nctx = fray.init(cpus=1)\nctx.get(ctx.run(abs, -2))") == 2


def test_killed_kernel_leaves_nothing() -> None:
    with open_notebook() as notebook:
        notebook.run("ref = ctx.run(time.sleep, 60)\nctx.get(ctx.run(abs, -1))")
        assert len(notebook.processes()) > 3
        notebook.client.km.provisioner.process.kill()
        eventually(lambda: not notebook.processes(), PATIENCE)
