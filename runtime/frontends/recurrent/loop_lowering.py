"""Lowers one recurrent operator to nodes: loops, the nodes before them and those after them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import ModelError
from ...graph import (
    ANY_TYPE,
    Array,
    BackEdge,
    Dim,
    Graph,
    Invariant,
    LastValueOutput,
    Loop,
    Node,
    Operation,
    ScanOutput,
    SlicedInput,
    System,
    TensorType,
    Value,
)
from ...ops.eager import EagerPrimitives
from ...ops.recurrent_cells import STATE_NAMES, CellStep
from ...ops.recurrent_prologue_epilogue import (
    QUANTIZED_INPUTS,
    direction_weights,
    initial_states,
    stack_directions,
)
from ...ops.registry import ResolvedOperation, ResolvedOperator
from ...record import record
from ...text import fresh_name
from .layers import RecurrentLayer
from .step_nodes import StepNodeBuilder

V = Value | None
#: The versions of ONNX's recurrent operators.
_ONNX_PAGE_VERSIONS = (1, 7, 14, 22)


@record
class RecurrentLowering:
    """Lowers one operator. ``constant_value``: the data of a value that follows from constants; ``used_names``: the
    names of the graph's values."""

    constant_value: Callable[[V], Array | None]
    node: Operation
    layer: RecurrentLayer
    graph: Graph
    used_names: set[str]

    def lower(self) -> list[Node]:
        node, layer = self.node, self.layer
        states = STATE_NAMES[layer.shape.kind]
        nodes: list[Node] = []
        self.dtype = layer.dtype
        batch, hidden = self._batch_and_hidden_size()
        self.state_type = TensorType(self.dtype, (batch, hidden))
        prefixes = self._loop_names()
        # -- before
        initials = [[self.new_value(f"{prefix}/{name}0", self.state_type) for name in states] for prefix in prefixes]
        alive = None
        if not self._all_sequences_full():
            alive = self.new_value(f"{node.name}/alive", TensorType(np.dtype(bool), (None, batch, 1)))
        outputs = [value for values in initials for value in values] + ([] if alive is None else [alive])
        inputs = [layer.x, layer.w, layer.r, None if alive is None else layer.lengths, *layer.states]
        # All inputs of the operator: the expansion depends on each of them.
        inputs += [value for value in node.inputs if value is not None and value not in inputs]
        nodes.append(self.internal_node("InitialStates", inputs, outputs, partial(initial_states, layer.shape)))
        weights, new_nodes = self._lower_weights(prefixes)
        nodes += new_nodes
        # -- the loops
        declared = [*node.outputs, *[None] * (len(states) + 1 - len(node.outputs))]
        shapes = [TensorType(self.dtype), *[self.state_type] * len(states)]
        results: list[list[V]] = []
        for d, prefix in enumerate(prefixes):
            outer = [
                None if value is None else self.new_value(f"{prefix}/{name}", kind)
                for value, name, kind in zip(declared, ("y", *states), shapes, strict=True)
            ]
            products, new_nodes = self._quantized_input_products(prefix, weights[d])
            nodes += new_nodes
            nodes.append(self._build_loop(d, prefix, initials[d], alive, weights[d], products, outer))
            results.append(outer)
        # -- after
        for k, value in enumerate(declared):
            parts = [values[k] for values in results]
            if value is not None:
                axis = layer.direction_axis if k == 0 else int(layer.shape.batch_first)
                nodes.append(self.internal_node(f"Directions_{k}", parts, [value], partial(stack_directions, axis)))
        return nodes

    # -- names and types

    def new_value(self, name: str, kind: TensorType, data: Array | None = None) -> Value:
        """A new value of the graph, with a unique name."""
        return Value(fresh_name(name, self.used_names), kind, data)

    def internal_node(
        self, role: str, inputs: Sequence[V], outputs: Sequence[V], function: Callable[..., Any]
    ) -> Operation:
        """A node with an internal operator."""
        node = self.node
        header = (f"{node.name}/{role}", role.partition("_")[0], node.domain, node.version)
        return ResolvedOperation(*header, list(inputs), list(outputs), op=ResolvedOperator(function, {}))

    def _loop_names(self) -> list[str]:
        """The names of the loops."""
        backwards = self.layer.backwards
        if len(backwards) == 1:
            return [self.node.name]
        return [f"{self.node.name}/{'reverse' if backward else 'forward'}" for backward in backwards]

    def _batch_and_hidden_size(self) -> tuple[Dim, Dim]:
        """Batch and hidden size, where the model declares them."""
        layer = self.layer
        x, r = tensor_type(layer.x).shape, tensor_type(layer.r).shape
        batch = x[0 if layer.shape.batch_first else 1] if x is not None and len(x) == 3 else None
        return batch, layer.shape.hidden_size or (r[2] if r is not None and len(r) == 3 else None)

    def _all_sequences_full(self) -> bool:
        """Whether all sequences have the full length."""
        layer = self.layer
        lengths = self.constant_value(layer.lengths)
        if layer.lengths is None or lengths is None:
            return layer.lengths is None
        shape = tensor_type(layer.x).shape
        batch, steps = (shape[0], shape[1]) if shape is not None and len(shape) == 3 else (None, None)
        if not layer.shape.batch_first:
            batch, steps = steps, batch
        return lengths.shape == (batch,) and bool(np.all(lengths == steps)) if isinstance(steps, int) else False

    # -- weights

    def _lower_weights(self, prefixes: Sequence[str]) -> tuple[list[dict[str, Value]], list[Node]]:
        """The weights of each direction by the names in steps, and the nodes that compute them."""
        layer = self.layer
        inputs = (layer.w, layer.r, layer.b, layer.peepholes, *layer.quantization_params)
        arrays = [self.constant_value(value) for value in inputs]
        split = partial(direction_weights, layer.split_weights, layer.steps)
        if all(value is None or array is not None for value, array in zip(inputs, arrays, strict=True)):
            try:
                directions = split(EagerPrimitives(), *arrays)
            except IndexError as error:
                raise ModelError(f"its weights do not fit each other: {error}") from None
            return [
                {name: Value(name, TensorType(x.dtype, x.shape), x) for name, x in d.items()} for d in directions
            ], []
        names = _weight_names(layer.steps[0], layer.b is not None, layer.peepholes is not None)
        names += [
            name for name, value in zip(QUANTIZED_INPUTS, layer.quantization_params, strict=False) if value is not None
        ]
        # With scales, W, R and their zero points are integers of a type of their own.
        quantized = dict(
            zip(("W", "R", *QUANTIZED_INPUTS[1::2]), (layer.w, layer.r, *layer.quantization_params[1::2]), strict=False)
        )
        kinds = {name: tensor_type(x).dtype for name, x in quantized.items()} if layer.quantization_params else {}
        weights = [
            {name: self.new_value(f"{prefix}/{name}", TensorType(kinds.get(name, self.dtype))) for name in names}
            for prefix in prefixes
        ]
        outputs = [value for group in weights for value in group.values()]
        return weights, [self.internal_node("Weights", inputs, outputs, partial(_split_weights_in_order, split, names))]

    def _quantized_input_products(self, prefix: str, weights: dict[str, Value]) -> tuple[V, list[Node]]:
        """Products of X with integer weights: X is quantized as a whole, so they are computed before the loop."""
        if not self.layer.quantization_params:
            return None, []
        scratch = Graph("", system=self.graph.system, opsets=self.graph.opsets)
        m = StepNodeBuilder(scratch, self.node, TensorType(self.dtype))
        m.weight_quantization = _weight_quantization(weights)
        out = self.layer.steps[0].project_input(m, self.layer.x, weights)
        constants = [value for value in weights.values() if value.constant is not None]
        self.graph.constants += constants
        for value in constants:  # computed ones already have names
            value.name = self.new_value(f"{prefix}/{value.name}", ANY_TYPE).name
        for node in scratch.nodes:
            node.name = f"{prefix}/{node.name}"
            for output in node.outputs:
                if output is not None:
                    output.name = self.new_value(f"{prefix}/{output.name}", ANY_TYPE).name
        return out, scratch.nodes

    # -- one loop

    def _build_loop(
        self,
        d: int,
        prefix: str,
        initials: list[Value],
        alive: V,
        weights: dict[str, Value],
        products: V,
        outer: list[V],
    ) -> Loop:
        """``products``: X's products with the weights, where computed before the loop."""
        layer, node = self.layer, self.node
        states, backward = STATE_NAMES[layer.shape.kind], layer.backwards[d]
        body = Graph(f"{prefix}/body", system=self.graph.system, opsets=self.graph.opsets)
        m = StepNodeBuilder(body, node, self.state_type)
        params = [Value(name, self.state_type) for name in states]
        x = Value("x", TensorType(self.dtype, (*(self.state_type.shape or (None,))[:1], _last_dim(layer.x))))
        sliced = [(layer.x, x, int(layer.shape.batch_first))]
        if products is not None:
            x = Value("x_gates", TensorType(self.dtype))
            sliced = [(products, x, 0)]
        if alive is not None:
            step_alive = Value("alive", TensorType(np.dtype(bool), (*(self.state_type.shape or (None,))[:1], 1)))
            sliced.append((alive, step_alive, 0))
        invariants: list[Invariant] = []
        local: dict[str, Value] = {}
        for name, weight in weights.items():
            local[name] = weight
            if products is not None:
                continue
            if weight.constant is not None:
                body.constants.append(weight)
            elif self.graph.system is System.OPENVINO:
                local[name] = Value(name, weight.type)
                invariants.append(Invariant(weight, local[name]))
        step = layer.steps[d]
        m.weight_quantization = _weight_quantization(local)
        results = step.next_states(m, step.project_input(m, x, local) if products is None else x, params, local)
        y = results[0]
        if alive is not None:
            y = m.where(step_alive, results[0], None, "y")
            results = tuple(m.where(step_alive, a, b, f"{b.name}_held") for a, b in zip(results, params, strict=True))
        last, rows = outer[1:], outer[:1]
        body.inputs = [*params, *(inner for _, inner, _ in sliced), *(entry.inner for entry in invariants)]
        body.outputs = [*results, *([y] if rows[0] is not None else [])]
        header = replace(node, name=prefix, inputs=[*initials, *(entry[0] for entry in sliced)], outputs=[*last, *rows])
        fields = {name: value for name, value in vars(header).items() if name != "attributes"}
        loop = Loop(**fields, body=body, system=self.graph.system, counted_by_slices=True, invariants=invariants)
        loop.inputs += [entry.outer for entry in invariants]
        loop.back_edges = [BackEdge(*edge) for edge in zip(initials, params, results, strict=True)]
        start, end, stride = (-1, 0, -1) if backward else (0, -1, 1)
        loop.sliced_inputs = [SlicedInput(*entry, start, end, stride, drop_axis=True) for entry in sliced]
        for edge, value in zip(loop.back_edges, last, strict=True):
            if value is not None:
                loop.last_values.append(LastValueOutput(edge.result, value, edge))
        if rows[0] is not None:
            valid = None if alive is None else step_alive
            axis = int(layer.shape.batch_first)
            loop.scan_outputs.append(ScanOutput(y, rows[0], axis, reverse=backward, valid=valid))
        else:
            loop.outputs = list(last)
        loop.derived_from = (
            f"{node.op_type} '{node.name}' ({self._specification_name()}), {'reverse' if backward else 'forward'}"
        )
        if step.kind == "GRU":  # frameworks disagree about it
            loop.derived_from += f", linear_before_reset={int(step.linear_before_reset)}"
        return loop

    def _specification_name(self) -> str:
        """The specification of the operator: ``ONNX LSTM-14``."""
        node = self.node
        if self.graph.system is System.OPENVINO:
            return f"OpenVINO {node.op_type}-{node.version}"
        if node.domain not in ("", "ai.onnx"):
            return f"{node.domain} {node.op_type}-{node.version}"
        return (
            f"ONNX {node.op_type}-{max(version for version in _ONNX_PAGE_VERSIONS if version <= max(node.version, 1))}"
        )


def tensor_type(value: V) -> TensorType:
    return value.type if value is not None and isinstance(value.type, TensorType) else TensorType()


def _weight_quantization(weights: Mapping[str, Value]) -> dict[Value, tuple[Value, V]]:
    """Integer weights -> their scale and zero point."""
    return {
        weights[name]: (weights[f"{name}_scale"], weights.get(f"{name}_zero"))
        for name in "WR"
        if f"{name}_scale" in weights
    }


def _last_dim(value: Value) -> Dim:
    shape = tensor_type(value).shape
    return shape[-1] if shape else None


def _weight_names(step: CellStep, bias: bool, peepholes: bool) -> list[str]:
    """The names of the weights that ``direction_weights`` returns."""
    names = ["W", *(["R_zr", "R_h"] if step.kind == "GRU" else ["R"]), *(["B"] if bias else [])]
    if bias and step.linear_before_reset:
        names.append("Rb_h")
    return [*names, *(f"P_{gate}" for gate in "iof" if peepholes)]


def _split_weights_in_order(
    split: Callable[..., list[dict[str, Any]]], names: Sequence[str], p: Any, *arrays: Any
) -> tuple[Any, ...]:
    return tuple(weights[name] for weights in split(p, *arrays) for name in names)
