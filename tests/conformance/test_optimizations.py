"""Rewrites that make models faster: each kind in its own model and in no other, with live runtimes as oracles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from loopdbg import Optimizations
from loopdbg.debugger.optimization import api
from loopdbg.debugger.optimization.kinds import KINDS
from loopdbg.debugger.optimization.measure import measure_gain
from loopdbg.runtime.errors import LimitError
from optimization_models import IR_KINDS, MODELS, NEAR_MISSES, large_inputs, write_ir, write_model
from text_models import SAMPLES

#: What is there in the models of the project: an error that is only compared, conditions that a Loop without an initial
#: one ignores, and a Loop over the rows of one tensor.
IN_SAMPLES = {
    "newton_sqrt.onnx": ["unread-carried"],
    "two_layer_lstm.onnx": ["scan"],
    "lessons/newton_sqrt.onnx": ["unread-carried"],
    "lessons/append.onnxtxt": ["growing-concat"],
    "lessons/drift.onnxtxt": ["invariant-node"],
    "lessons/climb_absent.onnxtxt": ["constant-condition"],
    "lessons/onnx_adds_2.onnxtxt": ["constant-condition"],
    "lessons/onnx_doubles_2.onnxtxt": ["constant-condition"],
}
SOUND = sorted(
    path.relative_to(SAMPLES).as_posix()
    for folder in (SAMPLES, SAMPLES / "lessons")
    for path in folder.iterdir()
    if path.suffix in (".onnx", ".onnxtxt", ".xml")
)
#: By how much results in onnxruntime may differ where a rewrite changes the order of sums.
ROUNDING = 1e-4


@pytest.fixture(autouse=True)
def measured_gain_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gains are measured, but what is offered does not depend on the load of the machine."""
    monkeypatch.setattr(api, "measure_gain", lambda *args: max(1.0, measure_gain(*args)))


def optimizations(path: Path, kind: str, count: int, save: Path | None = None) -> Optimizations:
    """The report on a model; of rewrites on request only where the kind is one."""
    only = [kind] if KINDS[kind].on_request else []
    report = loopdbg.load(path).optimizations(only=only, count=count, seconds=10, peer=False, save=save)
    assert isinstance(report, Optimizations)
    return report


def run_onnxruntime(path: Path, inputs: dict[str, Any]) -> list[Any]:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    outputs: list[Any] = session.run(None, inputs)
    return outputs


@pytest.mark.parametrize("kind", MODELS)
def test_kind_is_found_in_its_own_model_alone_and_keeps_the_results(tmp_path: Path, kind: str) -> None:
    path, saved = write_model(kind, tmp_path), tmp_path / "saved.onnx"
    report = optimizations(path, kind, 1000)
    (optimization,) = report.offered
    assert (optimization.kind, optimization.loop.startswith("main ▸ Loop_"), report.rejected) == (kind, True, ())
    assert optimization.inputs > 900 and optimization.gain > 0
    assert optimization.largest == 0 or KINDS[kind].rounds
    report = optimizations(path, kind, 20, saved)
    assert report.saved_kinds[0] == kind and report.saved == (saved,)
    before, after = onnx.load(path), onnx.load(saved)
    onnx.checker.check_model(after, full_check=True)
    assert [*before.graph.input, *before.graph.output] == [*after.graph.input, *after.graph.output]
    for iterations in (1, 7):
        inputs = large_inputs(kind, iterations)
        for expected, got in zip(run_onnxruntime(path, inputs), run_onnxruntime(saved, inputs), strict=True):
            tolerance = ROUNDING if KINDS[kind].rounds else 0
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    assert kind not in [item.kind for item in optimizations(saved, kind, 10).offered]


@pytest.mark.parametrize("kind", NEAR_MISSES)
def test_kind_is_not_found_in_a_similar_model(tmp_path: Path, kind: str) -> None:
    old, new = NEAR_MISSES[kind]
    assert MODELS[kind].count(old) == 1
    report = optimizations(write_model(kind, tmp_path, MODELS[kind].replace(old, new)), kind, 20)
    assert kind not in [item.kind for item in (*report.offered, *report.rejected)]


@pytest.mark.parametrize("name", SOUND)
def test_samples_and_lessons_have_what_is_listed(name: str) -> None:
    try:
        report = loopdbg.load(SAMPLES / name).optimizations(count=60, seconds=1, peer=False)
    except LimitError:
        assert any(word in name for word in ("endless", "infinite", "_3."))
        return
    assert ([item.kind for item in report.offered], report.rejected) == (IN_SAMPLES.get(name, []), ())


@pytest.mark.parametrize("kind", IR_KINDS)
def test_kind_is_found_in_an_ir(tmp_path: Path, kind: str) -> None:
    openvino = pytest.importorskip("openvino")
    path, saved = write_ir(kind, tmp_path), tmp_path / "saved.xml"
    report = optimizations(path, kind, 1000, saved)
    assert [(item.kind, item.largest, item.inputs > 900) for item in report.offered] == [(kind, 0.0, True)]
    random = np.random.default_rng(1)
    names = [port.name for port in loopdbg.load(path).inputs]
    inputs = {name: random.standard_normal(16).astype(np.float32) for name in names}
    results = [
        openvino.compile_model(openvino.Core().read_model(file), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(inputs)
        for file in (path, saved)
    ]
    assert [sorted(output.get_names()) for output in results[0]] == [
        sorted(output.get_names()) for output in results[1]
    ]
    for expected, got in zip(results[0].values(), results[1].values(), strict=True):
        np.testing.assert_array_equal(expected, got)
    assert not optimizations(saved, kind, 10).offered


def test_rewrites_of_one_model_are_applied_together(tmp_path: Path) -> None:
    text = MODELS["invariant-node"].replace("a2 = Sin (u)", "v = Tan (u)  s = Tan (u)  p = Mul (v, s)  a2 = Sin (p)")
    saved = tmp_path / "saved.onnx"
    report = optimizations(write_model("invariant-node", tmp_path, text), "invariant-node", 50, saved)
    assert report.saved_kinds == ("invariant-node", "duplicate-node")
    assert not optimizations(saved, "invariant-node", 10).offered


def test_names_and_metadata_of_the_rest_are_kept(tmp_path: Path) -> None:
    path, saved = write_model("unread-carried", tmp_path), tmp_path / "saved.onnx"
    model = onnx.load(path)
    model.producer_name, model.doc_string = "exporter", "a model"
    model.metadata_props.add(key="author", value="someone")
    model.graph.node[2].metadata_props.add(key="origin", value="model.py:7")
    onnx.save(model, path)
    optimizations(path, "unread-carried", 10, saved)
    after = onnx.load(saved)
    loop = next(node for node in after.graph.node if node.op_type == "Loop")
    assert (after.producer_name, after.doc_string, after.metadata_props[0].value) == ("exporter", "a model", "someone")
    assert [item.value for item in loop.metadata_props] == ["model.py:7"]


def test_nodes_that_are_not_in_the_file_are_no_opportunity(tmp_path: Path) -> None:
    """An LSTM in a body is run as a loop with nodes of its own, of which not all are read."""
    weights = "float[1, 16, 4] W, float[1, 16, 4] R"
    text = (
        f"m (int64 M, float[1, 2, 4] x, {weights}) => (float[1, 2, 4] y) {{ true = Constant <value = bool {{1}}> ()"
        "  y = Loop (M, true, x) <body = b (int64 i, bool c, float[1, 2, 4] a) => (bool c2, float[1, 2, 4] h)"
        " { c2 = Identity (c)  s, h = LSTM <hidden_size = 4> (a, W, R) }> }"
    )
    report = optimizations(write_model("lstm", tmp_path, text), "lstm", 10)
    assert (report.offered, report.rejected) == ((), ())


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn", "map", "prefix-sum", "reduction"])
def test_kind_is_found_in_a_scan(tmp_path: Path, kind: str) -> None:
    scanned, saved = tmp_path / "scan.onnx", tmp_path / "saved.onnx"
    loopdbg.load(write_model(kind, tmp_path)).optimizations(only=["scan"], count=5, seconds=2, peer=False, save=scanned)
    assert [loop.op_type for loop in loopdbg.load(scanned).graph.nodes if loop.op_type in ("Loop", "Scan")] == ["Scan"]
    report = optimizations(scanned, kind, 100, saved)
    assert kind in [item.kind for item in report.offered] and report.rejected == ()


def test_outputs_of_a_cell_are_projected_after_the_operator(tmp_path: Path) -> None:
    text = MODELS["gru"].replace("float[K, 2, 4] Y", "float[K, 2, 3] Y").replace("float[2, 4] y)", "float[2, 3] y)")
    text = text.replace("<float[8,12] W", f"<float[3,4] P = {{{', '.join(['0.25'] * 12)}}}, float[8,12] W")
    text = text.replace("y = Identity (ho)", "y = Gemm <transB = 1> (ho, P)")
    path, saved = write_model("gru", tmp_path, text), tmp_path / "saved.onnx"
    report = optimizations(path, "gru", 100, saved)
    assert [item.kind for item in report.offered] == ["gru"] and report.saved_kinds == ("gru",)
    inputs = large_inputs("gru", 6)
    for expected, got in zip(run_onnxruntime(path, inputs), run_onnxruntime(saved, inputs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=ROUNDING, atol=ROUNDING)


def test_ignored_condition_that_the_body_reads_is_kept(tmp_path: Path) -> None:
    text = MODELS["constant-condition"].replace("Loop (M, true, x)", "Loop (M, , x)")
    assert [
        item.kind for item in optimizations(write_model("ignored", tmp_path, text), "unread-carried", 20).offered
    ] == ["constant-condition"]
    text = text.replace("a2 = Sin (a)", "f = Cast <to = 1> (c)  a2 = Add (a, f)")
    report = optimizations(write_model("read", tmp_path, text), "unread-carried", 20)
    assert (report.offered, report.rejected) == ((), ())


def test_growing_value_that_a_branch_reads_is_kept(tmp_path: Path) -> None:
    branch = (
        "odd = Cast <to = 9> (i)  total = If (odd) <then_branch = t () => (float[Q, 16] p) { p = Identity (g) },"
        " else_branch = e () => (float[Q, 16] q) { q = Neg (g) }>  a2 = ReduceSum <keepdims = 0> (total, axes)"
    )
    path = write_model("growing", tmp_path, MODELS["growing-concat"].replace("a2 = Sin (a)", branch))
    report = optimizations(path, "map", 20)
    assert "growing-concat" not in [item.kind for item in (*report.offered, *report.rejected)]
