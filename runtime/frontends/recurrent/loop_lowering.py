"""The nodes that stand for one recurrent operator: loops, what is before them and what is behind them."""

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
from ...ops.recurrent_layout import (
    QUANTIZED_INPUTS,
    direction_weights,
    initial_states,
    stack_directions,
)
from ...ops.registry import ResolvedOperation, ResolvedOperator
from ...record import record
from .layers import RecurrentLayer
from .step_nodes import StepNodeBuilder

V = Value | None
#: The versions that the pages of ONNX's operators have.
_ONNX_PAGE_VERSIONS = (1, 7, 14, 22)


@record
class RecurrentLowering:
    """The nodes for one operator. ``constant``: the numbers of a value that follows from constants; ``names``: those
    that the graph's values have."""

    constant_value: Callable[[V], Array | None]
    node: Operation
    layer: RecurrentLayer
    graph: Graph
    used_names: set[str]

    def lower(self) -> list[Node]:
        node, layer = self.node, self.layer
        states = STATE_NAMES[layer.shape.kind]
        found: list[Node] = []
        self.dtype = layer.dtype
        batch, hidden = self._batch_and_hidden_size()
        self.state_type = TensorType(self.dtype, (batch, hidden))
        places = self._loop_names()
        # -- before
        initials = [[self.new_value(f"{place}/{name}0", self.state_type) for name in states] for place in places]
        alive = None
        if not self._all_sequences_full():
            alive = self.new_value(f"{node.name}/alive", TensorType(np.dtype(bool), (None, batch, 1)))
        outputs = [value for one in initials for value in one] + ([] if alive is None else [alive])
        given = [layer.x, layer.w, layer.r, None if alive is None else layer.lengths, *layer.states]
        # All that the operator reads: what is around it has to be known for it as well.
        given += [value for value in node.inputs if value is not None and value not in given]
        found.append(self.internal_node("InitialStates", given, outputs, partial(initial_states, layer.shape)))
        weights, before = self._lower_weights(places)
        found += before
        # -- the loops
        wanted = [*node.outputs, *[None] * (len(states) + 1 - len(node.outputs))]
        shapes = [TensorType(self.dtype), *[self.state_type] * len(states)]
        results: list[list[V]] = []
        for d, place in enumerate(places):
            outer = [
                None if value is None else self.new_value(f"{place}/{name}", kind)
                for value, name, kind in zip(wanted, ("y", *states), shapes, strict=True)
            ]
            products, before = self._quantized_input_products(place, weights[d])
            found += before
            found.append(self._build_loop(d, place, initials[d], alive, weights[d], products, outer))
            results.append(outer)
        # -- behind
        for k, value in enumerate(wanted):
            parts = [one[k] for one in results]
            if value is not None:
                axis = layer.direction_axis if k == 0 else int(layer.shape.batch_first)
                found.append(self.internal_node(f"Directions_{k}", parts, [value], partial(stack_directions, axis)))
        return found

    # -- names and types

    def new_value(self, name: str, kind: TensorType, data: Array | None = None) -> Value:
        """A new value of the graph, under a name that no other has."""
        base, number = name, 1
        while name in self.used_names:
            number += 1
            name = f"{base}_{number}"
        self.used_names.add(name)
        return Value(name, kind, data)

    def internal_node(
        self, role: str, inputs: Sequence[V], outputs: Sequence[V], function: Callable[..., Any]
    ) -> Operation:
        """A node with an operator that no file has."""
        node = self.node
        header = (f"{node.name}/{role}", role.partition("_")[0], node.domain, node.version)
        return ResolvedOperation(*header, list(inputs), list(outputs), op=ResolvedOperator(function, {}))

    def _loop_names(self) -> list[str]:
        """What the loops are called."""
        backwards = self.layer.backwards
        if len(backwards) == 1:
            return [self.node.name]
        return [f"{self.node.name}/{'reverse' if backward else 'forward'}" for backward in backwards]

    def _batch_and_hidden_size(self) -> tuple[Dim, Dim]:
        """Batch and hidden size as far as the model declares them."""
        layer = self.layer
        x, r = tensor_type(layer.x).shape, tensor_type(layer.r).shape
        batch = x[0 if layer.shape.batch_first else 1] if x is not None and len(x) == 3 else None
        return batch, layer.shape.hidden_size or (r[2] if r is not None and len(r) == 3 else None)

    def _all_sequences_full(self) -> bool:
        """No sequence is shorter than the others."""
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

    def _lower_weights(self, places: Sequence[str]) -> tuple[list[dict[str, Value]], list[Node]]:
        """Of each direction its weights by the names that the steps know, and the nodes that they come from."""
        layer = self.layer
        given = (layer.w, layer.r, layer.b, layer.peepholes, *layer.quantization_params)
        arrays = [self.constant_value(value) for value in given]
        split = partial(direction_weights, layer.split_weights, layer.steps)
        if all(value is None or array is not None for value, array in zip(given, arrays, strict=True)):
            try:
                found = split(EagerPrimitives(), *arrays)
            except IndexError as error:
                raise ModelError(f"its weights do not fit each other: {error}") from None
            return [
                {name: Value(name, TensorType(x.dtype, x.shape), x) for name, x in one.items()} for one in found
            ], []
        names = _weight_names(layer.steps[0], layer.b is not None, layer.peepholes is not None)
        names += [
            name for name, value in zip(QUANTIZED_INPUTS, layer.quantization_params, strict=False) if value is not None
        ]
        # With scales, W, R and their zero points are whole numbers of a type of their own.
        whole = dict(
            zip(("W", "R", *QUANTIZED_INPUTS[1::2]), (layer.w, layer.r, *layer.quantization_params[1::2]), strict=False)
        )
        kinds = {name: tensor_type(value).dtype for name, value in whole.items()} if layer.quantization_params else {}
        made = [
            {name: self.new_value(f"{place}/{name}", TensorType(kinds.get(name, self.dtype))) for name in names}
            for place in places
        ]
        outputs = [value for one in made for value in one.values()]
        return made, [self.internal_node("Weights", given, outputs, partial(_split_in_order, split, names))]

    def _quantized_input_products(self, place: str, weights: dict[str, Value]) -> tuple[V, list[Node]]:
        """Products of X with whole numbers: X is quantized as a whole for them, so they stand before the loop."""
        if not self.layer.quantization_params:
            return None, []
        outside = Graph("", system=self.graph.system, opsets=self.graph.opsets)
        m = StepNodeBuilder(outside, self.node, TensorType(self.dtype))
        m.weight_quantization = _weight_quantization(weights)
        out = self.layer.steps[0].project_input(m, self.layer.x, weights)
        constants = [value for value in weights.values() if value.constant is not None]
        self.graph.constants += constants
        for value in constants:  # computed ones have their names
            value.name = self.new_value(f"{place}/{value.name}", ANY_TYPE).name
        for node in outside.nodes:
            node.name = f"{place}/{node.name}"
            for made in node.outputs:
                if made is not None:
                    made.name = self.new_value(f"{place}/{made.name}", ANY_TYPE).name
        return out, outside.nodes

    # -- one loop

    def _build_loop(
        self,
        d: int,
        place: str,
        initials: list[Value],
        alive: V,
        weights: dict[str, Value],
        products: V,
        outer: list[V],
    ) -> Loop:
        """``products``: X's products with the weights where they are computed before the loop."""
        layer, node = self.layer, self.node
        states, backward = STATE_NAMES[layer.shape.kind], layer.backwards[d]
        body = Graph(f"{place}/body", system=self.graph.system, opsets=self.graph.opsets)
        m = StepNodeBuilder(body, node, self.state_type)
        params = [Value(name, self.state_type) for name in states]
        x = Value("x", TensorType(self.dtype, (*(self.state_type.shape or (None,))[:1], _last_dim(layer.x))))
        sliced = [(layer.x, x, int(layer.shape.batch_first))]
        if products is not None:
            x = Value("x_gates", TensorType(self.dtype))
            sliced = [(products, x, 0)]
        if alive is not None:
            now = Value("alive", TensorType(np.dtype(bool), (*(self.state_type.shape or (None,))[:1], 1)))
            sliced.append((alive, now, 0))
        invariants: list[Invariant] = []
        own: dict[str, Value] = {}
        for name, weight in weights.items():
            own[name] = weight
            if products is not None:
                continue
            if weight.constant is not None:
                body.constants.append(weight)
            elif self.graph.system is System.OPENVINO:
                own[name] = Value(name, weight.type)
                invariants.append(Invariant(weight, own[name]))
        step = layer.steps[d]
        m.weight_quantization = _weight_quantization(own)
        new = step.next_states(m, step.project_input(m, x, own) if products is None else x, params, own)
        y = new[0]
        if alive is not None:
            y = m.where(now, new[0], None, "y")
            new = tuple(m.where(now, a, b, f"{b.name}_held") for a, b in zip(new, params, strict=True))
        last, rows = outer[1:], outer[:1]
        body.inputs = [*params, *(inner for _, inner, _ in sliced), *(one.inner for one in invariants)]
        body.outputs = [*new, *([y] if rows[0] is not None else [])]
        header = replace(node, name=place, inputs=[*initials, *(one[0] for one in sliced)], outputs=[*last, *rows])
        words = {name: value for name, value in vars(header).items() if name != "attributes"}
        loop = Loop(**words, body=body, system=self.graph.system, counted_by_slices=True, invariants=invariants)
        loop.inputs += [one.outer for one in invariants]
        loop.back_edges = [BackEdge(*edge) for edge in zip(initials, params, new, strict=True)]
        start, end, stride = (-1, 0, -1) if backward else (0, -1, 1)
        loop.sliced_inputs = [SlicedInput(*one, start, end, stride, drop_axis=True) for one in sliced]
        for edge, value in zip(loop.back_edges, last, strict=True):
            if value is not None:
                loop.last_values.append(LastValueOutput(edge.result, value, edge))
        if rows[0] is not None:
            valid = None if alive is None else now
            axis = int(layer.shape.batch_first)
            loop.scan_outputs.append(ScanOutput(y, rows[0], axis, reverse=backward, valid=valid))
        else:
            loop.outputs = list(last)
        loop.derived_from = (
            f"{node.op_type} '{node.name}' ({self._specification()}), {'reverse' if backward else 'forward'}"
        )
        return loop

    def _specification(self) -> str:
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
    """Weights that are whole numbers -> their scale and zero point."""
    return {
        weights[name]: (weights[f"{name}_scale"], weights.get(f"{name}_zero"))
        for name in "WR"
        if f"{name}_scale" in weights
    }


def _last_dim(value: Value) -> Dim:
    shape = tensor_type(value).shape
    return shape[-1] if shape else None


def _weight_names(step: CellStep, bias: bool, peepholes: bool) -> list[str]:
    """Those that ``weights_of`` gives."""
    names = ["W", *(["R_zr", "R_h"] if step.kind == "GRU" else ["R"]), *(["B"] if bias else [])]
    if bias and step.linear_before_reset:
        names.append("Rb_h")
    return [*names, *(f"P_{gate}" for gate in "iof" if peepholes)]


def _split_in_order(
    split: Callable[..., list[dict[str, Any]]], names: Sequence[str], p: Any, *given: Any
) -> tuple[Any, ...]:
    return tuple(one[name] for one in split(p, *given) for name in names)
