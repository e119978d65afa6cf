"""The edit script of two models: one edit of each kind, equivalent spellings, and what applying the edits gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from cli_runner import save_text_model
from equivalent_models import TRANSFORMATIONS, compare_pair
from ir_builder import IrNetBuilder
from loopdbg.debugger.compare.alignment.apply_edits import apply_edits
from loopdbg.debugger.compare.alignment.edit_script import edit_script
from loopdbg.debugger.compare.edits import EditKind
from loopdbg.debugger.compare.normal_form.lowering import lower
from strategies.draws import SeededChoices
from text_models import model, proto

F32 = np.float32
#: A loop with two carried values, a scan output, and nodes before and after it.
BASE = """g (float[2] x, float[2] z, int64 n) => (float[2] y, float[2] w, float[k, 2] us)
<bool go = {1}, float two = {2}, float[2] bias = {1, -1}, int64 three = {3}> {
  start = Mul (x, two)
  a, b, us = Loop (n, go, start, z) <body = step (int64 i, bool c, float[2] h, float[2] g)
      => (bool c2, float[2] h2, float[2] g2, float[2] u) {
    c2 = Less (i, three)
    s = Add (h, bias)
    h2 = Tanh (s)
    e = Exp (g)
    g2 = Softmax <axis = 0> (e)
    u = Sub (h2, g2)
  }>
  y = Neg (a)
  w = Abs (b)
}"""
FEEDS: dict[str, Any] = {"x": F32([0.5, -1]), "z": F32([0.25, 2]), "n": np.int64(4)}
#: What is replaced in BASE, by what -> the kinds and the names of the edits.
EDITS: list[tuple[str, str, str, list[tuple[str, str]]]] = [
    ("operator", "h2 = Tanh (s)", "h2 = Sigmoid (s)", [("operator", "h2")]),
    ("attribute", "g2 = Softmax <axis = 0> (e)", "g2 = CumSum <reverse = 1> (e, zero)", [("operator", "g2")]),
    ("operand", "u = Sub (h2, g2)", "u = Sub (h2, e)", [("operand", "u")]),
    ("constant", "bias = {1, -1}", "bias = {1, -2}", [("constant", "bias")]),
    ("node added", "h2 = Tanh (s)", "t = Neg (s)\n h2 = Tanh (t)", [("node added", "t")]),
    ("node omitted", "e = Exp (g)\n    g2 = Softmax <axis = 0> (e)", "g2 = Softmax <axis = 0> (g)",
     [("node omitted", "e")]),
    ("back edge", "=> (bool c2, float[2] h2, float[2] g2,", "=> (bool c2, float[2] s, float[2] g2,",
     [("back edge", "h")]),
    ("initial value", "Loop (n, go, start, z)", "Loop (n, go, x, z)", [("initial value", "h")]),
    ("other initial value", "Loop (n, go, start, z)", "Loop (n, go, z, z)", [("initial value", "h")]),
    ("condition", "c2 = Less (i, three)", "c2 = Identity (c)", [("condition", "c2")]),
    ("trip count", "Loop (n, go, start, z)", "Loop (three, go, start, z)", [("trip count", "Loop_1")]),
    ("scan output", "g2, float[2] u) {", "g2, float[2] s) {", [("scan output", "us")]),
    ("output order", "float[2] y, float[2] w, ", "float[2] w, float[2] y, ",
     [("output order", "y"), ("output order", "w")]),
    (
        "two at once",
        "s = Add (h, bias)\n    h2 = Tanh (s)",
        "s = Mul (h, bias)\n    h2 = Sigmoid (s)",
        [("operator", "s"), ("operator", "h2")],
    ),
]  # fmt: skip


def changed(old: str, new: str) -> str:
    assert old in BASE
    return BASE.replace(old, new).replace("int64 three", "int64 zero = {0}, int64 three")


@pytest.mark.parametrize(("old", "new", "edits"), [item[1:] for item in EDITS], ids=[item[0] for item in EDITS])
def test_each_edit_is_named_and_gives_the_other_model(old: str, new: str, edits: list[tuple[str, str]]) -> None:
    left, right = model(changed("s = Add", "s = Add")), model(changed(old, new))
    script = edit_script(left, right)
    assert [(edit.kind.value, edit.left_name or edit.right_name) for edit in script.edits] == edits
    assert all(edit.left_text != edit.right_text for edit in script.edits)
    applied = loopdbg.Model(apply_edits(left.graph, right.graph, script, script.edits))
    same_values(applied, right)
    same_values(loopdbg.Model(apply_edits(left.graph, right.graph, script, ())), left)


def same_values(model: loopdbg.Model, other: loopdbg.Model, feeds: dict[str, Any] = FEEDS) -> None:
    outputs = [list((item.execute(feeds).outputs or {}).values()) for item in (model, other)]
    assert outputs[0] and len(outputs[0]) == len(outputs[1])
    for a, b in zip(*outputs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_of_two_edits_is_applied() -> None:
    right = model(BASE.replace("h2 = Tanh (s)", "h2 = Sigmoid (s)").replace("g2 = Softmax <axis = 0>", "g2 = Neg"))
    left = model(BASE)
    script = edit_script(left, right)
    first = next(edit for edit in script.edits if edit.left_name == "h2")
    applied = loopdbg.Model(apply_edits(left.graph, right.graph, script, [first]))
    same_values(applied, model(BASE.replace("h2 = Tanh (s)", "h2 = Sigmoid (s)")))


@pytest.mark.parametrize(("old", "new"), [item[1:3] for item in EDITS[:6]], ids=[item[0] for item in EDITS[:6]])
def test_edits_of_a_converted_model_are_applied_with_its_operators(old: str, new: str, tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    save_text_model(tmp_path, changed(old, new), "right.onnx", opset=21)
    converted = openvino.Core().read_model(tmp_path / "right.onnx")
    openvino.save_model(converted, tmp_path / "right.xml", compress_to_fp16=False)
    left, right = model(changed("s = Add", "s = Add")), loopdbg.load(tmp_path / "right.xml")
    script = edit_script(left, right)
    same_values(loopdbg.Model(apply_edits(left.graph, right.graph, script, script.edits)), right)


def test_values_that_differ_are_aligned_and_the_others_matched() -> None:
    left, right = model(BASE), model(BASE.replace("h2 = Tanh (s)", "h2 = Sigmoid (s)"))
    script = edit_script(left, right)
    matched = {(a.name, b.name) for a, b in script.matched.items()}
    aligned = {(a.name, b.name) for a, b in script.aligned.items()}
    assert {("start", "start"), ("g", "g"), ("e", "e"), ("g2", "g2")} <= matched
    assert {("h", "h"), ("s", "s"), ("h2", "h2"), ("u", "u"), ("y", "y")} <= aligned


BRANCHES = """g (bool p, float[2] x) => (float[2] y) {
  y = If (p) <then_branch = t () => (float[2] u) { u = %s (x) }, else_branch = e () => (float[2] v) { v = %s (x) }>
}"""


def test_branches_that_changed_places() -> None:
    script = edit_script(model(BRANCHES % ("Tanh", "Relu")), model(BRANCHES % ("Relu", "Tanh")))
    assert [edit.kind for edit in script.edits] == [EditKind.BRANCHES]


CAST = "g (float[2] x) => (float[2] y) { a = Cast <to = %d> (x)  b = Exp (a)  y = Cast <to = 1> (b) }"


def test_a_conversion_to_another_dtype() -> None:
    script = edit_script(model(CAST % 11), model(CAST % 6))
    assert [(edit.kind, edit.left_name, edit.detail) for edit in script.edits] == [(EditKind.DTYPE, "a", "to")]


def test_a_changed_constant_says_how() -> None:
    text = "g (float[2,2] x) => (float[2,2] y) <float[2,2] W = {%s}> { y = MatMul (x, W) }"
    (edit,) = edit_script(model(text % "1, 2, 3, 4"), model(text % "1, 3, 2, 4")).edits
    assert (edit.kind, edit.detail) == (EditKind.CONSTANT, "the same, transposed")
    assert edit.left_data is not None and edit.right_data is not None


STEP = """g (float[2,4] x) => (float[2,4] y) <int64 n = {3}, bool go = {1},
float[4,4] W = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7}, float[4,4] T = {1,5,9,4,2,6,1,5,3,7,2,6,4,8,3,7},
float[4] b = {1,2,3,4}, float unit = {1}, float minus_zero = {-0.0}, int64[2] keep = {0,-1}, int64[2] fixed = {2,4},
int64[2] sizes = {2,2}, int64[1] first = {0}, int64[1] middle = {2}, int64[1] one = {1}> {
  y = Loop (n, go, x) <body = step (int64 i, bool c, float[2,4] h) => (bool c2, float[2,4] h2) {
    c2 = Identity (c)
    %s
  }>
}"""
SPELLINGS = [
    ("m = MatMul (h, W)  h2 = Add (m, b)", "h2 = Gemm (h, W, b)", "gemm"),
    ("m = MatMul (h, W)  h2 = Add (m, b)", "h2 = Gemm <transB = 1> (h, T, b)", "gemm"),
    ("h2 = Softmax <axis = -1> (h)", "h2 = Softmax <axis = 1> (h)", "axes from the front"),
    ("h2 = Tanh (h)", "m = Cast <to = 1> (h)  h2 = Tanh (m)", "cast to the same dtype"),
    ("h2 = Tanh (h)", "m = Identity (h)  h2 = Tanh (m)", "identity"),
    ("m = Reshape (h, keep)  h2 = Tanh (m)", "m = Reshape (h, fixed)  h2 = Tanh (m)", ""),
    ("p, q = Split <axis = 1, num_outputs = 2> (h)  h2 = Concat <axis = 1> (q, p)",
     "p, q = Split <axis = -1> (h, sizes)  h2 = Concat <axis = -1> (q, p)", "axes from the front"),
    ("p, q = Split <axis = 1, num_outputs = 2> (h)  e = Exp (p)  h2 = Concat <axis = 1> (q, e)",
     "p = Slice (h, first, middle, one)  q, r = Split <axis = 1, num_outputs = 2> (h)  e = Exp (p)"
     "  h2 = Concat <axis = 1> (r, e)", "slice"),
    ("h2 = Add (h, b)", "h2 = Sum (b, h)", "sum"),
    ("m = Mul (unit, h)  h2 = Tanh (m)", "h2 = Tanh (h)", "neutral operand"),
    ("m = Add (h, minus_zero)  e = Div (m, unit)  h2 = Tanh (e)", "h2 = Tanh (h)", "neutral operand"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "rule"), SPELLINGS)
def test_equivalent_spellings_are_no_edits(left: str, right: str, rule: str) -> None:
    models = model(STEP % left), model(STEP % right)
    assert not edit_script(*models).edits
    assert not rule or rule in {name for item in models for name, _ in lower(item.graph).rewritten}


@pytest.mark.parametrize("node", ["Add (h, zero)", "Div (unit, h)", "Mul (h, wide)"])
def test_an_operand_that_is_not_neutral_stays(node: str) -> None:
    """Of -0.0 a sum with 0.0 is 0.0; a longer operand changes the shape."""
    text = STEP.replace("float unit", "float zero = {0}, float[1,1,4] wide = {1,1,1,1}, float unit")
    nodes = f"m = {node}  r = Reshape (m, fixed)  h2 = Tanh (r)", "r = Reshape (h, fixed)  h2 = Tanh (r)"
    left, right = (model(text % item) for item in nodes)
    assert [edit.kind for edit in edit_script(left, right).edits] == [EditKind.NODE_OMITTED]


def test_a_factor_of_one_that_changed_is_a_changed_constant() -> None:
    text = "g (float[2] x) => (float[2] y) <float c = {%s}> { a = Mul (x, c)  y = Tanh (a) }"
    for factors in (("1", "2"), ("2", "1")):
        left, right = (model(text % factor) for factor in factors)
        script = edit_script(left, right)
        assert [(edit.kind, edit.left_name) for edit in script.edits] == [(EditKind.CONSTANT, "c")]
        same_values(
            loopdbg.Model(apply_edits(left.graph, right.graph, script, script.edits)), right, {"x": F32([3, 4])}
        )


def test_carried_values_are_paired_at_the_lowest_total_cost() -> None:
    """The best single pair, of two values that are handed on twice, leaves two that have nothing in common."""
    text = """g (float[2] x, float[2] z, float[2] w, int64 n) => (float[2] a, float[2] b, float[2] c) <bool go = {1}> {
      a, b, c = Loop (n, go, x, z, w) <body = step (int64 i, bool k, float[2] p, float[2] q, float[2] r)
          => (bool k2, float[2] p2, float[2] q2, float[2] r2) {
        k2 = Identity (k)  p2 = Neg (p)  q2 = Identity (%s)  r2 = Identity (q)
      }>
    }"""
    left, right = model(text % "p2"), model(text % "p")
    script = edit_script(left, right)
    assert [(edit.kind, edit.left_name) for edit in script.edits] == [(EditKind.BACK_EDGE, "q")]


def test_the_only_element_of_an_axis_is_all_of_it() -> None:
    text = "g (float[1,4] x) => (float[4] y) <int64[1] one = {0}, int64 scalar = {0}> { %s }"
    spelled = "r = Gather (x, scalar)  y = Tanh (r)", "r = Gather (x, one)  s = Squeeze (r, one)  y = Tanh (s)"
    left, right = (model(text % nodes) for nodes in spelled)
    assert not edit_script(left, right).edits


def test_operators_that_give_the_same_number_by_coincidence_do_not_correspond() -> None:
    text = "g (float[1,1] x) => (float[1,1] y) <float[1,1] w = {-1}, float c = {16}> { %s }"
    left = model(text % "t = Mod <fmod = 1> (w, c)  u = MatMul (t, w)  y = Add (x, u)")
    right = model(text % "a = Mod <fmod = 1> (w, c)  b = Abs (w)  d = MatMul (a, b)  y = Add (x, d)")
    (edit,) = edit_script(left, right).edits
    assert (edit.kind, edit.right_name) == (EditKind.NODE_ADDED, "b")


def test_a_part_that_holds_the_same_as_another_constant_is_the_part() -> None:
    text = """g (float x) => (float[m,2] y) <float[1,2] w = {1, 2}, int64[1] start = {%d}, int64[1] end = {4}> {
      t = Concat <axis = 0> (w, w)  s = Slice (t, start, end)  y = Mul (x, s)
    }"""
    (edit,) = edit_script(model(text % 0), model(text % -1)).edits
    assert (edit.kind, edit.left_name, edit.detail) == (EditKind.ATTRIBUTE, "s", "starts")


def test_an_index_of_which_openvino_gives_zero_is_a_changed_constant(tmp_path: Path) -> None:
    def gather(index: int) -> loopdbg.Model:
        net = IrNetBuilder()
        x, zero = net.parameter("1", name="x"), net.constant(np.int64(0), name="axis")
        taken = net.layer("Gather", [x, net.constant(np.int64(index), name="index"), zero], version="opset8", shape="")
        net.result(net.layer("Tanh", [taken], shape="", name="y"))
        (tmp_path / f"{index}").mkdir()
        return loopdbg.load(net.save(tmp_path / f"{index}"))

    (edit,) = edit_script(gather(0), gather(2)).edits
    assert (edit.kind, edit.left_name) == (EditKind.CONSTANT, "index")


def test_the_rank_of_a_scan_output_is_that_of_its_elements_and_one_more() -> None:
    text = """g (float x, int64 n) => (int64 k) <int64[1] one = {0}, int64 scalar = {0}> {
      y, us = Loop (n, , x) <body = step (int64 i, bool c, float h) => (bool c2, float h2, float u) {
        c2 = Identity (c)  h2 = Tanh (h)  u = Abs (h)
      }>
      s = Shape (us)
      k = %s
    }"""
    left, right = (model(text % node) for node in ("Gather (s, scalar)", "Squeeze (s, one)"))
    assert not edit_script(left, right).edits


#: Two spellings of a model, of which the second declares a type.
DECLARED = [
    ("float[n,2] x", "float[k,2] y", "t = Concat <axis = 0> (x, x)  y = Concat <axis = 0> (b, t)",
     "y = Concat <axis = -2> (b, x, x)", ""),
    ("float[1,2] x", "double[a,b] y", "t = Einsum <equation = \"ij->ij\"> (x)"
     "  u = Cast <to = 11> (t)  y = Identity (u)",
     "t = Einsum <equation = \"ij->ij\"> (x)  y = Cast <to = 11> (t)", ", float[1,2] t"),
    ("float[n,2] x", "float[k,2] y", "t = Concat <axis = 0> (x, b)  y = Slice (t, from, to)",
     "t = Concat <axis = 0> (x, b)  y = Slice (t, from, to)", ", float[3,2] t"),
]  # fmt: skip


@pytest.mark.parametrize(("x", "y", "left", "right", "declared"), DECLARED, ids=["nested", "dtype", "shape"])
def test_what_one_model_declares_or_computes_beforehand_is_no_edit(
    x: str, y: str, left: str, right: str, declared: str
) -> None:
    text = "g (%s) => (%s) <float[1,2] b = {1, 2}, int64[1] from = {0}, int64[1] to = {1}%s> { %s }"
    models = (model(text % (x, y, types, nodes)) for types, nodes in (("", left), (declared, right)))
    assert not edit_script(*models).edits


@pytest.mark.parametrize(("rows", "edits"), [(3, []), (4, [EditKind.OPERAND])])
def test_what_follows_from_a_shape_that_the_other_model_declares_is_no_edit(rows: int, edits: list[EditKind]) -> None:
    text = "g (float[%s,2] x, int64 z) => (float[k,2] t, int64 y) <int64 o = {0}%s> { t = Exp (x) %s y = Add (z, s) }"
    left = model(text % ("n", "", "d = Shape (t) s = Gather (d, o)"))
    right = model(text % ("3", f", int64 s = {{{rows}}}", ""))
    assert [edit.kind for edit in edit_script(left, right).edits] == edits


def test_a_carried_value_that_stays_corresponds_to_one_that_stays() -> None:
    """Here the name is all that tells which of two carried values the other model has left out."""
    text = """g (int64[1] x, int64 n) => (int64[1] y%s) <bool go = {1}, int64[1] one = {%s}, int64[1] two = {2}> {
      y%s = Loop (n, go, %s) <body = b (int64 i, bool c, %s) => (bool c2, %s) { c2 = Identity (c) %s }>
    }"""
    copies = "h2 = Identity (g)  g2 = Identity (g)"
    left = text % (", int64[1] z", "1", ", z", "two, one", "int64[1] h, int64[1] g", "int64[1] h2, int64[1] g2", copies)
    right = text % ("", "2", "", "one", "int64[1] g", "int64[1] g2", "g2 = Identity (g)")
    (edit,) = edit_script(model(left), model(right)).edits
    assert (edit.kind, edit.left_name) == (EditKind.CONSTANT, "one")


def test_nodes_that_one_model_lacks_between_two_values_are_one_edit() -> None:
    text = "g (float[2] x) => (float[2] y) { %s }"
    left, right = model(text % "a = Exp (x)  b = Neg (a)  y = Tanh (b)"), model(text % "y = Tanh (x)")
    for pair, kind in (((left, right), EditKind.NODE_OMITTED), ((right, left), EditKind.NODE_ADDED)):
        (edit,) = edit_script(*pair).edits
        assert (edit.kind, edit.left_name or edit.right_name, edit.detail) == (kind, "b", "b, a")


def test_an_operator_that_has_no_effect_on_one_side_differs_by_its_attribute() -> None:
    text = """g (float[4] x) => (float[n] y) <int64[1] from = {0}, int64[1] to = {%s}> {
      part = Slice (x, from, to)  y = Tanh (part)
    }"""
    for ends in (("-1", "9"), ("9", "-1")):
        left, right = (model(text % end) for end in ends)
        script = edit_script(left, right)
        (edit,) = script.edits
        assert (edit.kind, edit.left_name, edit.right_name) == (EditKind.ATTRIBUTE, "part", "part")
        changed = loopdbg.Model(apply_edits(left.graph, right.graph, script, [edit]))
        same_values(changed, right, {"x": F32([1, 2, 3, 4])})


PORTS = """g (float[4] x, float[4] w) => (float[a] y, float[b, c] us, float[d] u)
<int64[1] from = {0}, int64[1] to = {END}> {
  begin = SLICE0
  rows = SLICE1
  y, us = Scan <num_scan_inputs = 1, body = step (float[e] h, float row) => (float[f] h2, float[g] s) {
    k = Add (h, row)
    h2 = SLICE2
    s = SLICE3
  }> (begin, rows)
  v = Tanh (w)
  u = SLICE4
}"""
READ = ("x", "w", "k", "x", "v")


@pytest.mark.parametrize(("port", "name"), enumerate(("begin", "rows", "h2", "s", "u")))
def test_an_operator_without_effect_at_a_port_differs_by_its_attribute(port: int, name: str) -> None:
    text = PORTS
    for k, value in enumerate(READ):
        text = text.replace(f"SLICE{k}", f"{'Slice' if k == port else 'Neg'} ({value}{', from, to' * (k == port)})")
    left, right = (model(text.replace("END", end)) for end in ("9", "2"))
    script = edit_script(left, right)
    assert [(edit.kind, edit.left_name, edit.right_name) for edit in script.edits] == [(EditKind.ATTRIBUTE, name, name)]
    changed = loopdbg.Model(apply_edits(left.graph, right.graph, script, script.edits))
    same_values(changed, right, {"x": F32([1, 2, 3, 4]), "w": F32([4, 3, 2, 1])})


def test_a_slice_that_is_read_does_not_correspond_to_one_that_is_not() -> None:
    """Though the tensors of the two hold the same by coincidence."""
    text = """g () => (float[3] y) <float[3] s = {0, 0, 0}, float[3] a = {1, 2, 3}, float[3] b = {1, 5, 3}> {
      h, y = Scan <num_scan_inputs = %s, body = step (float g, %sfloat read) => (float g2, float s) {
        g2 = Identity (g)  s = Neg (read)
      }> (start, %s)
    }""".replace("float[3] s = {0, 0, 0}", "float start = {0}")
    left, right = model(text % (2, "float unread, ", "a, b")), model(text % (1, "", "a"))
    (edit,) = edit_script(left, right).edits
    assert (edit.kind, edit.left_name, edit.right_name) == (EditKind.SLICE, "read", "read")


def test_a_slice_corresponds_to_that_of_the_same_input_though_another_one_is_read() -> None:
    text = """g (float[3] x, float[3] w) => (float y, float[3] s) <float start = {0}> {
      y, s = Scan <num_scan_inputs = 2, body = step (float h, float p1, float p2) => (float h2, float t) {
        h2 = Identity (h)  t = Neg (%s)
      }> (start, x, w)
    }"""
    (edit,) = edit_script(model(text % "p1"), model(text % "p2")).edits
    assert (edit.kind, edit.left_name) == (EditKind.OPERAND, "t")


def test_slices_written_alike_correspond_though_another_one_is_read() -> None:
    """Of one tensor, in two directions: one operand is another one, not two slices."""
    text = """g () => (float y, float[3] s) <float start = {0}, float[3] w = {1, 2, 3}> {
      y, s = Scan <num_scan_inputs = 2, scan_input_directions = [0, 1],
          body = step (float h, float p1, float p2) => (float h2, float t) {
        h2 = Identity (h)  t = Neg (%s)
      }> (start, w, w)
    }"""
    (edit,) = edit_script(model(text % "p1"), model(text % "p2")).edits
    assert (edit.kind, edit.left_name) == (EditKind.OPERAND, "t")


def test_a_result_that_one_model_computes_twice_is_the_one_of_the_other() -> None:
    """The loops differ, so that nothing proves their results equal."""
    text = """g (float x, int64 n) => (float[k] y, float[k] z) <int64 m = {3}> {
      a, y0, z0 = Loop (%s, , x) <body = step (int64 i, bool c, float h) => (bool c2, float h2, float s, float t) {
        c2 = Identity (c)  h2 = Neg (h)  s = Exp (h)  t = Exp (h)
      }>
      y = Identity (y0)  z = Identity (%s)
    }"""
    once = text.replace("a, y0, z0", "a, y0").replace(", float t", "").replace("t = Exp (h)", "")
    (edit,) = edit_script(model(text % ("n", "z0")), model(once % ("m", "y0"))).edits
    assert edit.kind is EditKind.TRIP_COUNT


def test_a_constant_that_a_converter_numbered_is_that_of_the_other_model() -> None:
    text = "g (float x) => (float y, float z) <float W1 = {3}, %s> { y = Mul (x, %s) z = Add (x, %s) }"
    right = "float W1_1 = {3}, float W1_2 = {3}", "W1_2", "W1_1"
    (edit,) = edit_script(model(text % ("float cell = {1}", "W1", "cell")), model(text % right)).edits
    assert (edit.kind, edit.left_name) == (EditKind.OPERAND, "z")


def test_a_folded_conversion_of_the_only_floats_is_no_edit_of_its_own() -> None:
    """The other model has floats of the target dtype alone, and the left one none but those of Constant nodes."""
    text = "g () => (double[2] y) { a = Constant <value = float[2] {1, 2}> () %s t = Cast <to = 11> (%s) y = Abs (t) }"
    left = model(text % ("b = Constant <value = float[2] {3, 4}> () s = Sub (a, b)", "s"))
    right = model("g () => (double[2] y) <double[2] t = {1, 2}> { y = Abs (t) }")
    script = edit_script(left, right)
    applied = loopdbg.Model(apply_edits(left.graph, right.graph, script, script.edits)).execute({}).outputs or {}
    assert applied["y"].dtype == np.float64 and applied["y"].tolist() == [1, 2]


def test_an_operator_without_effect_is_found_behind_a_copy() -> None:
    text = """g (float[4] x) => (float[n] y) <int64[1] from = {0}, int64[1] to = {%s}> {
      part = Slice (x, from, to)  y = Identity (part)
    }"""
    (edit,) = edit_script(model(text % "9"), model(text % "2")).edits
    assert (edit.kind, edit.left_name) == (EditKind.ATTRIBUTE, "part")


def test_a_constant_that_a_tool_folded_has_the_name_of_the_node() -> None:
    text = "g (float[2] x) => (float[n] y) <%s> { %s y = Mul (x, part) }"
    left = text % ("float[2] w = {1, 2}, int64[1] from = {0}, int64[1] to = {9}", "part = Slice (w, from, to) ")
    (edit,) = edit_script(model(left), model(text % ("float[1] part = {3}", ""))).edits
    assert (edit.kind, edit.left_name, edit.right_name) == (EditKind.CONSTANT, "part", "part")


def test_an_edit_on_the_way_to_a_value_is_applied_to_the_value() -> None:
    text = "g (float[2,2] x) => (float[2,2] y) <float[2,2] W = {1, 2, 3, %s}, float[2] b = {1, 2}> { %s }"
    left = model(text % ("4", "y = Gemm (x, W, b)"))
    right = model(text % ("5", "m = MatMul (x, W)  y = Add (m, b)"))
    script = edit_script(left, right)
    assert [(edit.kind, edit.left_name) for edit in script.edits] == [(EditKind.CONSTANT, "W")]
    applied = loopdbg.Model(apply_edits(left.graph, right.graph, script, script.edits))
    same_values(applied, right, {"x": F32([[1, 2], [3, 4]])})


STARTS = """g (float[2] z, int64 n) => (float[2] y) <bool go = {1}, %s> {
  y = Loop (n, go, %s) <body = step (int64 i, bool c, float[2] h) => (bool c2, float[2] h2) {
    c2 = Identity (c)  h2 = Add (h, x)
  }>
}"""


def test_another_constant_is_read_though_the_first_one_is_removed() -> None:
    """Tools remove a weight that nothing reads any longer."""
    left = model(STARTS % ("float[2] x = {1, 2}, float[2] w = {3, 4}", "w"))
    right = model(STARTS % ("float[2] x = {1, 2}", "x"))
    (edit,) = edit_script(left, right).edits
    assert (edit.kind, edit.left_name) == (EditKind.INITIAL_VALUE, "h")


def test_a_changed_constant_is_named_where_a_tool_has_computed_with_it() -> None:
    text = "g (float[2] x) => (float[2] y, float[2] u) <float[2] w = {%s}, %s> { %s y = Add (x, t)  u = Mul (x, w) }"
    left = model(text % ("1, 2", "float[2] c = {3, 3}", "t = Mul (w, c)"))
    right = model(text % ("1, 5", "float[2] t = {3, 15}", ""))
    script = edit_script(left, right)
    assert [(edit.kind, edit.left_name) for edit in script.edits] == [(EditKind.CONSTANT, "w")]
    changed = loopdbg.Model(apply_edits(left.graph, right.graph, script, script.edits))
    same_values(changed, right, {"x": F32([1, 2])})


def test_equal_constants_of_two_dtypes_do_not_replace_each_other() -> None:
    text = "g (float[1] x) => (float[1] y, double[1] d) <double[1] wide = {-1}%s> { %s d = Neg (wide) }"
    left, right = model(text % ("", "y = Abs (x)")), model(text % (", float[1] minus = {-1}", "y = Mul (x, minus)"))
    script = edit_script(left, right)
    changed = loopdbg.Model(apply_edits(left.graph, right.graph, script, script.edits))
    same_values(changed, right, {"x": F32([2])})


ROWS = """g (float[2] h0) => (float[2] y) <float[2,2] z = {1, 2, 3, 4}, int64[1] from = {0}, int64[1] to = {%s}> {
  rows = Slice (z, from, to)
  y = Scan <num_scan_inputs = 1, body = b (float[2] h, float[2] row) => (float[2] h2) { h2 = Add (h, row) }> (h0, rows)
}"""


def test_slices_of_tensors_of_two_lengths_are_the_same_slice() -> None:
    edits = edit_script(model(ROWS % 2), model(ROWS % 1)).edits
    assert [(edit.kind, edit.left_name) for edit in edits] == [(EditKind.ATTRIBUTE, "rows")]


GEMM = STEP % "h2 = Gemm (h, W, b)"


@pytest.mark.parametrize(("other", "spelled"), [("Gemm (h, W)", "Gemm(h, W)"), ("MatMul (h, W)", "h @ W")])
def test_an_omitted_bias_is_an_operand_of_its_gemm(other: str, spelled: str) -> None:
    """The Gemm itself is in both models, though it is two nodes in normal form."""
    without = STEP % f"h2 = {other}"
    for left, right in ((GEMM, without), (without, GEMM)):
        (edit,) = edit_script(model(left), model(right)).edits
        assert (edit.kind, edit.left_name, edit.right_name) == (EditKind.OPERAND, "h2", "h2")
        assert edit.left_node is not None and edit.right_node is not None
        assert {edit.left_text, edit.right_text} == {"h2 = Gemm(h, W, [1.0, 2.0, 3.0, 4.0])", f"h2 = {spelled}"}


def test_an_omitted_addition_is_named_where_the_other_model_fuses() -> None:
    (edit,) = edit_script(model(STEP % "m = MatMul (h, W)  h2 = Add (m, b)"), model(STEP % "h2 = Gemm (h, W)")).edits
    assert edit.kind is EditKind.NODE_OMITTED and edit.left_node is not None and edit.left_node.op_type == "Add"


def test_an_added_node_is_quoted_with_its_reader() -> None:
    (edit,) = edit_script(model(STEP % "h2 = Tanh (h)"), model(STEP % "m = Neg (h)  h2 = Tanh (m)")).edits
    assert (edit.left_text, edit.right_text) == ("h2 = Tanh(h)", "h2 = Tanh(m), where m = -h")


def test_one_text_of_two_opsets_says_which() -> None:
    text = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = 1> (x) }"
    (edit,) = edit_script(model(text, 12), model(text, 13)).edits
    assert (edit.left_text, edit.right_text) == (
        "y = Softmax(x, axis=1) (opset 12)",
        "y = Softmax(x, axis=1) (opset 13)",
    )


def test_an_operator_that_became_a_loop_is_quoted_as_the_file_spells_it() -> None:
    text = """g (float[5,2,3] X, int32[2] lens) => (float[5,1,2,4] Y)
    <float[1,4,3] W = {1,2,3,4,5,6,7,8,9,1,2,3}, float[1,4,4] R = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7}> {
      Y, last = RNN <hidden_size = 4> (X, W, R, %s)
    }"""
    (edit,) = edit_script(model(text % ", lens"), model(text % "")).edits
    assert (edit.kind, edit.left_name) == (EditKind.OPERAND, "Y")
    assert [node and node.op_type for node in (edit.left_node, edit.right_node)] == ["RNN", "RNN"]
    assert edit.left_text.startswith("Y, last = RNN(") and "lens" in edit.left_text and "lens" not in edit.right_text


def test_constants_without_data_are_no_edits() -> None:
    """A recording lacks large constants, here of a transposed factor."""
    left, right = (model(STEP % "h2 = Gemm <transB = 1> (h, T, b)") for _ in range(2))
    for value in right.graph.constants:
        if value.name == "T":
            value.constant = None
    assert not edit_script(left, right).edits
    assert not edit_script(right, left).edits


def test_a_changed_constant_of_which_a_converter_made_copies_is_one_edit() -> None:
    text = "g (float x) => (float y, float z) <%s> { y = Mul (x, %s) z = Add (x, %s) }"
    right = model(text % ("float k_1 = {3}, float k_2 = {3}", "k_1", "k_2"))
    (edit,) = edit_script(model(text % ("float k = {2}", "k", "k")), right).edits
    assert (edit.kind, edit.left_name, len(edit.places)) == (EditKind.CONSTANT, "k", 2)


def test_slices_of_the_whole_in_another_system_are_the_slices_of_unknown_rows(tmp_path: Path) -> None:
    """The arguments of OpenVINO's Slice have another order, and the shape is known in the IR alone."""
    net = IrNetBuilder()
    part = net.parameter("2", name="x")
    for name in "st":
        bounds = [net.constant(np.int64([number]), name=f"{name}{k}") for k, number in enumerate((0, 4, 1, 0))]
        part = net.layer("Slice", [part, *bounds], version="opset8", shape="2", name=name)
    net.result(net.layer("ReLU", [part], shape="2", name="y"))
    right = loopdbg.load(net.save(tmp_path))
    text = """g (float[n] x) => (float[m] y) <int64[1] begin = {%d}, int64[1] from = {0}, int64[1] end = {4}> {
      s = Slice (x, begin, end)  t = Slice (s, from, end)  y = Relu (t)
    }"""
    assert not edit_script(model(text % 0), right).edits
    (edit,) = edit_script(model(text % 1), right).edits
    assert (edit.kind, edit.left_name, edit.detail) == (EditKind.ATTRIBUTE, "s", "starts")


def test_a_carried_value_that_is_read_corresponds_to_one_that_is_read() -> None:
    """The other model lacks one that nothing reads, and which begins with what this one begins with there."""
    text = """g (float x, float w, int64 n) => (float y) {
      y%s = Loop (n, , w, %s) <body = step (int64 i, bool c, float p3, %s) => (bool c2, float a, %s) {
        c2 = Identity (c)  a = Identity (p5)  b = Identity (p3)  d = Identity (p3)
      }>
    }"""
    left = model(text % (", u, v", "w, x", "float p5, float p7", "float b, float d"))
    (edit,) = edit_script(left, model(text % (", u", "x", "float p5", "float b"))).edits
    assert (edit.kind, edit.left_name) == (EditKind.INITIAL_VALUE, "p5")


def test_a_sum_that_became_a_difference_is_an_operator_across_systems(tmp_path: Path) -> None:
    net = IrNetBuilder()
    difference = net.layer("Subtract", [net.parameter("2", name="x"), net.constant(F32([3, 5]), name="k")], shape="2")
    net.result(net.layer("Exp", [difference], shape="2", name="y"))
    left = model("g (float[2] x) => (float[2] y) <float[2] k = {3, 5}> { s = Add (x, k) y = Exp (s) }")
    result = compare_pair(left, loopdbg.load(net.save(tmp_path)), {"x": F32([1, 2])})
    assert [(item.kind, item.name) for item in result.static_differences] == [("operator", "s")]
    assert result.cause is not None and result.cause.source is None


def test_a_carried_value_that_holds_the_condition_by_coincidence_is_none() -> None:
    """OpenVINO carries a condition as a value, which begins with the initial one."""
    pytest.importorskip("openvino")
    text = """g (int64 n, bool yes, bool flag) => (bool a, bool b, bool[k] s) {
      %s, s = Loop (n, yes, flag, flag) <
          body = step (int64 i, bool c, bool p, bool q) => (bool c2, bool p2, bool q2, bool t) {
        c2 = Identity (flag)  p2 = Identity (yes)  q2 = Identity (flag)  t = Identity (q)
      }>
      a = Identity (a0)  b = Identity (b0)
    }"""
    right = TRANSFORMATIONS["openvino"](proto(text % "b0, a0"), SeededChoices(0))
    edits = edit_script(model(text % "a0, b0"), right).edits
    assert [(edit.kind, edit.left_name) for edit in edits] == [(EditKind.OUTPUT_ORDER, name) for name in "ab"]


def test_a_constant_that_is_still_read_elsewhere_has_not_changed() -> None:
    text = "g (float x) => (float y, float z) <float c1 = {5}%s> { y = Mul (x, c1) z = Add (x, %s) }"
    (edit,) = edit_script(model(text % ("", "c1")), model(text % (", float c2 = {3}", "c2"))).edits
    assert (edit.kind, edit.left_name) == (EditKind.OPERAND, "z")


def test_a_part_of_what_one_model_concatenates_in_two_steps_is_one_edit() -> None:
    text = "g (float[2] x, float[2] w) => (float[6] y) { %s }"
    left = model(text % "t = Concat <axis = 0> (x, w) y = Concat <axis = 0> (w, t)")
    (edit,) = edit_script(left, model(text % "u = Neg (w) y = Concat <axis = 0> (w, x, u)")).edits
    assert (edit.kind, edit.right_name) == (EditKind.NODE_ADDED, "u")


def test_a_number_is_no_computed_trip_count_in_another_system() -> None:
    pytest.importorskip("openvino")
    text = """g (int64 n, float x) => (float y) <int64 k = {4}, bool go = {1}> {
      m = Mod (n, k)
      y = Loop (%s, go, x) <body = step (int64 i, bool c, float h) => (bool c2, float h2) {
        c2 = Identity (c)  h2 = Exp (h)
      }>
    }"""
    right = TRANSFORMATIONS["openvino"](proto(text % "k"), SeededChoices(0))
    assert [edit.kind for edit in edit_script(model(text % "m"), right).edits] == [EditKind.TRIP_COUNT]


def test_an_omitted_gemm_that_is_an_output_is_one_edit() -> None:
    text = "g (float[1,1] x, float[1,1] w, float[1,1] b) => (float[1,1] y, float[1,1] z) { y = Neg (x) %s }"
    left, right = model(text % "z = Gemm (x, w, b)"), model(text % "z = Identity (w)")
    assert [edit.kind for edit in edit_script(left, right).edits] == [EditKind.NODE_OMITTED]
