"""Groups of nodes that run block by block: the results of node by node, and what runs in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from fusion_checks import bits_equal, check_fused_run, group_members, run_node_by_node
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.graph import StoppedBy
from loopdbg.runtime.plan.fusion import groups as planner
from loopdbg.runtime.plan.plan import Opcode
from optimizer_access import optimizer_of, requires_optimizer, requires_unchecked_build, start_engine
from text_models import COUNT, model

ROWS, COLUMNS = 101, 97


def loop(
    body: str,
    carried: str = "float[101,97] x",
    result: str = "y",
    outer: str = "",
    scans: str = "",
    scan_outputs: str = "",
) -> loopdbg.Model:
    """A loop with one carried value; ``body`` computes ``result`` from it."""
    kind = carried.rpartition(" ")[0]
    scanned = "".join(f", {s}" for s in scans.split(";") if s)
    stacked = "".join(f", {s}" for s in scan_outputs.split(";") if s)
    names = ", ".join(["last", *(s.split()[-1] for s in scan_outputs.split(";") if s)])
    return model(f"""
    g (int64 M, {kind} start{", " + outer if outer else ""}) => ({kind} last{stacked}) {{
      {names} = Loop <body = body (int64 i, bool c, {carried}) => (bool c_out, {kind} {result}{scanned}) {{
        {body}
        c_out = Identity (c)
      }}> (M, , start)
    }}""")


def numbers(*shape: int, seed: int = 1, dtype: Any = np.float32) -> Any:
    values = np.random.default_rng(seed).uniform(-2, 2, shape)
    return (values * 50).astype(dtype) if np.dtype(dtype).kind in "iu" else values.astype(dtype)


def start(m: int = 5, dtype: Any = np.float32, shape: tuple[int, ...] = (ROWS, COLUMNS), **more: Any) -> dict[str, Any]:
    return {"M": np.int64(m), "start": numbers(*shape, dtype=dtype), **more}


# ------------------------------------------------------------------ elementwise nodes


@requires_unchecked_build
def test_a_chain_runs_in_one_group_and_what_is_between_gets_no_memory() -> None:
    m = loop("a = Mul (x, x)\nb = Abs (a)\nd = Sub (b, x)\ny = Mul (d, d)")
    assert check_fused_run(m, start()) == [["a", "b", "d", "y"]]
    engine = m._engine
    assert engine is not None
    ((group, runs),) = optimizer_of(engine).groups
    assert [m.plan.slots[slot].name for slot in group.internal_slots] == ["a", "b", "d"]
    assert group.nbytes < numbers(ROWS, COLUMNS).nbytes
    assert group.blocks[0] > 1
    assert runs == 9  # all iterations but the first of all, in which the nodes were bound


def test_broadcasting() -> None:
    m = loop(
        "a = Mul (x, row)\nb = Add (a, column)\nd = Sub (k, b)\ny = Div (d, two)",
        outer="float[97] row, float[101,1] column, float k, float[1,1] two",
    )
    inputs = start(row=numbers(97), column=numbers(101, 1), k=np.float32(0.3), two=np.full((1, 1), 2, np.float32))
    assert check_fused_run(m, inputs) == [["a", "b", "d", "y"]]


def test_mixed_dtypes_comparisons_where_and_casts() -> None:
    m = loop(
        """
        half = Cast <to = 11> (x)
        big = Greater (x, n)
        wide = Mul (half, half)
        n2 = Cast <to = 1> (whole)
        chosen = Where (big, x, n2)
        flag = Cast <to = 1> (big)
        narrow = Cast <to = 1> (wide)
        part = Add (chosen, narrow)
        y = Sub (part, flag)
        """,
        outer="float n, int32[101,97] whole",
    )
    inputs = start(n=np.float32(0.2), whole=numbers(ROWS, COLUMNS, dtype=np.int32))
    assert check_fused_run(m, inputs) == [["half", "big", "wide", "chosen", "flag", "narrow", "part", "y"]]


def test_integers_and_a_float_that_becomes_one() -> None:
    m = loop(
        "a = Mul (x, x)\nb = BitwiseAnd (a, mask)\nf = Cast <to = 1> (b)\ng = Mul (f, half)\nh = Cast <to = 7> (g)\n"
        "z = Add (h, x)\ny = Mod (z, seven)",
        carried="int64[101,97] x",
        outer="int64 mask, float half, int64 seven",
    )
    inputs = start(dtype=np.int64, mask=np.int64(0xFFFF), half=np.float32(0.5), seven=np.int64(7))
    assert check_fused_run(m, inputs) == [["a", "b", "f", "g", "h", "z", "y"]]


@pytest.mark.parametrize(
    "op",
    ["Exp", "Log", "Sin", "Tanh", "Sqrt", "Sigmoid", "Gelu", "Erf", "Softplus", "Floor", "Neg", "Relu", "HardSwish"],
)
@pytest.mark.parametrize("dtype", ["float", "float16", "double"])
def test_functions(op: str, dtype: str) -> None:
    types = {"float": np.float32, "float16": np.float16, "double": np.float64}
    m = loop(f"a = {op} (x)\nb = Add (a, x)\ny = Sub (b, x)", carried=f"{dtype}[101,97] x")
    groups = check_fused_run(m, start(dtype=types[dtype]), python=False)
    assert groups and groups[0][-2:] == ["b", "y"]


def test_functions_of_views_read_them_as_they_would_lie_in_memory() -> None:
    m = loop(
        "t = Transpose <perm = [1, 0]> (x)\na = Exp (t)\nb = Pow (a, t)\nd = Add (a, b)\ny = Tanh (d)",
        carried="float[100,100] x",
    )
    assert check_fused_run(m, start(shape=(100, 100))) == [["t", "a", "b", "d", "y"]]


def test_three_axes_and_blocks_along_two_of_them() -> None:
    m = loop(
        "a = Mul (x, w)\nb = Add (a, v)\ny = Sub (b, x)",
        carried="float[3,7,3000] x",
        outer="float[3,1,3000] w, float[7,1] v",
    )
    inputs = start(shape=(3, 7, 3000), w=numbers(3, 1, 3000), v=numbers(7, 1))
    assert check_fused_run(m, inputs) == [["a", "b", "y"]]
    assert m._engine is not None
    assert optimizer_of(m._engine).groups[0][0].blocks == (3, 7, 2)


def test_one_long_axis_whose_last_block_is_short() -> None:
    m = loop("a = Mul (x, x)\nb = Sub (a, x)\ny = Exp (b)", carried="float[1,10001] x")
    assert check_fused_run(m, start(shape=(1, 10001))) == [["a", "b", "y"]]
    assert m._engine is not None
    ((group, _),) = optimizer_of(m._engine).groups
    assert group.blocks == (5,)
    assert group.tail


# ------------------------------------------------------------------ views


def test_shifted_slices_of_a_padded_tensor() -> None:
    m = loop(
        """
        pads = Constant <value_ints = [1, 1, 1, 1]> ()
        axes = Constant <value_ints = [0, 1]> ()
        s0 = Constant <value_ints = [0, 1]> ()
        e0 = Constant <value_ints = [101, 98]> ()
        s1 = Constant <value_ints = [2, 1]> ()
        e1 = Constant <value_ints = [103, 98]> ()
        p = Pad <mode = "edge"> (x, pads)
        up = Slice (p, s0, e0, axes)
        down = Slice (p, s1, e1, axes)
        both = Add (up, down)
        y = Mul (both, half)
        """,
        outer="float half",
    )
    assert [g[-4:] for g in check_fused_run(m, start(half=np.float32(0.4)))] == [["up", "down", "both", "y"]]
    assert m._engine is not None
    ((group, _),) = optimizer_of(m._engine).groups
    assert len(group.calls) == 2  # the slices are read where they are


def test_views_of_views_and_negative_steps() -> None:
    m = loop(
        """
        starts = Constant <value_ints = [-1, -1]> ()
        ends = Constant <value_ints = [-1000, -1000]> ()
        axes = Constant <value_ints = [0, 1]> ()
        steps = Constant <value_ints = [-1, -2]> ()
        axis = Constant <value_ints = [0]> ()
        r = Slice (x, starts, ends, axes, steps)
        t = Transpose <perm = [1, 0]> (r)
        u = Unsqueeze (t, axis)
        s = Squeeze (u, axis)
        back = Transpose <perm = [1, 0]> (s)
        a = Add (back, narrow)
        b = Mul (a, back)
        y = Concat <axis = 1> (b, b)
        """,
        carried="float[101,194] x",
        outer="float[101,97] narrow",
    )
    (group,) = check_fused_run(m, start(shape=(101, 194), narrow=numbers(ROWS, COLUMNS)))
    assert {"r", "back", "a", "b", "y"} <= set(group)


def test_split_and_concat_along_rows() -> None:
    m = loop(
        "p, q = Split <axis = 1, num_outputs = 2> (x)\na = Mul (p, q)\nb = Add (a, p)\ny = Concat <axis = 1> (a, b)",
        carried="float[101,194] x",
    )
    assert check_fused_run(m, start(shape=(101, 194))) == [["p", "a", "b", "y"]]


def test_a_transposed_value_of_the_group_waits_for_it() -> None:
    m = loop("a = Mul (x, x)\nb = Add (a, x)\nt = Transpose <perm = [1, 0]> (b)\ny = Sub (t, x)", "float[100,100] x")
    assert check_fused_run(m, start(shape=(100, 100))) == [["a", "b"], ["t", "y"]]


def test_a_row_above_is_not_read_before_it_is_there() -> None:
    m = loop(
        """
        zero = Constant <value_ints = [0]> ()
        end = Constant <value_ints = [100]> ()
        last = Constant <value_ints = [99]> ()
        one = Constant <value_ints = [1]> ()
        a = Mul (x, x)
        b = Add (a, x)
        low = Slice (b, zero, last, zero)
        first = Slice (b, zero, one, zero)
        shifted = Concat <axis = 0> (first, low)
        y = Sub (shifted, x)
        """,
        carried="float[100,100] x",
    )
    groups = check_fused_run(m, start(shape=(100, 100)))
    assert groups[0] == ["a", "b"]
    assert all("shifted" not in group or "b" not in group for group in groups)


# ------------------------------------------------------------------ reductions


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceSum"])
@pytest.mark.parametrize("axes", ["0", "0, 1"])
@pytest.mark.parametrize("shape", [(101, 97), (96, 96)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_a_reduction_that_needs_all_blocks_stays_outside(op: str, axes: str, shape: Any, dtype: Any) -> None:
    body = f"""axis = Constant <value_ints = [{axes}]> ()
        a = Mul (x, x)\nb = Add (a, x)\ns = {op} (b, axis)\ny = Sub (b, s)"""
    name = {np.float32: "float", np.int64: "int64"}[dtype]
    m = loop(body, carried=f"{name}[{shape[0]},{shape[1]}] x")
    inputs = start(shape=shape, dtype=dtype)
    inputs["start"][:, 3] = dtype(-0.0)
    (group,) = check_fused_run(m, inputs, python=False)
    assert group[-2:] == ["a", "b"]


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceSum", "ReduceMean", "ReduceProd"])
def test_reductions_of_rows_and_what_reads_them_are_part_of_the_group(op: str) -> None:
    m = loop(f"axis = Constant <value_ints = [1]> ()\na = Mul (x, x)\nm = {op} (a, axis)\nb = Sub (a, m)\ny = Tanh (b)")
    assert [g[-4:] for g in check_fused_run(m, start(), python=False)] == [["a", "m", "b", "y"]]


def test_softmax_of_rows_in_steps() -> None:
    m = loop(
        """axis = Constant <value_ints = [1]> ()
        a = Mul (x, x)\nm = ReduceMax (a, axis)\nb = Sub (a, m)\ne = Exp (b)\nt = ReduceSum (e, axis)\ny = Div (e, t)"""
    )
    assert [g[-6:] for g in check_fused_run(m, start(), python=False)] == [["a", "m", "b", "e", "t", "y"]]


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceSum", "ReduceMean", "ReduceProd"])
def test_a_group_goes_on_through_a_reduction_over_a_middle_axis(op: str) -> None:
    body = f"axis = Constant <value_ints = [1]> ()\na = Mul (x, w)\nm = {op} (a, axis)\nb = Sub (a, m)\ny = Tanh (b)"
    m = loop(body, carried="float[5,60,50] x", outer="float[60,50] w")
    inputs = start(shape=(5, 60, 50), w=numbers(60, 50))
    (group,) = check_fused_run(m, inputs, python=False)
    assert group[-1] == "y" and {"a", "m", "b"} <= set(group)
    assert m._engine is not None
    assert optimizer_of(m._engine).groups[0][0].blocks == (5,)


def test_nodes_behind_an_extreme_that_has_no_group() -> None:
    m = loop("m = ReduceMax (x)\nb = Sub (x, m)\ny = Exp (b)")
    assert check_fused_run(m, start(), python=False) == [["b", "y"]]


# ------------------------------------------------------------------ what leaves a group


def test_values_that_are_carried_scanned_or_outputs_are_written() -> None:
    m = model("""
    g (int64 M, float[101,97] u, float[101,97] v)
        => (float[101,97] u_last, float[101,97] v_last, float[N,101,97] seen, float[101,97] outer_value) {
      outer_value = Mul (u, v)
      u_last, v_last, seen = Loop <
        body = body (int64 i, bool c, float[101,97] p, float[101,97] q)
            => (bool c_out, float[101,97] q_out, float[101,97] p_out, float[101,97] e) {
          a = Add (p, q)
          b = Mul (a, outer_value)
          q_out = Sub (b, q)
          p_out = Tanh (a)
          e = Abs (q_out)
          c_out = Identity (c)
        }
      > (M, , u, v)
    }""")
    inputs = {"M": np.int64(4), "u": numbers(ROWS, COLUMNS), "v": numbers(ROWS, COLUMNS, seed=2)}
    assert check_fused_run(m, inputs) == [["a", "b", "q_out", "p_out", "e"]]


def test_one_result_for_two_names_and_a_value_passed_on() -> None:
    m = loop(
        "a = Mul (x, x)\nb = Identity (a)\nd = Add (a, b)\ny = Identity (d)",
        scans="float[101,97] b;float[101,97] d",
        scan_outputs="float[N,101,97] s1;float[N,101,97] s2",
    )
    assert check_fused_run(m, start()) == [["a", "b", "d", "y"]]


def test_nodes_between_that_do_not_fit_run_before_or_after() -> None:
    m = loop(
        """
        f = Cast <to = 1> (i)
        a = Mul (x, x)
        g = Mul (f, f)
        b = Add (a, g)
        t = ReduceSum <keepdims = 0> (b)
        d = Sub (b, x)
        z = Mul (t, f)
        y = Mul (d, d)
        """,
        scans="float z",
        scan_outputs="float[N] zs",
    )
    assert check_fused_run(m, start(), python=False) == [["a", "b", "d", "y"]]
    assert m._engine is not None
    ((group, _),) = optimizer_of(m._engine).groups
    named = {pc: m.plan.slots[i.outputs[0]].name for pc, i in enumerate(m.plan.code) if i.kind is Opcode.NODE}
    assert [named[pc] for pc in group.before] == ["g"]
    assert [named[pc] for pc in group.after] == ["t", "z"]


def test_a_part_that_only_others_read_is_passed_over_and_not_copied() -> None:
    m = loop(
        """
        zero = Constant <value_int = 0> ()
        one = Constant <value_int = 1> ()
        zeros = Constant <value_ints = [0]> ()
        p = Gather (x, zero)
        q = Gather (x, one)
        a = Tanh (p)
        b = Sub (a, p)
        t = MatMul (q, w)
        z = Unsqueeze (t, zeros)
        n = Unsqueeze (b, zeros)
        y = Concat <axis = 0> (n, z)
        """,
        carried="float[2,101,97] x",
        outer="float[97,97] w",
    )
    assert check_fused_run(m, start(shape=(2, ROWS, COLUMNS), w=numbers(COLUMNS, COLUMNS))) == [["p", "a", "b", "n"]]
    assert m._engine is not None
    over = [
        m.plan.slots[m.plan.code[pc].outputs[0]].name for pc in optimizer_of(m._engine).copy_elision.elided_positions
    ]
    assert over == ["q", "z"]


# ------------------------------------------------------------------ other control flow


def test_a_loop_in_a_loop_that_captures_a_value_of_the_group() -> None:
    m = loop(
        """
        r = Mul (x, x)
        a = Tanh (r)
        b = Add (a, x)
        three = Constant <value = int64 {3}> ()
        d = Loop <body = inner (int64 j, bool k, float[101,97] u) => (bool k_out, float[101,97] u_out) {
            w = Sub (u, b)
            z = Mul (w, half)
            u_out = Abs (z)
            k_out = Identity (k)
        }> (three, , a)
        e = Add (d, b)
        y = Mul (e, half)
    """,
        outer="float half",
    )
    groups = check_fused_run(m, start(half=np.float32(0.25)))
    assert sorted(groups) == [["e", "y"], ["r", "a", "b"], ["w", "z", "u_out"]]


def test_branches() -> None:
    m = loop("""
        two = Constant <value = int64 {2}> ()
        odd = Mod (i, two)
        is_odd = Cast <to = 9> (odd)
        a = Mul (x, x)
        b = Tanh (a)
        d = If (is_odd) <
            then_branch = yes () => (float[101,97] p2) { p = Add (b, x)
                                                        p2 = Mul (p, x) },
            else_branch = no () => (float[101,97] q2) { q = Sub (b, x)
                                                       q2 = Mul (q, b) }>
        e = Abs (d)
        y = Tanh (e)
    """)
    groups = check_fused_run(m, start(9))
    assert sorted(groups) == [["a", "b"], ["e", "y"], ["p", "p2"], ["q", "q2"]]


def test_shapes_that_change_in_the_middle() -> None:
    m = model("""
    g (int64 M, float[n,97] v, float half) => (float[k,97] last) {
      last = Loop <body = body (int64 i, bool c, float[r,97] x) => (bool c_out, float[s,97] y) {
        a = Mul (x, half)
        b = Add (a, x)
        d = Tanh (b)
        two = Constant <value = int64 {2}> ()
        big = Less (i, two)
        y = If (big) <
            then_branch = grow () => (float[s,97] longer) { longer = Concat <axis = 0> (d, x) },
            else_branch = keep () => (float[s,97] as_is) { as_is = Identity (d) }>
        c_out = Identity (c)
      }> (M, , v)
    }""")
    inputs = {"M": np.int64(40), "v": numbers(90, COLUMNS), "half": np.float32(0.5)}
    assert check_fused_run(m, inputs) == []  # nodes that follow an extent by themselves are in no group
    other = {**inputs, "v": numbers(120, COLUMNS, seed=3)}  # groups for other shapes are there already
    bits_equal(m.run(other), run_node_by_node(m, other))


def test_sliced_inputs_and_swapped_back_edges() -> None:
    m = model("""
    g (float[20,101,97] xs, float[101,97] h0) => (float[101,97] h, float[20,101,97] hs) {
      h, hs = Scan <num_scan_inputs = 1, body = body (float[101,97] h_in, float[101,97] x)
          => (float[101,97] h_out, float[101,97] e) {
        a = Mul (h_in, x)
        b = Add (a, x)
        h_out = Tanh (b)
        e = Sub (h_out, h_in)
      }> (h0, xs)
    }""")
    assert check_fused_run(m, {"xs": numbers(20, ROWS, COLUMNS), "h0": numbers(ROWS, COLUMNS)}) == [
        ["a", "b", "h_out", "e"]
    ]


# ------------------------------------------------------------------ what groups must not change


@requires_unchecked_build
def test_small_tensors_and_scalars_are_left_alone() -> None:
    m = loop("a = Mul (x, x)\nb = Add (a, x)\ny = Tanh (b)", carried="float[30,30] x")
    assert check_fused_run(m, start(shape=(30, 30)), python=False) == []
    m = model(COUNT)
    m.run({"M": 1000, "cond": True, "v0": 0, "bound": 10**6})
    assert m._engine is not None
    assert optimizer_of(m._engine).program_runs == 1


def test_errors_are_those_of_the_node() -> None:
    m = loop(
        "a = Mul (x, x)\nb = Add (a, x)\nd = Sub (b, b)\ny = Div (b, z)", "int64[101,97] x", outer="int64[101,97] z"
    )
    z = np.ones((ROWS, COLUMNS), np.int64)
    check_fused_run(m, start(dtype=np.int64, z=z))
    z = z.copy()
    z[77, 3] = 0
    with pytest.raises(loopdbg.ExecutionError) as fused:
        m.run(start(dtype=np.int64, z=z))
    engine = start_engine(m, start(dtype=np.int64, z=z))
    with pytest.raises(loopdbg.ExecutionError) as alone:
        engine.resume()
    assert str(fused.value) == str(alone.value)
    bits_equal(m.run(start(dtype=np.int64, z=z + 1)), run_node_by_node(m, start(dtype=np.int64, z=z + 1)))


def test_a_hook_sees_what_only_a_group_reads() -> None:
    m = loop("a = Mul (x, x)\nb = Add (a, x)\nd = Abs (b)\ny = Sub (d, x)")
    inputs = start(9)
    outputs = m.run(inputs)
    seen: list[Any] = []
    groups: list[list[list[str]]] = []

    def observe(frame: loopdbg.runtime.frame.Frame) -> None:
        if frame.iteration:
            seen.append(frame.values["b"])
            groups.append(group_members(m))

    bits_equal(m.run(inputs, on_iteration=observe), outputs)
    x = inputs["start"]
    assert len(seen) == 9
    with np.errstate(all="ignore"):  # the last squares are infinite
        for b in seen:
            np.testing.assert_array_equal(b, x * x + x)
            x = np.abs(b) - x
    assert ["a", "b", "d", "y"] in groups[0]
    # What is looked at again and again is written by the group: nothing is computed twice.
    engine = m._engine
    assert engine is not None
    ((group, runs),) = optimizer_of(engine).groups
    assert runs and m.plan.slots[group.internal_slots[-1]].name != "b" and len(group.internal_slots) == 2
    bits_equal(m.run(inputs), outputs)


def test_a_hook_that_looks_at_nothing_changes_nothing() -> None:
    m = loop("a = Mul (x, x)\nb = Add (a, x)\nd = Tanh (b)\ny = Sub (d, x)")
    outputs = m.run(start(6))
    engine = m._engine
    assert engine is not None
    before = optimizer_of(engine).groups[0][1]
    bits_equal(m.run(start(6), on_iteration=lambda frame: None), outputs)
    assert optimizer_of(engine).groups[0][1] == before + 6


def test_a_predicate_sees_what_only_a_group_reads() -> None:
    m = loop("a = Mul (x, x)\nb = Add (a, x)\nd = Tanh (b)\ny = Sub (d, x)")
    session = loopdbg.debug(m, start(9))
    first = []
    for i in range(1, 9):
        session.goto(i)
        first.append(session.frame.values["b"])
    session.goto(2)
    session.breakpoints.add("if norm(b) > 0 and iter >= 6")
    session.continue_()
    assert session.frame.iteration == 6
    np.testing.assert_array_equal(session.frame.values["b"], first[5])


def test_values_that_rest_on_the_condition_input_are_those_of_their_iteration() -> None:
    """With cond absent it is what the iteration before yielded: here true, true, false, false, ..."""
    m = model("""
    g (int64 M, float[101,97] start) => (float[101,97] last) {
      last = Loop <body = body (int64 i, bool c, float[101,97] x) => (bool c_out, float[101,97] y) {
        a = Mul (x, x)
        limit = Constant <value = float {100.0}> ()
        below = Less (a, limit)
        taken = And (below, c)
        b = Where (taken, a, x)
        d = Tanh (b)
        e = Add (d, a)
        y = Sub (e, b)
        two = Constant <value = int64 {2}> ()
        half = Div (i, two)
        odd = Mod (half, two)
        one = Constant <value = int64 {0}> ()
        c_out = Equal (odd, one)
      }> (M, , start)
    }""")
    seen: list[list[dict[str, Any]]] = []
    for fuse in (True, False):
        engine = start_engine(m, start(12), fuse=fuse)
        kept: list[dict[str, Any]] = []

        def observe(index: int, engine: Engine = engine, kept: list[dict[str, Any]] = kept) -> None:
            if engine.loop_state(index)[0] in (5, 7):
                kept.append(dict(loopdbg.runtime.frame.Frame(engine, index).values))

        engine.set_hook(observe)
        engine.resume()
        seen.append(kept)
    for item, other in zip(*seen, strict=True):
        bits_equal(item, other)


def test_a_session_runs_node_by_node() -> None:
    m = loop("a = Mul (x, x)\nb = Add (a, x)\ny = Sub (b, x)")
    session = loopdbg.debug(m, start(4))
    while not session.done:
        session.next_node()
    assert session.outputs is not None
    bits_equal(session.outputs, run_node_by_node(m, start(4)))


def test_interrupt_ends_group_and_next_run_restarts() -> None:
    m = loop("a = Exp (x)\nb = Tanh (a)\nd = Sin (b)\ny = Sub (d, x)", carried="float[1500,1000] x")
    inputs = start(3, shape=(1500, 1000))
    expected = m.run(inputs)
    assert group_members(m) == [["a", "b", "d", "y"]]
    engine = m._engine
    assert engine is not None
    ticks = []

    def on_tick(run: object) -> None:
        ticks.append(run)
        engine.interrupt()

    stopped = m.execute({**inputs, "M": np.int64(10**6)}, on_tick=on_tick)
    assert stopped.stopped_by is StoppedBy.INTERRUPT
    assert ticks
    engine.clear_interrupt()
    bits_equal(m.run(inputs), expected)


def test_limits_and_totals() -> None:
    m = loop("a = Mul (x, x)\nb = Tanh (a)\ny = Sub (b, x)")
    m.run(start(3))
    run = m.execute(start(50), max_iterations=7)
    assert run.stopped_by is StoppedBy.LIMIT
    assert run.loops[0].iterations == 7
    assert m.execute(start(50)).loops[0].iterations == 50


def test_a_node_that_changes_is_followed() -> None:
    """An input of another shape between runs: groups are dissolved and made again."""
    m = model("""
    g (int64 M, float[n,97] v) => (float[n,97] last) {
      last = Loop <body = body (int64 i, bool c, float[n,97] x) => (bool c_out, float[n,97] y) {
        a = Add (x, x)
        b = Mul (a, x)
        y = Sub (b, a)
        c_out = Identity (c)
      }> (M, , v)
    }""")
    for rows in (101, 150, 20, 101):
        inputs = {"M": np.int64(30), "v": numbers(rows, COLUMNS)}
        bits_equal(m.run(inputs), run_node_by_node(m, inputs))
        engine = m._engine
        assert engine is not None
        assert [len(group.members) for group, _ in optimizer_of(engine).groups] == ([] if rows == 20 else [3])


@requires_optimizer
def test_what_is_planned_for_shapes_that_come_back_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[int] = []
    plan = planner.plan_groups

    def counted(*feeds: Any) -> list[planner.GroupPlan]:
        planned.append(1)
        return plan(*feeds)

    monkeypatch.setattr(planner, "plan_groups", counted)
    m = loop("a = Sub (w, x)\nb = Exp (a)\nd = Abs (b)\ny = ReduceMin (d)", "float[r,n] x", outer="float[101,97] w")
    inputs = start(9, shape=(101, 1), w=numbers(ROWS, COLUMNS))
    bits_equal(m.run(inputs), run_node_by_node(m, inputs))
    count = len(planned)
    assert count
    other = {**inputs, "w": inputs["w"] + 1}
    bits_equal(m.run(other), run_node_by_node(m, other))
    assert len(planned) == count
    assert group_members(m) == [["b", "d"]]


MOMENTUM = """g (int64 M, float[64,128] x0, float[64,128] y0, float[64,128] c) => (float[64,128] x9, float[64,128] y9) {
  x9, y9 = Loop (M, , x0, y0) <body = b (int64 i, bool k, float[64,128] x, float[64,128] y)
      => (bool kk, float[64,128] xn, float[64,128] yn) {
    kk = Identity (k)
    a = Sub (y, c)
    d = Constant <value = float {0.25}> ()
    e = Mul (a, d)
    f = Sub (y, e)
    s = Sign (f)
    h = Abs (f)
    r = Relu (h)
    xn = Mul (s, r)
    o = Cast <to = 1> (i)
    three = Constant <value = float {3}> ()
    p = Add (o, three)
    q = Div (o, p)
    v = Sub (xn, x)
    w = Mul (v, q)
    yn = Add (xn, w) }> }"""


@pytest.mark.parametrize("back", range(1, 16))
def test_rebound_node_dissolves_group(back: int) -> None:
    """Time travel is in the middle of an iteration, and groups are made of the nodes that are bound there."""
    m = model(MOMENTUM)
    inputs = {"M": np.int64(30), **{name: numbers(64, 128, seed=k) for k, name in enumerate(("x0", "y0", "c"))}}
    expected = m.run(inputs)
    for to in (9, 23):
        session = loopdbg.debug(m, inputs)
        session.step()
        session.back_node(back)
        session.goto(to)
        session.continue_()
        assert session.outputs is not None
        for name, value in expected.items():
            assert session.outputs[name].tobytes() == value.tobytes()
