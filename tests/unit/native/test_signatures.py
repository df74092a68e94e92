"""Functions of the extension: wrong arguments are refused in words, and the stub has the types that they take."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fray
import pytest
from fray import _native
from fray.backend.native import NativeJobContext

native: Any = _native  # wrong arguments are meant here


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with NativeJobContext(cpus=1) as context:
        assert context.get(context.put(1)) == 1
        yield context.engine.client


@pytest.mark.parametrize(
    ("name", "args", "types"),
    [
        ("find_actor", ("", "", ""), "client: fray._native.Client, namespace: str, name: str"),
        ("find_node", (7,), "address: str"),
        ("make_function", ("PICKLE", b"", "f", 0), "kind: fray._native.FunctionKind"),
        ("make_queue", (None,), "client: fray._native.Client"),
        ("hold_timeout", (1,), "held: bool"),
        ("run_fork_server", (0, "loop"), "load_rest: collections.abc.Callable"),
        ("begin_open", (None, "fray", "{}", -1, [], [], "", []), "prestart: int"),
    ],
)
def test_wrong_types_are_refused_with_those_that_the_function_takes(
    name: str, args: tuple[object, ...], types: str
) -> None:
    with pytest.raises(TypeError, match=name) as caught:
        getattr(native, name)(*args)
    assert types in str(caught.value)


def test_elements_of_a_list_are_checked(client: Any) -> None:
    with pytest.raises(TypeError, match=r"collections\.abc\.Sequence"):
        client.define_key(["python", 3], [], "", [], "")
    with pytest.raises(TypeError, match="define_key"):
        client.define_key("python", [], "", [], None)


class Idle:
    def answer(self) -> int:
        return 1


def test_truths_of_other_types_are_taken_by_cancel_and_kill() -> None:
    with NativeJobContext(cpus=1) as ctx:
        one: Any = 1
        ctx.cancel(ctx.run(pow, 2, 3), force=one)
        ctx.kill(ctx.create_actor(Idle), no_restart=one)


@pytest.mark.parametrize(("name", "reason"), [("a\0b", "zero character"), ("a\udcff", "surrogates not allowed")])
def test_names_of_tasks_that_nobody_could_read_are_refused(name: str, reason: str) -> None:
    with NativeJobContext(cpus=1) as ctx, pytest.raises(ValueError, match=reason):
        ctx.run(pow, 2, 3, name=name)


def test_arguments_may_be_named() -> None:
    assert native.make_function(kind=_native.FunctionKind.PICKLE, payload=b"p", name="f", max_calls=0) is not None
    with pytest.raises(TypeError, match="make_function"):
        native.make_function(_native.FunctionKind.PICKLE, b"p", label="f", max_calls=0)


def test_names_of_files_may_have_any_bytes(tmp_path: Path) -> None:
    path = tmp_path / "\udcff"
    path.write_text("content")
    assert len(native.content_hash(str(path))) > 8
    with pytest.raises(OSError, match="gone"):
        native.content_hash(str(tmp_path / "gone"))


@pytest.mark.parametrize(("name", "count"), [("submit", 5), ("put", 2), ("get", 3), ("wait", 4), ("call_actor", 7)])
def test_calls_that_read_their_arguments_by_hand_say_how_many_they_take(name: str, count: int) -> None:
    for given in (count - 1, count + 1):
        with pytest.raises(TypeError, match=rf"{name}\(\) takes {count} arguments \({given} given\)"):
            getattr(native, name)(*[None] * given)


def test_calls_that_read_their_arguments_by_hand_refuse_wrong_types(client: Any) -> None:
    with pytest.raises(
        TypeError, match="a Function, a Plan and a tuple of arguments are needed, got int, str and list"
    ):
        native.submit(client, 1, "plan", [], None)
    with pytest.raises(TypeError, match="a ref is needed, got int"):
        native.get(client, 1, None)
    with pytest.raises(TypeError, match="a list of refs is needed, got set"):
        native.get_many(client, set(), None)
    with pytest.raises(TypeError, match="a Client is needed, got int"):
        native.put(1, 1)


def test_the_stub_knows_the_types_of_every_function() -> None:
    stub = ast.parse(Path(_native.__file__).with_name("_native.pyi").read_text())
    functions = [node for node in ast.walk(stub) if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
    assert len(functions) > 70
    for function in functions:
        arguments = [argument for argument in function.args.args if argument.arg != "self"]
        assert function.returns is not None, function.name
        assert function.args.vararg is None, function.name
        assert all(argument.annotation is not None for argument in arguments), function.name


def test_enums_of_the_engine_are_numbers_with_names() -> None:
    assert _native.StatusCode(_native.StatusCode.CLOSED.value) is _native.StatusCode.CLOSED
    assert [mode.name for mode in _native.ActorMode] == ["SERIAL", "THREADS", "EVENT_LOOP"]
    assert isinstance(_native.Interrupt.CANCELLED, int)


def test_a_ref_of_another_context_is_told_from_what_is_no_ref(client: Any) -> None:
    with NativeJobContext(cpus=1) as other, pytest.raises(fray.ForeignRefError):
        native.get(client, other.put(1), None)
