"""Constant folding: values of a graph that do not depend on its inputs."""

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
    """Folds constants of a graph and its subgraphs through pure operators."""

    origins: ProducerMap
    system: System
    #: Trust declared shapes, also where the specification allows them to be wrong.
    use_declared_shapes: bool = False
    #: Cache of folded values.
    folded: dict[Value, Array | None] = field(default_factory=dict)

    def value_of(self, value: Value | None) -> Array | None:
        """The data of a constant value; None for any other."""
        if value is None or value.constant is not None:
            return None if value is None else value.constant
        if value not in self.folded:
            self.folded[value] = None
            self.folded[value] = self._fold(value)
        return self.folded[value]

    def _fold(self, value: Value) -> Array | None:
        node = self.origins.get(value)
        if not isinstance(node, Operation):
            return None
        if node.op_type == "ShapeOf":  # OpenVINO's converter derives sequence lengths from it
            return _declared_shape(node)
        if node.op_type == "Shape" and self.use_declared_shapes and not node.is_custom_operator:
            shape = _declared_shape(node)
            return None if shape is None else shape[node.attributes.get("start", 0) : node.attributes.get("end")]
        arrays = [self.value_of(operand) for operand in node.inputs]
        if any(operand is not None and array is None for operand, array in zip(node.inputs, arrays, strict=True)):
            return None
        try:
            op = resolve(node, self.system)
            if not op.pure or op.random:
                return None
            with np.errstate(all="ignore"):
                return np.asarray(op.apply(EagerPrimitives(), arrays)[node.outputs.index(value)])
        except Exception:  # reported when the node runs
            return None


def _declared_shape(node: Operation) -> Array | None:
    """The declared shape of a node's input, if static."""
    declared = node.inputs[0].type if node.inputs and node.inputs[0] is not None else None
    shape = declared.shape if isinstance(declared, TensorType) else None
    return np.array(shape, np.int64) if shape and all(isinstance(n, int) for n in shape) else None
