"""Runs the tests in parts, each with a time budget, and closes with one line that totals all runners.

Parts that measure time or count processes run alone. The others wait more than they compute; two of them run side by
side, and the output of each is printed whole when it has ended.

    run_tests.py                       the parts below, within their budgets
    run_tests.py --long                the tests marked `long`, without budgets
    run_tests.py --python-suites       the Python suites against what this Python has installed, without budgets
    run_tests.py --sanitizer asan      C++ tests and Python suites of build/asan, without budgets
    run_tests.py --sanitizer tsan      C++ tests of build/tsan, with their node and worker processes

Exit code 1 when a test failed, a runner broke or a part went over its budget.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "test"

# A line of ctest's that says nothing a reader needs: a test's start, or a test that passed.
_LONGEST_REPORT = 8000

# What Ray logs before it ends its process: "[time C pid thread] file.cc:12:  Check failed: ...".
_RAYS_FATAL_LINE = re.compile(r"^\[[^\]\n]* C (?P<pid>\d+) \d+\] \S+\.(cc|h):\d+: .*Check failed: ", re.MULTILINE)
RAY_LOGS = Path("/tmp")
"""Where Ray's folders are; see tests/on_ray/head.py."""

# A line of a stack that faulthandler prints; that of the test itself is the last, for the main thread comes last.
_TEST_FRAME = re.compile(r'^  File ".*/(?P<file>tests/\S*test_\w+\.py)", line \d+ in (?P<name>\w+)')

_CTEST_NOISE = re.compile(r"^\s*(Start\s+\d+: |\d+/\d+ Test\s+#\d+: .*\s(Passed|Skipped)\s)")


# AddressSanitizer's word on the simulator of waits, whose threads are fibers.
_ABOUT_FIBERS = re.compile(r"^==\d+==WARNING: ASan doesn't fully support makecontext/swapcontext .*$", re.MULTILINE)

_SECONDS_FOR_STACKS = 10.0

# The process groups of the runners that run now.
_running: set[int] = set()


@dataclass(frozen=True)
class Part:
    """Tests that share a budget: the C++ tests of a build folder, or pytest on some folders."""

    name: str
    budget_seconds: float | None
    cpp_build: str | None = None
    folders: tuple[str, ...] = ()
    pytest_options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    reports: Path | None = None
    """Where the sanitizer writes what it finds, in every process that the tests start; each report is a failure."""
    alone: bool = True
    """False: another part may run meanwhile."""
    runs_ray: bool = False
    """A runner that Ray's library ended in the midst of the tests runs once more; see `ended_by_ray`."""


@dataclass(frozen=True)
class Ended:
    """How a runner's process ended; without a code it was stopped at its limit."""

    pid: int
    code: int | None
    hung_in: str = ""
    """The test in which a runner of pytest was stopped, where its stack names one."""


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    names_of_failed: list[str] = field(default_factory=list)


_CHAOS_OF_NODES = ("tests/chaos/nodes", "tests/chaos/jobs", "tests/chaos/environments")
_LEAKING_TESTS = "tests/plugs/test_pytest_plugin.py"
"""They leave behind what the tests of any other part would find, so no other part runs beside them."""


def _apart(folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"--ignore={folder}" for folder in folders)


NORMAL_PARTS = (
    Part("unit C++", 90, cpp_build="dev"),
    Part("unit and conformance Python", 400, folders=("tests/unit", "tests/conformance", "tests/gpu"), alone=False),
    # Ray 2.60 now and then ends a driver that cancels a task whose arguments have not arrived; see tests/conftest.py.
    Part(
        "on Ray",
        960,
        folders=("tests/conformance", "tests/on_ray", "tests/ray_api", "tests/examples"),
        pytest_options=("-m", "ray and not long"),
        alone=False,
        runs_ray=True,
    ),
    Part(
        "chaos of tasks and actors", 540, folders=("tests/chaos",), pytest_options=_apart(_CHAOS_OF_NODES), alone=False
    ),
    Part("chaos of nodes and jobs", 240, folders=_CHAOS_OF_NODES, alone=False),
    Part("C++ API", 240, folders=("tests/cpp",), alone=False),
    Part("plugs", 240, folders=("tests/plugs", "tests/ray_api"), pytest_options=_apart((_LEAKING_TESTS,)), alone=False),
    Part("Iris", 200, folders=("tests/iris",), alone=False),
    Part("browser", 120, folders=("tests/browser",), alone=False),
    Part("traces", 60, folders=("tests/traces",), alone=False),
    Part("metrics", 40, folders=("tests/metrics",), alone=False),
    Part("examples", 220, folders=("tests/examples",), alone=False),
    Part("packaging", 40, folders=("tests/packaging", _LEAKING_TESTS)),
)

_LANES = 3
"""So many parts run side by side: most tests wait for processes to start and to end, so two cores serve three parts."""

LONG_PARTS = (Part("long", None, folders=("tests",), pytest_options=("-m", "long", "--timeout=3600")),)


# Ray has no wheels for each Python, and its suite needs nothing of Python that the others do not.
PYTHON_PARTS = (
    Part("unit and conformance Python", None, folders=("tests/unit", "tests/conformance")),
    Part("plugs", None, folders=("tests/plugs",)),
    Part(
        "packaging and examples", None, folders=("tests/packaging", "tests/examples"), pytest_options=("-m", "not ray")
    ),
)

_RUNS_AFTER_RAYS_OWN_END = 3  # a busy machine makes its ends likelier
# Programs under a sanitizer take so many times longer; the tests' patience grows by as much.
_SLOWNESS = 6


def sanitizer_parts(name: str) -> tuple[Part, ...]:
    """The C++ tests of the sanitizer's build, and for ASan the Python suites with its extension in front."""
    cpp_reports = ROOT / "build" / name / "reports" / "cpp"
    cpp = Part(
        f"C++ under {name}",
        None,
        cpp_build=name,
        environment=sanitizer_environment(cpp_reports),
        reports=cpp_reports,
    )
    site = ROOT / "build" / name / "site"
    if name != "asan" or not _install_site(ROOT / "build" / name, site):
        return (cpp,)
    runtimes = [_compiler_file(file) for file in ("libasan.so", "libubsan.so", "libstdc++.so")]
    reports = ROOT / "build" / name / "reports" / "python"
    python = {
        # Python itself leaves memory unfreed at its end, and a crash that a test makes on purpose stays a plain crash.
        **sanitizer_environment(reports, "detect_leaks=0:handle_segv=0:handle_abort=0"),
        "LD_PRELOAD": ":".join(runtimes),
        "PATH": f"{site / 'fray' / '_bin'}:{os.environ['PATH']}",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(site),
    }
    suites = ("tests/unit/native", "tests/conformance", "tests/chaos")
    slow = ("-m", "not long and not ray", "--timeout=900")
    return (
        cpp,
        Part("Python under asan", None, folders=suites, pytest_options=slow, environment=python, reports=reports),
    )


def sanitizer_environment(reports: Path, asan: str = "detect_leaks=1") -> dict[str, str]:
    """Reports go to files: a node or worker writes to no terminal, and nobody looks at its exit code."""
    log = f"log_path={reports / 'report'}"
    return {
        "ASAN_OPTIONS": f"strict_string_checks=1:{asan}:{log}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:{log}",
        "TSAN_OPTIONS": f"second_deadlock_stack=1:{log}",
        "FRAY_TEST_SLOWNESS": str(_SLOWNESS),
    }


def _install_site(build: Path, site: Path) -> bool:
    """Lays the package with its sanitized extension into `site`; false when the build has no extension."""
    command = ["cmake", "--install", str(build), "--component", "python", "--prefix", str(site)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return any(site.glob("fray/_native*.so"))


def _compiler_file(name: str) -> str:
    answer = subprocess.run(["g++", f"-print-file-name={name}"], check=True, capture_output=True, text=True)
    return answer.stdout.strip()


def budget_scale() -> float:
    """CI=true makes budgets three times as long: its machines are shared, and on some days take twice the time."""
    return 3.0 if os.environ.get("CI") == "true" else 1.0


def commands(part: Part, out: TextIO | None = None) -> list[tuple[list[str], Path]]:
    """The runners' command lines of a part, each with the JUnit file it writes; prints a line for what is skipped."""
    stem = RESULTS / part.name.replace(" ", "-").lower()
    if part.cpp_build is not None:
        build = ROOT / "build" / part.cpp_build
        if not (build / "CTestTestfile.cmake").exists():
            print(f"    skipped: build/{part.cpp_build} has no C++ tests", file=out)
            return []
        junit = stem.with_suffix(".xml")
        limit = "120" if part.reports is None else str(120 * _SLOWNESS)
        command = ["ctest", "--test-dir", str(build), "--output-on-failure", "--no-tests=ignore", "--timeout", limit]
        command += ["-j", str(os.cpu_count() or 1), "--output-junit", str(junit)]
        # ThreadSanitizer's fixed mappings do not go together with every layout that the kernel may choose.
        return [((["setarch", "-R"] if part.cpp_build == "tsan" else []) + command, junit)]
    folders = []
    for folder in part.folders:
        if (ROOT / folder).is_file() or any((ROOT / folder).glob("**/test_*.py")):
            folders.append(folder)
        else:
            print(f"    skipped: {folder} has no tests", file=out)
    if not folders:
        return []
    junit = stem.with_suffix(".xml")
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={junit}", *part.pytest_options, *folders]
    return [(command, junit)]


def parse_junit(text: str) -> Count:
    """Counts the test cases of a JUnit file as ctest and pytest write it; an error outside a test is a failure."""
    count = Count()
    for case in ElementTree.fromstring(text).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            count.failed += 1
            count.names_of_failed.append(_name_of(case))
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            count.skipped += 1
        else:
            count.passed += 1
    return count


def _name_of(case: ElementTree.Element) -> str:
    """As pytest takes it, but for the dots of its folders; ctest writes a test's name twice."""
    suite, name = case.get("classname", ""), case.get("name", "")
    return f"{suite}::{name}" if suite not in ("", name) else name


def run_command(
    command: list[str], environment: dict[str, str], limit_seconds: float | None, out: TextIO | None
) -> Ended:
    """Runs a runner and passes its output on without ctest's noise."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        process.send_signal(signal.SIGABRT)  # pytest prints the stacks of all threads
        with suppress(subprocess.TimeoutExpired):
            process.wait(_SECONDS_FOR_STACKS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    hung_in = ""
    timer = threading.Timer(limit_seconds or threading.TIMEOUT_MAX, stop)
    timer.daemon = True
    timer.start()
    _running.add(process.pid)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if not _CTEST_NOISE.match(line):
                print(line, end="", file=out, flush=True)
            if stopped.is_set() and (frame := _TEST_FRAME.match(line)):
                hung_in = f" in {frame['file']}::{frame['name']}"
        process.stdout.close()
        code = process.wait()
    finally:
        timer.cancel()
        _running.discard(process.pid)
    return Ended(process.pid, None if stopped.is_set() else code, hung_in)


def ended_by_ray(ended: Ended, logs: Path = RAY_LOGS) -> bool:
    """Whether a check inside Ray's library ended this very process, as Ray's own log of it says.

    Anything else that ends a runner is ours: another code or signal, a crash without that line, a stack with our
    extension modules in it, or a check that failed in another process.
    """
    if ended.code not in (1, -signal.SIGABRT):
        return False
    for log in logs.glob(f"ray*/session_*/logs/python-core-driver-*_{ended.pid}.log"):
        fatal = _RAYS_FATAL_LINE.search(text := log.read_text(errors="replace"))
        if fatal is not None and int(fatal["pid"]) == ended.pid and "/fray/_" not in text[fatal.start() :]:
            return True
    return False


def read_reports(folder: Path) -> list[str]:
    """What the sanitizer has found in any process, one text a process; that it knows little of fibers is no finding."""
    texts = [path.read_text(errors="replace") for path in sorted(folder.glob("report*")) if path.is_file()]
    return [text for text in texts if _ABOUT_FIBERS.sub("", text).strip()]


def run_part(part: Part, out: TextIO | None = None) -> tuple[Count, str]:
    """Runs a part; returns what it counted and its line for the table at the end."""
    print(f"\n==> {part.name}", file=out, flush=True)
    budget = part.budget_seconds * budget_scale() if part.budget_seconds is not None else None
    total = Count()
    notes: list[str] = []
    start = time.monotonic()
    runners = commands(part, out)
    if part.reports is not None:
        shutil.rmtree(part.reports, ignore_errors=True)
        part.reports.mkdir(parents=True)
    for command, junit in runners:
        junit.unlink(missing_ok=True)
        # Over the budget a part fails; at twice the budget it is stopped, so that a hang ends too.
        ended = run_command(command, part.environment, budget * 2 if budget else None, out)
        for _ in range(_RUNS_AFTER_RAYS_OWN_END):
            if not (part.runs_ray and not junit.exists() and ended_by_ray(ended)):
                break
            notes.append(f"ran again: a check of Ray's ended it with code {ended.code}")
            start = time.monotonic()
            ended = run_command(command, part.environment, budget * 2 if budget else None, out)
        code = ended.code
        try:
            count = parse_junit(junit.read_text())
        except (OSError, ElementTree.ParseError):
            count = Count()
        broken = code is None or (code not in (0, 5) and count.failed == 0)
        total.passed += count.passed
        total.failed += count.failed + broken
        total.skipped += count.skipped
        total.names_of_failed += count.names_of_failed
        if code is None:
            notes.append(f"stopped at twice its budget{ended.hung_in}")
        elif broken:
            notes.append(f"{Path(command[0]).name} ended with code {code}")
    if part.reports is not None and (found := read_reports(part.reports)):
        total.failed += len(found)
        notes.append(f"{len(found)} reports in {part.reports.relative_to(ROOT)}")
        print("\n".join(text[:_LONGEST_REPORT] for text in found), file=out)
    seconds = time.monotonic() - start
    if budget is not None and seconds > budget:
        total.failed += 1
        notes.append("OVER BUDGET")
    line = f"{part.name:<30}{seconds:7.1f} s"
    line += f" of {budget:4.0f} s" if budget is not None else " " * 10
    line += f"  {total.passed} passed, {total.failed} failed, {total.skipped} skipped"
    if not runners:
        line += "  (nothing to run)"
    return total, "  ".join([line, *notes])


def run_parts(parts: tuple[Part, ...]) -> list[tuple[Count, str]]:
    """Runs all parts, side by side where they allow it; the results are in the order of the parts."""
    results: dict[str, tuple[Count, str]] = {}

    def run_quietly(part: Part) -> None:
        out = io.StringIO()
        results[part.name] = run_part(part, out)
        with printing:
            print(out.getvalue(), end="", flush=True)

    printing = threading.Lock()
    # The longest first, so that short ones fill the lanes at the end.
    beside = sorted((part for part in parts if not part.alone), key=lambda part: -(part.budget_seconds or 0))
    if beside:
        print("\n==> side by side: " + ", ".join(part.name for part in beside), flush=True)
    with ThreadPoolExecutor(_LANES) as pool:
        try:
            list(pool.map(run_quietly, beside))
            for part in parts:
                if part.alone:
                    results[part.name] = run_part(part)
        except KeyboardInterrupt:
            # Before the pool waits for its threads, which wait for these.
            pool.shutdown(wait=False, cancel_futures=True)
            for group in list(_running):
                os.killpg(group, signal.SIGKILL)
            raise
    return [results[part.name] for part in parts]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--long", action="store_true", help="run the tests marked `long`")
    parser.add_argument("--python-suites", action="store_true", help="run the Python suites, with this Python")
    parser.add_argument("--sanitizer", choices=["asan", "tsan"], help="run the tests of a sanitizer's build")
    options = parser.parse_args()
    parts = NORMAL_PARTS
    if options.long:
        parts = LONG_PARTS
    elif options.python_suites:
        parts = PYTHON_PARTS
    elif options.sanitizer:
        parts = sanitizer_parts(options.sanitizer)

    RESULTS.mkdir(parents=True, exist_ok=True)
    results = run_parts(parts)
    print("\nTime of each part against its budget:")
    for _, line in results:
        print("  " + line)
    if names := [name for count, _ in results for name in count.names_of_failed]:
        print("\nFailed:")
        for name in names:
            print("  " + name)
    passed = sum(count.passed for count, _ in results)
    failed = sum(count.failed for count, _ in results)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
