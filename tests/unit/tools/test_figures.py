"""`tools/figures.py`: what it measures in a small tree, and that it reads this one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools import figures

HEADER = """// Table: a table.
//
// Threading:  one thread.
// Ownership:  none.
#pragma once
#include "low/other.h"

namespace fray {
template <typename T = std::map<int, int>>
class Table : public Base<T> {
 public:
  explicit Table(int size) : size_(size), more_{size}, text_("}{") {
    if (size > 0) {
      grow([&] { return "a brace {"; });
    }
  }
  Table(const Table&) = delete;
  int size() const { return size_; }
  bool operator==(const Table&) const = default;
  /* class Hidden { void hidden(); }; */
  using Base<T>::base;
  friend class Friend;

 private:
  struct Row {
    int priority = 0;
    char end = '}';
  };
  void grow(std::function<int()> how = [] { return 1; });
  int size_ FRAY_GUARDED_BY(mutex_) = 0;
  std::map<int, std::function<void(int)>> more_;
  std::string text_{"x"};
};
}  // namespace fray
"""
SOURCE = """#include "low/table.h"

#define MAKE_IT(x) \\
  void x() {
static const int kTable[] = {1, 2, 3};
auto Table<int>::long_one(std::vector<int> given)
    -> std::vector<int> {
  for (int each : given) {
    use(each);
  }
  return R"(
    } } }
)";
}
int short_one() { return 1'000'000; }
// priority is only mentioned here
"""
PYTHON = '''
"""A module."""

class Thing:
    size: int

    def __init__(self) -> None:
        self.size = 0
        self.priority = 1

    async def wait(self) -> None:
        def inner() -> int:
            return 1

        inner()
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "src/low/table.h": HEADER,
        "src/low/table.cc": SOURCE,
        "src/low/other.h": "#pragma once\nint priority();\n",
        "src/low/table_test.cc": "int a_test() {\n}\n",
        "src/low/table_fuzz.cc": "int fuzz() {\n}\n",
        "src/low/sim/table_sim_main.cc": "int main() {\n}\n",
        "src/low/sim/steps.h": "#pragma once\nint step_of_the_simulator();\n",
        "python/pack/__init__.py": "",
        "python/pack/thing.py": PYTHON,
        "tests/test_thing.py": "def test_it():\n    pass\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_functions_of_cpp_are_found_with_their_lines(tree: Path) -> None:
    cpp, _ = figures.read_tree(tree)
    found = {each.name: each.lines for each in cpp.functions}
    assert found == {"Table": 5, "size": 1, "Table::long_one": 9, "short_one": 1}
    assert max(cpp.functions, key=lambda each: each.lines).place == "src/low/table.cc:6"


def test_classes_of_cpp_are_found_with_their_members(tree: Path) -> None:
    cpp, _ = figures.read_tree(tree)
    found = {each.name: (each.methods, each.fields) for each in cpp.classes}
    assert found == {"Table": (5, 3), "Row": (0, 2)}


def test_functions_and_classes_of_python_are_found(tree: Path) -> None:
    _, python = figures.read_tree(tree)
    assert {each.name: each.lines for each in python.functions} == {"__init__": 3, "wait": 5, "inner": 2}
    (thing,) = python.classes
    assert (thing.methods, thing.fields) == (2, 2)


def test_tests_and_simulators_are_no_production(tree: Path) -> None:
    cpp, python = figures.read_tree(tree)
    assert sorted(cpp.texts) == ["src/low/other.h", "src/low/table.cc", "src/low/table.h"]
    assert sorted(python.texts) == ["python/pack/__init__.py", "python/pack/thing.py"]
    assert (cpp.test_lines, python.test_lines) == (2, 2)


def test_a_name_counts_in_code_and_not_in_comments(tree: Path) -> None:
    cpp, python = figures.read_tree(tree)
    assert sorted(figures.named_in(cpp, "priority")) == ["src/low/other.h", "src/low/table.h"]
    assert figures.named_in(python, "priority") == ["python/pack/thing.py"]


def test_circles_of_includes_and_of_imports_are_counted(tree: Path) -> None:
    both = figures.read_tree(tree)
    assert ("circles of includes, of imports", "0", "0") in figures.rows(both)
    (tree / "src/low/other.h").write_text('#pragma once\n#include "low/table.h"\n')
    (tree / "python/pack/__init__.py").write_text("from pack.thing import Thing\n")
    (tree / "python/pack/thing.py").write_text("import pack\n")
    assert ("circles of includes, of imports", "1", "1") in figures.rows(figures.read_tree(tree))


def test_a_tree_of_another_shape_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "one.c").write_text("int one(void)\n{\n  return 1;\n}\n")
    cpp, python = figures.read_tree(tmp_path)
    assert [(each.name, each.lines) for each in cpp.functions] == [("one", 4)]
    assert figures.rows((cpp, python))[0] == ("production files", "1", "0")


def test_the_spread_of_numbers() -> None:
    assert figures.spread(range(1, 11), 0.5, 0.9) == "6 / 10 / 10"
    assert figures.spread([], 0.5) == "none"


def test_the_command_prints_a_table_of_this_tree() -> None:
    command = [sys.executable, "tools/figures.py", "--field", "max_preemptions"]
    done = subprocess.run(command, cwd=figures.ROOT, capture_output=True, text=True, timeout=120, check=True)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["|  | C++ | Python |", "| --- | --- | --- |"]
    assert all(line.count("|") == 4 for line in lines[: lines.index("")])
    assert "- src/model/job_spec.h" in lines


def test_a_tree_that_is_not_there_is_told(tmp_path: Path) -> None:
    command = [sys.executable, "tools/figures.py", str(tmp_path / "none")]
    done = subprocess.run(command, cwd=figures.ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "is no folder" in done.stderr
