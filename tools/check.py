"""`make check`: runs every check, prints one line each, and the output of those that fail.

check.py             all checks
check.py --format    formats instead of checking
check.py --stub      writes the stubs of the extensions anew
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import BuiltinFunctionType, MethodDescriptorType

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
EXTENSIONS = ("_native", "_ray_jobs", "_iris_jobs")
# Home and work folders of somebody's machine. In brackets, so that this file does not match itself.
_PRIVATE_PATH = re.compile(r"(?<![\w.~/:-])/(?:[h]ome|[r]oot|[w]ork|[U]sers)/[\w.]")


def files(*suffixes: str) -> list[str]:
    """The files that belong to the repository: tracked or new, not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in names if name.endswith(suffixes or ("",)) and (ROOT / name).is_file()]


def run(*command: str | Path) -> list[str]:
    """What a command prints, when it fails."""
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return (result.stdout.splitlines() or [f"exit code {result.returncode}"]) if result.returncode else []


def clang_format(*options: str) -> list[str]:
    names = files(".h", ".cc")
    return run(BIN / "clang-format", *options, *names) if names else []


def layers() -> list[str]:
    return run(sys.executable, "tools/check_layers.py")


def circles() -> list[str]:
    return run(sys.executable, "tools/check_circles.py")


def docs() -> list[str]:
    return run(sys.executable, "tools/check_docs.py")


def pyright() -> list[str]:
    if not list((ROOT / "python" / "fray").glob("*.py")):
        return []
    return run(BIN / "pyright")


def thread_safety() -> list[str]:
    """What clang finds wrong with the locking in files that lock; nothing where clang is not installed.

    The parts of a client share a mutex (client/threads/client_mutex.h), so files that only rely on it are
    looked at too.
    """
    clang = shutil.which("clang++-16") or shutil.which("clang++")
    if clang is None:
        return []
    names = [
        name for name in files(".cc") if name.startswith("src/client/") or "MutexLock" in (ROOT / name).read_text()
    ]
    command = [clang, "-std=c++20", "-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety", "-Isrc", "-Iinclude"]
    command += ["-isystem", "build/dev/src/messages"]
    command += ["-DFMT_HEADER_ONLY=1", '-DFRAY_VERSION="0"']
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = list(pool.map(lambda name: run(*command, name), names))
    return [line for output in outputs for line in output]


def dashboard(command: str = "check") -> list[str]:
    """Types, lint and format of the dashboard's page; nothing where there is no Node.js."""
    if subprocess.run(["tools/dashboard.sh", "find"], cwd=ROOT, stdout=subprocess.DEVNULL).returncode != 0:
        return []
    return run("tools/dashboard.sh", command)


def versions() -> list[str]:
    """The version of the package, which the wheel and the C++ code take too, is the newest one of the change log."""
    source = (ROOT / "python" / "fray" / "_version.py").read_text()
    version = source.split('VERSION = "')[1].split('"')[0]
    top = re.search(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    found = top[1] if top else "none"
    return [] if found == version else [f"fray/_version.py has {version}, the top entry of CHANGELOG.md {found}"]


def private_paths() -> list[str]:
    problems: list[str] = []
    for name in files():
        try:
            lines = (ROOT / name).read_text().splitlines()
        except UnicodeDecodeError:
            continue
        problems += [f"{name}:{i}: {line.strip()}" for i, line in enumerate(lines, 1) if _PRIVATE_PATH.search(line)]
    return problems


def public_names() -> list[str]:
    """Public modules say what is public. A module that only imports `*` from another one passes that one's list on."""
    problems: list[str] = []
    for path in sorted((ROOT / "python" / "fray").rglob("*.py")):
        if any(part.startswith("_") and part != "__init__" for part in path.relative_to(ROOT).with_suffix("").parts):
            continue
        body = ast.parse(path.read_text()).body
        statements = [
            node for node in body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        ]
        if all(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in statements):
            continue
        names = {ast.unparse(t) for node in body if isinstance(node, ast.Assign) for t in node.targets}
        names |= {ast.unparse(node.target) for node in body if isinstance(node, ast.AnnAssign)}
        if "__all__" not in names:
            problems.append(f"{path.relative_to(ROOT)}: has no __all__")
    return problems


def stub_path(extension: str) -> Path:
    return ROOT / "python" / "fray" / f"{extension}.pyi"


def by_hand(extension: str) -> dict[str, tuple[str, str]]:
    """Return what functions that read their arguments by hand say of themselves: types and documentation, by full name.

    nanobind knows the types of all others. These begin their documentation with `name(argument: type) -> type`.
    """
    module = importlib.import_module(f"fray.{extension}")
    found: dict[str, tuple[str, str]] = {}
    for owner in (module, *(value for value in vars(module).values() if isinstance(value, type))):
        prefix = f"{module.__name__}." if owner is module else f"{module.__name__}.{owner.__name__}."
        for name, value in vars(owner).items():
            doc = value.__doc__ or ""
            if isinstance(value, (BuiltinFunctionType, MethodDescriptorType)) and doc.startswith(f"{name}("):
                types, _, text = doc.partition("\n\n")
                found[prefix + name] = (
                    types if owner is module else types.replace("(", "(self, ", 1).replace(", )", ")"),
                    text,
                )
    return found


def wrong_counts(extension: str) -> list[str]:
    """Functions of the module that say another number of arguments than they take, by hand, when they are called."""
    problems: list[str] = []
    for name, (types, _) in by_hand(extension).items():
        function = vars(sys.modules[f"fray.{extension}"]).get(name.removeprefix(f"fray.{extension}."))
        definition = ast.parse(f"def {types}: ...").body[0]
        if function is None or not isinstance(definition, ast.FunctionDef):
            continue  # a method
        count = len(definition.args.args)
        try:
            function(*[None] * (count + 1))
            said = "nothing"
        except TypeError as error:
            said = str(error)
        if f"takes {count} arguments ({count + 1} given)" not in said:
            problems.append(f"{name}: its documentation has {count} arguments; called with one more it says {said!r}")
    return problems


def generate_stub(extension: str, path: Path) -> list[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    patterns = [rf"^fray\.{extension}\.__prefix__$:", r"    \from typing import Any", ""]
    for name, (types, text) in by_hand(extension).items():
        patterns += [f"^{re.escape(name)}$:", f"    def {' '.join(types.split())}:"]
        patterns += [f'        """{text}"""' if text else "        ...", ""]
    options: tuple[str | Path, ...] = ()
    if len(patterns) > 3:
        written = ROOT / "build" / "stub" / f"{extension}.txt"
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text("\n".join(patterns))
        options = ("-p", written)
    if problems := run(sys.executable, "-m", "nanobind.stubgen", "-q", "-m", f"fray.{extension}", *options, "-o", path):
        return problems
    text = path.read_text()
    problems = [f"fray.{extension}: {name}() says no types" for name in re.findall(r"def (\w+)\(\*args", text)]
    sort = ("check", "--select", "I", "--fix", "--quiet", "--no-respect-gitignore")
    return problems + run(BIN / "ruff", *sort, path) + run(BIN / "ruff", "format", "--quiet", path)


def stubs() -> list[str]:
    """The checked-in stubs are what the extensions say of themselves."""
    problems: list[str] = []
    for extension in EXTENSIONS:
        problems += wrong_counts(extension)
        fresh = ROOT / "build" / "stub" / f"{extension}.pyi"
        if failed := generate_stub(extension, fresh):
            problems += failed
        elif not stub_path(extension).exists() or stub_path(extension).read_text() != fresh.read_text():
            problems.append(
                f"python/fray/{extension}.pyi does not match the extension: run make stub and look at the difference"
            )
    return problems


CHECKS: dict[str, Callable[[], list[str]]] = {
    "C++ format": lambda: clang_format("--dry-run", "-Werror"),
    "Python format": lambda: run(BIN / "ruff", "format", "--check", "."),
    "Python lint": lambda: run(BIN / "ruff", "check", "."),
    "layers": layers,
    "circles of imports": circles,
    "types": pyright,
    "locking": thread_safety,
    "dashboard's page": dashboard,
    "stubs of the extensions": stubs,
    "__all__": public_names,
    "versions": versions,
    "private paths": private_paths,
    "links in the docs": docs,
}


def check_all() -> int:
    failed = 0
    for name, check in CHECKS.items():
        start = time.monotonic()
        problems = check()
        print(f"{'failed' if problems else 'ok':<7}{name}  {time.monotonic() - start:.1f} s")
        if problems:
            failed += 1
            print("\n".join(f"       {line}" for line in problems))
    print(f"{len(CHECKS) - failed} checks passed, {failed} failed")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks format, lint, layers, types and the repository's own rules.")
    parser.add_argument("--format", action="store_true", help="format all files instead")
    parser.add_argument("--stub", action="store_true", help="write the stub of the extension anew instead")
    options = parser.parse_args()
    if options.format:
        commands = [clang_format("-i"), run(BIN / "ruff", "format", "."), run(BIN / "ruff", "check", "--fix", ".")]
        commands.append(dashboard("format"))
        problems = [line for output in commands for line in output]
    elif options.stub:
        problems = [line for extension in EXTENSIONS for line in generate_stub(extension, stub_path(extension))]
    else:
        return check_all()
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
