"""What follows from constants alone: the values of a graph that can be computed without its inputs."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from ..graph import Array, Operation, System, TensorType, Value
from ..graph.producers import ProducerMap
from ..record import record
from .eager import EagerPrimitives
from .registry import resolve


@record
class ConstantFolder:
    """The constants of one graph and of the graphs inside it, and what pure operators make of them."""

    origins: ProducerMap
    system: System
    #: A declared shape counts as the one that a tensor has, also where the specification lets a file be wrong about it.
    use_declared_shapes: bool = False
    #: Values that follow from constants, as far as anybody asked.
    folded: dict[Value, Array | None] = field(default_factory=dict)

    def value_of(self, value: Value | None) -> Array | None:
        """The data of a value that follows from constants; None for any other."""
        if value is None or value.constant is not None:
            return None if value is None else value.constant
        if value not in self.folded:
            self.folded[value] = None
            self.folded[value] = self._fold(value)
        return self.folded[value]

    def _fold(self, value: Value) -> Array | None:
        node = self.origins.producer(value)
        if not isinstance(node, Operation):
            return None
        if node.op_type == "ShapeOf":  # what lengths of sequences are made of by OpenVINO's converter
            return _declared_shape(node)
        if node.op_type == "Shape" and self.use_declared_shapes and not node.is_custom_operator:
            shape = _declared_shape(node)
            return None if shape is None else shape[node.attributes.get("start", 0) : node.attributes.get("end")]
        given = [self.value_of(one) for one in node.inputs]
        if any(one is not None and array is None for one, array in zip(node.inputs, given, strict=True)):
            return None
        try:
            op = resolve(node, self.system)
            if not op.pure or op.random:
                return None
            with np.errstate(all="ignore"):
                return np.asarray(op.apply(EagerPrimitives(), given)[node.outputs.index(value)])
        except Exception:  # whatever is wrong with it is said where it runs
            return None


def _declared_shape(node: Operation) -> Array | None:
    """The shape that is declared for a node's input, where that is known whole."""
    declared = node.inputs[0].type if node.inputs and node.inputs[0] is not None else None
    shape = declared.shape if isinstance(declared, TensorType) else None
    return np.array(shape, np.int64) if shape and all(isinstance(n, int) for n in shape) else None
