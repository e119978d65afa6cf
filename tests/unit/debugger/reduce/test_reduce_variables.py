"""Repros of models that keep variables between requests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cli_runner
import loopdbg
from ir_builder import IrNetBuilder
from loopdbg.debugger.reduce.documents.ir_document import IrDocument


def sqrt_variable_model(initial: float = 0.0) -> IrNetBuilder:
    """``h`` grows by x; y is the ReLU of its square root, for which OpenVINO gives 0 if it is NaN."""
    net = IrNetBuilder()
    x = net.parameter("2", name="x")
    data = 'variable_id="h" variable_type="f32" variable_shape="2"'
    first = net.constant(np.full(2, initial, np.float32))
    h = net.layer("ReadValue", [first], version="opset6", data=data, shape="2", name="before")
    grown = net.layer("Add", [h, x], shape="2", name="grown")
    net.layer("Assign", [grown], version="opset6", data=data, shape="2", name="kept")
    turned = net.layer("Sin", [net.layer("Multiply", [x, x], shape="2")], shape="2")
    most = net.layer("ReLU", [net.layer("Sqrt", [h], shape="2", name="root")], shape="2", name="positive")
    net.result(net.layer("Add", [most, turned], shape="2", name="y"))
    return net


@pytest.fixture
def requests(tmp_path: Path) -> Path:
    """x of three requests, of which the second one makes h negative."""
    np.savez(tmp_path / "requests.npz", x=np.array([[1, 2], [-5, -9], [3, 3]], np.float32))
    return tmp_path / "requests.npz"


def test_variables_start_from_a_state_and_are_read_back(tmp_path: Path) -> None:
    document = IrDocument.read(sqrt_variable_model().save(tmp_path))
    document.set_initial_state({"h": np.array([4, 9], np.float32)})
    inputs = document.build_model().run({"x": np.zeros(2, np.float32)})
    np.testing.assert_array_equal(inputs["y"], [2, 3])


def test_unread_variable_is_not_assigned(tmp_path: Path) -> None:
    document = IrDocument.read(sqrt_variable_model().save(tmp_path))
    assert {step.op_type for step in document.nodes()} > {"ReadValue", "Assign"}
    values = {"before": np.ones(2, np.float32)}
    document.replace_by_inputs(values)
    document.remove_dead()
    assert not {step.op_type for step in document.nodes()} & {"ReadValue", "Assign"}
    inputs = document.build_model().run({"x": np.zeros(2, np.float32), **values})
    np.testing.assert_array_equal(inputs["y"], [1, 1])


def test_assign_stays_while_its_variable_is_read(tmp_path: Path) -> None:
    document = IrDocument.read(sqrt_variable_model().save(tmp_path))
    document.set_outputs({"positive": None})
    document.remove_dead()
    assert {step.op_type for step in document.nodes()} == {"ReadValue", "Assign", "Sqrt", "ReLU", "Add"}


def test_breakpoint_finding_in_a_variable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sqrt_variable_model(-4).save(tmp_path)
    ran = cli_runner.run_cli(capsys, "repro", path, "--break", "nan", "-o", tmp_path / "report")
    assert ran.status == 0
    assert " -> 1 (" in ran.out.splitlines()[1]
    left = loopdbg.load(tmp_path / "report" / "model.xml")
    assert [node.op_type for node in left.graph.nodes] == ["Sqrt"]


def test_differing_request_is_found_and_reduced(
    tmp_path: Path, requests: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openvino", reason="OpenVINO is not installed")
    path, folder = sqrt_variable_model().save(tmp_path), tmp_path / "report"
    words = ("--requests", requests, "--against", "openvino", "-o", folder)
    ran = cli_runner.run_cli(capsys, "repro", path, *words)
    assert ran.status == 0
    left = loopdbg.load(folder / "model.xml")
    assert [node.op_type for node in left.graph.nodes] == ["ReLU"]
    # repro itself ran the script: it needs nothing else.
    assert "run_openvino.py: openvino" in ran.out and "shows it" in ran.out


def test_passed_state_initializes_the_variables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sqrt_variable_model().save(tmp_path)
    words = ("--input", "x=[1, 2]", "--break", "nan", "-o", tmp_path / "report")
    assert cli_runner.run_cli(capsys, "repro", path, *words).status == 8
    assert cli_runner.run_cli(capsys, "repro", path, "--state", "h=[-1, 2]", *words).status == 0


def test_agreeing_requests_are_no_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino", reason="OpenVINO is not installed")
    np.savez(tmp_path / "requests.npz", x=np.ones((3, 2), np.float32))
    words = ("--requests", tmp_path / "requests.npz", "--against", "openvino", "-o", tmp_path / "report")
    ran = cli_runner.run_cli(capsys, "repro", sqrt_variable_model().save(tmp_path), *words)
    assert ran.status == 8
    assert "the same outputs in all requests" in ran.err


def test_requests_need_a_runtime(tmp_path: Path, requests: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--requests", requests, "--break", "nan", "-o", tmp_path / "report")
    ran = cli_runner.run_cli(capsys, "repro", sqrt_variable_model().save(tmp_path), *words)
    assert ran.status == 2
    assert "requests are compared with a runtime" in ran.err
