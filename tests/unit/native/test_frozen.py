"""Functions that are pickled once, refs with further methods, annotations of actors, modules loaded ahead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import fray
import pytest
from fray.job.frozen import Frozen
from fray.types import ActorOptions

from tests.waiting import eventually


@pytest.fixture
def native(fray_session_context: fray.JobContext) -> fray.JobContext:
    """One engine for all tests."""
    return fray_session_context


def test_a_frozen_function_keeps_what_it_refers_to(native: fray.JobContext) -> None:
    values = [1]
    frozen = Frozen(lambda more: [*values, more])
    assert native.get(native.run(frozen, 2)) == [1, 2]
    values.append(9)
    assert native.get(native.run(frozen, 3)) == [1, 3]
    assert native.get(native.run(lambda: list(values))) == [1, 9]  # any other function is looked at anew


def test_a_frozen_generator_streams(native: fray.JobContext) -> None:
    def items() -> Any:
        yield from range(3)

    assert [native.get(ref) for ref in native.run(Frozen(items))] == [0, 1, 2]


def test_a_frozen_generator_waits_while_so_many_of_its_items_were_not_taken(
    native: fray.JobContext, tmp_path: Path
) -> None:
    def items() -> Any:
        for i in range(6):
            (tmp_path / str(i)).touch()
            yield i

    stream = native.run(Frozen(items, most_items=2))
    for taken in range(4):
        eventually((tmp_path / str(taken + 1)).exists)
        for _ in range(20):
            native.get(native.run(int))  # time in which the generator could go on
        assert not (tmp_path / str(taken + 2)).exists()
        assert native.get(next(stream)) == taken
    assert native.get(stream) == [4, 5]


def test_a_frozen_function_may_be_tried_again(native: fray.JobContext, tmp_path: Any) -> None:
    def flaky(folder: str) -> int:
        import os

        count = len(os.listdir(folder))
        with open(os.path.join(folder, str(count)), "w"):
            pass
        if count < 2:
            raise ValueError
        return count

    options = fray.TaskOptions(max_retries=2, retry_exceptions=True)
    assert native.get(native.create_task(Frozen(flaky), (str(tmp_path),), options=options)) == 2


def test_a_frozen_function_may_hold_refs(native: fray.JobContext) -> None:
    ref = native.put(5)
    frozen = Frozen(lambda: fray.get_job_context().get(ref))
    assert native.get(native.run(frozen)) == 5


class _Kept:
    def value(self) -> int:
        return 1


def test_annotations_travel_with_every_handle(native: fray.JobContext) -> None:
    options = ActorOptions(name="annotated", annotations={"version": "3"})
    actor = native.create_actor(_Kept, options=options)
    found = native.get_actor("annotated")
    assert actor._fray_link.annotations == found._fray_link.annotations == {"version": "3"}
    (passed,) = native.get(native.put([actor]))
    assert passed._fray_link.annotations == {"version": "3"}
    native.kill(actor)
    with pytest.raises(TypeError, match="annotations"):
        ActorOptions(annotations={"version": 3})  # type: ignore[dict-item]


EXTENDED = """
import fray
from fray.backend.native.context import NativeJobContext

class Named:
    __slots__ = ()
    def shout(self):
        return "ref!"

class Heavy:
    pass

try:
    NativeJobContext.extend_refs(Heavy)
except TypeError as error:
    print("refused:", error)
with fray.init(cpus=1) as ctx:
    before = ctx.put(0)
    NativeJobContext.extend_refs(Named)
    NativeJobContext.extend_refs(Named)
    ref = ctx.run(lambda: 4)
    print(isinstance(ref, Named), isinstance(ref, fray.ObjectRef), ref.shout(), ctx.get([ref, before]))
    (inner,) = ctx.get(ctx.put([ref]))
    print(type(inner) is type(ref), inner == ref, len({inner, ref}), ctx.wait([ref, before], 2)[1])
    refs = [ctx.put(i) for i in range(1000)]
    print(sum(ctx.get(refs)))
"""


def test_refs_get_methods_and_stay_refs() -> None:
    done = subprocess.run([sys.executable, "-c", EXTENDED], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [
        "refused: a class is needed that adds no attributes to its objects: __slots__ = ()",
        "True True ref! [4, 0]",
        "True True 1 []",
        "499500",
    ], done.stderr


PRELOADED = """
import sys
import fray

def loaded():
    return "wave" in sys.modules

with fray.init(cpus=1) as ctx:
    print(ctx.get(ctx.run(loaded)))
"""


def test_modules_are_loaded_before_workers_begin() -> None:
    import os

    variables = {**os.environ, "FRAY_PRELOAD": "wave"}
    done = subprocess.run([sys.executable, "-c", PRELOADED], capture_output=True, text=True, timeout=60, env=variables)
    assert done.stdout == "True\n", done.stderr
