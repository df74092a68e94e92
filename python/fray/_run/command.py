"""What `fray run` does: parse the arguments by the signature, run the function as a task, show its result."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import itertools
import os
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple

import fray
from fray._command_end import show, show_json
from fray._run.signature import SignatureError, bind, make_parser
from fray._run.target import TargetFormError, TargetNotFoundError, load_function, parse_target

__all__ = ["main"]

# The table of src/cli/exit_codes.h.
OK, FAILED, USAGE, NOT_FOUND, TIMED_OUT, UNREACHABLE = 0, 1, 2, 3, 4, 5


_END = object()
"""What follows the last item of an async generator."""


class _Exited(NamedTuple):
    """The function called ``sys.exit`` with this code."""

    code: int


class _Call:
    """The function as a task: coroutines are run, and ``sys.exit`` ends as its code."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            result = self.function(*args, **kwargs)
            return asyncio.run(result) if inspect.iscoroutine(result) else result
        except SystemExit as error:
            return _exited(error)


class _Stream(_Call):
    """A generator function as a task; an `async` one has an event loop of its own."""

    def items(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Yield what the function yields."""
        try:
            made = self.function(*args, **kwargs)
            yield from _driven(made) if inspect.isasyncgen(made) else made
        except SystemExit as error:
            yield _exited(error)


def _driven(items: AsyncIterator[Any]) -> Iterator[Any]:
    """Yield the items of an async generator, in an event loop of its own."""

    async def following() -> Any:
        return await anext(items, _END)

    with asyncio.Runner() as runner:
        while (item := runner.run(following())) is not _END:
            yield item


def _exited(error: SystemExit) -> _Exited:
    if error.code is None or isinstance(error.code, int):
        return _Exited((error.code or 0) & 0xFF)
    print(error.code, file=sys.stderr)
    return _Exited(FAILED)


def main(words: list[str]) -> int:
    """Run the command line `words` and return the exit code."""
    # Words after the target are the function's arguments, even where they look like options of `fray run`.
    own = list(itertools.takewhile(lambda word: word in ("--json", "--debug"), words))
    as_json, debug = "--json" in own, "--debug" in own
    text, *arguments = words[len(own) :]
    try:
        target = parse_target(text)
        function = load_function(target)
        parser = make_parser(function, f"fray run {target}")
    except TargetFormError as error:
        return _complain(str(error), USAGE)
    except TargetNotFoundError as error:
        return _complain(str(error), NOT_FOUND)
    except SignatureError as error:
        return _complain(f"{text} cannot be run from a command line: {error}", USAGE)
    except Exception as error:
        _show_import_error(error)
        return _complain(f"{text.partition(':')[0]} cannot be imported", FAILED)
    call = bind(function, vars(parser.parse_args(arguments)))
    try:
        return _run(function, call.args, call.kwargs, as_json, debug)
    finally:
        fray.shutdown()


def _run(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], as_json: bool, debug: bool
) -> int:
    try:
        context = fray.init(debug=True) if debug else fray.get_job_context()
        options = fray.TaskOptions(name=getattr(function, "__qualname__", type(function).__qualname__), max_retries=0)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            items = context.create_task(_Stream(function).items, args, kwargs, options)
            results: Iterator[Any] = map(context.get, items)
        else:
            results = iter([context.get(context.create_task(_Call(function), args, kwargs, options))])
        for result in results:
            if isinstance(result, _Exited):
                return result.code
            _show(result, as_json)
    except Exception as error:
        return _failed(error)
    return OK


def _show(result: Any, as_json: bool) -> None:
    if as_json:
        show_json(result, default=_plain)
    elif result is not None:
        show(str(result))


def _plain(value: Any) -> Any:
    """Return a value of the types that JSON has."""
    import dataclasses
    from enum import Enum

    to_list: Any = getattr(value, "tolist", None)  # numpy
    if to_list is not None:
        return to_list()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, os.PathLike):
        return os.fspath(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, (set, frozenset)):
        return list(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    raise TypeError(f"--json: the result has a {type(value).__name__}, which JSON does not have")


def _failed(error: Exception) -> int:
    remote = error
    while remote.__cause__ is not None and not isinstance(remote.__cause__, fray.RemoteTraceback):
        remote = remote.__cause__
    if isinstance(remote.__cause__, fray.RemoteTraceback):
        print(_without_wrapper(str(remote.__cause__)), file=sys.stderr)
        return FAILED
    _complain(f"{type(error).__name__}: {error}", FAILED)
    if isinstance(error, fray.NodeDiedError):
        return UNREACHABLE
    return TIMED_OUT if isinstance(error, (fray.TaskTimeoutError, fray.GetTimeoutError)) else FAILED


def _without_wrapper(text: str) -> str:
    """Return a traceback without the frames of this module."""
    kept: list[str] = []
    skipping = False
    for line in text.strip().splitlines():
        if line.startswith('  File "'):
            skipping = line.startswith(f'  File "{__file__}"')
        elif not line.startswith("    "):
            skipping = False
        if not skipping:
            kept.append(line)
    return "\n".join(kept)


def _show_import_error(error: Exception) -> None:
    here = error.__traceback__
    hidden = (os.path.dirname(__file__), os.path.dirname(importlib.__file__), "<frozen importlib")
    while here is not None and here.tb_frame.f_code.co_filename.startswith(hidden):
        here = here.tb_next
    traceback.print_exception(type(error), error, here)


def _complain(text: str, code: int) -> int:
    print(f"fray run: {text}", file=sys.stderr)
    return code
