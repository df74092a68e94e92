from pathlib import Path

import pytest

from tools import check_layers


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with this repository's table of layers and nothing else."""
    table = check_layers.ROOT / "tools" / "layers.txt"
    write(tmp_path, "tools/layers.txt", table.read_text())
    write(tmp_path, "python/fray/__init__.py", "")
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("name", "include"),
    [
        ("src/os/fd.cc", '#include "base/status.h"'),
        ("src/os/fd.cc", '#include "os/fd.h"'),
        ("src/cli/main.cc", '#include "node/node.h"'),
        ("src/client/client.h", "#include <fray/context.h>"),
        ("src/base/log.cc", "#include <vector>"),
        ("include/fray/context.h", '#include "fray/ref.h"'),
        ("python/bindings/bind_client.cc", '#include "worker/worker.h"'),
        ("python/bindings/bind_client.cc", '#include "model/ids.h"'),
    ],
)
def test_include_downwards_is_accepted(tree: Path, name: str, include: str) -> None:
    write(tree, name, include)
    assert check_layers.check_cpp(tree) == []


@pytest.mark.parametrize(
    ("name", "include", "reason"),
    [
        ("src/base/status.cc", '#include "os/fd.h"', "os is above it"),
        ("src/scheduler/lease_table.cc", '#include "object/holders.h"', "object is beside it"),
        ("src/scheduler/lease_table.cc", '#include "os/clock.h"', "os is above it"),
        ("src/scheduler/lease_table.cc", '#include "scheduler/sim/lease_world.h"', "for simulators and tests"),
        ("src/node/node.cc", '#  include "client/client.h"', "client is beside it"),
        ("src/wire/frame.cc", '#include "fray/context.h"', "below the client"),
        ("src/wire/frame.cc", '#include "frame.h"', "by its path from src/"),
        ("src/wire/frame.cc", '#include "elsewhere/frame.h"', "no module of that name"),
        ("include/fray/context.h", '#include "base/status.h"', "base is beside it"),
        ("python/bindings/bind_node.cc", '#include "node/node.h"', "node is beside it"),
        ("python/bindings/bind_cli.cc", '#include "cli/cli.h"', "cli is above it"),
    ],
)
def test_include_in_another_direction_is_reported_with_its_line(
    tree: Path, name: str, include: str, reason: str
) -> None:
    write(tree, name, f"// first line\n{include}\n")
    (problem,) = check_layers.check_cpp(tree)
    assert problem.startswith(f"{name}:2: ")
    assert reason in problem


def test_folder_that_the_table_does_not_know_is_reported(tree: Path) -> None:
    write(tree, "src/extras/a.cc", "")
    assert check_layers.check_cpp(tree) == ["src/extras: the folder is not in tools/layers.txt"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("#include <thread>", "<thread>"),
        ("#include <fstream>", "<fstream>"),
        ("#include <unistd.h>", "<unistd.h>"),
        ("auto now = std::chrono::steady_clock::now();", "steady_clock::now"),
        ("auto id = ::getpid();", "::getpid"),
        ('if (std::getenv("FRAY_HOME")) return;', "getenv"),
    ],
)
def test_decision_that_could_do_more_than_decide_is_reported(tree: Path, line: str, reason: str) -> None:
    write(tree, "src/job/job_table.cc", f"{line}\n")
    (problem,) = check_layers.check_decisions(tree)
    assert problem.startswith("src/job/job_table.cc:")
    assert reason in problem


def test_decision_is_reported_for_what_a_header_below_it_includes(tree: Path) -> None:
    write(tree, "src/queue/queue_table.cc", '#include "base/status.h"\n')
    write(tree, "src/base/status.h", "#include <mutex>\n")
    (problem,) = check_layers.check_decisions(tree)
    assert problem.startswith("src/base/status.h: includes <mutex>")


def test_tables_of_the_dashboard_read_messages_and_nothing_that_could_do_more(tree: Path) -> None:
    write(tree, "src/dashboard/board.h", '#include "wire/runs.h"\n')
    write(tree, "src/wire/runs.h", "#include <vector>\n")
    assert check_layers.check_decisions(tree) == []
    write(tree, "src/wire/runs.h", "#include <sys/socket.h>\n")
    (problem,) = check_layers.check_decisions(tree)
    assert problem.startswith("src/wire/runs.h: includes <sys/socket.h>")


@pytest.mark.parametrize("name", ["src/actor/sim/actor_world.cc", "src/actor/actor_table_test.cc", "src/os/clock.h"])
def test_simulators_tests_and_other_modules_need_not_be_pure(tree: Path, name: str) -> None:
    write(tree, name, "#include <ctime>\nlong now() { return ::time(nullptr); }  // steady_clock::now\n")
    assert check_layers.check_decisions(tree) == []


def test_values_times_and_comments_on_clocks_are_accepted_in_decisions(tree: Path) -> None:
    text = "#include <chrono>\n#include <map>\nvoid tick(Time now);  // steady_clock::now()\n::fray::Status told();\n"
    write(tree, "src/job/job_table.h", text)
    assert check_layers.check_decisions(tree) == []


@pytest.mark.parametrize(
    "statement",
    ["from fray.backend.native import client", "import fray.backend.native", "from ..native import client"],
)
def test_backend_that_imports_another_one_is_reported_even_inside_a_function(tree: Path, statement: str) -> None:
    write(tree, "python/fray/backend/__init__.py", "")
    write(tree, "python/fray/backend/native/client.py", "")
    write(tree, "python/fray/backend/ray/client.py", f"def connect():\n    {statement}\n")
    assert check_layers.check_python(tree) == [
        "python/fray/backend/ray/client.py:2: backend ray imports backend native"
    ]


def test_backend_may_import_itself_shared_helpers_and_its_foreign_package(tree: Path) -> None:
    write(tree, "python/fray/backend/_retries.py", "")
    write(tree, "python/fray/backend/ray/jobs.py", "")
    write(tree, "python/fray/backend/ray/client.py", "import ray\nfrom .jobs import Jobs\nfrom .. import _retries\n")
    assert check_layers.check_python(tree) == []


@pytest.mark.parametrize("statement", ["import numpy as np", "from ray.util import state", "import ray"])
def test_heavy_package_reached_from_the_top_is_reported_where_it_is_imported(tree: Path, statement: str) -> None:
    write(tree, "python/fray/__init__.py", "from fray.job import Job\n")
    write(tree, "python/fray/job/__init__.py", "from ._job import Job\n")
    write(tree, "python/fray/job/_job.py", f"try:\n    {statement}\nexcept ImportError:\n    pass\n")
    (problem,) = check_layers.check_python(tree)
    assert problem.startswith("python/fray/job/_job.py:2: `import fray` imports ")


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    import numpy\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import ray\n",
        "import rayon\n",
    ],
)
def test_heavy_package_that_is_not_imported_at_import_time_is_accepted(tree: Path, text: str) -> None:
    write(tree, "python/fray/__init__.py", text)
    assert check_layers.check_python(tree) == []


def test_heavy_package_in_a_module_that_the_top_does_not_import_is_accepted(tree: Path) -> None:
    write(tree, "python/fray/arrays.py", "import numpy\n")
    assert check_layers.check_python(tree) == []
