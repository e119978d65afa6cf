"""LSTM, GRU and RNN of ONNX, and the sequences of OpenVINO, as loops.

Written specs: the pages of LSTM, GRU and RNN of ONNX; LSTMSequence-1 and -5, GRUSequence-5 and RNNSequence-5 of
OpenVINO. A direction is a loop: its iterations are time steps, it carries h and c, and its body is what `ops/cells.py`
says of a step, with a node for each of its words, so that gates are values with names. Before the loops stand their
initial states (and the weights by direction, unless they are constants), behind them the outputs. A sequence that is
shorter than the others keeps its state, and gives 0, in the steps that it does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import LoopdbgError, ModelError
from ..graph import (
    ANY,
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
    bodies,
    own_values,
)
from ..graph.origins import Origins
from ..ops.cells import STATES, Activation, Step, activations, clipped, one_minus
from ..ops.eager import Eager
from ..ops.recurrent_openvino import functions_of
from ..ops.registry import Floats, Op, ResolvedOperation, keywords_of, resolve
from ..ops.sequences import (
    QUANTIZED,
    Shape,
    direction_weights,
    initial_states,
    joined,
    onnx_weights,
    openvino_weights,
    quantized_weights,
)
from ..ops.support import constant

V = Value | None
#: The versions that the pages of ONNX's operators have.
_ONNX_VERSIONS = (1, 7, 14, 22)


@dataclass(frozen=True)
class _Layer:
    """A recurrent operator in the words of both systems. ``states`` are initial ones; ``weights``: which of
    ``ops/sequences`` takes W, R, B and peepholes apart."""

    shape: Shape
    steps: Sequence[Step]
    backwards: Sequence[bool]
    x: Value
    lengths: V
    states: Sequence[V]
    w: Value
    r: Value
    b: V
    peepholes: V
    weights: Callable[..., Any]
    #: Where Y has its directions.
    direction_axis: int
    #: Scales and zero points of W and R, which are whole numbers then.
    quantized: Sequence[V] = ()


def open_loops(graph: Graph) -> None:
    """Put loops where a graph, or a graph inside it, has recurrent operators.

    Raises:
        ModelError: attributes or inputs that the operator's specification rejects.
        UnsupportedError: an activation that no specification has.
    """
    _Opener(Origins.of(graph), graph.system).open(graph)


# --- What the operators say of themselves. Each function has the inputs and the attributes of its specification.


def _onnx_layer(
    kind: str,
    defaults: Sequence[str],
    inputs: Sequence[Any],
    peepholes: V,
    step: Callable[[list[Activation]], Step],
    names: Sequence[str] | None,
    alphas: Floats | None,
    betas: Floats | None,
    direction: str,
    hidden_size: int | None,
    layout: int,
) -> _Layer:
    x, w, r, b, lengths, *states = inputs
    backwards = _backwards(direction)
    each, count = len(defaults), len(backwards)
    names = list(names or list(defaults) * count)
    if len(names) != each * count:
        raise ModelError(f"{len(names)} activations instead of {each * count}")
    functions = activations(names, alphas or (), betas or ())
    steps = [step(functions[d * each : (d + 1) * each]) for d in range(count)]
    shape = Shape(kind, count, bool(layout), hidden_size)
    return _Layer(shape, steps, backwards, x, lengths, states, w, r, b, peepholes, onnx_weights, 2 if layout else 1)


def _backwards(direction: str) -> list[bool]:
    """For each direction: whether it runs backwards."""
    known = {"forward": [False], "foward": [False], "reverse": [True], "bidirectional": [False, True]}
    if direction.lower() not in known:  # "foward": GRU-1's own default
        raise ModelError(f"direction '{direction}' is none of forward, reverse, bidirectional")
    return known[direction.lower()]


def _lstm(
    _: None,
    x: Value,
    w: Value,
    r: Value,
    b: V | None = None,
    sequence_lens: V | None = None,
    initial_h: V | None = None,
    initial_c: V | None = None,
    peepholes: V | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Floats | None = None,
    activation_beta: Floats | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
    output_sequence: int = 1,
) -> _Layer:
    """``output_sequence`` (opset 1) only said whether Y is wanted."""
    step = partial(_lstm_step, "iofc", "f" if input_forget else "", clip)
    inputs = (x, w, r, b, sequence_lens, initial_h, initial_c)
    rest = (activations, activation_alpha, activation_beta, direction, hidden_size, layout)
    return _onnx_layer("LSTM", ("Sigmoid", "Tanh", "Tanh"), inputs, peepholes, step, *rest)


def _lstm_step(order: str, coupled: str, clip: float, functions: list[Activation]) -> Step:
    return Step("LSTM", functions, order, coupled, clip)


def _gru(
    _: None,
    x: Value,
    w: Value,
    r: Value,
    b: V | None = None,
    sequence_lens: V | None = None,
    initial_h: V | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Floats | None = None,
    activation_beta: Floats | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 1,
) -> _Layer:
    step = partial(_gru_step, clip, bool(linear_before_reset))
    inputs = (x, w, r, b, sequence_lens, initial_h)
    rest = (activations, activation_alpha, activation_beta, direction, hidden_size, layout)
    return _onnx_layer("GRU", ("Sigmoid", "Tanh"), inputs, None, step, *rest)


def _gru_step(clip: float, linear_before_reset: bool, functions: list[Activation]) -> Step:
    return Step("GRU", functions, clip=clip, linear_before_reset=linear_before_reset)


def _rnn(
    _: None,
    x: Value,
    w: Value,
    r: Value,
    b: V | None = None,
    sequence_lens: V | None = None,
    initial_h: V | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Floats | None = None,
    activation_beta: Floats | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    output_sequence: int = 1,
) -> _Layer:
    """The attribute's own default names activations for two directions; one direction takes the first."""
    names = None if activations is None else activations[: len(_backwards(direction))]
    inputs = (x, w, r, b, sequence_lens, initial_h)
    rest = (names, activation_alpha, activation_beta, direction, hidden_size, layout)
    return _onnx_layer("RNN", ("Tanh",), inputs, None, partial(_rnn_step, clip), *rest)


def _rnn_step(clip: float, functions: list[Activation]) -> Step:
    return Step("RNN", functions, clip=clip)


def _dynamic_quantize_lstm(
    _: None,
    x: Value,
    w: Value,
    r: Value,
    b: V | None,
    sequence_lens: V | None,
    initial_h: V | None,
    initial_c: V | None,
    peepholes: V | None,
    w_scale: Value,
    w_zero: V | None,
    r_scale: Value,
    r_zero: V | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Floats | None = None,
    activation_beta: Floats | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
) -> _Layer:
    """com.microsoft's: X as a whole, and h in each step, are quantized for their products."""
    step = partial(_lstm_step, "iofc", "f" if input_forget else "", clip)
    inputs = (x, w, r, b, sequence_lens, initial_h, initial_c)
    rest = (activations, activation_alpha, activation_beta, direction, hidden_size, 0)
    layer = _onnx_layer("LSTM", ("Sigmoid", "Tanh", "Tanh"), inputs, peepholes, step, *rest)
    quantized = (w_scale, w_zero, r_scale, r_zero)
    return replace(layer, shape=replace(layer.shape, turned=True), weights=quantized_weights, quantized=quantized)


def _openvino_layer(
    step: Step, direction: str, hidden_size: int | None, inputs: Sequence[Any], peepholes: V = None
) -> _Layer:
    """X [B, T, I], states [B, D, H], W [D, gates * H, I], R, B; Y [B, D, T, H]."""
    x, lengths, states, w, r, b = inputs
    backwards = _backwards(direction)
    count = len(backwards)
    shape = Shape(step.kind, count, True, hidden_size)
    return _Layer(shape, [step] * count, backwards, x, lengths, states, w, r, b, peepholes, openvino_weights, 1)


def _lstm_sequence(
    _: None,
    x: Value,
    initial_h: Value,
    initial_c: Value,
    sequence_lengths: Value,
    w: Value,
    r: Value,
    b: Value,
    peepholes: V | None = None,
    *,
    direction: str,
    hidden_size: int | None = None,
    activations: str = "sigmoid,tanh,tanh",
    activations_alpha: Floats = (),
    activations_beta: Floats = (),
    clip: float = 0.0,
    input_forget: bool = False,
) -> _Layer:
    """Peepholes f, i, o and ``input_forget`` (i = 1 - f) are those of opset 1."""
    functions = functions_of(activations, activations_alpha, activations_beta, 3)
    step = Step("LSTM", functions, "fico", "i" if input_forget else "", clip)
    inputs = (x, sequence_lengths, (initial_h, initial_c), w, r, b)
    return _openvino_layer(step, direction, hidden_size, inputs, peepholes)


def _gru_sequence(
    _: None,
    x: Value,
    initial_h: Value,
    sequence_lengths: Value,
    w: Value,
    r: Value,
    b: Value,
    *,
    direction: str,
    hidden_size: int | None = None,
    activations: str = "sigmoid,tanh",
    activations_alpha: Floats = (),
    activations_beta: Floats = (),
    clip: float = 0.0,
    linear_before_reset: bool = False,
) -> _Layer:
    functions = functions_of(activations, activations_alpha, activations_beta, 2)
    step = Step("GRU", functions, clip=clip, linear_before_reset=linear_before_reset)
    return _openvino_layer(step, direction, hidden_size, (x, sequence_lengths, (initial_h,), w, r, b))


def _rnn_sequence(
    _: None,
    x: Value,
    initial_h: Value,
    sequence_lengths: Value,
    w: Value,
    r: Value,
    b: Value,
    *,
    direction: str,
    hidden_size: int | None = None,
    activations: str = "tanh",
    activations_alpha: Floats = (),
    activations_beta: Floats = (),
    clip: float = 0.0,
) -> _Layer:
    functions = functions_of(activations, activations_alpha, activations_beta, 1)
    step = Step("RNN", functions, clip=clip)
    return _openvino_layer(step, direction, hidden_size, (x, sequence_lengths, (initial_h,), w, r, b))


#: Operator (OpenVINO's reader looks types up without regard to case) -> (the first opset that has it, what it says).
_OPERATORS: dict[tuple[System, str], tuple[int, Callable[..., _Layer]]] = {
    (System.ONNX, "LSTM"): (1, _lstm),
    (System.ONNX, "GRU"): (1, _gru),
    (System.ONNX, "RNN"): (1, _rnn),
    (System.ONNX, "com.microsoft.DynamicQuantizeLSTM"): (1, _dynamic_quantize_lstm),
    (System.OPENVINO, "lstmsequence"): (1, _lstm_sequence),
    (System.OPENVINO, "grusequence"): (5, _gru_sequence),
    (System.OPENVINO, "rnnsequence"): (5, _rnn_sequence),
}


def layer_function(system: System, domain: str, op_type: str, version: int) -> Callable[..., Any] | None:
    """The function whose keywords are the attributes of an operator that becomes loops; None for any other."""
    word = op_type.lower() if system is System.OPENVINO else op_type
    if system is System.ONNX and domain not in ("", "ai.onnx"):
        word = f"{domain}.{word}"
    since, says = _OPERATORS.get((system, word), (0, None))
    return says if version >= since else None


# --- Putting them into the graph.


@dataclass
class _Opener:
    origins: Origins
    system: System
    #: Values that follow from constants, as far as anybody asked.
    known: dict[Value, Array | None] = field(default_factory=dict)

    def open(self, graph: Graph) -> None:
        """Open the operators of a graph, and of the graphs inside it."""
        names: set[str] | None = None
        nodes: list[Node] = []
        for node in graph.nodes:
            for _, inner in bodies(node):
                self.open(inner)
            says = None
            if isinstance(node, Operation):
                says = layer_function(self.system, node.domain, node.op_type, node.version)
            if says is None:
                nodes.append(node)
                continue
            assert isinstance(node, Operation)
            if names is None:
                names = {value.name for value in own_values(graph)}
            made = self._made(node, says, graph, names)
            graph.opened.update((one, node) for one in made)
            nodes += made
        graph.nodes = nodes

    def _made(self, node: Operation, says: Callable[..., _Layer], graph: Graph, names: set[str]) -> list[Node]:
        """The nodes for one operator.

        Raises:
            LoopdbgError: the operator is against its specification; the text begins with the node.
        """
        keywords = keywords_of(node, says, self.system)
        most = len(STATES[_kind(node)]) + 1
        if len(node.outputs) > most:
            raise ModelError(f"{node.describe()} has {len(node.outputs)} outputs; it has at most {most}")
        try:
            layer = says(None, *node.inputs, **keywords)
            return _Writer(self, node, layer, graph, names).nodes()
        except LoopdbgError as error:
            raise type(error)(f"{node.describe()}: {error}") from None

    def constant(self, value: V) -> Array | None:
        """The numbers of a value that follows from constants."""
        if value is None or value.constant is not None:
            return None if value is None else value.constant
        if value not in self.known:
            self.known[value] = None
            self.known[value] = self._computed(value)
        return self.known[value]

    def _computed(self, value: Value) -> Array | None:
        node = self.origins.maker(value)
        if not isinstance(node, Operation):
            return None
        if node.op_type == "ShapeOf":  # what lengths of sequences are made of by OpenVINO's converter
            shape = _type(node.inputs[0]).shape if node.inputs else None
            return np.array(shape, np.int64) if shape and all(isinstance(n, int) for n in shape) else None
        given = [self.constant(one) for one in node.inputs]
        if any(one is not None and array is None for one, array in zip(node.inputs, given, strict=True)):
            return None
        try:
            op = resolve(node, self.system)
            if not op.pure or op.random:
                return None
            with np.errstate(all="ignore"):
                return np.asarray(op.apply(Eager(), given)[node.outputs.index(value)])
        except Exception:  # whatever is wrong with it is said where it runs
            return None


def _kind(node: Node) -> str:
    return node.op_type.upper().removesuffix("SEQUENCE").removeprefix("DYNAMICQUANTIZE")


@dataclass
class _Writer:
    """The nodes for one operator. ``names``: those that the graph's values have."""

    opener: _Opener
    node: Operation
    layer: _Layer
    graph: Graph
    names: set[str]

    def nodes(self) -> list[Node]:
        node, layer = self.node, self.layer
        states = STATES[layer.shape.kind]
        found: list[Node] = []
        self.dtype = next((kind.dtype for kind in map(_type, (layer.x, layer.w, layer.r)) if kind.dtype), None)
        batch, hidden = self._sizes()
        self.state_type = TensorType(self.dtype, (batch, hidden))
        places = self._places()
        # -- before
        initials = [[self.value(f"{place}/{name}0", self.state_type) for name in states] for place in places]
        alive = None
        if not self._all_whole():
            alive = self.value(f"{node.name}/alive", TensorType(np.dtype(bool), (None, batch, 1)))
        outputs = [value for one in initials for value in one] + ([] if alive is None else [alive])
        given = [layer.x, layer.w, layer.r, None if alive is None else layer.lengths, *layer.states]
        # All that the operator reads: what is around it has to be known for it as well.
        given += [value for value in node.inputs if value is not None and value not in given]
        found.append(self.own("InitialStates", given, outputs, partial(initial_states, layer.shape)))
        weights, before = self._weights(places)
        found += before
        # -- the loops
        wanted = [*node.outputs, *[None] * (len(states) + 1 - len(node.outputs))]
        shapes = [TensorType(self.dtype), *[self.state_type] * len(states)]
        results: list[list[V]] = []
        for d, place in enumerate(places):
            outer = [
                None if value is None else self.value(f"{place}/{name}", kind)
                for value, name, kind in zip(wanted, ("y", *states), shapes, strict=True)
            ]
            products, before = self._products(place, weights[d])
            found += before
            found.append(self._loop(d, place, initials[d], alive, weights[d], products, outer))
            results.append(outer)
        # -- behind
        for k, value in enumerate(wanted):
            parts = [one[k] for one in results]
            if value is not None:
                axis = layer.direction_axis if k == 0 else int(layer.shape.batch_first)
                found.append(self.own(f"Directions_{k}", parts, [value], partial(joined, axis)))
        return found

    # -- names and types

    def value(self, name: str, kind: TensorType, data: Array | None = None) -> Value:
        """A new value of the graph, under a name that no other has."""
        base, number = name, 1
        while name in self.names:
            number += 1
            name = f"{base}_{number}"
        self.names.add(name)
        return Value(name, kind, data)

    def own(self, role: str, inputs: Sequence[V], outputs: Sequence[V], function: Callable[..., Any]) -> Operation:
        """A node with an operator that no file has."""
        node = self.node
        header = (f"{node.name}/{role}", role.partition("_")[0], node.domain, node.version)
        return ResolvedOperation(*header, list(inputs), list(outputs), op=Op(function, {}))

    def _places(self) -> list[str]:
        """What the loops are called."""
        backwards = self.layer.backwards
        if len(backwards) == 1:
            return [self.node.name]
        return [f"{self.node.name}/{'reverse' if backward else 'forward'}" for backward in backwards]

    def _sizes(self) -> tuple[Dim, Dim]:
        """Batch and hidden size as far as the model declares them."""
        layer = self.layer
        x, r = _type(layer.x).shape, _type(layer.r).shape
        batch = x[0 if layer.shape.batch_first else 1] if x is not None and len(x) == 3 else None
        return batch, layer.shape.hidden_size or (r[2] if r is not None and len(r) == 3 else None)

    def _all_whole(self) -> bool:
        """No sequence is shorter than the others."""
        layer = self.layer
        lengths = self.opener.constant(layer.lengths)
        if layer.lengths is None or lengths is None:
            return layer.lengths is None
        shape = _type(layer.x).shape
        batch, steps = (shape[0], shape[1]) if shape is not None and len(shape) == 3 else (None, None)
        if not layer.shape.batch_first:
            batch, steps = steps, batch
        return lengths.shape == (batch,) and bool(np.all(lengths == steps)) if isinstance(steps, int) else False

    # -- weights

    def _weights(self, places: Sequence[str]) -> tuple[list[dict[str, Value]], list[Node]]:
        """Of each direction its weights by the names that the steps know, and the nodes that they come from."""
        layer = self.layer
        given = (layer.w, layer.r, layer.b, layer.peepholes, *layer.quantized)
        arrays = [self.opener.constant(value) for value in given]
        split = partial(direction_weights, layer.weights, layer.steps)
        if all(value is None or array is not None for value, array in zip(given, arrays, strict=True)):
            found = split(Eager(), *arrays)
            return [
                {name: Value(name, TensorType(x.dtype, x.shape), x) for name, x in one.items()} for one in found
            ], []
        names = _weight_names(layer.steps[0], layer.b is not None, layer.peepholes is not None)
        names += [name for name, value in zip(QUANTIZED, layer.quantized, strict=False) if value is not None]
        made = [{name: self.value(f"{place}/{name}", TensorType(self.dtype)) for name in names} for place in places]
        outputs = [value for one in made for value in one.values()]
        return made, [self.own("Weights", given, outputs, partial(_in_order, split, names))]

    def _products(self, place: str, weights: dict[str, Value]) -> tuple[V, list[Node]]:
        """Products of X with whole numbers: X is quantized as a whole for them, so they stand before the loop."""
        if not self.layer.quantized:
            return None, []
        outside = Graph("", system=self.graph.system, opsets=self.graph.opsets)
        m = _Nodes(outside, self.node, TensorType(self.dtype))
        m.quantized = _quantized(weights)
        [out] = self.layer.steps[0].inputs(m, self.layer.x, weights)
        self.graph.constants += [value for value in weights.values() if value.constant is not None]
        for value in weights.values():
            value.name = self.value(f"{place}/{value.name}", ANY).name
        for node in outside.nodes:
            node.name = f"{place}/{node.name}"
            for made in node.outputs:
                if made is not None:
                    made.name = self.value(f"{place}/{made.name}", ANY).name
        return out, outside.nodes

    # -- one loop

    def _loop(
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
        states, backward = STATES[layer.shape.kind], layer.backwards[d]
        body = Graph(f"{place}/body", system=self.graph.system, opsets=self.graph.opsets)
        m = _Nodes(body, node, self.state_type)
        params = [Value(name, self.state_type) for name in states]
        x = Value("x", TensorType(self.dtype, (*(self.state_type.shape or (None,))[:1], _last(layer.x))))
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
        m.quantized = _quantized(own)
        new = step.states(m, step.inputs(m, x, own) if products is None else [x], params, own)
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
            loop.scan_outputs.append(ScanOutput(y, rows[0], int(layer.shape.batch_first), reverse=backward))
        else:
            loop.outputs = list(last)
        loop.made_of = f"{node.op_type} '{node.name}' ({self._page()}), {'reverse' if backward else 'forward'}"
        return loop

    def _page(self) -> str:
        """The specification of the operator: ``ONNX LSTM-14``."""
        node = self.node
        if self.graph.system is System.OPENVINO:
            return f"OpenVINO {node.op_type}-{node.version}"
        if node.domain not in ("", "ai.onnx"):
            return f"{node.domain} {node.op_type}-{node.version}"
        return f"ONNX {node.op_type}-{max(version for version in _ONNX_VERSIONS if version <= max(node.version, 1))}"


def _type(value: V) -> TensorType:
    return value.type if value is not None and isinstance(value.type, TensorType) else TensorType()


def _quantized(weights: Mapping[str, Value]) -> dict[Value, tuple[Value, V]]:
    """Weights that are whole numbers -> their scale and zero point."""
    return {
        weights[name]: (weights[f"{name}_scale"], weights.get(f"{name}_zero"))
        for name in "WR"
        if f"{name}_scale" in weights
    }


def _last(value: Value) -> Dim:
    shape = _type(value).shape
    return shape[-1] if shape else None


def _weight_names(step: Step, bias: bool, peepholes: bool) -> list[str]:
    """Those that ``weights_of`` gives."""
    endings = ("_zr", "_h") if step.kind == "GRU" else ("",)
    names = [f"{name}{ending}" for name in ("W", "R", *(["B"] if bias else [])) for ending in endings]
    if bias and step.linear_before_reset:
        names.append("Rb_h")
    return [*names, *(f"P_{gate}" for gate in "iof" if peepholes)]


def _in_order(split: Callable[..., list[dict[str, Any]]], names: Sequence[str], p: Any, *given: Any) -> tuple[Any, ...]:
    return tuple(one[name] for one in split(p, *given) for name in names)


# --- The body: steps as nodes.


class _Nodes:
    """:class:`~..ops.cells.Steps` as nodes of a body, in the words of the operator's own system."""

    def __init__(self, body: Graph, node: Operation, state: TensorType) -> None:
        self.body = body
        self.state = state
        self.openvino = body.system is System.OPENVINO
        # Before opset 7 elementwise operators broadcast in other ways.
        version = node.version if node.domain in ("", "ai.onnx") else body.opsets.get("", 11)
        self.domain, self.version = ("opset1", 1) if self.openvino else ("", max(version, 7))
        #: Weights that are whole numbers: their scales and zero points.
        self.quantized: Mapping[Value, tuple[Value, V]] = {}

    def _node(
        self,
        words: tuple[str, str],
        inputs: Sequence[Value],
        names: Sequence[str],
        attributes: Mapping[str, Any] | None = None,
        function: Callable[..., Any] | None = None,
    ) -> list[Value]:
        """A node, with its operator where the system's own needs to know a dtype; ``words``: ONNX's, OpenVINO's."""
        outputs = [Value(name, self.state) for name in names]
        given = dict(attributes or {})
        if self.openvino:
            given = {name: str(value).lower() for name, value in given.items()}
        node = Operation(
            names[0], words[self.openvino], self.domain, self.version, [*inputs], [*outputs], attributes=given
        )
        self.body.nodes.append(node if function is None else ResolvedOperation(**vars(node), op=Op(function, {})))
        return outputs

    def _constant(self, name: str, number: float, dtype: Any = None) -> Value:
        """A number, in the body's dtype where that is known."""
        array = np.array(number, dtype or self.state.dtype or np.float32)
        value = Value(name, TensorType(array.dtype, ()), array)
        self.body.constants.append(value)
        return value

    def affine(self, x: Value, weights: Value, bias: Value | None, name: str) -> Value:
        """A product of any width; its type is left open."""
        if weights in self.quantized:
            out = self._whole_numbers(x, weights, *self.quantized[weights], name if bias is None else f"{name}_product")
            if bias is not None:
                [out] = self._node(("Add", ""), [out, bias], [name])
        elif self.openvino:
            [out] = self._node(
                ("", "MatMul"), [x, weights], [name if bias is None else f"{name}_product"], {"transpose_b": True}
            )
            if bias is not None:
                [out] = self._node(("", "Add"), [out, bias], [name])
        else:
            inputs = [x, weights] if bias is None or (self.version < 11 and bias is None) else [x, weights, bias]
            if bias is None and self.version < 11:  # Gemm's C is optional from there on
                inputs.append(self._constant(f"{name}_zero", 0))
            [out] = self._node(("Gemm", ""), inputs, [name], {"transB": 1})
        out.type = TensorType(self.state.dtype)
        return out

    def _whole_numbers(self, x: Value, weights: Value, scale: Value, zero: V, name: str) -> Value:
        """The product of whole numbers that ``x`` is quantized to, as numbers again."""
        words = [f"{name}_{word}" for word in ("quantized", "scale", "zero")]
        numbers, own_scale, own_zero = self._node(("DynamicQuantizeLinear", ""), [x], words)
        given = [numbers, weights, own_zero, *([] if zero is None else [zero])]
        [sums] = self._node(("MatMulInteger", ""), given, [f"{name}_sums"])
        [factor] = self._node(("Mul", ""), [own_scale, scale], [f"{name}_factor"])
        for value, dtype, shape in ((numbers, np.uint8, None), (own_zero, np.uint8, ()), (sums, np.int32, None)):
            value.type = TensorType(np.dtype(dtype), shape)
        own_scale.type = factor.type = TensorType(self.state.dtype)
        [out] = self._node(("Cast", ""), [sums], [f"{name}_real"], {"to": 1})
        out.type = TensorType(self.state.dtype)
        return self._node(("Mul", ""), [out, factor], [name])[0]

    def add(self, a: Value, b: Value, name: str) -> Value:
        return self._node(("Add", "Add"), [a, b], [name])[0]

    def multiply(self, a: Value, b: Value, name: str) -> Value:
        return self._node(("Mul", "Multiply"), [a, b], [name])[0]

    def one_minus(self, x: Value, name: str) -> Value:
        one = self._constant(f"{name}_one", 1)
        return self._node(("Sub", "Subtract"), [one, x], [name], function=lambda p, one, x: one_minus(p, x))[0]

    def split(self, x: Value, names: Sequence[str]) -> list[Value]:
        if self.openvino:
            axis = self._constant(f"{names[0]}_axis", 1, np.int64)
            return self._node(("", "Split"), [x, axis], names, {"num_splits": len(names)})
        count = {"num_outputs": len(names)} if self.version >= 18 else {}
        return self._node(("Split", ""), [x], names, {"axis": 1, **count})

    def clip(self, x: Value, limit: float, name: str) -> Value:
        function = lambda p, x, *_: clipped(p, x, limit)  # noqa: E731
        if self.openvino or self.version < 11:
            return self._node(("Clip", "Clamp"), [x], [name], {"min": -limit, "max": limit}, function)[0]
        bounds = [self._constant(f"{name}_{word}", number) for word, number in (("low", -limit), ("high", limit))]
        return self._node(("Clip", ""), [x, *bounds], [name], function=function)[0]

    def activate(self, function: Activation, x: Value, name: str) -> Value:
        onnx, openvino, *parameters = _FUNCTIONS[function.name]
        given = dict(zip(parameters, function.parameters, strict=False))
        return self._node((onnx, openvino), [x], [name], given, lambda p, x: function(p, x))[0]

    def where(self, condition: Value, a: Value, b: Value | None, name: str) -> Value:
        """``a`` where the condition holds, else ``b``, or 0."""
        if b is not None:
            return self._where(condition, a, b, name, None)
        zero = self._constant(f"{name}_zero", 0)
        return self._where(condition, a, zero, name, lambda p, c, a, _: p.where(c, a, constant(p, 0, a.dtype)))

    def _where(self, condition: Value, a: Value, b: Value, name: str, function: Callable[..., Any] | None) -> Value:
        own, self.version = self.version, self.version if self.openvino else max(self.version, 9)
        [out] = self._node(("Where", "Select"), [condition, a, b], [name], function=function)
        self.version = own
        return out


#: Function -> ONNX's and OpenVINO's operators, and what they call its parameters.
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "relu": ("Relu", "ReLU"),
    "tanh": ("Tanh", "Tanh"),
    "sigmoid": ("Sigmoid", "Sigmoid"),
    "softsign": ("Softsign", "SoftSign"),
    "softplus": ("Softplus", "SoftPlus"),
    "leakyrelu": ("LeakyRelu", "LeakyRelu", "alpha"),
    "thresholdedrelu": ("ThresholdedRelu", "ThresholdedRelu", "alpha"),
    "elu": ("Elu", "Elu", "alpha"),
    "hardsigmoid": ("HardSigmoid", "HardSigmoid", "alpha", "beta"),
    "affine": ("Affine", "Affine", "alpha", "beta"),
    "scaledtanh": ("ScaledTanh", "ScaledTanh", "alpha", "beta"),
}
