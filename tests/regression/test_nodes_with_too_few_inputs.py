"""Nodes that lack inputs were internal errors of whatever looked at them first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg as api
from cli_runner import run_cli, save_text_model
from ir_builder import IrNetBuilder, back_edges, input_map_entry, loop_sections, output_map_entry

LOOP = """g (int64 n, float[5,4] x, float[4] h0) => (float[4] h) {
  h = Loop <body = b (int64 i, bool c, float[4] a) => (bool c2, float[4] a2) {
    c2 = Identity (c)
    NODES
  }> (n, , h0)
}"""


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("row = Gather <axis = 0> (x, i) p = MatMul (row) a2 = Add (p, a)", "has 1 input; it needs at least 2"),
        ("p = Gather <axis = 0> (x) a2 = Add (p, a)", "has 1 input; it needs at least 2"),
        ("s = Constant <value = int64[1] {0}> () a2 = Slice (a, s)", "has 2 inputs; it needs at least 3"),
        ("a2 = Add (a, )", "has 1 input; it needs at least 2"),
        ("a2 = Add ( , a)", "lacks its input 0, which is not optional"),
        ("a2 = Where (c, , a)", "lacks its input 1, which is not optional"),
        ("a2 = Concat <axis = 0> (a, , a)", "lacks its input 1, which is not optional"),
        ("a2 = Max ()", "has 0 inputs; it needs at least 1"),
        ("a2 = Identity ()", "has 0 inputs; it needs at least 1"),
    ],
)
def test_onnx(nodes: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save_text_model(tmp_path, LOOP.replace("NODES", nodes))
    # What can be reported of the model is reported.
    assert run_cli(capsys, "info", path).status == 0
    assert run_cli(capsys, "explain", path).status == 0
    for more in ([], ["-ex", "list", "--batch"], ["-ex", "next", "-ex", "next", "--batch"]):
        ran = run_cli(capsys, "run", path, "--input", "n=2", *more)
        [error] = [line for line in ran.err.splitlines() if line.startswith("loopdbg: ")]
        assert ran.status == 1 and message in error


def cell_net(kind: str, version: str, number: int) -> IrNetBuilder:
    """A loop around a recurrent cell that has the first ``given`` of its inputs."""
    net = IrNetBuilder()
    x, start = net.parameter("3,1,2", name="x"), net.parameter("1,2", name="h0")
    body = net.body_builder()
    part, h = body.parameter("1,1,2", name="part"), body.parameter("1,2", name="h")
    row = body.layer("Squeeze", [part, body.constant(np.array([0]))], shape="1,2")
    inputs = [row, h, body.constant(np.eye(2, dtype=np.float32))][:number]
    cell = body.layer(kind, inputs, version=version, data='hidden_size="2"', shape="1,2", name="cell")
    last = body.result(body.layer("Add", [cell, row], shape="1,2"))
    parts = loop_sections(
        body,
        [input_map_entry(0, part, 'axis="0"'), input_map_entry(1, h), output_map_entry(2, last)],
        back_edges((last, h)),
    )
    net.result(net.layer("TensorIterator", [x, start], shape="1,2", extra=parts))
    return net


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(("kind", "least"), [("RNNCell", 4), ("GRUCell", 4), ("LSTMCell", 5)])
def test_cells_of_ir(kind: str, least: int, number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = cell_net(kind, "opset4", number).save(tmp_path)
    assert f"{kind} 'cell' (opset 4) has {number} input" in run_cli(capsys, "run", path).error_line
    with pytest.raises(api.ModelError, match=f"it needs at least {least}"):
        api.load(path).run({"x": np.ones((3, 1, 2), np.float32), "h0": np.ones((1, 2), np.float32)})


@pytest.mark.parametrize("version", ["opset1", "opset99"])
@pytest.mark.parametrize("kind", ["RNNCell", "GRUCell", "LSTMCell"])
def test_cell_without_inputs_in_another_opset(
    kind: str, version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A version that the operator does not have (GRUCell is new in opset 3)."""
    ran = run_cli(capsys, "run", cell_net(kind, version, 0).save(tmp_path))
    assert ran.status == 1
    assert f"{kind} 'cell'" in ran.error_line and "internal error" not in ran.err
