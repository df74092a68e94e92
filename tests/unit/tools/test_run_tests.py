import sys
from pathlib import Path

import pytest

from tools import run_tests

PYTEST_XML = """<?xml version="1.0"?><testsuites><testsuite tests="4">
<testcase name="a"/><testcase name="b"><failure message="no"/></testcase>
<testcase name="c"><skipped/></testcase><testcase name="d"><error message="fixture"/></testcase>
</testsuite></testsuites>"""

CTEST_XML = """<?xml version="1.0"?><testsuite tests="3">
<testcase name="a" status="run"/><testcase name="b" status="fail"><failure message=""/></testcase>
<testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=1"/></testcase>
</testsuite>"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [(PYTEST_XML, run_tests.Count(1, 2, 1)), (CTEST_XML, run_tests.Count(1, 1, 1))],
)
def test_junit_of_both_runners_is_counted(text: str, expected: run_tests.Count) -> None:
    assert run_tests.parse_junit(text) == expected


@pytest.mark.parametrize(("ci", "scale"), [("true", 2.0), ("", 1.0)])
def test_budgets_are_doubled_on_ci_machines(monkeypatch: pytest.MonkeyPatch, ci: str, scale: float) -> None:
    monkeypatch.setenv("CI", ci)
    assert run_tests.budget_scale() == scale


def fake_runner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> None:
    """Replaces a part's runner by a Python program, which finds the JUnit path in its first argument."""
    junit = tmp_path / "junit.xml"
    command = [sys.executable, "-c", f"import sys, time, pathlib\n{code}", str(junit)]
    monkeypatch.setattr(run_tests, "commands", lambda part: [(command, junit)])
    monkeypatch.delenv("CI", raising=False)


def write_junit(text: str) -> str:
    return f"pathlib.Path(sys.argv[1]).write_text({text!r})"


def test_part_over_its_budget_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_runner(monkeypatch, tmp_path, f"{write_junit('<testsuite><testcase/></testsuite>')}; time.sleep(0.3)")
    count, line = run_tests.run_part(run_tests.Part("p", 0.25))
    assert (count.passed, count.failed) == (1, 1)
    assert "OVER BUDGET" in line


def test_runner_that_hangs_is_stopped_at_twice_the_budget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_runner(monkeypatch, tmp_path, "time.sleep(60)")
    count, line = run_tests.run_part(run_tests.Part("p", 0.2))
    assert count.failed > 0
    assert "stopped at twice its budget" in line


def test_runner_that_breaks_without_a_failed_test_counts_as_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_runner(monkeypatch, tmp_path, "sys.exit(3)")
    count, line = run_tests.run_part(run_tests.Part("p", 60))
    assert count.failed == 1
    assert "ended with code 3" in line


@pytest.mark.parametrize(("second_chance", "failed"), [(True, 0), (False, 1)])
def test_runner_that_ends_in_the_midst_runs_again_where_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, second_chance: bool, failed: int
) -> None:
    mark = str(tmp_path / "mark")
    ends = f"import os; os.path.exists({mark!r}) or (open({mark!r}, 'w'), os._exit(1))"
    fake_runner(monkeypatch, tmp_path, f"{ends}; {write_junit('<testsuite><testcase/></testsuite>')}")
    count, line = run_tests.run_part(run_tests.Part("p", 60, second_chance=second_chance))
    assert (count.passed, count.failed) == (1 - failed, failed)
    assert ("ran again" in line) is second_chance


def test_failed_tests_are_counted_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_runner(monkeypatch, tmp_path, f"{write_junit(PYTEST_XML)}; sys.exit(1)")
    count, _ = run_tests.run_part(run_tests.Part("p", 60))
    assert (count.passed, count.failed) == (1, 2)


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


def test_sanitizers_write_to_files_and_give_the_tests_time() -> None:
    environment = run_tests.sanitizer_environment(Path("/reports"))
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        assert "log_path=/reports/report" in environment[name]
    assert float(environment["FRAY_TEST_SLOWNESS"]) > 1
