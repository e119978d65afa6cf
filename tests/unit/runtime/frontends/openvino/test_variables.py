"""ReadValue and Assign: state that a model keeps from run to run, as OpenVINO's InferRequest does."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset6
from openvino import opset13 as op

import loopdbg
from error_fields import raises_error
from ir_builder import IrNetBuilder
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph.graph_json import graph_from_json, graph_to_json
from loopdbg.runtime.model import Model
from text_models import random_floats


def summing(initial: bool = True, opset: int = 6) -> IrNetBuilder:
    """``h`` begins with 10 * x (or zeros) and grows by x; y is twice as much."""
    net = IrNetBuilder()
    x = net.parameter("2", name="x")
    data = 'variable_id="h"' + (' variable_type="f32" variable_shape="2"' if opset == 6 else "")
    ten = net.constant(np.array(10, np.float32))
    first = [net.layer("Multiply", [x, ten], shape="2")] if initial else []
    h = net.layer("ReadValue", first, version=f"opset{opset}", data=data, shape="2")
    grown = net.layer("Add", [h, x], shape="2")
    net.layer("Assign", [grown], version=f"opset{opset}", data=data, shape="2")
    net.result(net.layer("Add", [grown, grown], shape="2", name="y"))
    return net


def numbers(model: Model, *xs: float) -> list[float]:
    return [float(model.run({"x": np.full(2, x, np.float32)})["y"][0]) for x in xs]


@pytest.mark.parametrize("opset", [3, 6])
@pytest.mark.parametrize("initial", [True, False])
def test_a_run_goes_on_where_the_last_one_ended_as_in_openvino(tmp_path: Path, initial: bool, opset: int) -> None:
    if not initial and opset == 3:
        return  # version 3 always has an input
    path = summing(initial, opset).save(tmp_path)
    request = openvino.Core().compile_model(path, "CPU").create_infer_request()
    model = loopdbg.load(path)
    for x in (1, 2, 5):
        inputs = np.full(2, x, np.float32)
        np.testing.assert_array_equal(model.run({"x": inputs})["y"], request.infer([inputs])[0])
    request.reset_state()
    model.reset()
    inputs = np.full(2, 7, np.float32)
    np.testing.assert_array_equal(model.run({"x": inputs})["y"], request.infer([inputs])[0])


def test_state_can_be_read_and_given(tmp_path: Path) -> None:
    model = loopdbg.load(summing().save(tmp_path))
    assert model.state == {}
    assert numbers(model, 1, 1) == [22, 24]
    np.testing.assert_array_equal(model.state["h"], np.full(2, 12, np.float32))
    model.state["h"] = np.zeros(2, np.float32)
    assert numbers(model, 1) == [2]


def test_variables_are_no_inputs_and_no_outputs(tmp_path: Path) -> None:
    model = loopdbg.load(summing().save(tmp_path))
    assert [port.name for port in model.inputs] == ["x"]
    assert [port.name for port in model.outputs] == ["y"]
    assert list(model.run({"x": np.ones(2, np.float32)})) == ["y"]
    with pytest.raises(loopdbg.InputError) as caught:
        model.run({"x": np.ones(2, np.float32), "h": np.ones(2, np.float32)})
    assert caught.value.fields == {"name": "h"}


def test_a_session_reads_the_state_and_leaves_it(tmp_path: Path) -> None:
    model = loopdbg.load(summing().save(tmp_path))
    assert numbers(model, 1) == [22]
    session = loopdbg.debug(model, {"x": np.ones(2, np.float32)})
    session.continue_()
    assert session.outputs is not None
    np.testing.assert_array_equal(session.outputs["y"], np.full(2, 24, np.float32))
    assert numbers(model, 1) == [24]


def test_a_graph_keeps_its_variables_in_a_trace(tmp_path: Path) -> None:
    model = loopdbg.load(summing().save(tmp_path))
    again = graph_from_json(graph_to_json(model.graph))
    [variable] = again.variables
    assert (variable.name, variable.state.name) == ("h", "h (kept)")
    assert variable.initial in again.nodes[0].outputs
    assert again.variables[0].assigned in again.outputs


def wrong(data: str, twice: bool = False) -> IrNetBuilder:
    net = IrNetBuilder()
    x = net.parameter("2", name="x")
    h = net.layer("ReadValue", [x], version="opset3", data=data, shape="2")
    for _ in range(1 + twice):
        net.layer("Assign", [h], version="opset3", data=data, shape="2")
    net.result(h)
    return net


@pytest.mark.parametrize(
    ("net", "message"), [(wrong(""), "variable_id"), (wrong('variable_id="h"', twice=True), "'h' is assigned twice")]
)
def test_errors_are_reported(tmp_path: Path, net: IrNetBuilder, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        loopdbg.load(net.save(tmp_path))


FIRST = np.array([[10, 20]], np.float32)


def in_a_body(initial: Callable[[Any], Any]) -> Any:
    """A TensorIterator whose body reads ``held``, adds its part and assigns it; ``initial``: of the part."""
    part = op.parameter([1, 2], np.float32)
    x = op.parameter([3, 2], np.float32, name="x")
    before = opset6.read_value(initial(part), "held", openvino.Type.f32, openvino.PartialShape([1, 2]))
    total = op.add(before, part)
    row = op.result(total)
    loop = op.tensor_iterator()
    loop.set_function(openvino.Model([row], [opset6.assign(total, "held")], [part], "body"))
    loop.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 0)
    rows = loop.get_concatenated_slices(row.output(0), 0, 1, 1, -1, 0)
    return openvino.Model([op.result(rows, name="y")], [x], "held")


def in_a_branch() -> Any:
    """An If whose then branch counts, and whose else branch does nothing to the variable."""
    inputs, x = op.parameter([], np.bool_, name="c"), op.parameter([2], np.float32, name="x")
    taken, other = op.parameter([2], np.float32), op.parameter([2], np.float32)
    first = op.constant(FIRST[0])
    total = op.add(opset6.read_value(first, "acc", openvino.Type.f32, openvino.PartialShape([2])), taken)
    results = op.result(total), op.result(op.negative(other))
    node = op.if_op(inputs)
    node.set_then_body(openvino.Model([results[0]], [opset6.assign(total, "acc")], [taken], "then"))
    node.set_else_body(openvino.Model([results[1]], [other], "else"))
    node.set_input(x.output(0), taken, other)
    return openvino.Model([op.result(node.set_output(*results), name="y")], [inputs, x], "branch")


def saved(model: Any, folder: Path) -> Path:
    path = folder / "model.xml"
    openvino.save_model(model, path, compress_to_fp16=False)
    return path


BODIES = {
    "constant": lambda: in_a_body(lambda part: op.constant(FIRST)),
    "computed": lambda: in_a_body(lambda part: op.multiply(part, op.constant(np.float32(100)))),
    "branch": in_a_branch,
}


@pytest.mark.parametrize("name", BODIES)
def test_a_variable_in_a_body_goes_from_iteration_to_iteration_and_run_to_run(tmp_path: Path, name: str) -> None:
    model = BODIES[name]()
    request = openvino.Core().compile_model(model, "CPU").create_infer_request()
    ours = loopdbg.load(saved(model, tmp_path))
    for k in range(4):
        inputs = {p.name: np.array(k != 1) if p.name == "c" else random_floats(*p.shape) for p in ours.inputs}
        np.testing.assert_array_equal(ours.run(inputs)["y"], request.infer(inputs)[0])
    np.testing.assert_array_equal(next(iter(ours.state.values())), request.query_state()[0].state.data)


@pytest.mark.parametrize("name", BODIES)
def test_requests_are_a_loop_with_the_same_bits(tmp_path: Path, name: str) -> None:
    path = saved(BODIES[name](), tmp_path)
    item, several = loopdbg.load(path), loopdbg.load(path).over_requests()
    inputs = {
        p.name: np.array([1, 0, 1, 1], bool) if p.name == "c" else random_floats(4, *p.shape) for p in item.inputs
    }
    want = [item.run({name: value[k] for name, value in inputs.items()})["y"] for k in range(4)]
    np.testing.assert_array_equal(several.run(inputs)["y"], np.stack(want))
    assert {name: value.tolist() for name, value in item.state.items()} == {
        name: value.tolist() for name, value in several.state.items()
    }
    several.reset()
    session = loopdbg.debug(several, inputs)
    session.goto(3)
    session.back(2)
    session.continue_()
    assert session.outputs is not None
    np.testing.assert_array_equal(session.outputs["y"], np.stack(want))


def test_a_variable_is_printed_and_set_by_its_name(tmp_path: Path) -> None:
    model = loopdbg.load(saved(in_a_body(lambda part: op.constant(FIRST)), tmp_path))
    inputs = {"x": np.ones((3, 2), np.float32)}
    session = loopdbg.debug(model, inputs)
    assert session.frame.carried["held"].tolist() == FIRST.tolist()
    session.step()
    session.set("held", np.zeros((1, 2), np.float32))
    session.continue_()
    assert session.outputs is not None
    assert session.outputs["y"][:, 0].tolist() == [11, 1, 2]


def test_one_whose_initial_value_is_computed_is_set_before_it_is_read(tmp_path: Path) -> None:
    session = loopdbg.debug(loopdbg.load(summing().save(tmp_path)), {"x": np.ones(2, np.float32)})
    session.assign("h = [5, 6]")
    session.continue_()
    assert session.outputs is not None
    assert session.outputs["y"].tolist() == [12, 14]


def test_a_variable_that_the_model_does_not_have_is_an_error(tmp_path: Path) -> None:
    model = loopdbg.load(summing().save(tmp_path))
    model.state["hh"] = np.zeros(2, np.float32)
    with raises_error(loopdbg.InputError, name="hh"):
        model.run({"x": np.ones(2, np.float32)})
    model.state = {"h": np.zeros(3, np.float32)}
    with raises_error(loopdbg.InputError, name="h", expected="float32[2]", got="shape [3]") as caught:
        model.run({"x": np.ones(2, np.float32)})
    assert caught.value.fields == {"name": "h", "expected": "float32[2]", "got": "shape [3]"}


def test_requests_are_pickled_as_requests(tmp_path: Path) -> None:
    model = loopdbg.load(summing().save(tmp_path)).over_requests()
    inputs = {"x": random_floats(3, 2)}
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.run(inputs)["y"], model.run(inputs)["y"])


def test_requests_need_variables_and_inputs(tmp_path: Path) -> None:
    net = IrNetBuilder()
    net.result(net.parameter("2", name="x"))
    with pytest.raises(loopdbg.UsageError, match="keeps no variable"):
        loopdbg.load(net.save(tmp_path)).over_requests()


def test_a_variable_that_is_given_out_directly_is_what_it_was(tmp_path: Path) -> None:
    """OpenVINO's CPU plugin gives what the run assigns, from the second one on (docs/peers.md)."""
    x = op.parameter([2], np.float32, name="x")
    read = opset6.read_value(op.constant(FIRST[0]), "v", openvino.Type.f32, openvino.PartialShape([2]))
    model = openvino.Model([op.result(read, name="y")], [opset6.assign(x, "v")], [x])
    ours, inputs = loopdbg.load(saved(model, tmp_path)), np.float32([[1, 2], [3, 4], [5, 6]])
    assert [ours.run({"x": row})["y"].tolist() for row in inputs] == [[10, 20], [1, 2], [3, 4]]
    request = openvino.Core().compile_model(model, "CPU").create_infer_request()
    theirs = [request.infer([row])[0].tolist() for row in inputs]
    assert theirs == [[10, 20], [3, 4], [5, 6]], "OpenVINO has changed: look at docs/peers.md"
