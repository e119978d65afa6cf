"""One change in a random TensorRT network, made in a second network built from the same choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from loopdbg.runtime.frontends.tensorrt.enums import LoopOutput, TripLimit
from loopdbg.runtime.frontends.tensorrt.layer import ITensor
from loopdbg.runtime.frontends.tensorrt.layer_lowering import tensor_name
from tensorrt_networks import Op, output_of

from .draws import ChoiceSource
from .program_mutations import Mutation
from .tensorrt_networks import NetworkGenerator

_FAMILIES = ((Op.SUM, Op.SUB, Op.MAX, Op.MIN), (Op.LESS, Op.GREATER, Op.EQUAL))


def mutate(maker: NetworkGenerator, kind: str, draw: ChoiceSource) -> Mutation | None:
    """Change the built network; None if it has no place for such a change."""
    return MUTATIONS[kind](maker, draw)


def _mutation(text: str, *names: str) -> Mutation:
    return Mutation(frozenset(names), text)


def _layers(maker: NetworkGenerator, kind: str) -> list[Any]:
    return [layer for layer in maker.net.layers if type(layer).__name__ == kind]


def _name(layer: Any) -> str:
    return str(tensor_name(output_of(layer)))


def _operator(maker: NetworkGenerator, draw: ChoiceSource) -> Mutation | None:
    layers = [(layer, f) for layer in _layers(maker, "IElementWiseLayer") for f in _FAMILIES if layer.op in f]
    if not layers:
        return None
    layer, family = draw.pick(layers)
    was, layer.op = layer.op, draw.pick([op for op in family if op is not layer.op])
    return _mutation(f"{_name(layer)}: {was} is {layer.op}", _name(layer))


def _weight(maker: NetworkGenerator, draw: ChoiceSource) -> Mutation | None:
    # The length of a scan output is not a number that the network computes with.
    lengths = {layer.length for layer in _layers(maker, "ILoopOutputLayer")}
    layers = [
        layer_value
        for layer_value in _layers(maker, "IConstantLayer")
        if layer_value.weights.size and output_of(layer_value) not in lengths
    ]
    if not layers:
        return None
    layer = draw.pick(layers)
    array = np.array(layer.weights).reshape(tuple(output_of(layer).shape))
    array[np.unravel_index(draw.integer(0, array.size - 1), array.shape)] += draw.pick((1, 2))
    layer.weights = array
    names = {_name(layer)}
    for loop in maker.net.loops:
        names |= {
            f"loop {loop.name}"
            for layer_entry in loop.layers
            if output_of(layer) in layer_entry._inputs and not layer_entry._outputs
        }
    return _mutation(f"{_name(layer)} is {array.tolist()}", *names)


# -- changed operands


def _alternatives(maker: NetworkGenerator, tensor: ITensor, before: int) -> list[ITensor]:
    """Tensors that can replace a tensor: of the same type, with known values if it has one, and built earlier."""
    inside = maker.all_tensors
    number = {layer: k for k, layer in enumerate(maker.net.layers)}
    return [
        other
        for other in inside
        if other is not tensor
        and (other.type.dtype, tuple(other.shape)) == (tensor.type.dtype, tuple(tensor.shape))
        and inside[other] <= inside.get(tensor, frozenset())
        and (other._layer is None or number[other._layer] < before)
    ]


def _rewire(kinds: Mapping[str, tuple[int, ...]]) -> Callable[[NetworkGenerator, ChoiceSource], Mutation | None]:
    """Replace one input of a layer of these kinds by another tensor."""

    def rewire(maker: NetworkGenerator, draw: ChoiceSource) -> Mutation | None:
        number = {layer: k for k, layer in enumerate(maker.net.layers)}
        places = [
            (layer, k, others)
            for kind, which in kinds.items()
            for layer in _layers(maker, kind)
            for k in which
            if k < len(layer._inputs) and layer._inputs[k] is not None
            for others in [_alternatives(maker, layer._inputs[k], _reading_position(maker, layer, k, number))]
            if others
        ]
        if not places:
            return None
        layer, k, others = draw.pick(places)
        names = _reader_names(maker, layer)
        was, other = layer._inputs[k], draw.pick(others)
        layer.set_input(k, other)
        return _mutation(f"{names}: input {k} is {tensor_name(other)} for {tensor_name(was)}", *names)

    return rewire


def _reading_position(maker: NetworkGenerator, layer: Any, k: int, number: Mapping[Any, int]) -> int:
    """The position at which a layer reads: the back edge of a recurrence is set after its value is built."""
    late = type(layer).__name__ in ("IRecurrenceLayer", "ITripLimitLayer") and (k == 1 or not layer._outputs)
    if not late:
        return number[layer]
    return max(
        (number[layer_value] for layer_value in layer._owner.layers if layer_value in number), default=number[layer]
    )


def _reader_names(maker: NetworkGenerator, layer: Any) -> list[str]:
    """The names that a comparison may use for a reading layer: a loop's limit has the loop's name, and a layer that
    only passes a tensor on is replaced by its own readers."""
    kind = type(layer).__name__
    if kind == "IIfConditionalInputLayer":
        return [
            name
            for layer_value in maker.net.layers
            if output_of(layer) in layer_value._inputs
            for name in _reader_names(maker, layer_value)
        ]
    if kind == "IIfConditionalOutputLayer":
        return [_name(layer), *(str(tensor_name(tensor)) for tensor in layer._inputs)]
    if kind == "IConditionLayer":
        return [_name(output) for output in layer.conditional.outputs] + [layer.conditional.name]
    if layer._outputs:
        return [_name(layer)]
    return [f"loop {loop.name}" for loop in maker.net.loops if layer in loop.layers]


def _trip(maker: NetworkGenerator, draw: ChoiceSource) -> Mutation | None:
    layers = [(loop, item) for loop in maker.net.loops for item in [loop.limit(TripLimit.COUNT)] if item is not None]
    if not layers:
        return None
    loop, layer = draw.pick(layers)
    was, number = layer.required_input(0), draw.integer(0, 7)
    layer.set_input(0, maker.net.int32_const(number))
    return _mutation(f"loop {loop.name} runs {number} times", f"loop {loop.name}", str(tensor_name(was)))


def _condition(maker: NetworkGenerator, draw: ChoiceSource) -> Mutation | None:
    limits = [(loop, item) for loop in maker.net.loops for item in [loop.limit(TripLimit.WHILE)] if item is not None]
    if not limits:
        return None
    loop, layer = draw.pick(limits)
    was = layer.required_input(0)
    others = _alternatives(maker, was, len(maker.net.layers))
    if not others:
        return None
    other = draw.pick(others)
    layer.set_input(0, other)
    return _mutation(f"{tensor_name(other)} for {tensor_name(was)} decides", tensor_name(was), f"loop {loop.name}")


def _slice(maker: NetworkGenerator, draw: ChoiceSource) -> Mutation | None:
    layers = _layers(maker, "IIteratorLayer")
    if not layers or draw.chance(30):
        return _rewire({"IIteratorLayer": (0,)})(maker, draw)
    layer = draw.pick(layers)
    layer.reverse = not layer.reverse
    return _mutation(f"{_name(layer)} begins at the other end", _name(layer))


def _scan(maker: NetworkGenerator, draw: ChoiceSource) -> Mutation | None:
    layers = [layer for layer in _layers(maker, "ILoopOutputLayer") if layer.kind is not LoopOutput.LAST_VALUE]
    if not layers:
        return None
    layer = draw.pick(layers)
    others = _alternatives(maker, layer._inputs[0], len(maker.net.layers))
    if others and draw.chance(60):
        layer.set_input(0, draw.pick(others))
        return _mutation(f"{_name(layer)} is of another tensor", _name(layer))
    layer._kind = LoopOutput.REVERSE if layer.kind is LoopOutput.CONCATENATE else LoopOutput.CONCATENATE
    maker.net.invalidate_types(layer)
    return _mutation(f"{_name(layer)} is filled from the other end", _name(layer))


def _last(maker: NetworkGenerator, draw: ChoiceSource) -> Mutation | None:
    layers = [layer for layer in _layers(maker, "ILoopOutputLayer") if layer.kind is LoopOutput.LAST_VALUE]
    places = []
    for layer in layers:
        recurrences = [
            recurrence for loop in maker.net.loops if layer in loop.outputs for recurrence in loop.recurrences
        ]
        tensor = layer._inputs[0]
        fits = [
            recurrence_value
            for recurrence_value in recurrences
            if output_of(recurrence_value) is not tensor and _same_type(output_of(recurrence_value), tensor)
        ]
        places += [(layer, fits)] if fits else []
    if not places:
        return None
    layer, fits = draw.pick(places)
    layer.set_input(0, output_of(draw.pick(fits)))
    return _mutation(f"{_name(layer)} is the last of another recurrence", _name(layer))


def _same_type(a: ITensor, b: ITensor) -> bool:
    return (a.type.dtype, tuple(a.shape)) == (b.type.dtype, tuple(b.shape))


def _insert(maker: NetworkGenerator, draw: ChoiceSource) -> Mutation | None:
    layers = _layers(maker, "IElementWiseLayer")
    layers = [layer for layer in layers if layer._inputs[0].type.dtype != np.bool_]
    if not layers:
        return None
    layer = draw.pick(layers)
    tensor = layer._inputs[draw.integer(0, 1)]
    result = maker.net.elementwise(tensor, tensor, Op.SUM)
    layer.set_input(list(layer._inputs).index(tensor), result)
    return _mutation(f"a sum before {_name(layer)}", _name(layer), tensor_name(result))


def _remove(maker: NetworkGenerator, draw: ChoiceSource) -> Mutation | None:
    layers = [layer for layer in _layers(maker, "IElementWiseLayer") if _same_type(output_of(layer), layer._inputs[0])]
    places = [
        (layer, [layer_value for layer_value in maker.net.layers if output_of(layer) in layer_value._inputs])
        for layer in layers
    ]
    places = [(layer, readers) for layer, readers in places if readers and output_of(layer) not in maker.net.outputs]
    if not places:
        return None
    layer, readers = draw.pick(places)
    names = {_name(layer), *(name for reader_value in readers for name in _reader_names(maker, reader_value))}
    for reader in readers:
        for k, tensor in enumerate(list(reader._inputs)):
            if tensor is output_of(layer):
                reader.set_input(k, layer._inputs[0])
    return _mutation(f"{_name(layer)} is gone", *names)


#: The kinds of changes.
MUTATIONS: Mapping[str, Callable[[NetworkGenerator, ChoiceSource], Mutation | None]] = {
    "operator": _operator,
    "edge": _rewire({"IElementWiseLayer": (0, 1), "IIfConditionalOutputLayer": (0, 1), "IConditionLayer": (0,)}),
    "weight": _weight,
    "slice": _slice,
    "condition": _condition,
    "trip": _trip,
    "backedge": _rewire({"IRecurrenceLayer": (1,)}),
    "initial": _rewire({"IRecurrenceLayer": (0,)}),
    "scan": _scan,
    "last": _last,
    "inserted": _insert,
    "removed": _remove,
}
