"""Of a model in floats against the same in 8 bits, innocent readers were blamed, every weight was listed, and nothing
reported where a quantised value is cut off. Checked against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from diff_checks import blamed_cause, compare_models, report_text, static_differences
from loopdbg.debugger.compare.report.findings import Comparison, Verdict
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.debugger.compare.running.value_comparison import Tolerance
from loopdbg.tui.cli.comparison.json_report import comparison_json
from text_models import model

WEIGHT = np.float32([[0.5, -0.25, 0.125], [0.75, 0.3, -0.6], [-0.1, 0.9, 0.4]])
STEP = np.float32(np.abs(WEIGHT).max() / 127)
X = np.float32([[0.5, -1, 2], [1.5, 0.25, -0.75]])

BODY = """g (float[2,3] x) => (float[2,3] y) <int64 n = {TRIPS}, bool go = {1}> {
  CONSTANTS
  y = Loop (n, go, x) <body = b (int64 i, bool c, float[2,3] h) => (bool c2, float[2,3] h_next) {
    c2 = Identity (c)
    PRODUCT
    h_next = Add (biased, h)
  }>
}"""
FLOATS = """w = Constant <value = float[3,3] {0.5, -0.25, 0.125, 0.75, 0.3, -0.6, -0.1, 0.9, 0.4}> ()
  bias = Constant <value = float[3] {0.1, 0.2, 0.3}> ()"""
BYTES = f"""w8 = Constant <value = int8[3,3] {{{", ".join(map(str, np.rint(WEIGHT / STEP).astype(int).ravel()))}}}> ()
  w_zero = Constant <value = int8 {{0}}> ()
  w_scale = Constant <value = float {{SCALE}}> ()
  bias = Constant <value = float[3] {{0.1, 0.2, 0.3}}> ()"""
ONE_GEMM = "biased = Gemm (h, w, bias)"
SUM = "m = MatMul (h, w)\n    biased = Add (m, bias)"
DYNAMIC = """h8, h_scale, h_zero = DynamicQuantizeLinear (h)
    m32 = MatMulInteger (h8, w8, h_zero, w_zero)
    m_float = Cast <to = 1> (m32)
    scales = Mul (h_scale, w_scale)
    product = Mul (m_float, scales)
    biased = Add (product, bias)"""
#: What comes in is quantised and given back at once; ZERO and KIND are those of its bytes.
GIVEN_BACK = """h8 = QuantizeLinear (h, q_scale, q_zero)
    back = DequantizeLinear (h8, q_scale, q_zero)
    biased = Gemm (back, w, bias)"""


def compare_quantized(constants: str, product: str, trips: int = 3, scale: float = float(STEP), extra: str = "") -> str:
    text = BODY.replace("CONSTANTS", f"{constants}\n  {extra}").replace("PRODUCT", product)
    return text.replace("TRIPS", str(trips)).replace("SCALE", f"{scale:.9g}")


def compare_within(left: str, right: str, rtol: float) -> Comparison:
    """A comparison with a tolerance that was asked for."""
    sides = [ModelSide(model(text), {"x": X}, None, label) for text, label in ((left, "left"), (right, "right"))]
    return compare_sides(*sides, ComparisonOptions(Tolerance(rtol, rtol)))


@pytest.mark.parametrize("floats", [ONE_GEMM, SUM])
def test_a_product_in_8_bits_is_the_same_within_their_precision(floats: str) -> None:
    result = compare_models(compare_quantized(FLOATS, floats), compare_quantized(BYTES, DYNAMIC), x=X)
    assert result.verdict is Verdict.SAME and not static_differences(result)
    assert "right computes in 8 bits: compared within 5%" in report_text(result)


@pytest.mark.parametrize(("floats", "name"), [(ONE_GEMM, "Gemm biased"), (SUM, "MatMul m")])
def test_the_product_is_named_where_less_is_allowed(floats: str, name: str) -> None:
    result = compare_within(compare_quantized(FLOATS, floats), compare_quantized(BYTES, DYNAMIC), 1e-6)
    assert result.first is not None and result.first.first is not None and result.first.first.iteration == 0
    assert blamed_cause(result) == name and not static_differences(result)
    node = result.first.node
    assert node is not None and node.other_op_type == "MatMulInteger"
    # What ONNX says of DynamicQuantizeLinear, in NumPy.
    low, high = min(X.min(), 0), max(X.max(), 0)
    step = np.float32((high - low) / 255)
    zero = np.rint(-low / step)
    bytes_ = np.clip(np.rint(X / step) + zero, 0, 255)
    product = (bytes_ - zero) @ np.rint(WEIGHT / STEP) * (step * STEP)
    # A MatMul has a result without the bias, a Gemm has not.
    bias = np.float32([0, 0, 0] if floats == SUM else [0.1, 0.2, 0.3])
    np.testing.assert_allclose(node.difference.right, product + bias, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(node.difference.left, X @ WEIGHT + bias, rtol=1e-5, atol=1e-6)


def test_a_wrong_scale_is_found() -> None:
    result = compare_models(
        compare_quantized(FLOATS, ONE_GEMM), compare_quantized(BYTES, DYNAMIC, scale=2 * float(STEP)), x=X
    )
    assert result.verdict is Verdict.DIFFER and blamed_cause(result) == "Gemm biased"


@pytest.mark.parametrize(("kind", "zero", "bounds"), [("uint8", 100, (0, 255)), ("int8", -10, (-128, 127))])
def test_the_first_value_that_is_cut_off_is_named(kind: str, zero: int, bounds: tuple[int, int]) -> None:
    scale = np.float32(0.05)
    extra = f"q_scale = Constant <value = float {{0.05}}> ()\n  q_zero = Constant <value = {kind} {{{zero}}}> ()"
    result = compare_models(
        compare_quantized(FLOATS, ONE_GEMM, 6), compare_quantized(FLOATS, GIVEN_BACK, 6, extra=extra), x=X
    )
    h, first, least = X.copy(), None, np.inf
    low, high = ((bound - zero) * float(scale) for bound in bounds)
    for k in range(6):
        places = np.rint(h / scale) + zero
        beyond = int(np.count_nonzero((places < bounds[0]) | (places > bounds[1])))
        first = (k, beyond) if first is None and beyond else first
        least = min(least, float(1 / np.where(h < 0, h / low, h / high).max()))
        back = ((np.clip(places, *bounds) - zero) * scale).astype(np.float32)
        h = back @ WEIGHT + np.float32([0.1, 0.2, 0.3]) + h
    assert first is not None and first[0] > 0
    (seen,) = result.loops[0].saturations
    assert seen.first_saturated is not None and (seen.first_saturated.iteration, seen.first_saturated.count) == first
    assert seen.headroom == pytest.approx(least, rel=1e-4)
    assert f"first saturated in right: iteration {first[0]}, QuantizeLinear" in report_text(result)
    assert result.first is not None and result.first.first is not None
    assert result.first.node is not None and result.first.node.op_type == "QuantizeLinear"


SLICED = """g (float[4,2] x) => (float[2] y) {
  zero = Constant <value = float[2] {0, 0}> ()
  CONSTANTS
  y = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] part) => (float[2] s_next) {
    BODY
    s_next = Add (s, t)
  }> (zero, x)
}"""


def test_a_part_that_is_cut_off_is_seen_in_its_iteration() -> None:
    constants = "q_scale = Constant <value = float {0.1}> ()\n  q_zero = Constant <value = int8 {0}> ()"
    bytes_ = "p8 = QuantizeLinear (part, q_scale, q_zero)\n    t = DequantizeLinear (p8, q_scale, q_zero)"
    left = SLICED.replace("CONSTANTS", "").replace("BODY", "t = Identity (part)")
    right = SLICED.replace("CONSTANTS", constants).replace("BODY", bytes_)
    result = compare_models(left, right, x=np.float32([[1, 2], [-12.8, 12.7], [20, -20], [0, 0]]))
    (seen,) = result.loops[0].saturations
    assert seen.first_saturated is not None and (seen.first_saturated.iteration, seen.first_saturated.count) == (2, 2)
    assert (seen.iteration, seen.largest) == (2, 20) and blamed_cause(result) == "QuantizeLinear t"
    result = compare_models(left, right, x=np.float32([[1, 2], [-12.8, 12.7], [2, -2], [0, 0]]))
    (seen,) = result.loops[0].saturations
    assert seen.first_saturated is None and seen.iteration == 1 and seen.headroom == pytest.approx(1)
    assert result.verdict is Verdict.SAME


OUTSIDE = """g (float[4] x) => (float[4] y) { CONSTANTS  BODY  y = Neg (t) }"""


def test_what_the_main_graph_cuts_off_is_seen() -> None:
    constants = "q_scale = Constant <value = float {0.1}> ()  q_zero = Constant <value = int8 {0}> ()"
    bytes_ = "p8 = QuantizeLinear (x, q_scale, q_zero)  t = DequantizeLinear (p8, q_scale, q_zero)"
    left = OUTSIDE.replace("CONSTANTS", "").replace("BODY", "t = Identity (x)")
    right = OUTSIDE.replace("CONSTANTS", constants).replace("BODY", bytes_)
    result = compare_models(left, right, x=np.float32([1, 13, -2, 25.4]))
    (seen,) = result.saturations
    assert seen.first_saturated is not None and (
        seen.first_saturated.name,
        seen.first_saturated.iteration,
        seen.first_saturated.count,
    ) == ("p8", None, 2)
    assert seen.headroom == pytest.approx(0.5) and (seen.iteration, seen.largest) == (None, np.float32(25.4))
    assert f"first saturated in right: main graph, QuantizeLinear '{seen.node}', 2 of 4 elements" in report_text(result)
    assert comparison_json(result)["comparisons"][0]["quantised"][0]["first_saturated"]["count"] == 2
    (seen,) = compare_models(left, right, x=np.float32([1, 2, -12.8, 12.7])).saturations
    assert seen.first_saturated is None and seen.headroom == pytest.approx(1)


@pytest.mark.parametrize("looped", [False, True])
def test_a_fake_quantize_that_cuts_off_is_seen(tmp_path: Path, looped: bool) -> None:
    sides = [
        ModelSide(
            _ir(tmp_path / f"{label}.xml", label == "right", looped), {"x": np.float32([[1, 3], [0, -1]])}, None, label
        )
        for label in ("left", "right")
    ]
    result = compare_sides(*sides, ComparisonOptions())
    (seen,) = result.loops[0].saturations if looped else result.saturations
    assert (seen.op_type, seen.low, seen.high, seen.dtype) == ("FakeQuantize", -2, 2, "256 levels")
    assert seen.first_saturated is not None and (seen.first_saturated.count, seen.first_saturated.size) == (
        (1, 2) if looped else (1, 4)
    )
    assert seen.first_saturated.iteration == (0 if looped else None) and seen.headroom == pytest.approx(2 / 3)
    assert "first saturated in right" in report_text(result)


def _ir(path: Path, quantised: bool, looped: bool) -> loopdbg.Model:
    """Twice an input, or each of its rows in a TensorIterator, in floats or through a FakeQuantize."""
    ov = pytest.importorskip("openvino")
    op = ov.opset13
    x = op.parameter([2, 2], np.float32, name="x")
    part = op.parameter([1, 2], np.float32, name="part") if looped else x
    ends = [np.float32(-2), np.float32(2)] * 2
    same = op.fake_quantize(part, *ends, 256) if quantised else op.relu(op.negative(part))
    twice = op.add(same, same)
    result = op.result(twice)
    if looped:
        loop = op.tensor_iterator()
        loop.set_function(ov.Model([result], [part], "body"))
        loop.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 0)
        result = op.result(loop.get_concatenated_slices(result.output(0), 0, 1, 1, -1, 0))
    ov.save_model(ov.Model([result], [x]), path, compress_to_fp16=False)
    return loopdbg.load(path)


TWICE = """p8 = QuantizeLinear (part, q_scale, q_zero)
    p = DequantizeLinear (p8, q_scale, q_zero)
    p_twice = Add (p, p)
    t8 = QuantizeLinear (p_twice, q_scale, q_zero)
    t = DequantizeLinear (t8, q_scale, q_zero)"""


def test_of_two_that_are_cut_off_in_one_iteration_the_first_is_named() -> None:
    constants = "q_scale = Constant <value = float {0.1}> ()\n  q_zero = Constant <value = int8 {0}> ()"
    left = SLICED.replace("CONSTANTS", "").replace("BODY", "t = Add (part, part)")
    right = SLICED.replace("CONSTANTS", constants).replace("BODY", TWICE)
    result = compare_models(left, right, x=np.float32([[1, 2], [13, 1], [0, 0], [0, 0]]))
    item, other = result.loops[0].saturations
    assert item.first_saturated is not None and (item.first_saturated.name, item.first_saturated.iteration) == ("p8", 1)
    assert other.first_saturated is not None and (other.first_saturated.name, other.first_saturated.iteration) == (
        "t8",
        1,
    )
    assert other.headroom < item.headroom and f"iteration 1, QuantizeLinear '{item.node}'" in report_text(result)


#: Thirds of a product, whose bounds are computed; FIRST is the end of the first of them.
THIRDS = """g (float[2,width] x) => (float[2,1] y) <int64 n = {2}, bool go = {1}> {
  CONSTANTS
  PRODUCT
  none = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()
  two = Constant <value = int64[1] {2}> ()
  three = Constant <value = int64[1] {3}> ()
  width_of = Shape <start = 1> (x)
  third = Div (width_of, three)
  one_third = Mul (third, one)
  two_thirds = Mul (third, two)
  whole = Mul (third, three)
  s_1 = Slice (biased, none, FIRST, one)
  s_2 = Slice (biased, FIRST, two_thirds, one)
  s_3 = Slice (biased, two_thirds, whole, one)
  gate = Sigmoid (s_2)
  other = Tanh (s_3)
  y = Loop (n, go, s_1) <body = b (int64 i, bool c, float[2,1] h) => (bool c2, float[2,1] h_next) {
    c2 = Identity (c)
    gated = Mul (h, gate)
    h_next = Sub (gated, other)
  }>
}"""


def test_what_reads_no_weight_is_paired_by_what_it_does() -> None:
    """An optimiser leaves out the multiplication by 1: the other two thirds are what they were."""
    left = THIRDS.replace("CONSTANTS", FLOATS).replace("PRODUCT", SUM).replace("FIRST", "one_third")
    right = THIRDS.replace("CONSTANTS", BYTES).replace("PRODUCT", DYNAMIC).replace("FIRST", "third")
    left, right = (text.replace("(h, w)", "(x, w)").replace("(h)", "(x)") for text in (left, right))
    right = right.replace("SCALE", f"{float(STEP):.9g}")
    result = compare_models(left, right, x=X)
    assert result.verdict is Verdict.SAME
    assert {name for _, name in static_differences(result)} <= {"s_1", "s_2"}
    assert blamed_cause(compare_within(left, right, 1e-6)) == "MatMul m"


CONVERTED = """g (float[2] x) => (float[2] y) <int64 n = {2}, bool go = {1}> {
  x1 = CONVERSION (x)
  yh = Loop (n, go, x1) <body = b (int64 i, bool c, KIND[2] h) => (bool c2, KIND[2] h_next) {
    c2 = Identity (c)
    h_next = Neg (h)
  }>
  y = Cast <to = 1> (yh)
}"""


def test_a_conversion_that_does_not_hold_its_value_is_named() -> None:
    left = CONVERTED.replace("CONVERSION", "Identity").replace("KIND", "float")
    right = CONVERTED.replace("CONVERSION", "Cast <to = 10>").replace("KIND", "float16")
    result = compare_models(left, right, x=np.float32([1, 70000]))
    assert float(np.finfo(np.float16).max) < 70000
    assert result.first is not None and result.first.first is not None and result.first.first.iteration is None
    assert blamed_cause(result) == "Cast x1"


def test_bytes_that_are_no_product_change_no_tolerance() -> None:
    """A Cast to bytes alone does not make a model one in 8 bits."""
    plain = CONVERTED.replace("KIND", "float")
    left = plain.replace("CONVERSION", "Identity")
    right = plain.replace("x1 = CONVERSION (x)", "x0 = Cast <to = 2> (x)\n  x1 = Cast <to = 1> (x0)")
    result = compare_models(left, right, x=np.float32([100, 200.5]))
    assert result.verdict is Verdict.DIFFER and "computes in 8 bits" not in report_text(result)
