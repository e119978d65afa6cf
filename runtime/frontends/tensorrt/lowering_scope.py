"""What a layer is lowered into: operators, added one after the other to a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...dtypes import dtype_to_onnx
from ...graph import UNKNOWN_ORIGIN, Graph, Operation, TensorType, Value

#: The opset of the ONNX operators that layers are made of.
OPSET = 21


class UniqueNames:
    """Names of a model's nodes, each once, and of its values, each once among those that one sees."""

    def __init__(self) -> None:
        self._values: dict[str, int] = {}
        self._nodes: dict[str, int] = {}

    def value_name(self, name: str) -> str:
        """A value's name, or one made of it that no value has yet."""
        return _unique(name, self._values)

    @contextmanager
    def body_names(self) -> Iterator[None]:
        """Values named meanwhile are those of a loop's body: nothing outside sees them."""
        before = dict(self._values)
        try:
            yield
        finally:
            self._values = before

    def node_name(self, name: str) -> str:
        """The same of a node."""
        return _unique(name, self._nodes)


def _unique(name: str, taken: dict[str, int]) -> str:
    found = name
    while found in taken:
        taken[name] += 1
        found = f"{name}_{taken[name]}"
    taken[found] = 1
    return found


class LoweringScope:
    """A graph that layers are lowered into, one after the other."""

    def __init__(self, graph: Graph, main: Graph, names: UniqueNames) -> None:
        """``main``: has the constants of all scopes."""
        self.graph, self.main, self.names = graph, main, names
        #: What nodes are called after, and the line that they are from.
        self.base_name, self.origin = "", UNKNOWN_ORIGIN

    def op(self, op_type: str, *inputs: Value | None, domain: str = "", **attributes: Any) -> Value:
        """Add an operator with one output: one of ONNX's (opset 21), or our own of another domain."""
        return self.ops(op_type, inputs, 1, domain, **attributes)[0]

    def ops(
        self, op_type: str, inputs: Sequence[Value | None], outputs: int, domain: str = "", **attributes: Any
    ) -> list[Value]:
        """Add an operator with several outputs."""
        made = [Value(f"{self.base_name}/{op_type}") for _ in range(outputs)]
        kept = {name: value for name, value in attributes.items() if value is not None}
        version = 1 if domain else OPSET
        self.graph.nodes.append(
            Operation(self.base_name, op_type, domain, version, list(inputs), [*made], kept, source=self.origin)
        )
        return made

    def constant(self, array: Any, dtype: Any = None) -> Value:
        """A constant."""
        data = np.array(array, dtype, order="C")
        value = Value(self.names.value_name(f"{self.base_name}/constant"), TensorType(data.dtype, data.shape), data)
        self.main.constants.append(value)
        return value

    def cast(self, value: Value | None, dtype: np.dtype[Any]) -> Value:
        """Add a conversion."""
        return self.op("Cast", value, to=dtype_to_onnx(dtype))
