"""The interface of a model file that is edited, or of which parts are copied.

The file is read again by a reader that records where each node of a graph is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ..errors import ModelError
from ..graph import Array, Graph, Loop, Node, TensorType, Value, bodies
from ..record import record

#: The inputs of an ONNX Loop and of an OpenVINO Loop that control it, by position.
CONTROL_INPUTS = ("trip_count", "condition")
#: Where a node is in a file.
Location = TypeVar("Location")


@record(frozen=True)
class ModelEdits:
    """Edits for a copy of a file, in terms of its graph.

    ``constants``: new data of constants; ``initial_values``: values of loop parameters in iteration 0;
    ``trip_counts``: trip counts of loops; ``initial_conditions``: their initial conditions.
    """

    constants: dict[Value, Array] = field(default_factory=dict)
    initial_values: dict[tuple[Loop, Value], Array] = field(default_factory=dict)
    trip_counts: dict[Loop, int] = field(default_factory=dict)
    initial_conditions: dict[Loop, bool] = field(default_factory=dict)


class ModelFile(ABC, Generic[Location]):
    """A model file in memory, and the location of each node of its graph."""

    #: Why a file that is read again can differ from its graph.
    FILE_CHANGED_MESSAGE: ClassVar[str]

    def __init__(self, path: Path, graph: Graph, reread: Graph, locations: Mapping[Node, Location]) -> None:
        """``graph``: the graph that was read from the file before; ``reread``: the one read now, with the locations of
        its nodes.

        Raises:
            ModelError: the file has changed.
        """
        self.path = path
        self.graph = graph
        self.reread_graphs: dict[Graph, Graph] = {}
        self._reread_locations = locations
        self._locations: dict[Node, Location] = {}
        self._original_values: dict[Value, Value] = {}
        self._pair_graphs(graph, reread)

    def locate(self, node: Node) -> Location | None:
        """The location of a node, or of the operator that it was expanded from; None where the file has neither."""
        return self._locations.get(node)

    def original_value(self, reread: Value) -> Value | None:
        """The value of the graph for one that was read again."""
        return self._original_values.get(reread)

    @abstractmethod
    def set_constant(self, value: Value, data: Array) -> None:
        """Replace the data of a constant.

        Raises:
            UnsupportedError: the file cannot express it, as below.
        """

    @abstractmethod
    def set_initial_value(self, loop: Loop, param: Value, data: Array) -> None:
        """Set the value of a body's parameter in iteration 0."""

    @abstractmethod
    def set_control_input(self, loop: Loop, port: int, data: Array) -> None:
        """Set one of the ``CONTROL_INPUTS`` of a loop."""

    @abstractmethod
    def save(self, path: Path, folder: Path) -> list[Path]:
        """Write the model to a path that will be moved to ``folder``; returns the files written, the model first.

        Raises:
            OSError, ModelError: a file cannot be written.
        """

    def apply(self, edits: ModelEdits) -> None:
        """Make edits.

        Raises:
            UnsupportedError: the file cannot express one.
        """
        for value, data in edits.constants.items():
            self.set_constant(value, data)
        for (loop, param), data in edits.initial_values.items():
            self.set_initial_value(loop, param, data)
        for loop, count in edits.trip_counts.items():
            self.set_control_input(loop, 0, _scalar_like(loop.trip_count, count, np.int64))
        for loop, condition in edits.initial_conditions.items():
            self.set_control_input(loop, 1, _scalar_like(loop.initial_condition, condition, np.bool_))

    # -- pairing of the two graphs of the file

    def _pair_graphs(self, graph: Graph, reread: Graph) -> None:
        if len(graph.nodes) != len(reread.nodes):
            raise self._changed_error()
        self.reread_graphs[graph] = reread
        self._pair_values(graph.inputs, reread.inputs)
        self._pair_values(graph.constants, reread.constants)
        for node, twin in zip(graph.nodes, reread.nodes, strict=True):
            if (node.name, node.op_type, len(bodies(node))) != (twin.name, twin.op_type, len(bodies(twin))):
                raise self._changed_error()
            origin = reread.expanded_from.get(twin, twin)
            location = self._reread_locations.get(twin) or self._reread_locations.get(origin)
            if location is not None:
                self._locations[node] = location
            self._pair_values(node.inputs, twin.inputs)
            self._pair_values(node.outputs, twin.outputs)
            for (_, inner), (_, inner_twin) in zip(bodies(node), bodies(twin), strict=True):
                self._pair_graphs(inner, inner_twin)
        self._pair_values(graph.outputs, reread.outputs)

    def _pair_values(self, originals: list[Any], rereads: list[Any]) -> None:
        if len(originals) != len(rereads):
            raise self._changed_error()
        for original, reread in zip(originals, rereads, strict=True):
            if original is not None and reread is not None:
                self._original_values[reread] = original

    def _changed_error(self) -> ModelError:
        return ModelError(f"{self.path}: {self.FILE_CHANGED_MESSAGE}", name=str(self.path), got="a changed file")


def _scalar_like(value: Value | None, number: Any, default: Any) -> Array:
    """A number of a value's declared type."""
    kind = value.type if value is not None and isinstance(value.type, TensorType) else TensorType()
    return np.full((1,) * len(kind.shape or ()), number, default if kind.dtype is None else kind.dtype)
