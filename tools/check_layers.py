"""Proves that includes and imports go one way.

C++: tools/layers.txt lists the modules of src/ from top to bottom. A file may include headers of its own module and of
modules on lower lines. Public headers (include/fray) include only each other; modules from the client's line upwards
may include them. The Python bindings may include the client, the worker and what is below. Only simulators and tests
include simulators (the folders `sim`).

Decisions (DECISIONS) are pure: neither they nor any header that they reach include a header of the system with which
one could do I/O, ask a clock, draw a random number or start a thread; and they name no clock and no system call.

Python: the backends (fray.backend.*) never import each other, and `import fray` never imports Ray or numpy.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAVY_PACKAGES = ("numpy", "ray")
# The modules that only decide, and the headers that hold nothing but values and functions of values. The tables of the
# dashboard are made of messages, so that module stands above wire/, but reaches nothing else than values there.
DECISIONS = ("scheduler", "object", "actor", "job", "queue", "dashboard")
_VALUES = """
    algorithm array bit bitset cctype charconv chrono cmath compare concepts cstddef cstdint cstring deque functional
    initializer_list iterator limits list map memory numeric optional ranges set span string string_view tuple
    type_traits unordered_map unordered_set utility variant vector fmt/format.h nlohmann/json.hpp
    nlohmann/json_fwd.hpp
"""
_NO_PART_OF_DECISIONS = re.compile(r"_(test|fuzz|benchmark)\.cc$|_test_\w+\.h$|/sim/")
# What asks a clock or the system; ::strsignal() only knows the words for a number.
_IMPURE = re.compile(r"\b(?:\w+_clock\s*::\s*now|getenv)\b|(?<![\w>])::(?!(?:fray|strsignal)\b)[a-z_0-9]+\s*\(")
_SYSTEM_INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.MULTILINE)
_INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(fray/[^>]+)>)')


def read_layers(path: Path) -> dict[str, int]:
    """The height of each module: 0 for the bottom line of the table."""
    lines = [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return {module: height for height, line in enumerate(reversed(lines)) for module in line}


# ---- C++


def includes(path: Path) -> Iterator[tuple[int, str]]:
    """Line number and path of each include in quotes, and of each include of a public header."""
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
        if match := _INCLUDE.match(line):
            yield number, match[1] or match[2]


def cpp_files(folder: Path) -> Iterator[Path]:
    for pattern in ("*.h", "*.cc"):
        yield from sorted(folder.rglob(pattern))


def check_cpp(root: Path) -> list[str]:
    heights = read_layers(root / "tools" / "layers.txt")
    siblings_top = heights["client"]
    problems: list[str] = []

    def check(path: Path, number: int, target: str, module: str, height: int, may_use_public: bool) -> None:
        where = f"{path.relative_to(root)}:{number}: {module}"
        owner = target.split("/", 1)[0]
        if "/sim/" in target and "/sim/" not in str(path) and not path.name.endswith("_test.cc"):
            problems.append(f'{where} includes "{target}": simulators are for simulators and tests')
        elif "/" not in target:
            if not (path.parent / target).exists():
                problems.append(f'{where} includes "{target}": name the header by its path from src/')
        elif owner == "fray":
            if not may_use_public:
                problems.append(f'{where} includes the public header "{target}": it is below the client')
        elif owner not in heights:
            problems.append(f'{where} includes "{target}": no module of that name is in tools/layers.txt')
        elif owner != module and heights[owner] >= height:
            side = "beside" if heights[owner] == height else "above"
            problems.append(f'{where} includes "{target}": {owner} is {side} it')

    for folder in sorted(path for path in (root / "src").glob("*") if path.is_dir()):
        module = folder.name
        if module not in heights:
            problems.append(f"src/{module}: the folder is not in tools/layers.txt")
            continue
        for path in cpp_files(folder):
            for number, target in includes(path):
                check(path, number, target, module, heights[module], heights[module] >= siblings_top)
    for path in cpp_files(root / "include"):
        for number, target in includes(path):
            check(path, number, target, "include", 0, True)
    for path in cpp_files(root / "python" / "bindings"):
        for number, target in includes(path):
            ours = (root / "python" / "bindings" / target).exists()
            if not ours and target.split("/", 1)[0] not in ("client", "worker"):
                check(path, number, target, "bindings", siblings_top, True)
    return problems


def check_decisions(root: Path) -> list[str]:
    """What of the modules that only decide could do more than that."""
    problems: list[str] = []
    seen: set[Path] = set()
    waiting = [path for module in DECISIONS for path in cpp_files(root / "src" / module)]
    waiting = [path for path in waiting if not _NO_PART_OF_DECISIONS.search(str(path.relative_to(root)))]
    while waiting:
        path = waiting.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        text = path.read_text(errors="replace")
        place = path.relative_to(root)
        for header in _SYSTEM_INCLUDE.findall(text):
            if header not in _VALUES.split():
                problems.append(f"{place}: includes <{header}>, and decisions reach it, which may use values alone")
        if place.parts[1] in DECISIONS:
            for number, line in enumerate(text.splitlines(), start=1):
                if found := _IMPURE.search(line.split("//")[0]):
                    problems.append(f"{place}:{number}: {found[0].strip(' (')}: decisions ask neither clock nor system")
        waiting += [root / "src" / target for _, target in includes(path)]
    return sorted(problems)


# ---- Python


def module_names(package: Path) -> dict[str, Path]:
    """Dotted name to file, for each module of the package."""
    names: dict[str, Path] = {}
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports(name: str, path: Path, at_import_time: bool) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each imported module; `from a import b` gives both a and a.b.

    At import time: without function bodies and `if TYPE_CHECKING` blocks.
    """
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]

    def visit(node: ast.AST) -> Iterator[tuple[int, str]]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                parents = parents[: len(parents) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            yield node.lineno, base
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"
        elif at_import_time and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.orelse:
                yield from visit(child)
        else:
            for child in ast.iter_child_nodes(node):
                yield from visit(child)

    return visit(ast.parse(path.read_text(), filename=str(path)))


def backend_of(name: str) -> str | None:
    """`fray.backend.ray.client` belongs to the backend `ray`; modules outside fray.backend to none."""
    parts = name.split(".")
    return parts[2] if parts[:2] == ["fray", "backend"] and len(parts) > 2 else None


def check_backends(root: Path, modules: dict[str, Path]) -> list[str]:
    # A backend is a folder; single modules beside them are shared helpers or older paths of something.
    folder = root / "python" / "fray" / "backend"
    backends = {path.name for path in folder.glob("*/") if path.is_dir()}
    problems: list[str] = []
    for name, path in modules.items():
        own = backend_of(name)
        if own not in backends:
            continue
        for line, target in imports(name, path, at_import_time=False):
            other = backend_of(target)
            if other in backends and other != own:
                problem = f"{path.relative_to(root)}:{line}: backend {own} imports backend {other}"
                if problem not in problems:
                    problems.append(problem)
    return problems


def check_import_time(root: Path, modules: dict[str, Path]) -> list[str]:
    """Follows the imports that `import fray` runs, and reports those of heavy packages."""
    problems: list[str] = []
    waiting = ["fray"]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in modules:
            continue
        seen.add(name)
        for line, target in imports(name, modules[name], at_import_time=True):
            if target in HEAVY_PACKAGES or target.startswith(tuple(f"{package}." for package in HEAVY_PACKAGES)):
                problem = f"{modules[name].relative_to(root)}:{line}: `import fray` imports {target.split('.')[0]}"
                if problem not in problems:
                    problems.append(problem)
            parts = target.split(".")
            waiting += [".".join(parts[: i + 1]) for i in range(len(parts))]
    return problems


def check_python(root: Path) -> list[str]:
    modules = module_names(root / "python" / "fray")
    return check_backends(root, modules) + check_import_time(root, modules)


def main() -> int:
    problems = check_cpp(ROOT) + check_decisions(ROOT) + check_python(ROOT)
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
