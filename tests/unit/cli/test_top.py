"""`fray top`: a node's figures, live in a terminal, and as text where there is none."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyte
import pytest

from tests.waiting import eventually

from .conftest import Program, program_path

PATIENCE = 40.0

WORK = """
import sys
import fray


def step(number):
    return sum(range(number))


def other():
    pass


def fails():
    raise ValueError("[red]no[/red] stock")


if __name__ == "__main__":
    ctx = fray.init(address="auto")
    ctx.wait([ctx.create_task(fails), ctx.run(other)], num_returns=2)
    held = ctx.create_task(step, (1,), options=fray.TaskOptions(name="[b]bold[/b]"))
    ctx.get(held)
    print("begun", flush=True)
    for line in sys.stdin:
        ctx.get([ctx.run(step, 100) for _ in range(int(line))])
        print("done", flush=True)
"""


class Terminal:
    """A program under a terminal, whose screen is known."""

    def __init__(self, words: list[str], columns: int = 132, lines: int = 40, **environment: str) -> None:
        self._master, slave = pty.openpty()
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        own = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
        self.process = subprocess.Popen(
            words,
            env={**own, "TERM": "xterm-256color", **environment},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, *patterns: str, without: str | None = None) -> str:
        """Read until all patterns are on the screen; return it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            text = self.text()
            if all(re.search(pattern, text) for pattern in patterns) and not (without and re.search(without, text)):
                return text
            ready = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))[0]
            assert ready, f"{patterns} did not appear:\n{text}"
            try:
                got = os.read(self._master, 65536)
            except OSError:
                got = b""
            assert got, f"it ended without {patterns}:\n{text}"
            self.raw += got
            # Questions about the terminal's abilities are none of the emulator's, which would show them.
            self._stream.feed(re.sub(rb"\x1b\[[?>=<][0-9;]*[\$a-zA-Z]+", b"", got))

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        self.screen.resize(lines, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        os.killpg(self.process.pid, signal.SIGWINCH)

    def end(self) -> int:
        """Wait for its end, reading what it says."""
        while True:
            try:
                if not os.read(self._master, 65536):
                    break
            except OSError:
                break
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._master)


@pytest.fixture
def open_program() -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def make(*words: object, **options: Any) -> Terminal:
        opened.append(Terminal([*map(str, words)], **options))
        return opened[-1]

    yield make
    for terminal in opened:
        terminal.close()


@pytest.fixture
def open_terminal(open_program: Callable[..., Terminal]) -> Callable[..., Terminal]:
    return partial(open_program, program_path(), "top")


@pytest.fixture
def node(fray_program: Program) -> Iterator[dict[str, Any]]:
    started = fray_program("start", "--cpus", 2, "--json")
    assert started.returncode == 0, started.stderr
    yield json.loads(started.stdout)
    fray_program("stop")


def figures_when(node: dict[str, Any], holds: Callable[[Any], bool]) -> Any:
    """Ask for the figures of the dashboard until they fit; programs tell them some time after their tasks ended."""
    headers = {"Authorization": f"Bearer {Path(node['token_file']).read_text().strip()}"}
    request = urllib.request.Request(f"{node['url']}/api/v1/dashboard/now", headers=headers)

    def figures() -> Any:
        with urllib.request.urlopen(request, timeout=30) as answer:
            now = json.load(answer)
        return now if holds(now) else None

    return eventually(figures, every=0.05)


@pytest.fixture
def work(node: dict[str, Any], home: Path) -> Iterator[Callable[[int], None]]:
    """A program of the node that has run some tasks, and runs so many more when it is told to."""
    path = home / "work.py"
    path.write_text(WORK)
    with subprocess.Popen([sys.executable, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"

        def run(count: int) -> None:
            print(count, file=running.stdin, flush=True)
            assert running.stdout is not None
            assert running.stdout.readline() == "done\n"

        yield run
        running.stdin.close()


def test_a_disk_that_is_full_is_a_sentence_and_a_reader_that_is_gone_is_none(node: dict[str, Any], home: Path) -> None:
    with open("/dev/full", "wb") as full:
        shown = subprocess.run(
            [program_path(), "top", "--once"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE
        )
    assert shown.returncode == 74
    assert shown.stderr == "fray top: its output cannot be written: No space left on device\n"
    gone, out = os.pipe()
    os.close(gone)
    shown = subprocess.run(
        [program_path(), "top", "--once"], stdout=out, stderr=subprocess.PIPE, text=True, timeout=PATIENCE
    )
    os.close(out)
    assert (shown.returncode, shown.stderr) == (1, "")


def test_without_a_terminal_the_figures_are_text_and_those_of_the_dashboard(
    fray_program: Program, node: dict[str, Any], work: Callable[[int], None]
) -> None:
    work(300)
    now = figures_when(node, lambda now: now["tasks"]["ended"] == 303)
    shown = fray_program("top", stdin=subprocess.DEVNULL)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\x1b" not in shown.stdout
    lines = shown.stdout.splitlines()
    assert lines[0].startswith(f"Fray {node['release']} at {node['url']}, up for ")
    assert f"ended    {now['tasks']['ended']:,}, {now['tasks']['failed']:,} of them failed" in lines
    rows = {line.split("  ")[0]: line for line in lines}
    assert re.search(r"^step +\S+ +0 +300 +0 ", rows["step"])
    assert re.search(r"^fails +\S+ +0 +1 +1 ", rows["fails"])
    assert "[b]bold[/b]" in rows


def test_the_table_is_sorted_paused_and_quit_by_keys(
    open_terminal: Callable[..., Terminal], work: Callable[[int], None]
) -> None:
    work(100)
    top = open_terminal("--interval", 0.2)
    top.until(r"Fray \S+ at http", r"all together ▼", r"step .* 100 ", r"\[b\]bold\[/b\]", r"fails .* 1 ")
    top.press("sss")  # CPU time, memory, function
    top.until(r"(?s)function ▲.*\[b\]bold.*fails.*other.*step ")
    top.press("r")
    top.until(r"(?s)function ▼.*step .*other.*fails.*\[b\]bold")
    top.press(" ")
    top.until(r"\(paused\)")
    work(50)
    top.press(" ")
    top.until(r"step .* 150 ", without=r"\(paused\)")
    top.press("q")
    assert top.end() == 0


def test_the_size_is_that_of_the_terminal_whatever_the_environment_says(
    open_terminal: Callable[..., Terminal], work: Callable[[int], None]
) -> None:
    top = open_terminal("--interval", 0.2, columns=112, COLUMNS="80", LINES="24")
    top.until(r"CPU time")
    top.resize(132, 40)
    top.until(r"memory at most")


def test_a_narrow_terminal_has_fewer_columns_and_a_wider_one_more(
    open_terminal: Callable[..., Terminal], work: Callable[[int], None]
) -> None:
    work(10)
    top = open_terminal("--interval", 0.2, columns=45, lines=30)
    narrow = top.until(r"function", r"step ")
    assert "half within" not in narrow
    assert all(len(line) <= 45 for line in narrow.splitlines())
    top.resize(132, 40)
    top.until(r"memory at most")
    top.resize(20, 5)
    top.resize(132, 40)
    top.until(r"memory at most", r"step .* 10 ")
    top.press("\x03")
    assert top.end() == 0


def test_a_terminal_that_cannot_move_its_cursor_gets_text(
    open_terminal: Callable[..., Terminal], node: dict[str, Any], work: Callable[[int], None]
) -> None:
    figures_when(node, lambda now: now["tasks"]["ended"] == 3 and now["cpus"]["leased"] == 0)
    top = open_terminal(TERM="dumb")
    top.until(r"Fray \S+ at http", r"CPUs +0 of 2 leased", r"other ")
    assert b"\x1b" not in top.raw
    assert top.end() == 0


def test_without_textual_the_extra_is_named(open_program: Callable[..., Terminal], node: dict[str, Any]) -> None:
    folder = str(Path(node["token_file"]).parent)
    hidden = "import runpy, sys; sys.modules['textual'] = None; runpy.run_module('fray._top', run_name='__main__')"
    top = open_program(sys.executable, "-c", hidden, folder)
    top.until(r"fray top: it needs textual, which is not installed; pip install 'fray\[top\]'")
    assert top.end() == 1


def test_no_color_means_none(open_terminal: Callable[..., Terminal], work: Callable[[int], None]) -> None:
    top = open_terminal("--interval", 0.2, NO_COLOR="1")
    top.until(r"all together ▼", r"other ")
    colours = re.findall(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m", top.raw)
    assert colours == []
    coloured = open_terminal("--interval", 0.2)
    coloured.until(r"all together ▼", r"other ")
    assert b"\x1b[38;" in coloured.raw


def test_a_node_that_goes_and_comes_back_is_shown_again(
    fray_program: Program, open_terminal: Callable[..., Terminal], node: dict[str, Any]
) -> None:
    top = open_terminal("--interval", 0.2)
    top.until(r"Fray \S+ at http", r"CPUs +0 of 2 leased")
    assert fray_program("stop").returncode == 0
    top.until(r"The node went away, reconnecting", r"CPUs +0 of 2 leased")
    assert fray_program("start", "--cpus", 3).returncode == 0
    top.until(r"Fray \S+ at http", r"CPUs +0 of 3 leased", without="went away")


def test_two_nodes_are_shown_in_turn(
    fray_program: Program, open_terminal: Callable[..., Terminal], node: dict[str, Any], tmp_path: Path
) -> None:
    second = {"FRAY_HOME": str(tmp_path)}
    started = fray_program("start", "--cpus", 1, "--json", env=second)
    assert started.returncode == 0, started.stderr
    try:
        other = json.loads(started.stdout)
        top = open_terminal(node["socket"], other["socket"], "--interval", 0.2)
        top.until(r"node 1 of 2: Fray", r"CPUs +0 of 2 leased")
        top.press("n")
        top.until(r"node 2 of 2: Fray", r"CPUs +0 of 1 leased")
        top.press("n")
        top.until(r"node 1 of 2: Fray", r"CPUs +0 of 2 leased")
        both = fray_program("top", "--once", node["socket"], other["socket"])
        assert [line.split()[3] for line in both.stdout.splitlines() if line.startswith("Fray ")] == [
            f"{node['url']},",
            f"{other['url']},",
        ]
    finally:
        fray_program("stop", env=second)


def test_a_node_that_is_none_is_refused_in_words(fray_program: Program, home: Path) -> None:
    nobody = fray_program("top")
    assert nobody.returncode == 5
    assert re.fullmatch(r"fray top: no node .*\nhint: .*\n", nobody.stderr)
    assert fray_program("top", "--interval", "0").returncode == 2
    stranger = fray_program("top", home / "nothing.sock")
    assert stranger.stdout == ""
    assert stranger.stderr.startswith("fray top: ")
