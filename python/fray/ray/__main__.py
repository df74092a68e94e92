"""``python -m fray.ray program.py [arguments]``: runs a program that was written for Ray; `fray ray` does the same."""

from __future__ import annotations

import os
import runpy
import sys

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
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return 0
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        exec(compile(rest[0], "<string>", "exec"), sys.modules["__main__"].__dict__)
        return 0
    if first.startswith("-"):
        print(f"fray ray: unknown option {first}\n{_USAGE}", file=sys.stderr)
        return 2
    if not os.path.exists(first):
        print(f"fray ray: there is no file {first}", file=sys.stderr)
        return 3
    _run_file(first, rest)
    return 0


def _run_file(path: str, arguments: list[str]) -> None:
    sys.argv = [path, *arguments]
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        runpy.run_path(path, run_name="__main__")
        return
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    # The code runs in the module that is __main__ already, so that its functions are pickled as those of a main script.
    module = sys.modules["__main__"].__dict__
    for name in [name for name in module if not (name.startswith("__") and name.endswith("__"))]:
        del module[name]
    module.update(__file__=path, __spec__=None, __package__=None, __doc__=None, __cached__=None)
    exec(code, module)


if __name__ == "__main__":
    _code = main(sys.argv[1:])
    if _code:
        sys.exit(_code)
