"""A program that names no start method is copied where its tasks cannot tell, and not where they could."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

_PROGRAM = """
import colorsys, os, sys  # Fray has no use for colorsys: a worker that has it is a copy
sys.path.insert(1, os.environ["INSTALLED"])
import fray
from fray.backend.native.context import NativeJobContext

def is_copy():
    import sys
    return "colorsys" in sys.modules
"""
_INSTALLED = "import os\nopen(os.environ['IMPORTS'], 'a').write('imported ')\nvalue = 7\n"


def run(folder: Path, text: str, **modules: str) -> list[str]:
    """Run a program with this text in it, beside these modules of its own, and return the lines that it prints.

    A package of 25 modules, `large_package`, is installed; each import of it adds a word to the file ``imports``.
    """
    installed = folder / "site-packages"
    package = installed / "large_package"
    package.mkdir(parents=True)
    parts = [f"part{number}" for number in range(24)]
    for part in parts:
        (package / f"{part}.py").write_text("")
    (package / "__init__.py").write_text(f"from . import {', '.join(parts)}\n{_INSTALLED}")
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(source))
    script = folder / "program.py"
    script.write_text(_PROGRAM + textwrap.dedent(text))
    environment = {**os.environ, "INSTALLED": str(installed), "IMPORTS": str(folder / "imports")}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


_CALL = """
with fray.init(cpus=2) as ctx:
    print(ctx.get(ctx.create_task(is_copy)))
"""


def test_a_program_of_one_script_is_copied_with_what_it_has_imported(tmp_path: Path) -> None:
    text = """
        import large_package
        def value():
            return large_package.value
        with fray.init(cpus=2) as ctx:
            print(ctx.get(ctx.create_task(is_copy)), ctx.get(ctx.create_task(value)))
    """
    assert run(tmp_path, text) == ["True 7"]
    assert (tmp_path / "imports").read_text() == "imported "


@pytest.mark.parametrize(
    "source",
    [
        "def own():\n    return 1\nclass Own:\n    pass\nNAME = 'a'\nPAIR = (1, 2.5)\nnothing = None\n",
        "TABLE = {'a': [1, 2], 'b': {3}}\n",
        "class One:\n    pass\nclass Other:\n    one = One\nOne.other = Other\n",
        "ITSELF = []\nITSELF.append(ITSELF)\n",
        "import abc\nclass Own(abc.ABC):\n    size = 3\n    @classmethod\n    def make(cls): ...\n"
        "    @property\n    def big(self): ...\n",
        "import typing\nclass Pair(typing.NamedTuple):\n    one: int\n    other: int = 2\n",
        "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def g(x):\n"
        "        return f(f(x))\n    return g\n@twice\ndef add(x):\n    return x\n",
        "import logging, re, pathlib\nlog = logging.getLogger('a')\nword = re.compile('a')\nhome = pathlib.Path()\n",
        "from __future__ import annotations\nimport collections.abc\nA = collections.abc.Callable[[int], int]\n",
        "import enum\nclass Colour(enum.Enum):\n    RED = 1\nred = Colour.RED\n",
        "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass Row:\n    of: int\nrow = Row(3)\n",
        "import functools\n@functools.cache\ndef answer():\n    return 42\n",
        "import collections\nknown, names, late = {}, [], collections.deque()\n"
        "by_key = collections.defaultdict(list)\ndef remember(key, known={}):\n    return known\n",
        "import threading\nlock, nested, own = threading.Lock(), threading.RLock(), threading.local()\n",
        "import dataclasses, types\n@dataclasses.dataclass\nclass Row:\n    of: int\n    more: list[int]\n"
        "ROW = Row(3, [1])\nSPACE = types.SimpleNamespace(row=ROW)\n",
        "import dataclasses\n@dataclasses.dataclass(slots=True, frozen=True)\nclass Row:\n    of: int\nrow = Row(3)\n",
        "import types\nMISSING = object()\nREAD_ONLY = types.MappingProxyType({'a': [1]})\n",
        "ALL = {}\ndef register(f):\n    ALL[f.__name__] = f\n    return f\n@register\ndef one():\n    return 1\n",
        "import operator, struct, uuid\nfirst, one = operator.itemgetter(0), uuid.UUID(int=1)\n"
        "head = struct.Struct('i')\n",
    ],
)
def test_modules_of_functions_classes_and_constants_are_copied(tmp_path: Path, source: str) -> None:
    assert run(tmp_path, "import own\n" + _CALL, own=source) == ["True"]


@pytest.mark.parametrize(
    "source",
    [
        "settings = {'depth': 3}\n",
        "import threading\nLOCK = threading.Lock()\nLOCK.acquire()\n",
        "import threading\nLOCK = threading.RLock()\nLOCK.acquire()\n",
        "import threading\nown = threading.local()\nown.value = 1\n",
        "import types\nread_only = types.MappingProxyType({'a': 1})\n",
        "class Table(dict):\n    pass\nTABLE = Table()\n",
        "class Counter:\n    count = 0\nCOUNTER = Counter()\n",
        "import random\nDRAWS = random.Random()\n",
        "import io\nLOG = io.StringIO()\n",
        "import functools\n@functools.cache\ndef answer():\n    return 42\nanswer()\n",
        "import dataclasses\n@dataclasses.dataclass\nclass Row:\n    of: int\nrow = Row(3)\n",
        "import dataclasses\n@dataclasses.dataclass\nclass Row:\n    of: object\nROW = Row(iter([1]))\n",
        "import dataclasses\n@dataclasses.dataclass\nclass Row:\n    of: int\nROW = Row(3)\nROW.more = iter([1])\n",
        "PAIR = (1, [2])\nnames = PAIR\n",
        "import random\nclass Simulation:\n    draws = random.Random()\n",
        "def remember(key, known={'a': 1}):\n    return known\n",
        "def outer():\n    known = [1]\n    return lambda: known\nlook = outer()\n",
        "ALL = list(range(100_000))\n",
    ],
)
def test_a_program_with_state_of_its_own_is_not_copied(tmp_path: Path, source: str) -> None:
    assert run(tmp_path, "import own\n" + _CALL, own=source) == ["False"]


@pytest.mark.parametrize(
    "before",
    [
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n",
        "file = open(__file__)\n",
        "import socket\nends = socket.socketpair()\n",
        "sys.settrace(lambda *_: None)\n",
        "sys.setprofile(lambda *_: None)\n",
        "memory = bytes(os.urandom(1)) * (600 << 20)\n",
        "first = fray.init(cpus=1)\n",
        "import tracemalloc\ntracemalloc.start()\n",
        "import time\nslept = time.sleep\ntime.sleep = lambda seconds: slept(seconds)\n",
        "pipes = [os.pipe() for _ in range(200)]\n",
    ],
)
def test_a_program_in_the_middle_of_something_is_not_copied(tmp_path: Path, before: str) -> None:
    text = before + "with NativeJobContext(cpus=1) as ctx:\n    print(ctx.get(ctx.create_task(is_copy)))\n"
    assert run(tmp_path, text) == ["False"]


@pytest.mark.parametrize("earlier", ["", "import numpy\n"])  # numpy's threads end for a fork, and this one does not
def test_a_thread_that_python_does_not_know_keeps_a_program_from_being_copied(tmp_path: Path, earlier: str) -> None:
    text = """
        import ctypes
        of_c = ctypes.CDLL(None)
        thread = ctypes.c_ulong()
        of_c.pthread_create(ctypes.byref(thread), None, of_c.pause, None)
        with fray.init(cpus=1) as ctx:
            print(ctx.get(ctx.create_task(is_copy)))
        sys.stdout.flush()
        os._exit(0)  # which waits for no thread
    """
    assert run(tmp_path, earlier + textwrap.dedent(text)) == ["False"]


def test_a_program_that_has_opened_a_device_is_not_copied(tmp_path: Path) -> None:
    device = "/dev/fuse"  # any device with state of its own, as those of GPUs are
    if not os.access(device, os.R_OK):
        pytest.skip(f"{device} cannot be opened here")
    assert run(tmp_path, f"device = os.open({device!r}, os.O_RDONLY)\n" + _CALL) == ["False"]


def test_a_program_that_has_opened_a_pipe_or_dev_null_is_copied(tmp_path: Path) -> None:
    assert run(tmp_path, "pipe, null = os.pipe(), open(os.devnull)\n" + _CALL) == ["True"]


@pytest.mark.parametrize(
    ("source", "copied"),
    [
        ("WEIGHTS = numpy.ones(3)\nkind, one = WEIGHTS.dtype, WEIGHTS[0]\n", True),
        ("weights = numpy.ones(3)\n", False),
        ("MIXED = numpy.array([iter([1])], dtype=object)\n", False),
        ("DRAWS = numpy.random.default_rng(1)\n", False),
    ],
)
def test_arrays_are_constants_by_their_names(tmp_path: Path, source: str, copied: bool) -> None:
    pytest.importorskip("numpy")
    assert run(tmp_path, "import own\n" + _CALL, own="import numpy\n" + source) == [str(copied)]


def test_the_threads_of_numpy_do_not_keep_a_program_from_being_copied(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    text = """
        import numpy
        numpy.ones((500, 500)) @ numpy.ones((500, 500))
        def multiply():
            return float((numpy.ones((500, 500)) @ numpy.ones((500, 500)))[0, 0])
        with fray.init(cpus=2) as ctx:
            print(ctx.get(ctx.create_task(is_copy)), ctx.get([ctx.create_task(multiply) for _ in range(4)]))
    """
    assert run(tmp_path, text) == ["True [500.0, 500.0, 500.0, 500.0]"]


def test_a_context_made_while_a_module_is_imported_does_not_copy_half_of_it(tmp_path: Path) -> None:
    own = """
        import os, fray
        os.environ.setdefault("PROGRAM", str(os.getpid()))
        if os.environ["PROGRAM"] == str(os.getpid()):
            fray.init(cpus=1)
        def later():
            return "defined later"
    """
    text = """
        import own
        print(fray.get_job_context().get(fray.get_job_context().create_task(own.later)))
        fray.shutdown()
    """
    assert run(tmp_path, text, own=own) == ["defined later"]


def test_tasks_of_a_copy_do_not_see_the_program(tmp_path: Path) -> None:
    text = """
        import decimal
        decimal.getcontext().prec = 5
        sys.setrecursionlimit(5000)
        sys.argv.append("an argument")
        def look():
            import decimal, sys
            main = sys.modules["__main__"]
            return hasattr(main, "look"), sys.argv, decimal.getcontext().prec, sys.getrecursionlimit()
        for method in None, "forkserver":
            with NativeJobContext(cpus=1, start_method=method) as ctx:
                print(*ctx.get([ctx.create_task(each) for each in (is_copy, look)]))
    """
    assert run(tmp_path, text) == [f"{is_copy} (False, ['-c'], 28, 1000)" for is_copy in (True, False)]


def test_a_lock_that_the_script_holds_is_none_of_its_tasks(tmp_path: Path) -> None:
    text = """
        import threading
        lock = threading.Lock()
        def get_context():
            with lock:
                return fray.init(cpus=1)
        with get_context() as ctx:
            print(ctx.get(ctx.create_task(is_copy)))
    """
    assert run(tmp_path, text) == ["True"]


def test_a_program_with_one_context_after_the_other_is_copied_for_each(tmp_path: Path) -> None:
    text = """
        def inner(number):
            return number + 1
        def outer():
            ctx = fray.get_job_context()
            return sum(ctx.get([ctx.create_task(inner, (number,)) for number in range(10)]))
        for _ in range(3):
            with fray.init(cpus=2) as ctx:
                print(ctx.get(ctx.create_task(is_copy)), ctx.get(ctx.create_task(outer)))
    """
    assert run(tmp_path, text) == ["True 55"] * 3


@pytest.mark.parametrize("earlier", ["", "import email, json, logging.config, unittest.mock, xml.dom.minidom\n"])
def test_what_a_copied_program_imports_later_is_imported_once_for_all_workers(tmp_path: Path, earlier: str) -> None:
    text = """
        class Actor:
            def look(self):
                return large_package.value, is_copy()
        with fray.init(cpus=2) as ctx:
            import large_package
            actors = [ctx.create_actor(Actor) for _ in range(3)]
            print(*ctx.get([actor.look.remote() for actor in actors]))
    """
    assert run(tmp_path, earlier + textwrap.dedent(text)) == ["(7, True) (7, True) (7, True)"]
    assert (tmp_path / "imports").read_text() == "imported imported "


def test_variables_of_workers_are_read_by_what_they_import(tmp_path: Path) -> None:
    own = "import os\nVALUE = os.environ.get('READ_AT_IMPORT')\n"
    text = """
        import own
        def value():
            import own
            return own.VALUE
        with NativeJobContext(cpus=1, worker_env={"READ_AT_IMPORT": "yes"}) as ctx:
            print(ctx.get(ctx.create_task(value)))
    """
    assert run(tmp_path, text, own=own) == ["yes"]


def test_a_program_that_asks_for_new_interpreters_gets_them(tmp_path: Path) -> None:
    assert run(tmp_path, _CALL.replace("cpus=2", "cpus=2, start_method='forkserver'")) == ["False"]
