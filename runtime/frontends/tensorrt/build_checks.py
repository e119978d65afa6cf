"""Checks of TensorRT's build, and notes on loops (the conditions are from TensorRT's header and guide)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .constant_folding import constant_int
from .control_flow import IIfConditional, IIteratorLayer, ILoop, ILoopOutputLayer, IRecurrenceLayer, ITripLimitLayer
from .enums import LoopOutput, TripLimit
from .layer import ILayer, ITensor
from .layer_lowering import tensor_name
from .nesting import Nesting
from .network import INetworkDefinition

#: Types in NVIDIA's documentation of loops; others build as well.
_DOCUMENTED_DTYPES = ("float32", "float16")


def check_network(network: INetworkDefinition) -> None:
    """Check the rules that do not depend on the nesting of loops.

    Raises:
        ModelError: a build would reject the network.
    """
    for layer in network.layers:
        network.output_types(layer)
    for loop in network.loops:
        if loop.layers:
            _check_trip_limits(loop)
            for recurrence in loop.recurrences:
                _check_recurrence(network, recurrence)
            for output in loop.outputs:
                _check_loop_output(network, output)
    for conditional in network.conditionals:
        _check_conditional(network, conditional)


def check_nesting(nesting: Nesting) -> None:
    """Check the rules that depend on the nesting of loops.

    Raises:
        ModelError: a build would reject the network.
    """
    for loop in nesting.network.loops:
        inner_layers = nesting.layers_inside[loop]
        boundary: set[ILayer] = {*loop.recurrences, *loop.iterators}

        def within(tensor: ITensor, inner_layers: set[ILayer] = inner_layers, boundary: set[ILayer] = boundary) -> bool:
            return tensor._layer in inner_layers or tensor._layer in boundary

        for limit in loop.limits:
            if limit.kind is TripLimit.COUNT and within(limit.required_input(0)):
                raise limit.error(
                    f"the count, {limit.required_input(0)}, is computed inside the loop that it limits", name="count"
                )
            if limit.kind is TripLimit.WHILE:
                _check_while_condition(limit)
        for iterator in loop.iterators:
            if within(iterator.required_input(0)):
                raise iterator.error(
                    f"it iterates over {iterator.required_input(0)}, which is inside the loop itself",
                    name=iterator.required_input(0).name,
                )
        for recurrence in loop.recurrences:
            if within(recurrence.required_input(0)):
                raise recurrence.error(
                    f"its initial value, {recurrence.required_input(0)}, is computed inside the loop; it must come "
                    "from outside"
                )
        for output in loop.outputs:
            if not within(output.required_input(0)):
                raise output.error(
                    f"{output.required_input(0)} is not computed inside the loop", name=output.required_input(0).name
                )
            if output.length is not None and within(output.length):
                raise output.error(
                    f"its length, {output.length}, is computed inside the loop; it must come from outside"
                )


def _check_trip_limits(loop: ILoop) -> None:
    if not loop.limits:
        raise loop.error(
            "it has no trip limit; add_trip_limit(tensor, trt.TripLimit.COUNT or WHILE) adds one", name="trip limit"
        )
    for k, limit in enumerate(loop.limits):
        if any(previous.kind is limit.kind for previous in loop.limits[:k]):
            raise limit.error(
                f"the loop has a trip limit of kind {limit.kind.name} already", name="trip limit", got=limit.kind.name
            )
        kinds = "iu" if limit.kind is TripLimit.COUNT else "b"
        _check_scalar(limit, limit.required_input(0), kinds, f"its limit of kind {limit.kind.name}")


def _check_scalar(layer: ILayer, tensor: ITensor, kinds: str, role: str) -> None:
    """Check that a tensor is a scalar, of integers (kinds ``iu``) or of bool (``b``)."""
    kind = tensor.type
    wrong = kind.dtype is not None and (kind.dtype.kind not in kinds or (kinds == "iu" and kind.dtype.itemsize < 4))
    if wrong or (kind.shape is not None and len(kind.shape) > 0):
        hint = ""
        if kind.shape and all(size in (1, None) for size in kind.shape):
            hint = "; a shuffle with reshape_dims = () makes it 0-D"
        expected = "bool" if kinds == "b" else "int32 or int64"
        raise layer.error(
            f"{role}, {tensor}, is {kind}; it must be a 0-D {expected} tensor{hint}",
            name=role,
            expected=f"a 0-D {expected} tensor",
            got=str(kind),
        )


def _check_while_condition(limit: ITripLimitLayer) -> None:
    """Check the layers that compute the condition, up to the recurrences of its own loop."""
    for layer in _source_layers(limit._inputs, IRecurrenceLayer):
        if isinstance(layer, IRecurrenceLayer):
            if layer.loop is not limit.loop:
                raise limit.error(
                    f"its condition is computed from {layer}; only recurrences of its own loop may decide, so carry "
                    "that value in one of them"
                )
        elif isinstance(layer, IIteratorLayer | ITripLimitLayer | ILoopOutputLayer):
            source = "an iterator" if isinstance(layer, IIteratorLayer) else "a loop output"
            raise limit.error(
                f"its condition is computed from {source}, {layer}; carry that value in a recurrence of the loop"
            )


def _source_layers(tensors: Iterable[ITensor | None], last: type | tuple[()] = ()) -> Iterator[ILayer]:
    """The layers that tensors are computed by, directly or indirectly, but not through layers of class ``last``."""
    stack, seen = list(tensors), set()
    while stack:
        tensor = stack.pop()
        if tensor is None or tensor._layer is None or tensor._layer in seen:
            continue
        seen.add(tensor._layer)
        yield tensor._layer
        if not isinstance(tensor._layer, last):
            stack += tensor._layer._inputs


def _check_recurrence(network: INetworkDefinition, recurrence: IRecurrenceLayer) -> None:
    first, then = recurrence.required_input(0), recurrence.get_input(1)
    if then is None:
        raise recurrence.error(
            "it has no second input; set_input(1, tensor) says what the next iteration gets", name="input 1"
        )
    a, b = network.tensor_type(first), network.tensor_type(then)
    if a.dtype is not None and b.dtype is not None and a.dtype != b.dtype:
        raise recurrence.error(
            f"its inputs have different types: {first} is {a.dtype.name}, {then} {b.dtype.name}; add_cast converts"
        )
    if a.excludes(b):
        raise recurrence.error(
            f"its inputs have different dimensions: {first} has {a.shape_text()}, {then} {b.shape_text()}; a "
            "carried value keeps its shape"
        )


def _check_loop_output(network: INetworkDefinition, output: ILoopOutputLayer) -> None:
    tensor = output.required_input(0)
    if output.kind is LoopOutput.LAST_VALUE:
        layer = tensor._layer
        if not isinstance(layer, IRecurrenceLayer) or layer.loop is not output.loop:
            raise output.error(
                f"LAST_VALUE takes the output of a recurrence of the loop, and {tensor} is none; carry it in one"
            )
        return
    if output.length is None:
        raise output.error(f"{output.kind.name} needs a length; set_input(1, length) gives it", name="length")
    _check_scalar(output, output.length, "iu", "its length")


def _check_conditional(network: INetworkDefinition, conditional: IIfConditional) -> None:
    if len(conditional.conditions) != 1:
        if not (conditional.conditions or conditional.outputs or conditional.inputs):
            return
        count_text = f"{len(conditional.conditions)} conditions" if conditional.conditions else "no condition"
        raise conditional.error(
            f"it has {count_text}; set_condition gives it the one that it needs",
            name="condition",
            expected="1 condition",
            got=count_text,
        )
    if not conditional.outputs:
        raise conditional.error("it has no output; add_output(true_tensor, false_tensor) gives it one", name="outputs")
    condition = conditional.conditions[0]
    _check_scalar(condition, condition.required_input(0), "b", "the condition")


def loop_notes(network: INetworkDefinition, loop: ILoop, nesting: Nesting) -> Iterator[str]:
    """Notes on differences of TensorRT and on limits of its documentation, one sentence each."""
    if not loop.outputs:
        yield f"TensorRT drops {loop}: it has no output, so nothing in it is computed there."
    tensors = [layer.required_input(0) for layer in (*loop.recurrences, *loop.iterators, *loop.outputs)]
    tensors += [
        tensor for layer in network.layers if layer in nesting.loop_dependents[loop] for tensor in layer._outputs
    ]
    # Limits, and the values that they depend on, are integers and booleans.
    limits = {layer for limit in loop.limits for layer in _source_layers(limit._inputs)}
    data = [tensor for tensor in tensors if tensor._layer not in limits]
    names = dict.fromkeys(kind.name for kind in (tensor.type.dtype for tensor in data) if kind is not None)
    rare = [name for name in names if name not in _DOCUMENTED_DTYPES]
    if rare:
        yield (
            f"NVIDIA's guide lists float32 and float16 for tensors in loops; {loop} has {', '.join(rare)} as well, "
            "which other releases take."
        )
    for output in loop.outputs:
        if output.length is not None and constant_int(output.length) is None:
            yield (
                f"The length of '{tensor_name(output._outputs[0])}', '{tensor_name(output.length)}', is no constant: "
                "NVIDIA's guide asks for one at build time, the header does not."
            )
        if output._was_last_value:
            name = tensor_name(output._outputs[0])
            yield f"'{name}' was LAST_VALUE; a length turns it into CONCATENATE, in TensorRT as well."
    dims = {
        size if isinstance(size, str) else (tensor, axis)
        for tensor in dict.fromkeys(tensors)
        for axis, size in enumerate(tensor.type.shape or ())
        if not isinstance(size, int)
    }
    if len(dims) > 1:
        yield (
            f"Tensors of {loop} have more than one dimension that is not known: TensorRT reserves memory as if all of "
            "them were as large as the largest."
        )
