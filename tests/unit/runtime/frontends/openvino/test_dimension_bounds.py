"""Bounds of dimensions (``1..5``) hold inputs, and weights may go by another name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
import openvino_peer
from cli_runner import run_cli as command
from error_fields import raises_error
from ir_builder import IrNetBuilder
from loopdbg.runtime.errors import InputError, ModelError


def bounded(shape: str) -> IrNetBuilder:
    net = IrNetBuilder()
    x = net.layer("Parameter", data=f'shape="{shape}" element_type="f32"', name="x")
    net.result(net.layer("ReLU", [x], name="y"))
    return net


@pytest.mark.parametrize("shape", [(1, 3, 2, 0), (5, 3, 9, 4)])
def test_what_is_within_runs(tmp_path: Path, shape: tuple[int, ...]) -> None:
    model = loopdbg.load(bounded("1..5,3,2..,..4").save(tmp_path))
    assert model.run({"x": np.zeros(shape, np.float32)})["y"].shape == shape


@pytest.mark.parametrize("shape", [(6, 3, 2, 1), (0, 3, 2, 1), (1, 3, 1, 1), (1, 3, 2, 5), (1, 4, 2, 1)])
def test_what_is_not_is_refused_as_in_openvino(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = bounded("1..5,3,2..,..4").save(tmp_path)
    with raises_error(InputError, name="x", expected="float32[1..5,3,2..,0..4]") as caught:
        loopdbg.load(path).run({"x": np.zeros(shape, np.float32)})
    assert (caught.value.name, caught.value.got) == ("x", f"shape {list(shape)}")
    assert caught.value.expected == "float32[1..5,3,2..,0..4]"
    with pytest.raises(RuntimeError):
        openvino_peer.run(path, [np.zeros(shape, np.float32)])


def test_a_range_that_holds_nothing_is_an_error(tmp_path: Path) -> None:
    with raises_error(ModelError, node="x", op_type="Parameter", name="shape", got="5..2"):
        loopdbg.load(bounded("5..2").save(tmp_path))


def test_bounds_are_shown_and_random_inputs_keep_to_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = bounded("3..5,0..2").save(tmp_path)
    assert "float32[3..5,0..2]" in command(capsys, "info", path).out
    assert "as [3,1]" in command(capsys, "run", path).err


def added() -> IrNetBuilder:
    net = IrNetBuilder()
    x = net.parameter("2", name="x")
    net.result(net.layer("Add", [x, net.constant(np.array([1, 2], np.float32))], shape="2", name="y"))
    return net


def test_weights_by_another_name(tmp_path: Path) -> None:
    path = added().save(tmp_path)
    other = path.with_suffix(".bin").rename(tmp_path / "other.weights")
    with pytest.raises(ModelError, match="name it as the weights"):
        loopdbg.load(path)
    model = loopdbg.load(path, other)
    np.testing.assert_array_equal(model.run({"x": np.zeros(2, np.float32)})["y"], np.float32([1, 2]))


def test_weights_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = added().save(tmp_path)
    other = path.with_suffix(".bin").rename(tmp_path / "other.weights")
    completed = command(capsys, "run", path, "--weights", other, "--input", "x=[1,1]")
    assert completed.status == 0
    assert "[2.0, 3.0]" in completed.out
    assert command(capsys, "info", path, "--weights", other).status == 0
    missing = command(capsys, "info", path, "--weights", tmp_path / "none")
    assert missing.status == 1
    assert "no such file" in missing.err


def test_only_an_ir_has_weights_apart(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"")
    with pytest.raises(ModelError, match="only OpenVINO IR"):
        loopdbg.load(tmp_path / "m.onnx", tmp_path / "w.bin")
