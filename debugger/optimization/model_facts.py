"""What the finders know of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.errors import InterruptError, LimitError
from ...runtime.graph import (
    MAIN,
    Array,
    Graph,
    Loop,
    Node,
    Operation,
    TensorType,
    Value,
    values_read_in_graph,
    walk_graphs,
)
from ...runtime.graph.producers import ProducerMap
from ...runtime.model import Data, Model
from ...runtime.ops.registry import is_random, resolve
from ..rewriting.rewrite import Rewrite

#: A loop that runs longer is not tried.
MAX_ITERATIONS = 10_000
#: Operators that cost nothing: they are no reason to change a model.
FREE_OPERATORS = frozenset({"Constant", "Identity"})


class ModelFacts:
    """A graph, and what one run tells of it.

    Raises:
        LimitError: a loop does not end.
        ExecutionError: the run fails.

    ``shapes``: the shapes of tensors in the run, those inside of loops in their last iteration.
    """

    def __init__(self, model: Model, inputs: Mapping[str, Data]) -> None:
        self.model = model
        self.graph: Graph = model.graph
        self.producers = ProducerMap.for_graph(model.graph)
        self.paths = {plan.loop: plan.path for plan in model.plan.loops}
        engine = Engine(model.plan)
        engine.start(model.check(inputs))
        engine.set_limits(MAX_ITERATIONS)
        event, _ = engine.resume()
        if event == "interrupt":
            raise InterruptError("interrupted")
        if event != "end":
            raise LimitError(f"{model.name}: a loop does not end within {MAX_ITERATIONS} iterations")
        kinds = {value: engine.memory.dtype_and_shape(slot) for value, slot in engine.plan.slot_of.items()}
        self._types = {value: (kind[0], tuple(kind[1])) for value, kind in kinds.items() if kind is not None}

    def rewrite(
        self, kind: str, loop: Loop | None, reason: str, edit: Callable[[Any], None], nodes: Sequence[str] = ()
    ) -> Rewrite:
        """A rewrite of a loop, or of its nodes ``nodes``."""
        path = MAIN if loop is None else self.paths[loop]
        return Rewrite(kind, path, ", ".join(nodes) or (loop.name if loop else ""), reason, edit)

    @cached_property
    def _expanded_nodes(self) -> set[Node]:
        """Nodes that are not in the file, but part of an operator of it."""
        return {node for graph in walk_graphs(self.graph) for node in graph.expanded_from}

    @cached_property
    def values_read(self) -> set[Value]:
        """Every value that any node, or an output of the model, reads."""
        return values_read_in_graph(self.graph)

    def shape(self, value: Value) -> tuple[int, ...] | None:
        """The shape of a value in the run."""
        constant = self.constant(value)
        if constant is not None:
            return constant.shape
        return self._types[value][1] if value in self._types else None

    def rank(self, value: Value) -> int | None:
        """The rank of a value, as declared or as in the run."""
        declared = value.type.shape if isinstance(value.type, TensorType) else None
        shape = self.shape(value) if declared is None else declared
        return None if shape is None else len(shape)

    def dtype(self, value: Value) -> np.dtype[Any] | None:
        """The dtype of a value, as declared or as in the run."""
        declared = value.type.dtype if isinstance(value.type, TensorType) else None
        if declared is not None:
            return declared
        constant = self.constant(value)
        return constant.dtype if constant is not None else self._types.get(value, (None,))[0]

    def constant(self, value: Value | None) -> Array | None:
        """The data of an initializer or of a Constant node, also through Identity nodes."""
        if value is None:
            return None
        value = self.producers.skip_identities(value)
        node = self.producers.get(value)
        if not isinstance(node, Operation) or node.op_type != "Constant" or node.is_custom_operator:
            return value.constant
        name, data = next(iter(node.attributes.items()))
        dtype = _CONSTANT_DTYPES.get(name)
        return None if name not in ("value", *_CONSTANT_DTYPES) else np.asarray(data, dtype)

    def same_source(self, a: Value | None, b: Value | None) -> bool:
        """Whether two values are the same, but for Identity nodes."""
        skip = self.producers.skip_identities
        return a is not None and b is not None and skip(a) is skip(b)

    def is_deterministic(self, node: Node) -> bool:
        """Whether a node without control flow that is in the file computes its results from its inputs alone."""
        if not isinstance(node, Operation) or node.is_custom_operator or node in self._expanded_nodes:
            return False
        if is_random(node, self.graph.system):
            return False
        return resolve(node, self.graph.system).pure

    def proven_truth(self, value: Value | None, loop: Loop | None = None) -> bool | None:
        """The truth of a condition if it is the same in every run; ``loop``: the loop in whose body it is computed."""
        if value is None:
            return None
        value = self.producers.skip_identities(value)
        if loop is not None and loop.condition is not None and value is loop.condition_input:
            return True  # with false the iteration would not run
        constant = self.producers.constant_scalar(value)
        if isinstance(constant, bool):
            return constant
        node = self.producers.get(value)
        if not isinstance(node, Operation) or node.is_custom_operator:
            return None
        if node.op_type in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
            return self._bounded_by_trip_count(node, loop)
        truths = [self.proven_truth(operand, loop) for operand in node.inputs] if node.op_type in _LOGIC else []
        if node.op_type == "Not":
            return None if truths[0] is None else not truths[0]
        if node.op_type == "And":
            return False if False in truths else None if None in truths else True
        if node.op_type == "Or":
            return True if True in truths else None if None in truths else False
        return None

    def _bounded_by_trip_count(self, node: Operation, loop: Loop | None) -> bool | None:
        """True for ``i < trip count`` in the body of a loop, and for ``i + 1 < trip count``, which becomes false as the
        loop ends anyway."""
        if loop is None or loop.iteration is None or loop.trip_count is None:
            return None
        left, right = node.inputs if node.op_type.startswith("Less") else node.inputs[::-1]
        bound = None if right is None else self.source_before_casts(right)
        if left is None or bound is not self.source_before_casts(loop.trip_count):
            return None
        left = self.source_before_casts(left)
        if left is loop.iteration:
            return True
        add = self.producers.get(left)
        if add is None or add.op_type != "Add":
            return None
        for counter, step in (add.inputs, add.inputs[::-1]):
            is_next = self.producers.constant_integer(step) == 1
            if counter is not None and self.source_before_casts(counter) is loop.iteration and is_next:
                return True
        return None

    def source_before_casts(self, value: Value) -> Value:
        """The source of a chain of nodes that keep one integer."""
        node = self.producers.get(value)
        while node is not None and node.op_type in _KEEP_INTEGER and node.inputs[0] is not None:
            value = node.inputs[0]
            node = self.producers.get(value)
        return value

    def runs_all_iterations(self, loop: Loop) -> bool:
        """Whether nothing but the trip count, or the end of the sliced inputs, ends a loop."""
        if (loop.trip_count is None and not loop.counted_by_slices) or loop.condition_node_count is not None:
            return False
        started = loop.initial_condition is None or self.proven_truth(loop.initial_condition) is True
        return started and (loop.condition is None or self.proven_truth(loop.condition, loop) is True)


#: By attribute of a Constant.
_CONSTANT_DTYPES = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
_LOGIC = frozenset({"Not", "And", "Or"})
#: Between integers; a Cast to a float would round.
_KEEP_INTEGER = frozenset({"Identity", "Squeeze", "Unsqueeze", "Reshape"})
