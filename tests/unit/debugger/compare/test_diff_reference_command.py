"""loopdbg diff MODEL ref.npz: which of the two is a reference, its inputs, its names, what is printed and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from cli_runner import run_cli as command
from cli_runner import save_text_model
from text_models import SAMPLES, SUM

F32 = np.float32
NEWTON = SAMPLES / "newton_sqrt.onnx"


def newton(path: Path, name: str = "x", wrong: int | None = None, with_inputs: bool = True) -> Path:
    """The square root of 3 as a Python loop has it."""
    with loopdbg.record_reference(path) as ref:
        if with_inputs:
            ref.input(a=F32(3), tol=F32(1e-6))
        x = F32(3)
        for k in range(5):
            x = F32(0.5) * (x + F32(3) / x) + F32(k == wrong)
            ref.iteration(**{name: x})
    return path


def test_the_inputs_are_those_of_the_reference(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = command(capsys, "diff", NEWTON, newton(tmp_path / "ref.npz"))
    assert ran.status == 0 and ran.err == "inputs: from ref.npz\n"
    assert ran.out.startswith("same: newton_sqrt.onnx and ref.npz\n    'main ▸ sqrt' and 'loop' (matched by name): 5 v")
    # What is asked for goes first.
    ran = command(capsys, "diff", NEWTON, tmp_path / "ref.npz", "--input", "a=2", "--input", "tol=1e-6")
    assert ran.status == 6 and "inputs:" not in ran.err
    # Those next to the model, where the reference has none: the root of 2.
    ran = command(capsys, "diff", NEWTON, newton(tmp_path / "bare.npz", with_inputs=False))
    assert ran.status == 6 and ran.err.startswith("inputs: from newton_sqrt.inputs.npz")


def test_the_first_iteration_that_differs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wrong = newton(tmp_path / "ref.npz", wrong=2)
    ran = command(capsys, "diff", NEWTON, wrong)
    assert ran.status == 6
    assert "first difference: loop 'main ▸ sqrt', iteration 2, carried value 'x'" in ran.out
    assert "made by one of these nodes, in this order: Mul 'Mul_0', Div 'Div_1'" in ran.out
    assert f"ref.npz has it at {__file__}:" in ran.out
    assert command(capsys, "diff", NEWTON, wrong, "--loop", "sqrt", "--max-iterations", "2").status == 4
    assert command(capsys, "diff", NEWTON, wrong, "--rtol", "100").status in (0, 6)


def test_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = newton(tmp_path / "ref.npz", "anything")
    ran = command(capsys, "diff", NEWTON, path)
    assert ran.status == 0 and "matched: x and anything (value)" in ran.out
    ran = command(capsys, "diff", NEWTON, path, "--map", "x=anything")
    assert ran.status == 0 and "matched: x and anything (--map)" in ran.out
    # In the order in which they are named.
    assert command(capsys, "diff", path, NEWTON, "--map", "anything=x").status == 0
    ran = command(capsys, "diff", NEWTON, path, "--map", "x=nothing")
    assert ran.status == 2 and "loopdbg: --map x=nothing: ref.npz has no 'nothing'" in ran.err
    ran = command(capsys, "diff", NEWTON, path, "--map", "nothing=anything")
    assert ran.status == 2 and "loopdbg: --map nothing=anything: the model has no 'nothing'" in ran.err


def test_skipped_values_are_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.savez(tmp_path / "ref.npz", a=F32(3), tol=F32(1e-6), unknown=F32([7, 8, 9, 10, 11]), root=F32(3) ** F32(0.5))
    ran = command(capsys, "diff", NEWTON, tmp_path / "ref.npz")
    assert ran.status == 8 and ran.out.startswith("same as far as compared: ")
    assert "note: 'unknown' is only in ref.npz: not compared, since no value of the model has its numbers" in ran.out
    assert "note: the output 'xs' is only in newton_sqrt.onnx: not compared" in ran.out
    assert "note: --map NAME=NAME pairs a value of the model with one of the reference" in ran.out
    np.savez(tmp_path / "ref.npz", a=F32(3), tol=F32(1e-6), unknown=F32([7, 8, 9, 10, 11]))
    ran = command(capsys, "diff", NEWTON, tmp_path / "ref.npz")
    assert ran.status == 1 and "loopdbg: nothing could be compared: 'unknown' is only in ref.npz" in ran.err


def test_a_folder_of_test_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source, data = save_text_model(tmp_path, SUM), tmp_path / "test_data_set_0"
    data.mkdir()
    arrays = {"input_0": np.int64(3), "input_1": F32(1), "output_0": F32(4), "output_1": F32([1, 4, 16])}
    for name, array in arrays.items():
        (data / f"{name}.pb").write_bytes(onnx.numpy_helper.from_array(np.asarray(array)).SerializeToString())
    ran = command(capsys, "diff", source, data)
    assert ran.status == 0 and "2 outputs the same" in ran.out and ran.err == "inputs: from test_data_set_0\n"
    (data / "output_1.pb").write_bytes(onnx.numpy_helper.from_array(F32([1, 5, 16])).SerializeToString())
    ran = command(capsys, "diff", source, data)
    assert ran.status == 6 and "iteration 1, scan output 's'" in ran.out


def test_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = command(capsys, "diff", NEWTON, newton(tmp_path / "ref.npz", wrong=2), "--json")
    message: Any = json.loads(ran.out)
    assert ran.status == 6 and message["verdict"] == "differ" and message["right"] == "ref.npz"
    first, (comparison,) = message["first"], message["comparisons"]
    assert (first["iteration"], first["left_name"]) == (2, "x") and first["made_at"].startswith(f"{__file__}:")
    assert comparison["mode"] == "reference" and comparison["loops"][0]["right"] == "loop"


def test_a_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trace = tmp_path / "run.loopdb"
    assert command(capsys, "run", NEWTON, "--input", "a=3", "--input", "tol=1e-6", "--record", trace).status == 0
    assert command(capsys, "diff", trace, newton(tmp_path / "ref.npz")).status == 0
    ran = command(capsys, "diff", trace, tmp_path / "ref.npz", "--input", "a=3")
    assert ran.status == 2 and ran.error_line.startswith("--input: run.loopdb is a trace")


@pytest.mark.parametrize(
    ("make", "arguments", "status", "message"),
    [
        (lambda p: p.write_bytes(b"PK\3\4 broken"), (), 1, "ref.npz: not a readable .npy or .npz file"),
        (lambda p: np.savez(p, x=np.array([{}], object)), (), 1, "ref.npz: 'x' cannot be read: not plain arrays"),
        (
            lambda p: np.savez(p, a=F32([1, 2]), tol=F32(1), x=F32([1])),
            (),
            1,
            "given the inputs of ref.npz: input 'a' needs",
        ),
        (lambda p: np.savez(p, x=F32([1])), ("--loop", "none"), 2, "there is no loop 'none' to compare"),
        (lambda p: np.savez(p, x=F32([1])), ("--against", "onnxruntime"), 2, "leave out"),
    ],
)
def test_errors(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, make: Any, arguments: Any, status: int, message: str
) -> None:
    path = tmp_path / "ref.npz"
    make(path)
    ran = command(capsys, "diff", NEWTON, path, *arguments)
    assert ran.status == status and message in ran.err and "Traceback" not in ran.err, ran.err


def test_two_references(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = newton(tmp_path / "ref.npz")
    ran = command(capsys, "diff", path, path)
    assert ran.status == 2 and "both are references; one of the two is a model or a trace" in ran.error_line
