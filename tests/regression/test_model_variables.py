"""OpenVINO's variables are values of a model: reported, given, printed, set, and what a loop over requests carries."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset6
from openvino import opset13 as op
from openvino._offline_transformations import apply_low_latency_transformation

from cli_runner import CliResult, run_cli

STEPS = 5


Run = Callable[..., CliResult]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line."""
    return partial(run_cli, capsys)


def saved(model: Any, path: Path) -> str:
    openvino.save_model(model, path, compress_to_fp16=False)
    return str(path)


@pytest.fixture
def summing(tmp_path: Path) -> str:
    """``acc`` begins with [10, 20] and grows by x."""
    x = op.parameter([2], np.float32, name="x")
    first = op.constant(np.array([10, 20], np.float32))
    total = op.add(opset6.read_value(first, "acc", openvino.Type.f32, openvino.PartialShape([2])), x)
    return saved(openvino.Model([op.result(total, name="y")], [opset6.assign(total, "acc")], [x]), tmp_path / "sum.xml")


def cell(steps: int, factor: float) -> Any:
    """A TensorIterator over [1, steps, 2] that gives all rows and the last one."""
    x = op.parameter([1, steps, 2], np.float32, name="x")
    part, h = op.parameter([1, 1, 2], np.float32), op.parameter([1, 2], np.float32)
    new = op.tanh(op.add(op.multiply(h, op.constant(np.float32(factor))), op.squeeze(part, op.constant(1))))
    last, row = op.result(new), op.result(op.unsqueeze(new, op.constant(1)))
    loop = op.tensor_iterator()
    loop.set_function(openvino.Model([last, row], [part, h], "body"))
    loop.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 1)
    loop.set_merged_input(h, op.constant(np.zeros((1, 2), np.float32)).output(0), last.output(0))
    rows = op.result(loop.get_concatenated_slices(row.output(0), 0, 1, 1, -1, 1), name="rows")
    ends = op.result(loop.get_iter_value(last.output(0), -1), name="ends")
    return openvino.Model([rows, ends], [x], "cell")


def low_latency(path: Path, factor: float) -> str:
    """The same for one step, with what it carries as a variable."""
    model = cell(1, factor)
    apply_low_latency_transformation(model, True)
    return saved(model, path)


def test_info_and_explain_tell_of_them(run: Run, summing: str) -> None:
    for command in ("info", "explain"):
        assert "float32[2], at first [10.0, 20.0]; each run assigns Add" in run(command, summing).out
    [message] = json.loads(run("info", summing, "--json").out)["variables"]
    assert message["name"] == "acc"
    assert message["initial"] == "[10.0, 20.0]"
    assert message["assigned"].startswith("Add")


def test_they_are_given_printed_and_set(run: Run, summing: str) -> None:
    words = ("run", summing, "--input", "x=[1, 1]")
    assert "[11.0, 21.0]" in run(*words).out
    assert "[6.0, 7.0]" in run(*words, "--state", "acc=[5, 6]").out
    assert "[10. 20.]" in run(*words, "-ex", "print acc", "--batch").out
    assert "[6.0, 6.0]" in run(*words, "-ex", "set acc = [5, 5]", "-ex", "continue", "--batch").out


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("acc", "--state acc: expected NAME=VALUE"),
        ("ac=[1, 2]", "the model has no variable 'ac'; did you mean 'acc'?"),
        ("acc=[1, 2, 3]", "variable 'acc' needs shape [2] float32, got shape [3]"),
        ("acc=x", "variable 'acc' (float32[2]): cannot read 'x'"),
    ],
)
def test_what_is_wrong_with_them_is_one_line(run: Run, summing: str, option: str, message: str) -> None:
    ran = run("run", summing, "--input", "x=[1, 1]", "--state", option)
    assert message in ran.error_line


def test_requests_run_step_and_are_recorded(run: Run, summing: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "xs.npz", x=np.ones((3, 2), np.float32))
    words = ("run", summing, "--requests", str(tmp_path / "xs.npz"))
    ran = run(*words, "--output", str(tmp_path / "y.npz"))
    assert "3 iterations of 'requests'" in ran.out
    assert np.load(tmp_path / "y.npz")["y"][:, 0].tolist() == [11, 12, 13]
    assert "[12. 22.]" in run(*words, "-ex", "step", "-ex", "step", "-ex", "print acc", "--batch").out
    trace = str(tmp_path / "t.loopdb")
    assert run(*words, "--record", trace).status == 0
    assert "[12. 22.]" in run("run", trace, "-ex", "step 2", "-ex", "print acc", "--batch").out
    same = run("diff", summing, "--against", "openvino", *words[2:])
    assert same.status == 0, same
    assert same.out.count("6 values of 3 iterations compared, largest difference 0") == 2  # by request, and free


def test_requests_that_are_none_are_refused(run: Run, summing: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "xs.npz", x=np.ones((3, 2), np.float32))
    xs = str(tmp_path / "xs.npz")
    ran = run("run", saved(cell(STEPS, 0.5), tmp_path / "ti.xml"), "--requests", xs)
    assert "--requests: ti.xml: the model keeps no variable" in ran.err
    assert "use one or the other" in run("run", summing, "--requests", xs, "--inputs", xs).error_line
    assert "--requests gives them" in run("run", summing, "--requests", xs, "--seed", "3").error_line


def test_requests_that_do_not_fit_are_no_single_inputs(run: Run, summing: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "flat.npz", x=np.ones(2, np.float32))
    np.savez(tmp_path / "none.npz", y=np.ones(2, np.float32))
    flat = run("run", summing, "--requests", str(tmp_path / "flat.npz")).error_line
    assert flat.endswith("got shape [2]; the first axis counts the requests") and "--input" not in flat
    none = run("run", summing, "--requests", str(tmp_path / "none.npz")).error_line
    assert none.endswith("it holds 'y'; add it") and "--input" not in none


@pytest.mark.parametrize("turned", [False, True])
def test_a_loop_is_compared_with_requests_of_its_body(run: Run, tmp_path: Path, turned: bool) -> None:
    paths = [saved(cell(STEPS, 0.5), tmp_path / "ti.xml"), low_latency(tmp_path / "ll.xml", 0.5)]
    ran = run("diff", *(reversed(paths) if turned else paths))
    assert ran.status == 0, ran
    assert f"11 values of {STEPS} iterations compared" in ran.out
    assert "2 outputs the same" in ran.out


def test_what_differs_from_the_requests_is_named(run: Run, tmp_path: Path) -> None:
    loop = saved(cell(STEPS, 0.5), tmp_path / "ti.xml")
    ran = run("diff", loop, low_latency(tmp_path / "other.xml", 0.25))
    assert ran.status == 6
    assert "= 0.5\n" in ran.out
    assert "= 0.25\n" in ran.out
    assert "iteration 1, carried value" in ran.out
    same = low_latency(tmp_path / "same.xml", 0.5)
    [variable] = json.loads(run("info", same, "--json").out)["variables"]
    begun = run("diff", loop, same, "--state", f"{variable['name']}=[[1, 1]]")
    assert begun.status == 6
    assert "before iteration 0, carried value" in begun.out
    assert "it comes from the constant" in begun.out
