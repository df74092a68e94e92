"""Python calls C++: functions and classes of a shared library."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import fray
import numpy as np
import pytest
from fray.backend.native import NativeJobContext

from tests.waiting import eventually

SOURCES = Path(__file__).parent / "programs"


@pytest.fixture
def jobs(jobs_library: Path) -> Any:
    return fray.cpp(jobs_library)


def test_function_of_a_library_runs_as_a_task(ctx: fray.JobContext, jobs: Any) -> None:
    assert ctx.get(ctx.run(jobs.function("add"), 40, 2)) == 42


def test_values_of_every_shared_type_come_back_equal(ctx: fray.JobContext, jobs: Any) -> None:
    values = [
        None,
        True,
        -(2**63),
        2**64 - 1,
        1.5,
        "text " * 4000,
        b"\x00\xff" * 5000,
        [],
        [1, "two", None, [3.0]],
        {"a": {"b": [1, 2]}, 3: b"three", "ü": None},
        list(range(5000)),
    ]
    same = jobs.function("same")
    for value in values:
        assert ctx.get(ctx.run(same, value)) == value
    kinds = [ctx.get(ctx.run(jobs.function("kind_of"), value)) for value in (None, True, 1, 2.0, "", b"", [], {})]
    assert kinds == ["none", "bool", "int", "float", "str", "bytes", "list", "dict"]


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(0,), (3,), (), (50, 40), (300, 2, 5)])
def test_arrays_keep_type_and_shape(ctx: fray.JobContext, jobs: Any, dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    back = ctx.get(ctx.run(jobs.function("same"), {"array": array}))["array"]
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert (back == array).all()


def test_large_array_is_shared_and_read_only(ctx: fray.JobContext, jobs: Any) -> None:
    array = np.arange(200_000, dtype=np.float64)
    assert ctx.get(ctx.run(jobs.function("sum"), array)) == array.sum()
    assert ctx.get(ctx.run(jobs.function("sum"), array[::2])) == array[::2].sum()
    table = ctx.run(jobs.function("table"), 500, 400)
    one, other = ctx.get(table), ctx.get(table)
    assert one.shape == (500, 400)
    assert one[499, 399] == 500 * 400 - 1
    assert not one.flags.writeable
    assert np.shares_memory(one, other)


def test_array_that_lies_in_the_store_is_summed_where_it_is(ctx: fray.JobContext, jobs: Any) -> None:
    array = ctx.empty(100_000, np.float64)
    array[:] = 2.0
    assert ctx.get(ctx.run(jobs.function("sum"), array)) == 200_000.0


def test_struct_is_a_dict(ctx: fray.JobContext, jobs: Any) -> None:
    mirrored = jobs.function("mirrored")
    assert ctx.get(ctx.run(mirrored, {"y": 2, "x": 1.0})) == {"x": -1.0, "y": -2.0}
    with pytest.raises(fray.TaskError, match="Point has no field 'z'"):
        ctx.get(ctx.run(mirrored, {"x": 1.0, "z": 2.0}))
    with pytest.raises(fray.TaskError, match="argument 0: expected dict, got list of 0"):
        ctx.get(ctx.run(mirrored, []))


class Shop:
    pass


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ((1, 2), "tuple"),
        ({1}, "set"),
        (Shop(), "Shop"),
        ([{"deep": Shop()}], "Shop"),
        (2**64, "int"),
        (np.array(["a"]), "str"),
        (np.array([None]), "object"),
        (np.float32(1), "numpy.float32"),
        ("\ud800", "str"),
    ],
)
def test_other_types_are_errors_that_name_them(ctx: fray.JobContext, jobs: Any, value: Any, name: str) -> None:
    with pytest.raises(fray.SerializationError, match=f"argument 0: .*{name}"):
        ctx.run(jobs.function("same"), value)


def test_tuple_comes_as_several_refs(ctx: fray.JobContext, jobs: Any) -> None:
    quotient, rest = ctx.create_task(jobs.function("divide"), args=(17, 5), options=fray.TaskOptions(num_returns=2))
    assert ctx.get([quotient, rest]) == [3, 2]
    assert ctx.get(ctx.run(jobs.function("divide"), 17, 5)) == [3, 2]
    refs = ctx.create_task(jobs.function("divide"), args=(17, 5), options=fray.TaskOptions(num_returns=3))
    with pytest.raises(fray.TaskError, match=r"to give 3 values, but its function returns std::tuple<int, int>"):
        ctx.get(refs[2])


def test_cpp_function_is_tried_again_after_exceptions(ctx: fray.JobContext, jobs: Any, tmp_path: Path) -> None:
    options = fray.TaskOptions(max_retries=2, retry_exceptions=True)
    flaky = jobs.function("fails_at_first")
    assert ctx.get(ctx.create_task(flaky, args=(str(tmp_path / "marker"), 2), options=options)) == 3
    with pytest.raises(fray.UnsupportedError, match="all of them or none"):
        ctx.create_task(flaky, args=("", 1), options=fray.TaskOptions(retry_exceptions=(ValueError,)))


def test_keyword_arguments_are_refused(ctx: fray.JobContext, jobs: Any) -> None:
    with pytest.raises(TypeError, match="no keyword arguments"):
        ctx.run(jobs.function("add"), a=1, b=2)


def test_pickle_behind_a_ref_is_an_error_that_says_so(ctx: fray.JobContext, jobs: Any) -> None:
    with pytest.raises(fray.TaskError, match="only Python can read"):
        ctx.get(ctx.run(jobs.function("same"), ctx.put((1, 2))))


def test_refs_are_arguments_values_and_results(ctx: fray.JobContext, jobs: Any) -> None:
    three = ctx.run(jobs.function("add"), 1, 2)
    assert ctx.get(ctx.run(jobs.function("add"), three, ctx.put(4))) == 7
    assert ctx.get(ctx.get(ctx.run(jobs.function("started"), 5, 6))) == 11


def test_exception_of_cpp_arrives_with_type_and_text(ctx: fray.JobContext, jobs: Any) -> None:
    with pytest.raises(fray.TaskError, match="beyond the end") as caught:
        ctx.get(ctx.run(jobs.function("throws"), "beyond the end"))
    assert caught.value.type_name == "std::out_of_range"
    assert caught.value.task_name == "throws"


def test_crash_of_cpp_is_told_with_signal_and_stack(ctx: fray.JobContext, jobs: Any) -> None:
    options = fray.TaskOptions(max_retries=0)
    with pytest.raises(fray.WorkerDiedError, match=r"SIGSEGV(.|\n)*its stack(.|\n)*libjobs"):
        ctx.get(ctx.create_task(jobs.function("crashes"), options=options))
    assert ctx.get(ctx.run(jobs.function("add"), 1, 1)) == 2


def test_running_function_is_cancelled(ctx: fray.JobContext, jobs: Any) -> None:
    ref = ctx.run(jobs.function("waits"))
    assert ctx.get(ctx.run(jobs.function("add"), 1, 1)) == 2
    ctx.cancel(ref)
    with pytest.raises(fray.TaskCancelledError):
        ctx.get(ref)


def test_cpp_called_by_python_calls_python(ctx: fray.JobContext, jobs: Any) -> None:
    assert ctx.get(ctx.run(jobs.function("through_python"), 9.0)) == 3.0


def call_library(path: str, a: int, b: int) -> int:
    context = fray.get_job_context()
    return context.get(context.run(fray.cpp(path).function("add"), a, b))


def test_python_task_calls_cpp(ctx: fray.JobContext, jobs_library: Path) -> None:
    assert ctx.get(ctx.run(call_library, str(jobs_library), 1, 2)) == 3


def test_actor_of_a_library_keeps_its_state(ctx: fray.JobContext, jobs: Any) -> None:
    counter = ctx.create_actor(jobs.actor("Counter"), 10, name="cpp counter")
    assert ctx.get([counter.add(1) for _ in range(3)]) == [11, 12, 13]
    with pytest.raises(fray.TaskError, match="no more counting"):
        ctx.get(counter.fails())
    assert ctx.get(ctx.get_actor("cpp counter").add(1)) == 14
    assert ctx.get(ctx.run(jobs.function("add_through"), counter, 5)) == 19
    with pytest.raises(fray.TaskError, match="no method 'subtract'"):
        ctx.get(counter.subtract(1))
    ctx.kill(counter)
    with pytest.raises(fray.ActorDiedError):
        ctx.get(counter.add(1))


def test_what_a_cancelled_call_of_a_cpp_actor_has_started_is_cancelled_with_it(
    ctx: fray.JobContext, jobs: Any, tmp_path: Path
) -> None:
    starter = ctx.create_actor(jobs.actor("Starter"), options=fray.ActorOptions(max_concurrency=2))
    marks = [tmp_path / "first", tmp_path / "second"]
    refs = [starter.starts(str(mark)) for mark in marks]
    for mark in marks:
        eventually(mark.exists)
    engine: Any = ctx.engine
    for ref, mark, others in ((refs[0], marks[0], marks[1:]), (refs[1], marks[1], [])):
        engine.cancel(ref, False, True)
        eventually(mark.with_suffix(".cancelled").exists)
        assert not [other for other in others if other.with_suffix(".cancelled").exists()]
        assert ctx.get(ref) is False  # the call went on, and was told that what it waited for is cancelled


def test_a_cpp_actor_with_several_threads_ends_without_a_word(jobs: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with NativeJobContext(cpus=2) as ctx:
        for _ in range(20):  # each end is a race of its threads
            counter = ctx.create_actor(jobs.actor("Counter"), 1, options=fray.ActorOptions(max_concurrency=8))
            assert ctx.get(counter.add(1)) == 2
            del counter
    assert "descriptors" not in capfd.readouterr().err


def use_counter(counter: Any) -> int:
    return fray.get_job_context().get(counter.add(100))


def test_handle_of_a_cpp_actor_travels_to_a_python_task(ctx: fray.JobContext, jobs: Any) -> None:
    assert ctx.get(ctx.run(use_counter, ctx.create_actor(jobs.actor("Counter"), 1))) == 101


def test_constructor_that_throws_is_told_to_every_call(ctx: fray.JobContext, jobs: Any) -> None:
    counter = ctx.create_actor(jobs.actor("Counter"), -1)
    with pytest.raises(fray.ActorDiedError, match="start is negative"):
        ctx.get(counter.add(1))


def test_missing_library_and_missing_names_are_errors(ctx: fray.JobContext, jobs: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no library"):
        fray.cpp(tmp_path / "libnothing.so")
    with pytest.raises(fray.TaskError, match="no task 'subtract'; it has add"):
        ctx.get(ctx.run(jobs.function("subtract"), 1, 2))
    counter = ctx.create_actor(jobs.actor("Abacus"))
    with pytest.raises(fray.ActorDiedError, match="no actor class 'Abacus'; it has Counter"):
        ctx.get(counter.add(1))


def test_file_that_is_no_library_fails_its_tasks(ctx: fray.JobContext, tmp_path: Path) -> None:
    text = tmp_path / "libtext.so"
    text.write_text("no library at all")
    with pytest.raises(fray.RuntimeEnvError, match=r"libtext\.so"):
        ctx.get(ctx.run(fray.cpp(text).function("add"), 1, 2))


def test_library_that_was_built_anew_runs_in_new_workers(
    ctx: fray.JobContext, jobs_library: Path, tmp_path: Path
) -> None:
    from tests.cpp.conftest import compile_cpp

    path = tmp_path / "libchanging.so"
    shutil.copy(jobs_library, path)
    assert ctx.get(ctx.run(fray.cpp(path).function("add"), 1, 2)) == 3
    source = tmp_path / "changed.cc"
    source.write_text("#include <fray/api.h>\nint add(int a, int b) { return 100 * (a + b); }\nFRAY_TASK(add);\n")
    path.unlink()
    compile_cpp(source, path, "-shared")
    assert ctx.get(ctx.run(fray.cpp(path).function("add"), 1, 2)) == 300


def test_libraries_that_register_one_name_each_run_their_own(ctx: fray.JobContext, tmp_path: Path) -> None:
    from tests.cpp.conftest import compile_cpp

    libraries: list[Any] = []
    for number in (1, 2):
        source = tmp_path / f"number{number}.cc"
        source.write_text(f"#include <fray/api.h>\nint number() {{ return {number}; }}\nFRAY_TASK(number);\n")
        libraries.append(fray.cpp(compile_cpp(source, source.with_suffix(".so"), "-shared")))
    refs = [ctx.run(library.function("number")) for library in libraries * 3]
    assert ctx.get(refs) == [1, 2, 1, 2, 1, 2]


def test_library_of_another_abi_is_refused(ctx: fray.JobContext, tmp_path: Path) -> None:
    from tests.cpp.conftest import compile_cpp

    source = tmp_path / "old.cc"
    source.write_text(
        "#include <fray.h>\n#undef FRAY_ABI_VERSION\n#define FRAY_ABI_VERSION 77\n"
        "#include <fray/api.h>\nint add(int a, int b) { return a + b; }\nFRAY_TASK(add);\n"
    )
    library = compile_cpp(source, tmp_path / "libold.so", "-shared")
    with pytest.raises(fray.TaskError, match="compiled for version 77"):
        ctx.get(ctx.run(fray.cpp(library).function("add"), 1, 2))


def test_other_contexts_say_where_cpp_runs(jobs: Any) -> None:
    with fray.LocalJobContext() as ctx, pytest.raises(fray.UnsupportedError, match="native engine"):
        ctx.get(ctx.run(jobs.function("add"), 1, 2))


def test_library_that_was_built_anew_leaves_no_kind_of_worker_behind(
    ctx: fray.JobContext, jobs_library: Path, tmp_path: Path
) -> None:
    library = tmp_path / "libjobs.so"
    shutil.copy(jobs_library, library)
    for _ in range(8):
        assert ctx.get(ctx.run(fray.cpp(library).function("add"), 1, 2)) == 3
        built = library.read_bytes() + b"\0"  # what is behind the end of an ELF file is read by nobody
        library.unlink()
        library.write_bytes(built)
    deadline = time.monotonic() + 60
    while (known := json.loads(ctx._client.status())["node"]["worker_keys"]) > 3 and time.monotonic() < deadline:
        ctx.get(ctx.run(abs, -1))
    assert known <= 3
