"""ReadValue and Assign: state that a model keeps from run to run, as OpenVINO's InferRequest does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from ir import Net
from loopdbg.runtime.errors import ModelError, UnsupportedError
from loopdbg.runtime.graph.as_json import from_json, to_json
from loopdbg.runtime.model import Model


def summing(initial: bool = True, opset: int = 6) -> Net:
    """``h`` begins with 10 * x (or zeros) and grows by x; y is twice as much."""
    net = Net()
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
    import openvino

    if not initial and opset == 3:
        return  # version 3 always has an input
    path = summing(initial, opset).save(tmp_path)
    request = openvino.Core().compile_model(path, "CPU").create_infer_request()
    model = loopdbg.load(path)
    for x in (1, 2, 5):
        given = np.full(2, x, np.float32)
        np.testing.assert_array_equal(model.run({"x": given})["y"], request.infer([given])[0])
    request.reset_state()
    model.reset()
    given = np.full(2, 7, np.float32)
    np.testing.assert_array_equal(model.run({"x": given})["y"], request.infer([given])[0])


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
    with pytest.raises(loopdbg.LoopdbgError, match="no input 'h'"):
        model.run({"x": np.ones(2, np.float32), "h": np.ones(2, np.float32)})


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
    again = from_json(to_json(model.graph))
    assert [(one.name, one.state.name) for one in again.variables] == [("h", "h")]
    assert again.variables[0].assigned in again.outputs


def wrong(data: str, twice: bool = False) -> Net:
    net = Net()
    x = net.parameter("2", name="x")
    h = net.layer("ReadValue", [x], version="opset3", data=data, shape="2")
    for _ in range(1 + twice):
        net.layer("Assign", [h], version="opset3", data=data, shape="2")
    net.result(h)
    return net


@pytest.mark.parametrize(
    ("net", "message"), [(wrong(""), "variable_id"), (wrong('variable_id="h"', twice=True), "'h' is assigned twice")]
)
def test_what_is_wrong_is_said(tmp_path: Path, net: Net, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        loopdbg.load(net.save(tmp_path))


def test_a_variable_in_a_body_is_not_supported(tmp_path: Path) -> None:
    from ir import back, into, loop_parts, out

    net = Net()
    trips, go = net.constant(np.array(2, np.int64)), net.constant(np.array(True))
    x = net.parameter("2", name="x")
    body = net.inner()
    inner: Any = body.parameter("2")
    h = body.layer("ReadValue", [inner], version="opset6", data='variable_id="h"', shape="2")
    result, stay = body.result(h), body.result(body.constant(np.array(True)))
    ports = [into(2, inner), out(3, result), out(-1, stay, 'purpose="execution_condition"')]
    loop = net.layer(
        "Loop", [trips, go, x], version="opset5", shape="2", extra=loop_parts(body, ports, back((result, inner)))
    )
    net.result(loop)
    with pytest.raises(UnsupportedError, match="back edge"):
        loopdbg.load(net.save(tmp_path))
