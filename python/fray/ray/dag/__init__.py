"""Plain graphs: ``f.bind(...)`` makes a node; ``node.execute()`` runs it and the nodes that it needs, each once."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

__all__ = [
    "ClassMethodNode",
    "ClassNode",
    "DAGNode",
    "FunctionNode",
    "InputAttributeNode",
    "InputNode",
    "MultiOutputNode",
]


class _Inputs:
    """The arguments of one `execute`, and the results of its nodes so far."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args: Any = args
        self.kwargs = kwargs
        self.results: dict[int, Any] = {}


class DAGNode:
    """A call that will be made. Its arguments may hold other nodes, also inside lists, tuples and dicts."""

    def __init__(self, args: Iterable[Any] = (), kwargs: Mapping[str, Any] | None = None) -> None:
        self._bound_args = tuple(args)
        self._bound_kwargs = dict(kwargs or {})

    def execute(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph; return the result of the last call: a ref, a handle, or a list of refs."""
        return self._result(_Inputs(args, kwargs))

    def _result(self, inputs: _Inputs) -> Any:
        if id(self) not in inputs.results:
            inputs.results[id(self)] = self._call(inputs)
        return inputs.results[id(self)]

    def _call(self, inputs: _Inputs) -> Any:
        raise NotImplementedError

    def _arguments(self, inputs: _Inputs) -> tuple[list[Any], dict[str, Any]]:
        args = [_settled(arg, inputs) for arg in self._bound_args]
        return args, {name: _settled(arg, inputs) for name, arg in self._bound_kwargs.items()}

    def get_args(self) -> tuple[Any, ...]:
        return self._bound_args

    def get_kwargs(self) -> dict[str, Any]:
        return self._bound_kwargs

    def experimental_compile(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            "compiled graphs are not part of fray.ray; run the graph with execute(), or keep this part on Ray"
        )

    def with_tensor_transport(self, *args: Any, **kwargs: Any) -> DAGNode:
        return self


def _settled(value: Any, inputs: _Inputs) -> Any:
    if isinstance(value, DAGNode):
        return value._result(inputs)
    if type(value) in (list, tuple):
        return type(value)(_settled(item, inputs) for item in value)
    if type(value) is dict:
        return {key: _settled(item, inputs) for key, item in value.items()}  # pyright: ignore
    return value


class FunctionNode(DAGNode):
    """A call of a remote function, or of anything else that has `remote`."""

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__(args, kwargs)
        self._function = function

    def _call(self, inputs: _Inputs) -> Any:
        args, kwargs = self._arguments(inputs)
        return self._function.remote(*args, **kwargs)


class ClassNode(FunctionNode):
    """The creation of an actor, anew in each run."""

    _last: ClassMethodNode | None = None
    """The call that was bound last: each call runs behind those that were bound before it."""

    def __getattr__(self, name: str) -> _UnboundMethod:
        if name.startswith("__"):
            raise AttributeError(name)
        return _UnboundMethod(self, name)


class _UnboundMethod:
    """A method of an actor that will be created."""

    def __init__(self, node: ClassNode, name: str) -> None:
        self._node = node
        self._name = name
        self._options: dict[str, Any] = {}

    def options(self, **options: Any) -> _UnboundMethod:
        self._options = options
        return self

    def bind(self, *args: Any, **kwargs: Any) -> ClassMethodNode:
        node = self._node
        call = ClassMethodNode(self, args, kwargs, node._last)
        node._last = call
        return call

    def resolve(self, inputs: _Inputs) -> Any:
        method = getattr(self._node._result(inputs), self._name)
        return method.options(**self._options) if self._options else method


class ClassMethodNode(DAGNode):
    """A call of an actor's method."""

    def __init__(
        self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any], before: ClassMethodNode | None = None
    ) -> None:
        super().__init__(args, kwargs)
        self._method = method
        self._before = before

    def _call(self, inputs: _Inputs) -> Any:
        if self._before is not None:
            self._before._result(inputs)
        args, kwargs = self._arguments(inputs)
        method = self._method.resolve(inputs) if isinstance(self._method, _UnboundMethod) else self._method
        return method.remote(*args, **kwargs)


class InputNode(DAGNode):
    """Stands for the argument of `execute`: ``with InputNode() as x: node = f.bind(x)``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def __enter__(self) -> InputNode:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def _call(self, inputs: _Inputs) -> Any:
        if len(inputs.args) == 1 and not inputs.kwargs:
            return inputs.args[0]
        raise ValueError("the graph takes one argument where an InputNode stands for itself; use input[0], input.name")

    def __getitem__(self, key: Any) -> InputAttributeNode:
        return InputAttributeNode(self, key, False)

    def __getattr__(self, name: str) -> InputAttributeNode:
        if name.startswith("_"):
            raise AttributeError(name)
        return InputAttributeNode(self, name, True)


class InputAttributeNode(DAGNode):
    """An argument of `execute`, or a part of its only argument."""

    def __init__(self, whole: InputNode, key: Any, is_attribute: bool) -> None:
        super().__init__()
        self._whole = whole
        self._key: Any = key
        self._is_attribute = is_attribute

    def _call(self, inputs: _Inputs) -> Any:
        key = self._key
        if key in inputs.kwargs:
            return inputs.kwargs[key]
        several = len(inputs.args) > 1 or inputs.kwargs
        if isinstance(key, int) and (several or not inputs.args):
            return inputs.args[key]
        value: Any = inputs.args[0]
        return getattr(value, str(key)) if self._is_attribute else value[key]


class MultiOutputNode(DAGNode):
    """Several nodes that run together."""

    def _call(self, inputs: _Inputs) -> Any:
        return self._arguments(inputs)[0]


for _part in ("class_node", "dag_node", "function_node", "input_node", "output_node"):
    sys.modules[f"{__name__}.{_part}"] = sys.modules[__name__]  # Ray has a module for each
