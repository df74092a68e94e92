import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools import run_tests

PYTEST_XML = """<?xml version="1.0"?><testsuites><testsuite tests="4">
<testcase name="a"/><testcase classname="tests.test_x" name="b"><failure message="no"/></testcase>
<testcase name="c"><skipped/></testcase><testcase name="d"><error message="fixture"/></testcase>
</testsuite></testsuites>"""

CTEST_XML = """<?xml version="1.0"?><testsuite tests="3">
<testcase name="a" status="run"/><testcase classname="b" name="b" status="fail"><failure message=""/></testcase>
<testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=1"/></testcase>
</testsuite>"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PYTEST_XML, run_tests.Count(1, 2, 1, ["tests.test_x::b", "d"])),
        (CTEST_XML, run_tests.Count(1, 1, 1, ["b"])),
    ],
)
def test_junit_of_both_runners_is_counted(text: str, expected: run_tests.Count) -> None:
    assert run_tests.parse_junit(text) == expected


@pytest.mark.parametrize(("ci", "scale"), [("true", 3.0), ("", 1.0)])
def test_budgets_are_longer_on_ci_machines(monkeypatch: pytest.MonkeyPatch, ci: str, scale: float) -> None:
    monkeypatch.setenv("CI", ci)
    assert run_tests.budget_scale() == scale


def fake_runner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> None:
    """Replaces a part's runner by a Python program, which finds the JUnit path in its first argument."""
    junit = tmp_path / "junit.xml"
    command = [sys.executable, "-c", f"import sys, time, pathlib\n{code}", str(junit)]
    monkeypatch.setattr(run_tests, "commands", lambda part, out=None: [(command, junit)])
    monkeypatch.delenv("CI", raising=False)


def write_junit(text: str) -> str:
    return f"pathlib.Path(sys.argv[1]).write_text({text!r})"


def test_part_over_its_budget_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_runner(monkeypatch, tmp_path, f"{write_junit('<testsuite><testcase/></testsuite>')}")
    monkeypatch.setattr(run_tests, "time", SimpleNamespace(monotonic=iter((0.0, 61.0)).__next__))
    count, line = run_tests.run_part(run_tests.Part("p", 60))
    assert (count.passed, count.failed) == (1, 1)
    assert "OVER BUDGET" in line


def test_runner_that_hangs_is_stopped_at_twice_the_budget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_runner(monkeypatch, tmp_path, "time.sleep(60)")
    count, line = run_tests.run_part(run_tests.Part("p", 0.2))
    assert count.failed > 0
    assert "stopped at twice its budget" in line


def test_a_test_that_hangs_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    # It hangs in a system call, with its thread begun long ago: a dump of stacks that meets Python at work may crash.
    (folder / "test_some.py").write_text(f"""
import os, threading

def test_ends(): pass

def test_hangs():
    threading.Thread(target=threading.Event().wait).start()
    os.write(os.open({str(ready)!r}, os.O_WRONLY), bytes(1 << 22))
""")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    monkeypatch.setattr(run_tests, "commands", lambda part, out=None: [(command, tmp_path / "junit.xml")])
    monkeypatch.setattr(run_tests.threading, "Timer", lambda seconds, stop: StopsOnceReady(ready, stop))
    count, line = run_tests.run_part(run_tests.Part("p", 60))
    assert count.failed > 0
    assert "stopped at twice its budget in tests/unit/test_some.py::test_hangs" in line


class StopsOnceReady(threading.Thread):
    """A timer that fires when the program has begun to write to a pipe, which nobody empties."""

    def __init__(self, ready: Path, stop: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.ready, self.stop = ready, stop

    def run(self) -> None:
        with self.ready.open("rb", buffering=0) as pipe:
            pipe.read(1)
            self.stop()

    def cancel(self) -> None:
        pass


def test_runner_that_breaks_without_a_failed_test_counts_as_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_runner(monkeypatch, tmp_path, "sys.exit(3)")
    count, line = run_tests.run_part(run_tests.Part("p", 60))
    assert count.failed == 1
    assert "ended with code 3" in line


CHECK = "[2026-01-02 03:04:05,678 C {pid} 99] counter.cc:12:  Check failed: it != end()\\n"
STACK = "*** StackTrace Information ***\\n{library}(+0x1) [0x1] ray::core::Counter::Add()\\n"


@pytest.mark.parametrize(
    ("log", "end", "again"),
    [
        (CHECK, "os._exit(1)", True),
        (CHECK + STACK.replace("{library}", "/site/ray/_raylet.so"), "os.abort()", True),
        ("", "os._exit(1)", False),
        ("", "os.abort()", False),
        (CHECK, "os._exit(3)", False),
        (CHECK, "os.kill(os.getpid(), 11)", False),
        (CHECK.replace("{pid}", "1"), "os._exit(1)", False),
        (CHECK.replace(" C ", " E "), "os._exit(1)", False),
        (CHECK + STACK.replace("{library}", "/site/fray/_ray_refs.so"), "os.abort()", False),
    ],
)
def test_only_a_runner_that_a_check_of_rays_has_ended_runs_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, log: str, end: str, again: bool
) -> None:
    logs = tmp_path / "ray-x" / "session_1" / "logs"
    logs.mkdir(parents=True)
    monkeypatch.setattr(run_tests.ended_by_ray, "__defaults__", (tmp_path,))
    mark = str(tmp_path / "mark")
    ends = f"""import os
if not os.path.exists({mark!r}):
    open({mark!r}, 'w').close()
    log = "{log}".replace('{{pid}}', str(os.getpid()))
    pathlib.Path({str(logs)!r}, f'python-core-driver-01_{{os.getpid()}}.log').write_text(log)
    {end}
{write_junit("<testsuite><testcase/></testsuite>")}"""
    fake_runner(monkeypatch, tmp_path, ends)
    count, line = run_tests.run_part(run_tests.Part("p", 60, runs_ray=True))
    assert (count.passed, count.failed) == ((1, 0) if again else (0, 1))
    assert ("ran again" in line) is again


def test_a_runner_without_ray_never_runs_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run_tests, "ended_by_ray", lambda ended: True)
    fake_runner(monkeypatch, tmp_path, "sys.exit(1)")
    count, line = run_tests.run_part(run_tests.Part("p", 60))
    assert count.failed == 1
    assert "ran again" not in line


def test_failed_tests_are_counted_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_runner(monkeypatch, tmp_path, f"{write_junit(PYTEST_XML)}; sys.exit(1)")
    count, _ = run_tests.run_part(run_tests.Part("p", 60))
    assert (count.passed, count.failed) == (1, 2)


def test_failed_tests_are_named_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_runner(monkeypatch, tmp_path, f"{write_junit(PYTEST_XML)}; sys.exit(1)")
    monkeypatch.setattr(run_tests, "NORMAL_PARTS", (run_tests.Part("p", 60),))
    monkeypatch.setattr(run_tests, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["run_tests.py"])
    assert run_tests.main() == 1
    assert capsys.readouterr().out.endswith("\nFailed:\n  tests.test_x::b\n  d\n1 passed, 2 failed\n")


def test_folder_without_tests_is_skipped_with_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_tests.commands(run_tests.Part("p", 60, folders=("tests/no_such_folder",))) == []
    assert "skipped: tests/no_such_folder has no tests" in capsys.readouterr().out


def test_report_of_a_sanitizer_in_any_process_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "report.1").write_text("of an earlier run")
    passes = write_junit("<testsuite><testcase/></testsuite>")
    finds = f"pathlib.Path({str(reports / 'report.2')!r}).write_text('heap-use-after-free')"
    fake_runner(monkeypatch, tmp_path, f"{passes}; {finds}")
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    count, line = run_tests.run_part(run_tests.Part("p", None, reports=reports))
    assert (count.passed, count.failed) == (1, 1)
    assert "1 reports" in line
    printed = capsys.readouterr().out
    assert "heap-use-after-free" in printed
    assert "earlier" not in printed


def test_a_report_that_only_says_what_the_sanitizer_does_not_know_is_none(tmp_path: Path) -> None:
    fibers = (
        "==7==WARNING: ASan doesn't fully support makecontext/swapcontext functions and may produce false positives!\n"
    )
    (tmp_path / "report.1").write_text(fibers)
    assert run_tests.read_reports(tmp_path) == []
    (tmp_path / "report.2").write_text(fibers + "==7==ERROR: AddressSanitizer: heap-use-after-free\n")
    assert len(run_tests.read_reports(tmp_path)) == 1


def test_sanitizers_write_to_files_and_give_the_tests_time() -> None:
    environment = run_tests.sanitizer_environment(Path("/reports"))
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        assert "log_path=/reports/report" in environment[name]
    assert float(environment["FRAY_TEST_SLOWNESS"]) > 1
