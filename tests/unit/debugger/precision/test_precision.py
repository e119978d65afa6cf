"""A model in a narrower type: errors, where they come from, and which nodes have to stay wide."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import loopdbg
from cli_runner import run_cli
from loopdbg.debugger.precision.mixed_graph import NARROW_TYPES
from loopdbg.debugger.precision.runs import PrecisionRuns, errors_between
from text_models import SAMPLES, model, sample

#: A recurrence of three nodes; each of them is rounded.
RECURRENCE = """
r (int64 M, float[4] x0) => (float[4] x, float[K,4] rows) {
    x, rows = Loop <body = body (int64 i, bool c, float[4] x_in) => (bool keep, float[4] x_out, float[4] row) {
        keep = Identity (c)
        factor = Constant <value = float {1.1}> ()
        offset = Constant <value = float {0.3}> ()
        scaled = Mul (x_in, factor)
        x_out = Add (scaled, offset)
        row = Tanh (x_out)
    }> (M, , x0)
}"""

OVERFLOW = """
o (int64 M, float x0) => (float x) {
    x = Loop <body = body (int64 i, bool c, float x_in) => (bool keep, float x_out) {
        keep = Identity (c)
        ten = Constant <value = float {10.0}> ()
        x_out = Mul (x_in, ten)
    }> (M, , x0)
}"""

BRANCHES = """
b (int64 M, float x0) => (float x) {
    x = Loop <body = outer (int64 i, bool c, float x_in) => (bool keep, float x_out) {
        keep = Identity (c)
        third = Constant <value = float {0.33333}> ()
        one = Constant <value = int64 {1}> ()
        t = Mul (x_in, third)
        early = Less (i, one)
        x_out = If (early) <
            then_branch = then () => (float p) { p = Add (t, x_in) },
            else_branch = other () => (float q) {
                q = Loop <body = inner (int64 j, bool d, float y_in) => (bool go, float y_out) {
                    go = Identity (d)
                    y_out = Sub (y_in, t)
                }> (one, , x_in)
            }
        >
    }> (M, , x0)
}"""


def runs_of(text: str, type_name: str = "float16", **inputs: Any) -> PrecisionRuns:
    return PrecisionRuns(model(text), inputs, type_name)


def recurrence(rounds: Any, x: Any, trips: int) -> tuple[Any, list[Any]]:
    """The same in NumPy: each result is computed in float32 and rounded."""
    factor, offset, rows = rounds(np.float32(1.1)), rounds(np.float32(0.3)), []
    x = rounds(x)
    for _ in range(trips):
        x = rounds(rounds(x * factor) + offset)
        rows.append(rounds(np.tanh(x)))
    return x, rows


def test_errors_are_those_of_numpy() -> None:
    expected, narrow = np.array([3.0, -4.0, 0.0], np.float32), np.array([3.0, -4.5, 0.5], np.float32)
    errors = errors_between(expected, narrow)
    assert (errors.absolute, errors.relative, errors.nonfinite) == (0.5, 0.125, 0)
    assert errors.snr == pytest.approx(10 * np.log10(25 / 0.5))
    assert errors.cosine == pytest.approx(float(expected @ narrow / np.linalg.norm(expected) / np.linalg.norm(narrow)))


def test_numbers_that_are_not_finite_make_the_error_infinite() -> None:
    errors = errors_between(np.array([1.0, np.inf], np.float32), np.array([np.inf, np.inf], np.float32))
    assert errors.nonfinite == 1 and math.isinf(errors.relative)


@pytest.mark.parametrize("type_name", ["float16", "bfloat16"])
def test_narrow_run_is_that_of_numpy(type_name: str) -> None:
    dtype = NARROW_TYPES[type_name][0]
    x0 = np.array([0.1, 1.0, -2.7, 33.3], np.float32)
    runs = runs_of(RECURRENCE, type_name, M=12, x0=x0)
    assert [node.op_type for node in runs.nodes] == ["Mul", "Add", "Tanh"]
    outputs = runs.run(runs.nodes).outputs
    assert outputs is not None
    x, rows = recurrence(lambda a: np.asarray(a).astype(dtype).astype(np.float32), x0, 12)
    np.testing.assert_array_equal(outputs["x"], x)
    unit = float(np.spacing(np.float16(1))) if type_name == "float16" else 2.0**-7
    np.testing.assert_allclose(np.asarray(outputs["rows"]), np.array(rows), atol=unit)  # another tanh


def test_no_narrow_node_gives_the_wide_results() -> None:
    runs = runs_of(BRANCHES, M=4, x0=1.7)
    outputs = runs.run([]).outputs
    assert outputs is not None and runs.wide_run.outputs is not None
    assert np.asarray(outputs["x"]).tobytes() == np.asarray(runs.wide_run.outputs["x"]).tobytes()


def test_branches_and_inner_loops_use_narrow_values_from_around() -> None:
    runs = runs_of(BRANCHES, M=4, x0=1.7)
    outputs = runs.run(runs.nodes).outputs
    assert outputs is not None
    half, x = np.float16, np.float16(1.7)
    for i in range(4):
        t = half(x * half(0.33333))
        x = half(x + t) if i < 1 else half(x - t)
    assert float(np.asarray(outputs["x"])) == float(x)
    assert sorted(node.op_type for node in runs.nodes) == ["Add", "Mul", "Sub"]


def test_first_iteration_that_overflows() -> None:
    precision = model(OVERFLOW).precision({"M": 8, "x0": 3.0})
    (value,) = (value for value in precision.values if value.carried)
    assert value.overflow == 4  # 3e5
    assert value.headroom == pytest.approx(65504 / 3e8)
    assert precision.outputs["x"].nonfinite == 1
    assert "overflow: x_out" in str(precision)


def test_bfloat16_has_the_range_of_float32() -> None:
    precision = model(OVERFLOW).precision({"M": 8, "x0": 3.0}, "bfloat16")
    assert all(value.overflow is None for value in precision.values)


def test_error_grows_by_the_factor_of_the_loop() -> None:
    precision = model(RECURRENCE).precision({"M": 40, "x0": [0.1, 1.0, -2.7, 33.3]})
    (value,) = (value for value in precision.values if value.carried)
    assert len(value.errors) == 40
    assert value.factor is not None and 0.9 < value.factor < 1.2
    assert value.digits == pytest.approx(-math.log10(value.errors[-1]))


def test_runs_with_other_iterations_are_compared_as_far_as_both_go() -> None:
    loaded, inputs = sample("newton_sqrt.onnx")
    precision = loaded.precision(inputs)
    assert precision.iterations == {"main ▸ sqrt": (5, 4)}
    assert "iteration 3 of main ▸ sqrt" in precision.parted
    assert max(len(value.errors) for value in precision.values) == 4


def lossy_model(position: int, count: int = 6) -> str:
    """A loop of nodes that are exact in float16, but a sum with 2048 and what subtracts it."""
    lines, value = [], "x_in"
    for k in range(count):
        if k == position:
            lines += [f"v{k} = Add ({value}, big)", f"w{k} = Sub (v{k}, big)"]
            value = f"w{k}"
        else:
            operand = ("two", "half")[k % 2]
            lines.append(f"v{k} = Mul ({value}, {operand})")
            value = f"v{k}"
    body = "\n        ".join([*lines, f"x_out = Neg ({value})"])
    return f"""
l (int64 M, float[3] x0) => (float[3] x) {{
    big = Constant <value = float {{2048.0}}> ()
    two = Constant <value = float {{2.0}}> ()
    half = Constant <value = float {{0.5}}> ()
    x = Loop <body = body (int64 i, bool c, float[3] x_in) => (bool keep, float[3] x_out) {{
        keep = Identity (c)
        {body}
    }}> (M, , x0)
}}"""


@pytest.mark.parametrize("trips", [1, 3, 7])
@pytest.mark.parametrize("position", range(6))
def test_lossy_node_is_found(position: int, trips: int) -> None:
    precision = model(lossy_model(position)).precision({"M": trips, "x0": [0.25, 1.5, -0.75]}, tolerance=1e-6)
    # The sum is rounded where it is computed, or where it is read.
    lossy, exact = precision.nodes[:2], precision.nodes[2:]
    assert {node.op_type for node in lossy} == {"Add", "Sub"}
    assert all(node.error is not None and node.error > 0.05 for node in lossy)
    assert exact and all(node.error == 0 for node in exact)
    assert precision.wide_nodes is not None
    assert {node.name for node in precision.wide_nodes.nodes} == {node.name for node in lossy}
    assert precision.wide_nodes.minimal and precision.wide_nodes.error == 0


def test_wide_nodes_suffice_and_none_can_be_left_out() -> None:
    loaded, inputs = sample("newton_sqrt.onnx")
    precision = loaded.precision(inputs, tolerance=1e-3)
    assert precision.wide_nodes is not None and precision.wide_nodes.minimal
    names = {node.name for node in precision.wide_nodes.nodes}
    runs = PrecisionRuns(loaded, inputs, "float16")

    def error(chosen: set[str]) -> float:
        return runs.error(runs.run([node for node in runs.nodes if node.name not in chosen]))

    assert error(names) == precision.wide_nodes.error <= 1e-3
    assert all(error(names - {name}) > 1e-3 for name in names)


def test_nodes_are_chosen_by_patterns() -> None:
    loaded, inputs = sample("newton_sqrt.onnx")
    precision = loaded.precision(inputs, only=["Mul*", "Sub_4"], keep=["Mul_2"])
    chosen = {node.name for node in precision.nodes}
    assert {"Mul_0", "Sub_4"} <= chosen and "Mul_2" not in chosen
    assert {node.op_type for node in precision.nodes} == {"Mul", "Sub"}
    with pytest.raises(loopdbg.UsageError, match="Sub_44"):
        loaded.precision(inputs, keep=["Sub_44"])


@pytest.mark.parametrize("name", ["lstm.xml", "loop_nested.xml", "trt/halving.py", "trt/char_rnn.py", "trt/greedy.py"])
def test_other_systems(name: str) -> None:
    loaded, inputs = sample(name)
    precision = loaded.precision(inputs, tolerance=1e-2)
    assert precision.narrow_count and not precision.failure
    assert precision.wide_nodes is not None and precision.wide_nodes.error <= 1e-2


@pytest.mark.parametrize("type_name", ["float16", "bfloat16"])
def test_saved_model_is_the_mixed_run(type_name: str, tmp_path: Path) -> None:
    path = tmp_path / "mixed.onnx"
    loaded, inputs = sample("greedy_decoder.onnx")
    loaded.precision(inputs, type_name, keep=["MatMul_1"], save=path)
    onnx.checker.check_model(str(path), full_check=type_name == "float16")
    runs = PrecisionRuns(loaded, inputs, type_name)
    outputs = runs.run([node for node in runs.nodes if node.name != "MatMul_1"]).outputs
    assert outputs is not None
    saved = loopdbg.load(path).run(inputs)
    assert all(np.asarray(saved[name]).tobytes() == np.asarray(value).tobytes() for name, value in outputs.items())


def test_saved_model_in_the_reference_implementation(tmp_path: Path) -> None:
    path = tmp_path / "mixed.onnx"
    inputs = {"M": np.array(12), "x0": np.array([0.1, 1.0, -2.7, 33.3], np.float32)}
    # The reference implementation takes a condition that is left out for a false one.
    text = RECURRENCE.replace("x, rows =", "yes = Constant <value = bool {1}> ()\n    x, rows =").replace(
        "(M, ,", "(M, yes,"
    )
    model(text).precision(inputs, save=path)
    x, rows = ReferenceEvaluator(str(path)).run(None, inputs)
    result = loopdbg.load(path).run(inputs)
    np.testing.assert_array_equal(x, result["x"])
    np.testing.assert_allclose(np.reshape(rows, (12, 4)), result["rows"], atol=float(np.spacing(np.float16(1))))


def test_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = SAMPLES / "newton_sqrt.onnx"
    ran = run_cli(capsys, "precision", path, "--as", "float16:Mul*", "--tolerance", "1e-3", "--json")
    report = json.loads(ran.out)
    assert ran.status == 0 and report["type_name"] == "float16" and report["narrow_count"] == 3
    assert report["nodes"][0]["error"] is None or report["nodes"][0]["error"] > 0
    ran = run_cli(capsys, "precision", path, "--save", tmp_path / "a.onnx")
    assert ran.status == 0 and ran.out.endswith(f"saved as {tmp_path / 'a.onnx'}\n")


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("newton_sqrt.onnx", ("--as", "int4"), "float16, bfloat16, int8"),
        ("newton_sqrt.onnx", ("--as", "int8"), "no product or convolution"),
        ("newton_sqrt.onnx", ("--save", "missing/a.onnx"), "folder"),
        ("newton_sqrt.onnx", ("--save", "a.txt"), ".onnx"),
        ("lstm.xml", ("--save", "a.onnx"), "only ONNX"),
        ("collatz.onnx", (), "no node computes float32"),
    ],
)
def test_wrong_usage_is_one_line(
    name: str, options: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run_cli(capsys, "precision", SAMPLES / name, *options)
    assert ran.status == 2 and text in ran.err.splitlines()[-1] and "Traceback" not in ran.err


def test_nodes_that_the_time_did_not_suffice_for_are_counted() -> None:
    loaded, inputs = sample("greedy_decoder.onnx")
    precision = loaded.precision({**inputs}, seconds=1e-9)
    assert all(node.error is None for node in precision.nodes)
    assert f"{len(precision.nodes)} nodes not tried" in str(precision)


@pytest.mark.parametrize("after", [4, 20])
def test_ctrl_c_prints_what_was_found(
    after: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first runs try nodes by themselves, later ones search the nodes that stay wide."""
    original = PrecisionRuns.run

    def interrupted_run(self: PrecisionRuns, narrow: Any) -> Any:
        if self.count >= after:
            raise KeyboardInterrupt
        return original(self, narrow)

    monkeypatch.setattr(PrecisionRuns, "run", interrupted_run)
    ran = run_cli(capsys, "precision", SAMPLES / "newton_sqrt.onnx", "--tolerance", "1e-3")
    assert ran.status == 130 and "main ▸ sqrt: 4 iterations, 5 in float32" in ran.out
    assert ("not tried: interrupted" in ran.out) == (after == 4)
    assert ("the search ended early" in ran.out) == (after == 20)
    with pytest.raises(KeyboardInterrupt):
        loopdbg.load(SAMPLES / "newton_sqrt.onnx").precision({"a": 2.0, "tol": 1e-6}, tolerance=1e-3)
