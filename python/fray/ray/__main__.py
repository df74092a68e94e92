"""``python -m fray.ray program.py [arguments]``: runs a program that was written for Ray; `fray ray` does the same."""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import runpy
import sys
from typing import Any

from fray._as_ray import install

__all__ = ["main"]

_USAGE = """usage: fray ray PROGRAM [ARGUMENTS]        a file, or a folder or archive with a __main__.py
       fray ray -m MODULE [ARGUMENTS]
       fray ray -c TEXT [ARGUMENTS]

Runs a Python program that was written for Ray; `import ray` gives fray.ray there and in all of its workers."""


def main(words: list[str]) -> int:
    """Run the program that the command line names, as Python does; return the exit code where it cannot be run."""
    if not words or words[0] in ("-h", "--help"):
        print(_USAGE, file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    first, *rest = words
    if first in ("-m", "-c") and not rest:
        print(f"fray ray: {first} needs a {'module' if first == '-m' else 'text'}\n{_USAGE}", file=sys.stderr)
        return 2
    install()
    if first == "-m":
        sys.argv = rest
        sys.path.insert(0, os.getcwd())
        if not _has_module(rest[0]):
            print(f"fray ray: there is no module {rest[0]} here or on the module path", file=sys.stderr)
            return 3
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return 0
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        code = compile(rest[0], "<string>", "exec", dont_inherit=True)
        exec(code, _empty_main())
        return 0
    if first.startswith("-"):
        print(f"fray ray: unknown option {first}\n{_USAGE}", file=sys.stderr)
        return 2
    if not os.path.exists(first):
        print(f"fray ray: there is no file {first}", file=sys.stderr)
        return 3
    if _is_container(first) and not _has_main(first):
        print(f"fray ray: there is no __main__.py in {first}", file=sys.stderr)
        return 3
    _run_file(first, rest)
    return 0


def _has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # what is missing is a module that the package around it imports
        return False


def _is_container(path: str) -> bool:
    return os.path.isdir(path) or path.endswith((".zip", ".pyz"))


def _has_main(path: str) -> bool:
    finder = pkgutil.get_importer(path)
    return finder is not None and finder.find_spec("__main__") is not None


def _run_file(path: str, arguments: list[str]) -> None:
    sys.argv = [path, *arguments]
    if _is_container(path):
        runpy.run_path(path, run_name="__main__")
        return
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, _empty_main(__file__=path, __cached__=None))


def _empty_main(**names: Any) -> dict[str, Any]:
    """Return the names of the module that is __main__ already, all but `names` forgotten.

    Functions of a program that runs there are pickled as those of a main script.
    """
    module = sys.modules["__main__"].__dict__
    own = [name for name in module if not (name.startswith("__") and name.endswith("__"))]
    for name in (*own, "__file__", "__cached__"):
        module.pop(name, None)
    module.update(__spec__=None, __package__=None, __doc__=None, **names)
    return module


if __name__ == "__main__":
    _code = main(sys.argv[1:])
    if _code:
        sys.exit(_code)
