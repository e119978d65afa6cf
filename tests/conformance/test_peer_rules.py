"""Rules that tell what a runtime does otherwise, each shown with the runtime itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from loopdbg.debugger.compare.live_peer.model_job import model_job
from loopdbg.debugger.compare.live_peer.peer_comparison import compare_with_peer
from loopdbg.debugger.compare.live_peer.peer_emulation import as_runtime
from loopdbg.debugger.compare.live_peer.saturating_byte_sums import EXACT_SUMS_OPTION, saturation_reasons
from loopdbg.debugger.compare.report.findings import Difference, NodeDifference, Verdict
from loopdbg.debugger.compare.report.runtime_differences import extreme_value_reasons
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.debugger.compare.running.value_comparison import NO_DIFFERENCE, Tolerance
from loopdbg.debugger.peer_trials.trial import try_model
from loopdbg.debugger.peers.process import Peer
from loopdbg.runtime.graph import loops
from text_models import proto


@pytest.fixture(scope="module")
def openvino() -> Iterator[Peer]:
    with Peer("openvino") as peer:
        yield peer


def rules(m: loopdbg.Model) -> set[str]:
    """The labels of what is noted."""
    notes = [*m.graph.notes, *(note for loop in loops(m.graph) for note in loop.notes)]
    return {getattr(note, "rule", "") for note in notes}


def saved(folder: Path, text: str, opset: int = 21) -> loopdbg.Model:
    onnx.save(proto(text, opset), folder / "m.onnx")
    return loopdbg.load(folder / "m.onnx")


def test_softmax_before_opset_13(tmp_path: Path, openvino: Peer) -> None:
    text = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = AXIS> (x) }"
    m = saved(tmp_path, text.replace("AXIS", "1"), 12)
    assert rules(m) == {"B35"}
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    result = compare_with_peer(m, {"x": x}, openvino, ComparisonOptions())
    assert result.verdict is Verdict.DIFFER
    assert not rules(saved(tmp_path, text.replace("AXIS", "2"), 12))
    assert not rules(saved(tmp_path, text.replace("AXIS", "1"), 13))


@pytest.mark.parametrize("backwards", [False, True])
def test_a_cell_that_is_fed_backwards(tmp_path: Path, openvino: Peer, backwards: bool) -> None:
    import openvino as ov
    from openvino import opset13 as op

    x, h0 = op.parameter([1, 5, 3], np.float32, name="X"), op.parameter([1, 4], np.float32, name="h0")
    part, h = op.parameter([1, 1, 3], np.float32), op.parameter([1, 4], np.float32)
    random = np.random.default_rng(1)
    w, r, b = (op.constant(random.standard_normal(shape).astype(np.float32)) for shape in ((12, 3), (12, 4), (12,)))
    cell = op.gru_cell(op.squeeze(part, op.constant([1])), h, w, r, b, 4)
    last, row = op.result(cell), op.result(op.unsqueeze(cell, op.constant([1])))
    loop = op.tensor_iterator()
    loop.set_function(ov.Model([last, row], [part, h], "body"))
    loop.set_sliced_input(part, x.output(0), -1, -1, 1, 0, 1)
    loop.set_merged_input(h, h0.output(0), last.output(0))
    order = (-1, -1, 1, 0, 1) if backwards else (0, 1, 1, -1, 1)
    y = loop.get_concatenated_slices(row.output(0), *order)
    ov.save_model(ov.Model([op.result(y)], [x, h0], "m"), tmp_path / "m.xml", compress_to_fp16=False)
    m = loopdbg.load(tmp_path / "m.xml")
    assert rules(m) == (set() if backwards else {"B34"})
    inputs = {port.name: random.standard_normal(port.shape).astype(np.float32) for port in m.inputs}
    result = compare_with_peer(m, inputs, openvino, ComparisonOptions(), lockstep=False)
    assert result.verdict is (Verdict.SAME if backwards else Verdict.DIFFER)
    if not backwards:
        assert "B34" in {reason.rule for comparison in result.comparisons for reason in comparison.reasons}


def test_float16_that_is_computed_as_float32(tmp_path: Path, openvino: Peer) -> None:
    m = saved(
        tmp_path,
        """g (float[1,64] x) => (float[1,64] y) <int64 n = {3}> {
          y = Loop (n, , x) <body = b (int64 i, bool c, float[1,64] h) => (bool c2, float[1,64] k) {
            c2 = Identity (c)
            half = Cast <to = 10> (h)
            third = Constant <value = float {0.3333}> ()
            narrow = Cast <to = 10> (third)
            part = Mul (half, narrow)
            s = Sin (part)
            k = Cast <to = 1> (s)
          }>
        }""",
    )
    x = np.linspace(-3, 3, 64, dtype=np.float32).reshape(1, 64)
    result = compare_with_peer(m, {"x": x}, openvino, ComparisonOptions())
    assert result.verdict is Verdict.SAME
    assert any("computes float16 as float32 (B42)" in note for note in result.comparisons[0].notes)


def test_configuration_is_reported_and_settable(openvino: Peer) -> None:
    m = loopdbg.load(Path(__file__).parents[2] / "sample_models" / "newton_sqrt.onnx")
    inputs = {"a": np.float32(2), "tol": np.float32(1e-6)}
    assert (
        compare_with_peer(m, inputs, openvino, ComparisonOptions()).configuration["INFERENCE_PRECISION_HINT"] == "f32"
    )
    with Peer("openvino", options={"INFERENCE_NUM_THREADS": "2"}) as peer:
        assert compare_with_peer(m, inputs, peer, ComparisonOptions()).configuration["INFERENCE_NUM_THREADS"] == "2"
    with Peer("onnxruntime", options={"graph_optimization_level": "ORT_DISABLE_ALL", "session.x": "1"}) as peer:
        assert compare_with_peer(m, inputs, peer, ComparisonOptions()).same
    for name, options in (
        ("openvino", {"NO_SUCH": "1"}),
        ("onnxruntime", {"no_such": "1"}),
        ("onnxruntime", {"graph_optimization_level": "NO"}),
    ):
        with (
            Peer(name, options=options) as peer,
            pytest.raises(loopdbg.UsageError, match=r"no property|have no|cannot be"),
        ):
            compare_with_peer(m, inputs, peer, ComparisonOptions())


def blamed(a: Any, b: Any, theirs: Any) -> NodeDifference:
    difference = Difference("node", "y", "y", NO_DIFFERENCE, right=theirs)
    return NodeDifference("mi", "y", "MatMulInteger", [("a", a), ("b", b)], difference)


def test_sums_of_bytes_that_saturate() -> None:
    a = np.array([[255, 255, 255, 1, 7]], np.uint8)
    b = np.array([[127, -128, 64], [127, -128, 64], [3, 4, 5], [6, 7, 8], [9, 10, 11]], np.int8)
    sums = np.int32([[32767 + 3 * 255 + 6 + 63, -32768 + 4 * 255 + 7 + 70, 64 * 510 + 5 * 255 + 8 + 77]])
    (reason,) = saturation_reasons(blamed(a, b, sums))
    assert reason.rule == "B33" and "16 bits" in reason.text
    # Numbers that the rule does not give, the exact ones for example, are not explained by it.
    assert not saturation_reasons(blamed(a, b, a.astype(np.int32) @ b.astype(np.int32)))
    assert not saturation_reasons(blamed(a, b.astype(np.uint8), sums)) and not saturation_reasons(None)


BYTES = """bytes (uint8[3, 9] a, uint8 zero) => (int32[3, 4] y) <%s> { y = MatMulInteger(a, b, zero) }"""


@pytest.mark.parametrize("exact", [False, True])
def test_sums_of_bytes_of_this_processor(exact: bool) -> None:
    random = np.random.default_rng(3)
    weights = ", ".join(map(str, random.choice((-128, 126, 127), 36)))
    model = loopdbg.load(proto(BYTES % f"int8[9, 4] b = {{{weights}}}"))
    inputs = {"a": random.integers(200, 256, (3, 9)).astype(np.uint8), "zero": np.array(17, np.uint8)}
    with Peer("onnxruntime", options={} if exact else {EXACT_SUMS_OPTION: "0"}) as peer:
        result = compare_with_peer(model, inputs, peer, ComparisonOptions(Tolerance(0.0, 0.0)))
    (free,) = (item for item in result.comparisons if item.mode == "free")
    if exact:
        assert result.same
        with Peer("onnxruntime", options={EXACT_SUMS_OPTION: "0"}) as peer:
            theirs = peer.open(model_job(ModelSide(model, inputs))).run(inputs)[0]
        assert bool(result.usual_precision) is not np.array_equal(model.run(inputs)["y"], theirs)
    elif not result.same:  # not on processors with VNNI
        assert "B33" in [reason.rule for reason in free.reasons]
        assert free.demonstration is not None and "bit for bit" in free.demonstration.text
        followed = as_runtime(model, "onnxruntime").model.run(inputs)["y"]
        np.testing.assert_array_equal(followed, free.outputs[0].right)


EXTREME_LOOP = """extremes (int64 M, float[3, %(size)d] x) => (%(type)s y)
<bool yes = {1}, int64[1] axis = {1}, int64[1] one = {1}, %(type)s none = {0, 0, 0}>
{
  y = Loop (M, yes, none) <body: graph = b (int64 i, bool c, %(type)s w) => (bool again, %(type)s w_next) {
    %(node)s
    w_next = Max (w, m)
    again = Identity (c)
  }>
}"""
EXTREMES = {
    "ReduceMax": ("float[3, 1]", "m = ReduceMax (x, axis)"),
    "ReduceMin": ("float[3, 1]", "m = ReduceMin (x, axis)"),
    "ArgMax": ("int64[3, 1]", "m = ArgMax <axis = 1> (x)"),
    "ArgMin": ("int64[3, 1]", "m = ArgMin <axis = 1> (x)"),
    "TopK": ("int64[3, 1]", "most, m = TopK <axis = 1> (x, one)"),
}
NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("op_type", "row", "differing"),
    [
        ("ReduceMax", [1, NAN, 3, 2], {"onnxruntime": "B94", "openvino": "B94"}),
        ("ReduceMin", [1, NAN, 3, 2], {"onnxruntime": "B94", "openvino": "B94"}),
        ("ArgMax", [1, 3, 2, NAN], {"onnxruntime": "B94", "openvino": "B94"}),
        ("ArgMin", [3, NAN, 1, 2], {"onnxruntime": "B94", "openvino": "B94"}),
        ("TopK", [1, 3, 2, NAN], {"openvino": "B94"}),
        ("TopK", [0, 2, 2, 2, 2, 0, 1, 1, 2], {"openvino": "B95"}),
        ("ArgMax", [0, 2, 2, 2, 2, 0, 1, 1, 2], {}),
        ("ReduceMax", [-INFINITY] * 4, {"openvino": "B96"}),
        ("ReduceMin", [INFINITY] * 4, {"openvino": "B96"}),
        ("ArgMax", [-INFINITY] * 9, {}),
    ],
)
def test_extremes(openvino: Peer, op_type: str, row: list[float], differing: dict[str, str]) -> None:
    kind, node = EXTREMES[op_type]
    text = EXTREME_LOOP % {"size": len(row), "type": kind, "node": node}
    if kind.startswith("float"):
        text = text.replace("Max (w, m)", "Identity (m)")
    inputs = {"M": np.int64(2), "x": np.tile(np.array(row, np.float32), (3, 1))}
    model = loopdbg.load(proto(text))
    with Peer("onnxruntime") as onnxruntime:
        for peer in (onnxruntime, openvino):
            result = compare_with_peer(model, inputs, peer, ComparisonOptions())
            labels = {reason.rule for comparison in result.comparisons for reason in comparison.reasons}
            if differing.get(peer.name) == "B95" and result.same:
                continue  # on some processors OpenVINO takes the first of equal elements
            assert result.same is (peer.name not in differing)
            assert labels == ({differing[peer.name]} if peer.name in differing else set())
            assert set(try_model(model, inputs, peer).rules) == labels


def test_extremes_that_no_rule_gives() -> None:
    x = np.array([[0, 2, 2, 1]], np.float32)

    def rule_of(op_type: str, ours: Any, theirs: Any) -> list[str]:
        difference = Difference("node", "y", "y", NO_DIFFERENCE, left=np.array(ours), right=np.array(theirs))
        return [r.rule for r in extreme_value_reasons(NodeDifference("n", "y", op_type, [("x", x)], difference))]

    assert rule_of("TopK", [[1]], [[2]]) == ["B95"] and rule_of("TopK", [[1]], [[0]]) == []
    assert rule_of("ReduceMax", [2.0], [1.0]) == [] and rule_of("Add", [2.0], [1.0]) == []
    assert extreme_value_reasons(None) == []
