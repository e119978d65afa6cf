"""The builder that layers are lowered into: it adds operators to a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...dtypes import dtype_to_onnx
from ...graph import UNKNOWN_ORIGIN, Graph, Operation, TensorType, Value

#: The opset of the ONNX operators that layers are lowered to.
OPSET = 21


class UniqueNames:
    """Allocates unique names of a model's nodes, and of its values within their visible scopes."""

    def __init__(self) -> None:
        self._values: dict[str, int] = {}
        self._nodes: dict[str, int] = {}

    def value_name(self, name: str) -> str:
        """A unique name for a value, derived from ``name``."""
        return _unique_name(name, self._values)

    @contextmanager
    def body_names(self) -> Iterator[None]:
        """A scope for the names of values in a loop's body, which are not visible outside."""
        saved = dict(self._values)
        try:
            yield
        finally:
            self._values = saved

    def node_name(self, name: str) -> str:
        """A unique name for a node, derived from ``name``."""
        return _unique_name(name, self._nodes)


def _unique_name(name: str, counts: dict[str, int]) -> str:
    unique = name
    while unique in counts:
        counts[name] += 1
        unique = f"{name}_{counts[name]}"
    counts[unique] = 1
    return unique


class LoweringScope:
    """A graph that layers are lowered into."""

    def __init__(self, graph: Graph, main: Graph, names: UniqueNames) -> None:
        """``main``: the graph for the constants of all scopes."""
        self.graph, self.main, self.names = graph, main, names
        #: The base of names of new nodes, and their origin.
        self.base_name, self.origin = "", UNKNOWN_ORIGIN

    def op(self, op_type: str, *inputs: Value | None, domain: str = "", **attributes: Any) -> Value:
        """Add an operator with one output: ONNX's (opset 21), or an internal one of another domain."""
        return self.ops(op_type, inputs, 1, domain, **attributes)[0]

    def ops(
        self, op_type: str, inputs: Sequence[Value | None], outputs: int, domain: str = "", **attributes: Any
    ) -> list[Value]:
        """Add an operator with several outputs."""
        results = [Value(f"{self.base_name}/{op_type}") for _ in range(outputs)]
        present = {name: value for name, value in attributes.items() if value is not None}
        version = 1 if domain else OPSET
        self.graph.nodes.append(
            Operation(self.base_name, op_type, domain, version, list(inputs), [*results], present, source=self.origin)
        )
        return results

    def constant(self, array: Any, dtype: Any = None) -> Value:
        """Add a constant."""
        data = np.array(array, dtype, order="C")
        value = Value(self.names.value_name(f"{self.base_name}/constant"), TensorType(data.dtype, data.shape), data)
        self.main.constants.append(value)
        return value

    def int64_constant(self, array: Any) -> Value:
        """Add a constant of sizes or axes."""
        return self.constant(array, np.int64)

    def cast(self, value: Value | None, dtype: np.dtype[Any]) -> Value:
        """Add a conversion."""
        return self.op("Cast", value, to=dtype_to_onnx(dtype))
