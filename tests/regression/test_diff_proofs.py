"""Edits that were not the changed element, or whose demonstration did not hold: found by random mutants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
import program_mutants
from diff_checks import compare_models, static_differences
from loopdbg.debugger.compare.alignment.apply_edits import apply_edits
from loopdbg.debugger.compare.report.findings import Comparison, EditEffect
from loopdbg.runtime.frontends.tensorrt.enums import TripLimit
from tensorrt_networks import NetworkBuilder, Op, output_of
from text_models import model, proto

F32 = np.float32


def causes(result: Comparison) -> list[tuple[str, str]]:
    return [(item.kind, item.name) for item in result.static_differences if item.effect is EditEffect.CAUSE]


def test_a_folded_conversion_keeps_its_type() -> None:
    """The right model has a constant with the numbers of ``W``, in the type to which the left one converts it."""
    left = model("""g (float[1] x) => (double[2] y, float[1] z) <float[2] W = {1, -3}> {
        wide = Cast <to = 11> (W)
        y = Abs (wide)
        z = Neg (x)
    }""")
    right = model("""g (float[1] x) => (double[2] y, float[1] z) <double[2] folded = {1, -3}> {
        y = Identity (folded)
        z = Neg (x)
    }""")
    result = compare_models(left, right, x=F32([1]))
    assert causes(result) == [("node omitted", "y")] and result.script is not None
    edits = [item.edit for item in result.static_differences if item.edit is not None]
    changed = loopdbg.Model(apply_edits(left.graph, right.graph, result.script, edits)).run({"x": F32([1])})["y"]
    assert changed.dtype == np.float64 and changed.tolist() == [1, -3]


def test_a_conversion_of_a_constant_node_that_the_other_model_folds() -> None:
    """The back edge reads the conversion, in its type, not what is converted."""
    text = """g (int64 n) => (double[2] y, float[2] z) {initializers} {{
        {nodes}
        y = Loop (n, go, wide) <body = b (int64 i, bool c, double[2] h) => (bool c2, double[2] h_next) {{
            c2 = Identity (c)
            h_next = {computed}
        }}>
        z = Neg (v)
    }}"""
    nodes = """go = Constant <value = bool {1}> ()
        W = Constant <value = float[2] {1, -3}> ()
        v = Constant <value = float[2] {2, 5}> ()
        wide = Cast <to = 11> (W)"""
    initializers = "<bool go = {1}, float[2] v = {2, 5}, double[2] wide = {1, -3}>"
    left = model(text.format(initializers="", nodes=nodes, computed="Relu (h)"))
    right = model(text.format(initializers=initializers, nodes="", computed="Identity (wide)"))
    result = compare_models(left, right, n=np.int64(2))
    assert causes(result) == [("back edge", "h")] and result.script is not None
    edits = [item.edit for item in result.static_differences if item.edit is not None]
    changed = loopdbg.Model(apply_edits(left.graph, right.graph, result.script, edits)).run({"n": np.int64(2)})["y"]
    assert changed.dtype == np.float64 and changed.tolist() == [1, -3]


PARTS = """g (float[5,2] x) => (int64[n] y) <int64 n = {{3}}, bool go = {{1}}> {{
  y = Loop (n, go) <body = b (int64 i, bool c) => (bool c2, int64 part) {{
    c2 = Identity (c)
    sizes = Shape ({read})
    k = Constant <value = int64 {{{k}}}> ()
    part = Gather (sizes, k)
  }}>
}}"""


@pytest.mark.parametrize("read", ["x", "rows"])
def test_a_constant_with_an_axis_more_in_the_other_system(tmp_path: Path, read: str) -> None:
    """A converter gives an index an axis, and with it what is collected."""
    openvino = pytest.importorskip("openvino")
    text = PARTS.replace("float[5,2] x", "float[m,2] x") if read == "rows" else PARTS
    texts = [text.format(read="x", k=k) for k in (0, 1)]
    path = tmp_path / "m.onnx"
    onnx.save(proto(texts[1]), path)
    openvino.save_model(openvino.convert_model(path), tmp_path / "m.xml", compress_to_fp16=False)
    result = compare_models(model(texts[0]), loopdbg.load(tmp_path / "m.xml"), x=np.zeros((5, 2), F32))
    assert [kind for kind, _ in causes(result)] == ["constant"]


def test_a_constant_that_is_also_computed() -> None:
    """``cell`` is the initial value in place of ``W``, also where something computed has the same numbers."""
    text = """g (float[1] x) => (float[1] y, float[1] z) <int64 n = {{2}}, bool go = {{1}}, {constants}> {{
      y = Loop (n, go, {initial}) <body = b (int64 i, bool more, float[1] h) => (bool more2, float[1] h_next) {{
        more2 = Identity (more)
        h_next = Add (h, x)
      }}>
      {computed}
      z = Add (u, x)
    }}"""
    left = text.format(
        constants="float[1] cell = {-1}, float[1] W = {-2}, float[1] c = {16}",
        initial="W",
        computed="t = Mod <fmod = 1> (cell, c)\nu = Mul (t, W)",
    )
    right = text.format(constants="float[1] cell = {-1}, float[1] u = {2}", initial="cell", computed="")
    result = compare_models(left, right, x=F32([1]))
    assert causes(result) == [("initial value", "h")]


def test_an_index_that_the_other_model_has_by_coincidence() -> None:
    """Two numbers in each model do not make an index another constant."""
    text = """g (float[m,2] x) => (int64 y, int64 w, float[m,2] z) <{constants}, int64 n = {{1}}> {{
      go = Constant <value = bool {{1}}> ()
      z = Loop (n, go, x) <body = b (int64 i, bool c, float[m,2] h) => (bool c2, float[m,2] h_next) {{
        c2 = Identity (c)
        h_next = Neg (h)
      }}>
      sizes = Shape (x)
      y = Gather (sizes, {read})
      first = Constant <value = int64 {{0}}> ()
      w = Gather (sizes, first)
    }}"""
    left = text.format(constants="int64 k = {0}", read="k")
    right = text.format(constants="int64 zero = {0}, int64 moved = {1}", read="moved")
    result = compare_models(left, right, x=np.zeros((5, 2), F32))
    assert causes(result) == [("constant", "k")]


def test_a_branch_that_reads_a_renamed_loop() -> None:
    """Exchanged branches, of which one reads the result of a loop that has another name in the other model."""
    text = """g (bool yes, float[2] row) => (float[2] {last}, float[2] y) <int64 n = {{2}}, bool go = {{1}}> {{
      {last} = Loop (n, go, row) <body = b (int64 i, bool c, float[2] h) => (bool c2, float[2] h_next) {{
        c2 = Identity (c)
        h_next = Neg (h)
      }}>
      y = If (yes) <
        then_branch = t () => (float[2] {then}) {{ {first} }},
        else_branch = e () => (float[2] {other}) {{ {second} }}
      >
    }}"""
    plain = "{0} = Identity (row)"
    product = "{1} = Mul ({0}, row)\n{2} = Exp ({1})"
    left = text.format(last="a", then="b", other="d", first=plain.format("b"), second=product.format("a", "c", "d"))
    right = text.format(last="p", then="r", other="s", first=product.format("p", "q", "r"), second=plain.format("s"))
    result = compare_models(left, right, yes=np.array(True), row=F32([3, 2]))
    assert static_differences(result) == [("branches", "y")]


def test_a_factor_that_is_one_in_one_model() -> None:
    """The first difference is followed to the bound that changed, not to the product, which is written alike."""
    text = """g (float[2] x) => (float[2] y) <
        int64 n = {{2}}, bool go = {{1}}, float f = {{4}}, float least = {{-3}}, float most = {{{most}}}
    > {{
      factor = Clip (f, least, most)
      y = Loop (n, go, x) <body = b (int64 i, bool c, float[2] h) => (bool c2, float[2] h_next) {{
        c2 = Identity (c)
        root = Sqrt (h)
        h_next = Mul (root, factor)
      }}>
    }}"""
    result = compare_models(text.format(most=1), text.format(most=5), x=F32([2, 3]))
    cause = result.first.cause if result.first is not None else None
    assert cause is not None and cause.node is not None and cause.node.name == "factor"


def counting_network(reads_input: bool) -> loopdbg.Model:
    """A loop that counts while the count is below 2."""
    net = NetworkBuilder()
    n, start, step = net.input_tensor("n", "int32"), net.int32_const(0), net.int32_const(1)
    loop = net.add_loop()
    count = loop.add_recurrence(start)
    advanced = net.elementwise(n if reads_input else output_of(count), step)
    count.set_input(1, advanced)
    loop.add_trip_limit(net.elementwise(advanced, net.int32_const(2), Op.LESS), TripLimit.WHILE)
    net.last(loop, output_of(count), "y")
    return net.model()


def test_nodes_that_are_outside_of_the_loop_in_one_model() -> None:
    """Where a layer reads an input of the network, it is outside of the loop, and so is what reads it."""
    result = compare_models(counting_network(False), counting_network(True), n=np.int32(5))
    assert [kind for kind, _ in static_differences(result)] == ["operand"] == [kind for kind, _ in causes(result)]


def test_a_constant_that_is_changed_and_read_in_another_place() -> None:
    """In this IR ``cell`` has other numbers, and a product in another loop reads it in place of ``W1``."""
    assert program_mutants.judge_case("openvino two 820019") == "exact"


def test_a_product_that_is_the_same_with_another_constant() -> None:
    """``product`` is 1 in both models; the edit changes only one of its operands, and must leave it as it is."""
    text = """g (float[1] x) => (float[1] y, float[1] z, float[1] w) <float[1] one = {{{one}}}, float c = {{16}}> {{
        remainder = Mod <fmod = 1> (one, c)
        product = Mul (remainder, one)
        y = Add (product, x)
        z = Clip (one)
        w = {operator} (x)
    }}"""
    result = compare_models(text.format(one=-1, operator="Neg"), text.format(one=1, operator="Exp"), x=F32([1]))
    assert causes(result) == [("constant", "one"), ("operator", "w")]


def test_a_slice_that_leaves_nothing_out_in_one_model() -> None:
    """In the right model ``part`` is ``w``. Each of its readers is compared by itself; the edit is one, and what the
    nodes that it replaces would compute with the new rows does not matter."""
    text = """g (float[4] x) => (float[k] y, float[n] z) <float[4] w = {{1, 2, 3, 4}}, int64[1] start = {{0}},
        int64[1] stop = {{{stop}}}, int64 trips = {{2}}, bool go = {{1}}> {{
        part = Slice (w, start, stop)
        y, z = Loop (trips, go, part) <body = b (int64 i, bool c, float[m] h) => (bool c2, float[m] h2, float[m] row) {{
            c2 = Identity (c)
            half = Sqrt (part)
            h2 = Sub (half, part)
            row = Identity (part)
        }}>
    }}"""
    result = compare_models(text.format(stop=-1), text.format(stop=4), x=F32([1, 2, 3, 4]))
    assert causes(result) == [("attribute", "part")]


def test_another_operator_in_place_of_one_without_effect() -> None:
    """The difference from zero is no node of its own in the normal form; the minimum has not been added to it."""
    text = "g (float[2] v) => (float[2] y) {{ zero = Constant <value = float {{0}}> () t = {} (v, zero) y = Abs (t) }}"
    result = compare_models(text.format("Sub"), text.format("Min"), v=F32([1, -3]))
    assert causes(result) == [("operator", "t")]


def test_a_changed_constant_that_a_tool_has_copied() -> None:
    """The right model holds ``row`` twice, since a tool folded a copy of it."""
    text = """g (float[1,2] x) => (float[1,2] y, float[1,2] z) <float[1,2] row = {{-2, {last}}}{copy}> {{
        {node}
        y = Add (x, {held})
        z = Min (x, row)
    }}"""
    left = text.format(last=4, copy="", node="held = Identity (row)", held="held")
    right = text.format(last=3, copy=", float[1,2] folded = {-2, 3}", node="", held="folded")
    result = compare_models(left, right, x=F32([[-1, 5]]))
    assert causes(result) == [("constant", "row")]


def test_a_node_that_a_tool_has_folded_is_not_omitted() -> None:
    """The right model still has ``t9``, as a constant of that name; another node reads ``x`` in its place."""
    text = """g (float[1,2] z) => (float[1,2] y, float[1,2] w) <float[1,2] x = {{-3, -2}}{folded}> {{
        {node}
        y = Add (z, {first})
        w = Min (z, t9)
    }}"""
    left = text.format(folded="", node="t9 = Relu (x)", first="t9")
    right = text.format(folded=", float[1,2] t9 = {0, 0}", node="", first="x")
    result = compare_models(left, right, z=F32([[1, -1]]))
    assert causes(result) == [("operand", "y")]


def test_carried_values_that_begin_alike_are_paired() -> None:
    """By what they carry, each fits the other one better."""
    text = """g (float[2] x, float[2] w, int64 n) => (float[2] y, float[2] q) <bool go = {{1}}> {{
        y, z = Loop (n, go, x, w) <
            body = l (int64 i, bool c, float[2] {a}, float[2] {b}) => (bool c2, float[2] {t}, float[2] {t}) {{
                c2 = Identity (c)
                {t} = Identity ({read})
            }}>
        q = Neg (z)
    }}"""
    left, right = (
        model(text.format(a="first", b="second", t="next", read="first")),
        model(text.format(a="u", b="v", t="w2", read="v")),
    )
    result = compare_models(left, right, x=F32([1, 2]), w=F32([3, -5]), n=np.int64(3))
    assert sorted(causes(result)) == [("back edge", "first"), ("back edge", "second")]
    assert len(result.static_differences) == 2


def test_another_constant_that_equals_the_operand_of_the_one_that_was_read() -> None:
    """A tool folded ``rest``, which by chance holds what ``squared`` is computed from: no node was omitted."""
    text = """g (float[2] x, int64 n) => (float[2] y, float[2] z) <bool go = {{1}}, {constants}> {{
        {nodes}
        y = Loop (n, go, {initial}) <body = l (int64 i, bool c, float[2] h) => (bool c2, float[2] h_next) {{
            c2 = Identity (c)
            h_next = Add (h, x)
        }}>
        z = Add (rest, x)
    }}"""
    nodes = """squared = Mul (base, base)
        rest = Mod <fmod = 1> (base, three)"""
    constants = "float[2] base = {2, 2}, float[2] three = {3, 3}"
    left = model(text.format(constants=constants, nodes=nodes, initial="squared"))
    right = model(text.format(constants="float[2] rest = {2, 2}", nodes="", initial="rest"))
    assert causes(compare_models(left, right, x=F32([1, 2]), n=np.int64(3))) == [("initial value", "h")]


def test_loops_of_which_a_tool_has_folded_the_only_computation() -> None:
    """What ``first`` computes is constant, and so is most of what ``second`` does: they are not paired crosswise."""
    text = """g (float[1] x, int64 n) => (float[1] y, float[k,1] rows, float[1] z) <bool go = {{1}}, {constants}> {{
        {begin}
        y, rows = Loop (n, go, {initial}) <
            body = l1 (int64 i, bool c, float[1] h) => (bool c2, float[1] h2, float[1] row) {{
                c2 = Identity (c)
                h2 = Identity (h)
                {first}
            }}>
        z = Loop (n, go, x) <body = l2 (int64 i, bool c, float[1] h) => (bool c2, float[1] h2) {{
            c2 = Identity (c)
            {second}
            h2 = Mod <fmod = 1> (h, rest)
        }}>
    }}"""
    left = text.format(
        constants="float[1] one = {1}, float[1] four = {4}, float[1] seven = {7}",
        begin="",
        initial="x",
        first="row = Mod <fmod = 1> (one, four)",
        second="a = Mod <fmod = 1> (seven, four)\nb = Mul (a, a)\nrest = Add (b, b)",
    )
    right = text.format(
        constants="float[1] one = {1}, float[1] rest = {18}",
        begin="inserted = Neg (x)",
        initial="inserted",
        first="row = Identity (one)",
        second="",
    )
    result = compare_models(left, right, x=F32([5]), n=np.int64(2))
    assert causes(result) == [("node added", "inserted")]


def converted_by_openvino(text: str, folder: Path) -> loopdbg.Model:
    openvino = pytest.importorskip("openvino")
    onnx.save(proto(text), folder / "m.onnx")
    openvino.save_model(openvino.convert_model(folder / "m.onnx"), folder / "m.xml", compress_to_fp16=False)
    return loopdbg.load(folder / "m.xml")


def test_a_constant_that_a_loop_receives(tmp_path: Path) -> None:
    """The body of an IR receives what the left model computes from constants: both subtract the same."""
    text = """g (int64 n, float[1] x) => (float[1] y) <
        float[2] v = {{1, -3}}, float k = {{16}}, float low = {{-4}}, float high = {{2}}, float[1] c = {{{}}},
        bool go = {{1}}
    > {{
        rest = Mod <fmod = 1> (v, k)
        sum = MatMul (rest, v)
        y = Loop (n, go, x) <body = l (int64 i, bool more, float[1] h) => (bool more2, float[1] h_next) {{
            more2 = Identity (more)
            bound = Clip (sum, low, high)
            difference = Sub (h, bound)
            h_next = Max (difference, c)
        }}>
    }}"""
    result = compare_models(
        model(text.format(-3)), converted_by_openvino(text.format(-2), tmp_path), n=np.int64(3), x=F32([1])
    )
    assert static_differences(result) == [("constant", "c")] == causes(result)


def test_a_trip_count_that_a_changed_node_computes(tmp_path: Path) -> None:
    """``count`` is a number in the left model, and not in the right one, where it still is the trip count."""
    text = """g (int64 n, float[2] x) => (float[2] y, int64[k] counts) <int64 two = {{-2}}, bool go = {{1}}> {{
        y, counts = Loop (n, go, x) <
            body = l (int64 i, bool c, float[2] h) => (bool c2, float[2] h_next, int64 count) {{
                c2 = Identity (c)
                count = Abs ({})
                h_next = Loop (count, go, h) <
                    body = m (int64 j, bool d, float[2] u) => (bool d2, float[2] u_next) {{
                        d2 = Identity (go)
                        u_next = Neg (u)
                    }}>
            }}>
    }}"""
    result = compare_models(
        model(text.format("two")), converted_by_openvino(text.format("i"), tmp_path), n=np.int64(3), x=F32([1, 2])
    )
    assert [kind for kind, _ in static_differences(result)] == ["operand"] == [kind for kind, _ in causes(result)]


def test_what_is_computed_from_a_constant_in_its_place() -> None:
    """A tool has folded ``squared``, which is read in place of the constant that it is computed from."""
    text = """g (float[4] x) => (float[4] y) <float[4] {constant}> {{
        {node}
        y = Add (x, {read})
    }}"""
    left = text.format(constant="w = {1, 2, 3, 4}", node="squared = Mul (w, w)", read="w")
    right = text.format(constant="squared_1 = {1, 4, 9, 16}", node="", read="squared_1")
    assert causes(compare_models(left, right, x=F32([1, 2, 3, 4]))) == [("operand", "y")]


def test_a_constant_that_is_still_read_and_equals_something_computed() -> None:
    """A tool has folded ``inserted``; ``rest`` holds the same as ``v``, which both models still read for it."""
    text = """g (float[2] x) => (float[2] y, float[2] z) <float c = {{16}}, {constants}> {{
        rest = Mod <fmod = 1> ({first}, c)
        y = Add (rest, x)
        z = Mul (x, {read})
    }}"""
    left = text.format(constants="float[2] v = {1, -3}", first="v", read="v")
    constants = "float[2] held = {1, -3}, float[2] inserted = {-1, 3}"
    right = text.format(constants=constants, first="held", read="inserted")
    assert causes(compare_models(left, right, x=F32([1, 2]))) == [("operand", "z")]


def test_a_constant_with_the_name_of_a_copy_in_the_other_model() -> None:
    """All names of the right model are others: its ``copy`` is the left ``w``, which both models copy."""
    text = """g (float[2] x, int64 n) => (float[k,2] y) <float[2] {0} = {{{{1, {{}}}}}}, bool go = {{{{1}}}}> {{{{
        y = Loop (n, go) <body = l (int64 i, bool c) => (bool c2, float[2] {1}) {{{{
            c2 = Identity (c)
            {1} = Identity ({0})
        }}}}>
    }}}}"""
    left, right = text.format("w", "copy").format(3), text.format("copy", "other").format(4)
    assert causes(compare_models(left, right, x=F32([1, 2]), n=np.int64(2))) == [("constant", "w")]


def test_a_slice_that_leaves_nothing_out_of_another_value() -> None:
    """In the right model ``part`` is all of ``x``, and no node of its own."""
    text = """g (float[4] w, float[2] x, int64 n) => (float[k] y) <
        int64[1] start = {{-3}}, int64[1] stop = {{9}}, bool go = {{1}}
    > {{
        y = Loop (n, go, w) <body = l (int64 i, bool c, float[m] h) => (bool c2, float[k] part) {{
            c2 = Identity (c)
            part = Slice ({}, start, stop)
        }}>
    }}"""
    result = compare_models(text.format("w"), text.format("x"), w=F32([1, 2, 3, 4]), x=F32([1, 2]), n=np.int64(2))
    assert causes(result) == [("operand", "part")] == static_differences(result)


def test_a_zero_that_a_converter_does_not_add(tmp_path: Path) -> None:
    """Adding it changes but the sign of a zero."""
    text = """g (int64 n, float[1,2] x, float[1] c) => (float[1,2] y) <float[1,1] zero = {{0}}, bool go = {{1}}> {{
        y = Loop (n, go, x) <body = l (int64 i, bool more, float[1,2] h) => (bool more2, float[1,2] h_next) {{
            more2 = Identity (more)
            sum = Add (h, zero)
            h_next = {} (sum, c)
        }}>
    }}"""
    left, right = model(text.format("Mul")), converted_by_openvino(text.format("Sub"), tmp_path)
    result = compare_models(left, right, n=np.int64(3), x=F32([[1, 2]]), c=F32([3]))
    assert static_differences(result) == [("operator", "h_next")] == causes(result)


def test_a_slice_of_another_value_that_leaves_nothing_out_of_either() -> None:
    """It is none of the normal form, but both readers read it."""
    text = """g (float[2] x, float[2] w) => (float[2] y, float[2] z) <int64[1] start = {{0}}, int64[1] stop = {{4}}> {{
        part = Slice ({}, start, stop)
        y = Neg (part)
        z = Abs (part)
    }}"""
    result = compare_models(text.format("x"), text.format("w"), x=F32([1, 2]), w=F32([3, -4]))
    assert causes(result) == [("operand", "part")] == static_differences(result)


def test_slices_that_a_converter_counts(tmp_path: Path) -> None:
    """The body does not read the rows, so that only their number is left."""
    text = """g (float[2] x) => (float[2] y, float[k,2] s) <
        float[4,2] rows = {{1, 2, 3, 4, 5, 6, 7, 8}},
        int64[1] start = {{0}}, int64[1] stop = {{{}}}, int64[1] axis = {{0}}
    > {{
        some = Slice (rows, start, stop, axis)
        y, s = Scan <num_scan_inputs = 1, body = l (float[2] h, float[2] row) => (float[2] h_next, float[2] e) {{
            h_next = Identity (h)
            e = Identity (h)
        }}> (x, some)
    }}"""
    result = compare_models(model(text.format(3)), converted_by_openvino(text.format(1), tmp_path), x=F32([1, 2]))
    assert static_differences(result) == [("trip count", "")] == causes(result)
    (item,) = result.static_differences
    assert (item.left_text, item.right_text) == ("the number of slices, 3", "1")


def test_a_difference_with_a_constant_and_one_without(tmp_path: Path) -> None:
    """Only the left one is a sum with the negated constant."""
    text = """g (float[1,2] x) => (float[1,2] y) <float[1,2] w = {{1, 2}}> {{
        t = Sub (x, {})
        y = Mul (t, t)
    }}"""
    left, right = model(text.format("w")), converted_by_openvino(text.format("x"), tmp_path)
    result = compare_models(left, right, x=F32([[3, 5]]))
    assert static_differences(result) == [("operand", "t")] == causes(result)


def test_a_constant_that_is_subtracted_is_named_with_its_sign(tmp_path: Path) -> None:
    """A converter adds the negated one."""
    text = "g (float[1,2] x) => (float[1,2] y) <float[1,2] w = {{1, {}}}> {{ t = Sub (x, w)  y = Abs (t) }}"
    right = converted_by_openvino(text.format(3), tmp_path)
    result = compare_models(model(text.format(2)), right, x=F32([[3, 5]]))
    assert causes(result) == [("constant", "-w")] == static_differences(result)
    assert result.static_differences[0].left.tolist() == [[-1, -2]]


def test_a_negated_constant_that_a_loop_gives(tmp_path: Path) -> None:
    """A Scan and the TensorIterator that a converter makes of it are one operator."""
    text = """g (float[3,1] rows, float[1] x) => (float[1] y, float[2] z, float[3,1] s) <float[2] c = {{1, -3}}> {{
        y, z, s = Scan <num_scan_inputs = 1, body = l (float[1] h, float[2] u, float[1] row) =>
            (float[1] h_next, float[2] u_next, float[1] e) {{
                h_next = Add (h, row)
                u_next = {} (c)
                e = Neg (row)
        }}> (x, c, rows)
    }}"""
    left, right = model(text.format("Identity")), converted_by_openvino(text.format("Neg"), tmp_path)
    result = compare_models(left, right, rows=F32([[1], [2], [3]]), x=F32([1]))
    assert [kind for kind, _ in static_differences(result)] == ["constant"] == [kind for kind, _ in causes(result)]


def test_the_shape_of_a_value_of_which_only_a_copy_is_declared() -> None:
    """A tool has folded the shape, and declares that of the output."""
    left = """g (float[2] x) => (float[2] y, int64[1] s) { t = Neg (x)  y = Identity (t)  s = Shape (t) }"""
    left = left.replace("float[2]", "float[n]")
    right = """g (float[n] x) => (float[2] y, int64[1] s) <int64[1] s = {2}> { t = Neg (x)  y = Identity (t) }"""
    assert static_differences(compare_models(left, right, x=F32([1, 2]))) == []


@pytest.mark.parametrize(
    "computed", ["t = Concat <axis = 0> (h, h)  h2 = Sub (t, zero)", "t = Shape (h)  h2 = Abs (t)"]
)
def test_what_a_converter_leaves_out_since_it_changes_nothing(tmp_path: Path, computed: str) -> None:
    kind = "float[k,2]" if "Concat" in computed else "int64[2]"
    text = f"""g (float[n,2] h) => ({kind} y) <float[1] zero = {{0}}> {{ {computed}  y = Neg (h2) }}"""
    result = compare_models(model(text), converted_by_openvino(text, tmp_path), h=F32([[1, 2]]))
    assert static_differences(result) == []


@pytest.mark.parametrize(
    ("shape", "left", "right"),
    [
        ("1,2", "ReduceSum <keepdims = 0> (x, first)", "Squeeze (x, first)"),
        ("1,1", "ReduceSum <keepdims = 0> (x)", "Squeeze (x, all)"),
        ("1,2", "ReduceSum (x)", "ReduceSum (x, all)"),
    ],
)
def test_sums_of_the_same_axes(shape: str, left: str, right: str) -> None:
    text = "g (float[SHAPE] x) => (float y) <int64[1] first = {0}, int64[2] all = {0, 1}> { y = SUM }"
    text = text.replace("SHAPE", shape)
    sizes = [int(size) for size in shape.split(",")]
    result = compare_models(text.replace("SUM", left), text.replace("SUM", right), x=np.ones(sizes, F32))
    assert static_differences(result) == []


def test_an_operator_before_a_squeeze_of_which_one_model_knows_the_shape() -> None:
    """The rest of the two models is written alike, but only the left one declares shapes."""
    text = """g (float[SHAPE] image) => (float[2,3] y) <int64[2] ends = {0, 2}> {
        NAME0 = OPERATOR (image)
        NAME1 = Squeeze (NAME0, ends)
        NAME2 = Transpose <perm = [1, 0]> (NAME1)
        y = Abs (NAME2)
    }"""
    left = text.replace("SHAPE", "1,3,1,2").replace("NAME", "left_").replace("OPERATOR", "Softplus")
    right = text.replace("SHAPE", "a,b,c,d").replace("NAME", "right_").replace("OPERATOR", "Relu")
    result = compare_models(left, right, image=np.arange(6, dtype=F32).reshape(1, 3, 1, 2))
    assert causes(result) == [("operator", "left_0")] == static_differences(result)


W = f"float[1,6,3] W = {{{', '.join(map(str, range(18)))}}}"
R = f"float[1,6,2] R = {{{', '.join(str(k % 5 / 4) for k in range(12))}}}"


@pytest.mark.parametrize("result", ["y", "y, last", "rows, y"])
@pytest.mark.parametrize(
    ("attribute", "operands", "kind"),
    [('direction = "reverse", ', "W, R", "attribute"), ("", "V, R", "operand"), ("", "W, R, , , h", "operand")],
)
def test_an_edit_of_an_operator_that_is_a_loop_is_shown(attribute: str, operands: str, kind: str, result: str) -> None:
    """What the loop inside it computes is not read from the left model once the operator is replaced."""
    shape = "1,2,2" if result == "rows, y" else "4,1,2,2"
    text = f"""g (float[4,2,3] x) => (float[{shape}] y) <
        {W}, {W.replace("W = {0", "V = {9")}, {R}, float[1,2,2] h = {{1, 2, 3, 4}}, float tenth = {{0.1}}
    > {{
        small = Mul (x, tenth)
        {result} = GRU <ATTRIBUTE hidden_size = 2> (small, OPERANDS)
    }}"""
    left = text.replace("ATTRIBUTE", "").replace("OPERANDS", "W, R")
    right = text.replace("ATTRIBUTE", attribute).replace("OPERANDS", operands)
    comparison = compare_models(left, right, x=np.arange(24, dtype=F32).reshape(4, 2, 3))
    assert [item[0] for item in causes(comparison)] == [kind] == [item[0] for item in static_differences(comparison)]


def test_an_edit_of_an_operator_that_is_a_loop_is_shown_by_its_values() -> None:
    """The outputs agree within the tolerance; the values in the loop that takes the place of the other do not."""
    text = f"""g (float[4,2,3] x) => (float[4,1,2,2] y) <
        {W}, {W.replace("W = {0", "V = {9")}, {R}, float big = {{10000}}
    > {{
        a = GRU <hidden_size = 2> (x, WEIGHTS, R)
        y = Add (a, big)
    }}"""
    comparison = compare_models(
        text.replace("WEIGHTS", "W"), text.replace("WEIGHTS", "V"), x=np.arange(24, dtype=F32).reshape(4, 2, 3) / 240
    )
    assert not comparison.outputs and [kind for kind, _ in causes(comparison)] == ["operand"]


def test_two_exports_of_one_recurrent_layer() -> None:
    """One declares shapes, slices weights and transposes; the other computes the shape of the initial state."""
    left = f"""g (float[4,2,3] x) => (float[4,2,2] y) <
        float[6,3] w = {W.partition("=")[2]}, {R}, float[1,2,2] h = {{0, 0, 0, 0}}, float[4,1,2,2] a,
        int64[1] zero = {{0}}, int64[1] two = {{2}}, int64[1] six = {{6}}, int64[3] shape = {{4, 2, 2}}
    > {{
        first = Slice (w, zero, two, zero)  rest = Slice (w, two, six, zero)
        rows = Concat <axis = 0> (first, rest)  W = Unsqueeze (rows, zero)
        a = GRU <hidden_size = 2> (x, W, R, , , h)
        t = Transpose <perm = [0, 2, 1, 3]> (a)
        y = Reshape (t, shape)
    }}"""
    right = f"""g (float[s,b,3] x) => (float[s,b,2] y) <
        {W}, {R}, float nothing = {{0}},
        int64 one = {{1}}, int64[1] ones = {{1}}, int64[1] two = {{2}}, int64[1] zero = {{0}}
    > {{
        all = Shape (x)  batch = Gather <axis = 0> (all, one)  rows = Unsqueeze (batch, zero)
        shape = Concat <axis = 0> (ones, rows, two)  h = Expand (nothing, shape)
        a = GRU <hidden_size = 2> (x, W, R, , , h)
        y = Squeeze (a, ones)
    }}"""
    result = compare_models(left, right, x=np.arange(24, dtype=F32).reshape(4, 2, 3) / 24)
    assert static_differences(result) == []
