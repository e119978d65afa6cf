"""What TensorRT refuses to build is refused, with the layer's name and the line that added it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.frontends.tensorrt.control_flow import ILoop
from loopdbg.runtime.frontends.tensorrt.enums import DataType, LoopOutput, TripLimit
from loopdbg.runtime.frontends.tensorrt.layer import ITensor
from tensorrt_networks import NetworkBuilder, Op, output_of

Break = Callable[[NetworkBuilder, ILoop, ITensor], object]


def doubling(net: NetworkBuilder) -> tuple[ILoop, ITensor]:
    """A loop that doubles x, without limit and outputs."""
    loop = net.add_loop()
    loop.name = "doubling"
    return loop, net.add_carried(loop, net.input_tensor("x"), lambda x: net.elementwise(x, x))[0]


def second_count(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    return [loop.add_trip_limit(net.int32_const(k), TripLimit.COUNT) for k in (2, 3)]


def second_while(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    return [loop.add_trip_limit(net.elementwise(x, net.const(9.0), Op.LESS), TripLimit.WHILE) for _ in range(2)]


def counted_by(tensor: Callable[[NetworkBuilder, ITensor], ITensor]) -> Break:
    return lambda net, loop, x: loop.add_trip_limit(tensor(net, x), TripLimit.COUNT)


def while_(tensor: Callable[[NetworkBuilder, ITensor], ITensor]) -> Break:
    return lambda net, loop, x: loop.add_trip_limit(tensor(net, x), TripLimit.WHILE)


def while_iterator(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    part = output_of(loop.add_iterator(net.input_tensor("rows", shape=(3,))))
    return loop.add_trip_limit(net.elementwise(part, x, Op.LESS), TripLimit.WHILE)


def while_output_of_another(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    other = net.counted_loop(2)
    bound = output_of(
        other.add_loop_output(
            net.add_carried(other, net.const(1.0), lambda v: net.elementwise(v, v))[0], LoopOutput.LAST_VALUE
        )
    )
    return loop.add_trip_limit(net.elementwise(x, bound, Op.LESS), TripLimit.WHILE)


def while_other_recurrence(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    inner = net.add_loop()
    y, _ = net.add_carried(inner, x, lambda v: net.elementwise(v, v))
    inner.add_trip_limit(net.elementwise(x, net.const(3.0), Op.LESS), TripLimit.WHILE)
    loop.add_trip_limit(net.int32_const(2), TripLimit.COUNT)
    return net.stack(loop, output_of(inner.add_loop_output(y, LoopOutput.LAST_VALUE)), "y", 2)


def open_recurrence(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.int32_const(2), TripLimit.COUNT)
    return loop.add_recurrence(net.const(1.0))


def other_dims(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.int32_const(2), TripLimit.COUNT)
    return loop.add_recurrence(net.const([1.0, 2.0])).set_input(1, net.const([1.0, 2.0, 3.0]))


def other_type(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.int32_const(2), TripLimit.COUNT)
    return loop.add_recurrence(net.const(1.0)).set_input(1, net.int32_const(1))


def initial_from_inside(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.int32_const(2), TripLimit.COUNT)
    again = loop.add_recurrence(net.elementwise(x, x))
    return again.set_input(1, output_of(again))


def output(
    kind: LoopOutput,
    tensor: Callable[[NetworkBuilder, ITensor], ITensor],
    length: ITensor | str | None = None,
    axis: int = 0,
) -> Break:
    def add(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
        loop.add_trip_limit(net.int32_const(2), TripLimit.COUNT)
        layer = loop.add_loop_output(tensor(net, x), kind, axis)
        inputs = {
            "vector": lambda: net.int32_const([2]),
            "float": lambda: net.const(2.0),
            "inside": lambda: inner_count(net, loop),
        }
        if isinstance(length, str):
            layer.set_input(1, inputs[length]())
        return layer

    return add


def inner_count(net: NetworkBuilder, loop: ILoop) -> ITensor:
    return net.add_carried(loop, net.int32_const(1), lambda i: net.elementwise(i, i))[0]


def of_another_loop(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    other = net.counted_loop(2)
    y, _ = net.add_carried(other, net.const(1.0), lambda v: net.elementwise(v, v))
    loop.add_trip_limit(net.int32_const(2), TripLimit.COUNT)
    return loop.add_loop_output(y, LoopOutput.CONCATENATE).set_input(1, net.int32_const(2))


def overlapping(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.int32_const(2), TripLimit.COUNT)
    other = net.counted_loop(2)
    y, _ = net.add_carried(other, net.const(1.0), lambda v: net.elementwise(v, v))
    both = net.elementwise(x, y)
    net.stack(loop, both, "a", 2)
    return net.stack(other, both, "b", 2)


def used_outside(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.int32_const(2), TripLimit.COUNT)
    return net.mark(net.elementwise(x, x), "y")


def own_output(net: NetworkBuilder, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.int32_const(2), TripLimit.COUNT)
    layer = net.add_elementwise(net.const(1.0), net.const(1.0), Op.SUM)
    layer.set_input(0, net.elementwise(output_of(layer), net.const(1.0)))
    return layer


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (second_count, "TripLimit '.*' of ILoop 'doubling': the loop has a trip limit of kind COUNT already"),
        (second_while, "has a trip limit of kind WHILE already"),
        (lambda net, loop, x: net.last(loop, x, "y"), "ILoop 'doubling': it has no trip limit; add_trip_limit"),
        (
            counted_by(lambda net, x: net.int32_const([2])),
            r"is int32\[1\]; it must be a 0-D int32 or int64 tensor; a shuffle",
        ),
        (counted_by(lambda net, x: net.const(2.0)), r"is float32\[\]; it must be a 0-D int32"),
        (while_(lambda net, x: net.const([True], np.bool_)), r"is bool\[1\]; it must be a 0-D bool tensor"),
        (while_(lambda net, x: net.int32_const(1)), r"is int32\[\]; it must be a 0-D bool tensor"),
        (lambda net, loop, x: loop.add_trip_limit(inner_count(net, loop), TripLimit.COUNT), "computed inside the loop"),
        (while_iterator, "its condition is computed from an iterator"),
        (while_output_of_another, "its condition is computed from a loop output"),
        (while_other_recurrence, "only recurrences of its own loop may decide"),
        (open_recurrence, r"Recurrence '.*': it has no second input; set_input\(1, tensor\)"),
        (other_dims, r"different dimensions: tensor '.*' has \[2\], tensor '.*' \[3\]"),
        (other_type, "different types: tensor '.*' is float32, tensor '.*' int32"),
        (initial_from_inside, "its initial value, .*, is computed inside the loop"),
        (
            output(LoopOutput.LAST_VALUE, lambda net, x: net.elementwise(x, x)),
            "LAST_VALUE takes the output of a recurrence",
        ),
        (output(LoopOutput.CONCATENATE, lambda net, x: x), r"CONCATENATE needs a length; set_input\(1, length\)"),
        (output(LoopOutput.REVERSE, lambda net, x: x), "REVERSE needs a length"),
        (output(LoopOutput.CONCATENATE, lambda net, x: x, "vector"), r"its length, .*, is int32\[1\]"),
        (output(LoopOutput.CONCATENATE, lambda net, x: x, "float"), r"its length, .*, is float32\[\]"),
        (output(LoopOutput.CONCATENATE, lambda net, x: x, "inside"), "its length, .*, is computed inside the loop"),
        (output(LoopOutput.CONCATENATE, lambda net, x: x, "vector", 1), r"its axis is 1; stacking .* may be 0 to 0"),
        (output(LoopOutput.CONCATENATE, lambda net, x: net.input_tensor("z"), "vector"), r"must be a 0-D"),
        (of_another_loop, "not computed inside the loop"),
        (overlapping, "not cleanly nested"),
        (
            used_outside,
            "'y' is marked as an output of the network, and it is inside ILoop 'doubling'; a value leaves it",
        ),
        (own_output, "computed from its own output; only a recurrence leads back"),
    ],
)
def test_a_network_that_does_not_build(broken: Break, message: str) -> None:
    net = NetworkBuilder()
    loop, x = doubling(net)
    with pytest.raises(ModelError) as caught:
        broken(net, loop, x)
        net.graph()
    text = str(caught.value)
    assert re.search(message, text), text
    assert re.match(
        rf"{re.escape(str(Path(__file__).parent))}|.*tensorrt_networks\.py:\d+ \(called from "
        rf"test_build_errors\.py:\d+[^)]*\): ",
        text,
    ), text
    assert "\n" not in text


def test_an_output_of_a_tensor_from_outside() -> None:
    net = NetworkBuilder()
    loop, _ = doubling(net)
    loop.add_trip_limit(net.int32_const(2), TripLimit.COUNT)
    loop.add_loop_output(net.input_tensor("z"), LoopOutput.CONCATENATE).set_input(1, net.int32_const(2))
    with raises_error(ModelError, node="(Unnamed Layer* 4) [LoopOutput]", op_type="ILoopOutputLayer", name="z"):
        net.graph()


def test_a_network_without_outputs_and_loops() -> None:
    net = NetworkBuilder()
    net.elementwise(net.input_tensor("x"), net.const(1.0))
    with pytest.raises(ModelError, match=r"the network has no output; mark_output\(tensor\) marks one"):
        net.graph()


def test_an_input_is_no_output() -> None:
    net = NetworkBuilder()
    with pytest.raises(ModelError, match="is an input of the network; add_identity makes another"):
        net.mark_output(net.input_tensor("x"))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda net, c: None, "it has no condition; set_condition"),
        (lambda net, c: [c.set_condition(net.const(True, np.bool_)) for _ in range(2)], "it has 2 conditions"),
        (
            lambda net, c: c.set_condition(net.const([True], np.bool_)),
            r"the condition, .*, is bool\[1\]; it must be a 0-D",
        ),
        (lambda net, c: c.set_condition(net.const(1.0)), r"is float32\[\]; it must be a 0-D bool tensor"),
    ],
)
def test_a_conditional_that_does_not_build(broken: Callable[[NetworkBuilder, object], object], message: str) -> None:
    net = NetworkBuilder()
    conditional = net.add_if_conditional()
    net.mark(output_of(conditional.add_output(net.const(1.0), net.const(2.0))), "y")
    broken(net, conditional)
    with pytest.raises(ModelError, match=message):
        net.graph()


def test_branches_of_two_types_and_values_that_leave_them() -> None:
    net = NetworkBuilder()
    conditional = net.add_if_conditional()
    conditional.set_condition(net.const(True, np.bool_))
    inside = output_of(conditional.add_input(net.input_tensor("x")))
    net.mark(net.elementwise(inside, inside), "z")
    net.mark(output_of(conditional.add_output(inside, net.const(2.0))), "y")
    with pytest.raises(ModelError, match="is in neither of its branches; a value leaves it by add_output alone"):
        net.graph()
    net = NetworkBuilder()
    conditional = net.add_if_conditional()
    conditional.set_condition(net.const(True, np.bool_))
    net.mark(output_of(conditional.add_output(net.const(1.0), net.int32_const(2))), "y")
    with pytest.raises(ModelError, match=r"the true branch gives float32, .*, the false branch int32"):
        net.graph()


def test_what_is_noted() -> None:
    net = NetworkBuilder()
    dropped = net.counted_loop(2)
    net.add_carried(dropped, net.int32_const(1), lambda i: net.elementwise(i, i))
    counter, _ = net.add_carried(dropped, net.const(1, np.int64), lambda i: net.elementwise(i, i))
    dropped.add_trip_limit(net.elementwise(counter, net.const(5, np.int64), Op.LESS), TripLimit.WHILE)
    loop = net.counted_loop(net.input_tensor("n", "int32"))
    x, _ = net.add_carried(loop, net.input_tensor("x", shape=(-1, -1)), lambda x: net.elementwise(x, x))
    net.stack(loop, x, "y", net.input_tensor("length", "int32"))
    loop.add_loop_output(x, LoopOutput.LAST_VALUE).set_input(1, net.int32_const(4))
    first, second = (loop_value.loop.notes for loop_value in net.model().loops)
    assert any("TensorRT drops ILoop 'loop_0': it has no output" in note for note in first)
    assert any("lists float32 and float16 for tensors in loops" in note and "int32 as well" in note for note in first)
    assert any("The length of 'y', 'length', is no constant" in note for note in second)
    assert any("more than one dimension that is not known" in note for note in second)
    assert any("was LAST_VALUE; a length turns it into CONCATENATE" in note for note in second)


def test_wrong_argument_error_has_line() -> None:
    net = NetworkBuilder()
    layer = net.add_elementwise(net.const(1.0), net.const(2.0), Op.SUM)
    with pytest.raises(
        TypeError, match=r"test_build_errors\.py:\d+: .*takes an ITensor, not IElementWiseLayer; a layer's tensor"
    ):
        net.counted_loop(1).add_recurrence(layer)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"test_build_errors\.py:\d+: .*kind must be a trt\.TripLimit, not 0"):
        net.add_loop().add_trip_limit(net.int32_const(1), 0)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"test_build_errors\.py:\d+: add_input: there is an input 'x' already"):
        [net.add_input("x", DataType.FLOAT, ()) for _ in range(2)]
