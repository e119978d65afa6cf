"""What TensorRT refuses to build is refused, with the layer's name and the line that added it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.frontends.tensorrt.enums import DataType, LoopOutput, TripLimit
from loopdbg.runtime.frontends.tensorrt.layer import ITensor
from loopdbg.runtime.frontends.tensorrt.loop import ILoop
from networks import Net, Op, out

Break = Callable[[Net, ILoop, ITensor], object]


def doubling(net: Net) -> tuple[ILoop, ITensor]:
    """A loop that doubles x, without limit and outputs."""
    loop = net.add_loop()
    loop.name = "doubling"
    return loop, net.carry(loop, net.given("x"), lambda x: net.ew(x, x))[0]


def second_count(net: Net, loop: ILoop, x: ITensor) -> object:
    return [loop.add_trip_limit(net.i(k), TripLimit.COUNT) for k in (2, 3)]


def second_while(net: Net, loop: ILoop, x: ITensor) -> object:
    return [loop.add_trip_limit(net.ew(x, net.k(9.0), Op.LESS), TripLimit.WHILE) for _ in range(2)]


def counted_by(tensor: Callable[[Net, ITensor], ITensor]) -> Break:
    return lambda net, loop, x: loop.add_trip_limit(tensor(net, x), TripLimit.COUNT)


def while_(tensor: Callable[[Net, ITensor], ITensor]) -> Break:
    return lambda net, loop, x: loop.add_trip_limit(tensor(net, x), TripLimit.WHILE)


def while_iterator(net: Net, loop: ILoop, x: ITensor) -> object:
    part = out(loop.add_iterator(net.given("rows", shape=(3,))))
    return loop.add_trip_limit(net.ew(part, x, Op.LESS), TripLimit.WHILE)


def while_output_of_another(net: Net, loop: ILoop, x: ITensor) -> object:
    other = net.counted(2)
    bound = out(other.add_loop_output(net.carry(other, net.k(1.0), lambda v: net.ew(v, v))[0], LoopOutput.LAST_VALUE))
    return loop.add_trip_limit(net.ew(x, bound, Op.LESS), TripLimit.WHILE)


def while_other_recurrence(net: Net, loop: ILoop, x: ITensor) -> object:
    inner = net.add_loop()
    y, _ = net.carry(inner, x, lambda v: net.ew(v, v))
    inner.add_trip_limit(net.ew(x, net.k(3.0), Op.LESS), TripLimit.WHILE)
    loop.add_trip_limit(net.i(2), TripLimit.COUNT)
    return net.stack(loop, out(inner.add_loop_output(y, LoopOutput.LAST_VALUE)), "y", 2)


def open_recurrence(net: Net, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.i(2), TripLimit.COUNT)
    return loop.add_recurrence(net.k(1.0))


def other_dims(net: Net, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.i(2), TripLimit.COUNT)
    return loop.add_recurrence(net.k([1.0, 2.0])).set_input(1, net.k([1.0, 2.0, 3.0]))


def other_type(net: Net, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.i(2), TripLimit.COUNT)
    return loop.add_recurrence(net.k(1.0)).set_input(1, net.i(1))


def initial_from_inside(net: Net, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.i(2), TripLimit.COUNT)
    again = loop.add_recurrence(net.ew(x, x))
    return again.set_input(1, out(again))


def output(
    kind: LoopOutput, tensor: Callable[[Net, ITensor], ITensor], length: ITensor | str | None = None, axis: int = 0
) -> Break:
    def add(net: Net, loop: ILoop, x: ITensor) -> object:
        loop.add_trip_limit(net.i(2), TripLimit.COUNT)
        layer = loop.add_loop_output(tensor(net, x), kind, axis)
        given = {"vector": lambda: net.i([2]), "float": lambda: net.k(2.0), "inside": lambda: inner_count(net, loop)}
        if isinstance(length, str):
            layer.set_input(1, given[length]())
        return layer

    return add


def inner_count(net: Net, loop: ILoop) -> ITensor:
    return net.carry(loop, net.i(1), lambda i: net.ew(i, i))[0]


def of_another_loop(net: Net, loop: ILoop, x: ITensor) -> object:
    other = net.counted(2)
    y, _ = net.carry(other, net.k(1.0), lambda v: net.ew(v, v))
    loop.add_trip_limit(net.i(2), TripLimit.COUNT)
    return loop.add_loop_output(y, LoopOutput.CONCATENATE).set_input(1, net.i(2))


def overlapping(net: Net, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.i(2), TripLimit.COUNT)
    other = net.counted(2)
    y, _ = net.carry(other, net.k(1.0), lambda v: net.ew(v, v))
    both = net.ew(x, y)
    net.stack(loop, both, "a", 2)
    return net.stack(other, both, "b", 2)


def used_outside(net: Net, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.i(2), TripLimit.COUNT)
    return net.mark(net.ew(x, x), "y")


def own_output(net: Net, loop: ILoop, x: ITensor) -> object:
    loop.add_trip_limit(net.i(2), TripLimit.COUNT)
    layer = net.add_elementwise(net.k(1.0), net.k(1.0), Op.SUM)
    layer.set_input(0, net.ew(out(layer), net.k(1.0)))
    return layer


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (second_count, "TripLimit '.*' of ILoop 'doubling': the loop has a trip limit of kind COUNT already"),
        (second_while, "has a trip limit of kind WHILE already"),
        (lambda net, loop, x: net.last(loop, x, "y"), "ILoop 'doubling': it has no trip limit; add_trip_limit"),
        (counted_by(lambda net, x: net.i([2])), r"is int32\[1\]; it must be a 0-D int32 or int64 tensor; a shuffle"),
        (counted_by(lambda net, x: net.k(2.0)), r"is float32\[\]; it must be a 0-D int32"),
        (while_(lambda net, x: net.k([True], np.bool_)), r"is bool\[1\]; it must be a 0-D bool tensor"),
        (while_(lambda net, x: net.i(1)), r"is int32\[\]; it must be a 0-D bool tensor"),
        (lambda net, loop, x: loop.add_trip_limit(inner_count(net, loop), TripLimit.COUNT), "computed inside the loop"),
        (while_iterator, "its condition is computed from an iterator"),
        (while_output_of_another, "its condition is computed from a loop output"),
        (while_other_recurrence, "only recurrences of its own loop may decide"),
        (open_recurrence, r"Recurrence '.*': it has no second input; set_input\(1, tensor\)"),
        (other_dims, r"different dimensions: tensor '.*' has \[2\], tensor '.*' \[3\]"),
        (other_type, "different types: tensor '.*' is float32, tensor '.*' int32"),
        (initial_from_inside, "its initial value, .*, is computed inside the loop"),
        (output(LoopOutput.LAST_VALUE, lambda net, x: net.ew(x, x)), "LAST_VALUE takes the output of a recurrence"),
        (output(LoopOutput.CONCATENATE, lambda net, x: x), r"CONCATENATE needs a length; set_input\(1, length\)"),
        (output(LoopOutput.REVERSE, lambda net, x: x), "REVERSE needs a length"),
        (output(LoopOutput.CONCATENATE, lambda net, x: x, "vector"), r"its length, .*, is int32\[1\]"),
        (output(LoopOutput.CONCATENATE, lambda net, x: x, "float"), r"its length, .*, is float32\[\]"),
        (output(LoopOutput.CONCATENATE, lambda net, x: x, "inside"), "its length, .*, is computed inside the loop"),
        (output(LoopOutput.CONCATENATE, lambda net, x: x, "vector", 1), r"its axis is 1; stacking .* may be 0 to 0"),
        (output(LoopOutput.CONCATENATE, lambda net, x: net.given("z"), "vector"), r"must be a 0-D"),
        (of_another_loop, "not computed inside the loop"),
        (overlapping, "not cleanly nested"),
        (
            used_outside,
            "'y' is marked as an output of the network, and it is inside ILoop 'doubling'; a value leaves it",
        ),
        (own_output, "computed from its own output; only a recurrence leads back"),
    ],
)
def test_a_network_that_does_not_build(broken: Break, said: str) -> None:
    net = Net()
    loop, x = doubling(net)
    with pytest.raises(ModelError) as caught:
        broken(net, loop, x)
        net.graph()
    text = str(caught.value)
    assert re.search(said, text), text
    assert re.match(
        rf"{re.escape(str(Path(__file__).parent))}|.*networks\.py:\d+ \(called from test_rules\.py:\d+[^)]*\): ", text
    ), text
    assert "\n" not in text


def test_an_output_of_a_tensor_from_outside() -> None:
    net = Net()
    loop, _ = doubling(net)
    loop.add_trip_limit(net.i(2), TripLimit.COUNT)
    loop.add_loop_output(net.given("z"), LoopOutput.CONCATENATE).set_input(1, net.i(2))
    with pytest.raises(ModelError, match="tensor 'z' is not computed inside the loop"):
        net.graph()


def test_a_network_without_outputs_and_loops() -> None:
    net = Net()
    net.ew(net.given("x"), net.k(1.0))
    with pytest.raises(ModelError, match=r"the network has no output; mark_output\(tensor\) marks one"):
        net.graph()


def test_an_input_is_no_output() -> None:
    net = Net()
    with pytest.raises(ModelError, match="is an input of the network; add_identity makes another"):
        net.mark_output(net.given("x"))


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda net, c: None, "it has no condition; set_condition"),
        (lambda net, c: [c.set_condition(net.k(True, np.bool_)) for _ in range(2)], "it has 2 conditions"),
        (lambda net, c: c.set_condition(net.k([True], np.bool_)), r"the condition, .*, is bool\[1\]; it must be a 0-D"),
        (lambda net, c: c.set_condition(net.k(1.0)), r"is float32\[\]; it must be a 0-D bool tensor"),
    ],
)
def test_a_conditional_that_does_not_build(broken: Callable[[Net, object], object], said: str) -> None:
    net = Net()
    conditional = net.add_if_conditional()
    net.mark(out(conditional.add_output(net.k(1.0), net.k(2.0))), "y")
    broken(net, conditional)
    with pytest.raises(ModelError, match=said):
        net.graph()


def test_branches_of_two_types_and_values_that_leave_them() -> None:
    net = Net()
    conditional = net.add_if_conditional()
    conditional.set_condition(net.k(True, np.bool_))
    inside = out(conditional.add_input(net.given("x")))
    net.mark(net.ew(inside, inside), "z")
    net.mark(out(conditional.add_output(inside, net.k(2.0))), "y")
    with pytest.raises(ModelError, match="is in neither of its branches; a value leaves it by add_output alone"):
        net.graph()
    net = Net()
    conditional = net.add_if_conditional()
    conditional.set_condition(net.k(True, np.bool_))
    net.mark(out(conditional.add_output(net.k(1.0), net.i(2))), "y")
    with pytest.raises(ModelError, match=r"the true branch gives float32, .*, the false branch int32"):
        net.graph()


def test_what_is_noted() -> None:
    net = Net()
    dropped = net.counted(2)
    net.carry(dropped, net.i(1), lambda i: net.ew(i, i))
    counter, _ = net.carry(dropped, net.k(1, np.int64), lambda i: net.ew(i, i))
    dropped.add_trip_limit(net.ew(counter, net.k(5, np.int64), Op.LESS), TripLimit.WHILE)
    loop = net.counted(net.given("n", "int32"))
    x, _ = net.carry(loop, net.given("x", shape=(-1, -1)), lambda x: net.ew(x, x))
    net.stack(loop, x, "y", net.given("length", "int32"))
    loop.add_loop_output(x, LoopOutput.LAST_VALUE).set_input(1, net.i(4))
    first, second = (one.loop.notes for one in net.model().loops)
    assert any("TensorRT drops ILoop 'loop_0': it has no output" in note for note in first)
    assert any("lists float32 and float16 for tensors in loops" in note and "int32 as well" in note for note in first)
    assert any("The length of 'y', 'length', is no constant" in note for note in second)
    assert any("more than one dimension that is not known" in note for note in second)
    assert any("was LAST_VALUE; a length turns it into CONCATENATE" in note for note in second)


def test_a_wrong_argument_is_told_with_its_line() -> None:
    net = Net()
    layer = net.add_elementwise(net.k(1.0), net.k(2.0), Op.SUM)
    with pytest.raises(
        TypeError, match=r"test_rules\.py:\d+: .*takes an ITensor, not IElementWiseLayer; a layer's tensor"
    ):
        net.counted(1).add_recurrence(layer)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"test_rules\.py:\d+: .*kind must be a trt\.TripLimit, not 0"):
        net.add_loop().add_trip_limit(net.i(1), 0)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"test_rules\.py:\d+: add_input: there is an input 'x' already"):
        [net.add_input("x", DataType.FLOAT, ()) for _ in range(2)]
