"""A run against a reference: which value each track is taken for, the first that differs and the node that makes it,
trip counts, and what is reported about what could not be compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from diff_checks import report_text
from loopdbg.debugger.compare.reference_match.reference_comparison import compare_reference
from loopdbg.debugger.compare.report.findings import Comparison, Verdict
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.debugger.reference.reference import Reference, Track
from loopdbg.debugger.reference.reference_files import reference_from_arrays
from reference_files import compare_with_reference
from text_models import BRANCHES, NESTED, SUM, model, sample

F32 = np.float32
#: What SUM computes of four iterations from 1 on.
V, S = [1.0, 2.0, 4.0, 7.0], [1.0, 4.0, 16.0, 49.0]
MODEL_INPUTS = {"M": np.int64(4), "v0": F32(1)}


def arrays(**values: Any) -> Reference:
    """A reference of another owner: float32 arrays by name, ``h__0`` for h/0."""
    results = {name: np.asarray(value) for name, value in values.items()}
    return reference_from_arrays(
        "ref", {name.replace("__", "/"): v.astype(F32) if v.dtype.kind == "f" else v for name, v in results.items()}
    )


def sum_reference(options: ComparisonOptions | None = None, **values: Any) -> Comparison:
    return compare_with_reference(model(SUM), MODEL_INPUTS, arrays(**values), options)


# ------------------------------------------------------------------ which value a track is


@pytest.mark.parametrize(
    ("values", "pairs"),
    [
        ({"v_in": V}, []),  # what each iteration computed, by the name of what is carried
        ({"v_in": [1.0, *V]}, []),  # with what the loop begins with
        ({"v_in": [1.0, *V[:3]]}, []),  # what each iteration received
        ({"v_out": V}, [("v_in", "v_out", "name")]),
        ({"any": V}, [("v_in", "any", "value")]),
        ({"any": [1.0, *V]}, [("v_in", "any", "value")]),
        ({"any": np.reshape(V, (4, 1, 1))}, [("v_in", "any", "value")]),  # axes of length 1
        ({"any": np.float64(V)}, [("v_in", "any", "value")]),
        ({"any__0": 1.0, "any__1": 2.0, "any__2": 4.0, "any__3": 7.0}, [("v_in", "any", "value")]),
        ({"any_7": S}, [("s", "any_7", "value")]),  # the elements of a scan output
        ({"f": [0.0, 1.0, 2.0, 3.0]}, []),
        ({"Mul_3": V}, [("v_in", "Mul_3", "value")]),  # a name with a number is no evidence against numbers
    ],
)
def test_a_track_is_found_by_name_or_numbers(values: dict[str, Any], pairs: list[tuple[str, str, str]]) -> None:
    result = sum_reference(**values)
    assert result.verdict in (Verdict.SAME, Verdict.PARTLY), report_text(result)
    (loop,) = result.loops
    assert loop.renamed_values == pairs and loop.iterations == 4
    assert not any("only in ref" in note for note in result.notes)


def test_all_that_a_reference_has_and_every_output_is_needed_for_same() -> None:
    # v is what v_in is in the end, and s is what is collected of e.
    assert sum_reference(v_in=V, s=S).verdict is Verdict.SAME
    assert sum_reference(v_in=[1.0, *V], e=S).verdict is Verdict.SAME
    assert sum_reference(v=V[-1], s=S).verdict is Verdict.SAME
    without = sum_reference(v_in=V)
    assert without.verdict is Verdict.PARTLY and without.notes == ["the output 's' is only in sum: not compared"]
    more = sum_reference(v_in=V, s=S, q=[3.0, 1.0, 4.0, 1.0])
    assert more.verdict is Verdict.PARTLY and more.uncompared == ["q"]
    assert "'q' is only in ref: not compared, since no value of the model has its numbers" in more.notes


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([9.0, 8.0, 7.0, 6.0], "no value of the model has its numbers"),
        (np.zeros((4, 3)), "no value of the model has its shape and dtype"),
        (np.array([True, True, False, True]), "no value of the model has its numbers"),
    ],
)
def test_what_is_not_found_is_not_compared(value: Any, why: str) -> None:
    result = sum_reference(q=value)
    assert result.verdict is Verdict.NOT_COMPARED
    assert f"'q' is only in ref: not compared, since {why}" in result.notes


TWINS = """
twins (int64 M, float a0) => (float a, float[N] s, float[N] t) {
  a, s, t = Loop <body = body (int64 i, bool c, float x) => (bool keep, float x_out, float lower, float upper) {
    keep = Identity (c)
    f = Cast <to = 1> (i)
    five = Constant <value = float {5}> ()
    lower = Min (x, five)
    upper = Max (f, x)
    one = Constant <value = float {1}> ()
    x_out = Add (x, one)
  }> (M, , a0)
}
"""


def test_values_that_agree_as_much_are_named_and_not_chosen_between() -> None:
    """Up to iteration 5 x, lower and upper are the same."""
    inputs = {"M": np.int64(9), "a0": F32(0.5)}
    numbers = [0.5, 1.5, 2.5, 3.5, 4.5, -1.0, -2.0, -3.0, -4.0]
    result = compare_with_reference(model(TWINS), inputs, arrays(q=numbers))
    assert result.verdict is Verdict.NOT_COMPARED and not result.loops
    (why,) = [note for note in result.notes if "'q'" in note]
    assert "several values of the model agree with it as much: " in why and "'lower'" in why and "'upper'" in why
    # All of it tells them apart, though the first iterations do not.
    for name, last in (("lower", [5.0] * 4), ("upper", [5.5, 6.5, 7.5, 8.5])):
        whole = compare_with_reference(model(TWINS), inputs, arrays(q=numbers[:5] + last))
        assert [loop.renamed_values for loop in whole.loops] == [[({"lower": "s", "upper": "t"}[name], "q", "value")]]


def test_names_that_are_given() -> None:
    wrong = sum_reference(ComparisonOptions(names={"v_out": "q"}), q=[9.0, 8.0, 7.0, 6.0])
    assert wrong.verdict is Verdict.DIFFER and wrong.loops[0].renamed_values == [("v_in", "q", "given")]
    for names, complaint in (({"none": "q"}, "the model has no 'none'"), ({"v_out": "qq"}, "ref has no 'qq'")):
        with pytest.raises(loopdbg.UsageError, match=complaint):
            sum_reference(ComparisonOptions(names=names), q=[9.0, 8.0, 7.0, 6.0])
    with pytest.raises(loopdbg.UsageError, match="there is no loop 'none'"):
        sum_reference(ComparisonOptions(loops=["none"]), v_in=V)
    assert sum_reference(ComparisonOptions(loops=["Loop_0"]), v_in=V).verdict is Verdict.SAME


def test_inputs_are_not_values_to_compare() -> None:
    result = sum_reference(M=np.int64(4), v0=1.0, v_in=V, s=S)
    assert result.verdict is Verdict.SAME and result.compared_values == 0


# ------------------------------------------------------------------ what differs


def first_difference(comparison: Comparison) -> Any:
    """Loop, entry and iteration of the first difference, and the node that is to blame or the remark."""
    first = comparison.first
    assert first is not None and first.first is not None, report_text(comparison)
    cause = first.cause
    assert cause is not None, report_text(comparison)
    node = cause.remark if cause.node is None else cause.node.node
    return first.left.rpartition(" ")[2], first.first.entry, first.first.iteration, node


def test_the_first_iteration_and_node() -> None:
    result = sum_reference(v_in=V, f=[0.0, 1.0, 2.0, 3.0], e=[1.0, 4.0, 15.0, 48.0])
    assert first_difference(result) == ("Loop_0", (), 2, "Mul_3")
    assert result.loops[0].differing_iterations == 2 and result.loops[0].growth.first_beyond == 2
    text = report_text(result)
    assert "first difference: loop 'main ▸ Loop_0', iteration 2, body result 'e'" in text
    assert "first node that differs: Mul 'Mul_3'\n        v_out = 4.0" in text


def test_of_what_is_not_in_the_reference_the_nodes_between_are_named() -> None:
    result = sum_reference(v_in=[1.0, 2.0, 5.0, 8.0], s=S)
    cause_text = "made by one of these nodes, in this order: Cast 'Cast_1', Add 'Add_2'; what goes into them agrees"
    assert first_difference(result) == ("Loop_0", (), 2, cause_text)
    # The state may have been another one before.
    result = sum_reference(s=[1.0, 4.0, 15.0, 48.0])
    assert first_difference(result)[3].endswith(
        "or in an iteration before, since the reference does not have what is carried as 'v_in'"
    )


def test_a_constant_of_a_body_is_to_blame_for_itself_alone() -> None:
    keep = np.array([True, True, False, True])
    assert first_difference(sum_reference(keep=keep, v_in=V)) == ("Loop_0", (), 2, "Constant_0")


def test_track_source_is_reported() -> None:
    track = Track("h", {(k,): F32(k) for k in range(4)}, "rnn", "aten.add.Tensor", "add_2", "model.py:87", "result")
    result = compare_with_reference(
        model(SUM), MODEL_INPUTS, Reference("ref", [track]), ComparisonOptions(names={"v_out": "h"})
    )
    assert "ref has it by aten.add.Tensor 'add_2' at model.py:87" in report_text(result)
    assert result.loops[0].right == "rnn"


def test_a_value_by_name_of_another_shape_or_kind() -> None:
    result = sum_reference(v_in=np.ones((4, 3)))
    assert result.first is not None and result.first.first is not None and result.first.first.delta.kind == "shape"
    result = sum_reference(v_in=np.array([1, 2, 4, 7]))
    assert result.first is not None and result.first.first is not None and result.first.first.delta.kind == "dtype"
    assert sum_reference(v=np.ones(2)).outputs[0].delta.kind == "shape"


def test_nan_is_the_same_as_nan() -> None:
    item, inputs = sample("vanishing_scale.onnx")
    states = recorded_states(item, inputs)
    assert np.isnan(states[-1]).all()
    result = compare_with_reference(item, inputs, arrays(any=np.stack(states)))
    assert result.loops[0].iterations == 1000 and result.loops[0].same
    states[500] = np.zeros_like(states[500])
    result = compare_with_reference(item, inputs, arrays(any=np.stack(states)))
    assert result.first is not None and result.first.first is not None and result.first.first.iteration == 500


def recorded_states(item: loopdbg.Model, inputs: Any) -> list[Any]:
    """The first carried value behind each iteration."""
    states: list[Any] = []
    item.run(inputs, on_iteration=lambda frame: states.append(next(iter(frame.carried.values())).copy()))
    return states[1:]


def test_elements_of_a_reversed_scan_output_by_their_iterations() -> None:
    item, inputs = sample("reverse_sum.xml")
    sums = item.run(inputs)["suffix_sums"].copy()
    assert compare_with_reference(item, inputs, arrays(suffix_sums=sums)).loops[0].same
    sums[2, 1] += 1
    assert first_difference(compare_with_reference(item, inputs, arrays(suffix_sums=sums)))[1:] == ((), 3, "add_row")
    # The same in the order of time, by a name that says nothing.
    assert first_difference(compare_with_reference(item, inputs, arrays(any=sums[::-1])))[2] == 3


def test_a_branch_that_was_not_taken() -> None:
    item, inputs = model(BRANCHES), {"M": np.int64(4), "v0": F32(2)}
    right = {"y": [3.0, 9.0, 10.0, 100.0], "up__0": 3.0, "up__2": 10.0}
    assert compare_with_reference(item, inputs, arrays(**right)).loops[0].same
    result = compare_with_reference(item, inputs, arrays(**right, up__1=9.0))
    assert first_difference(result)[2:] == (1, "the If 'If_4' takes the other branch here, by its condition 'even'")


def nested(extra: bool = False, wrong: bool = False) -> Reference:
    """NESTED as a Python loop; ``extra``: one more inner iteration in the last row, ``wrong``: another number there."""
    with loopdbg.record_reference() as ref:
        total = 0
        with ref.loop("rows"):
            for i in range(4):
                with ref.loop("columns"):
                    for j in range(3 + (extra and i == 3)):
                        total += i * j + (wrong and (i, j) == (3, 1))
                        ref.iteration(sum=total)
                ref.iteration(rows_sum=total)
        ref.output(total=total)
    return ref.reference


def test_loops_in_loops() -> None:
    item, inputs = model(NESTED), {"M": np.int64(4), "K": np.int64(3)}
    result = compare_with_reference(item, inputs, nested())
    assert [(loop.left, loop.right, loop.same) for loop in result.loops] == [
        ("main ▸ Loop_1", "rows", True),
        ("main ▸ Loop_1 ▸ Loop_1", "columns", True),
    ]
    assert [loop.compared_values for loop in result.loops] == [4, 12]
    result = compare_with_reference(item, inputs, nested(wrong=True))
    assert (
        first_difference(result)[:3] == ("Loop_1", (3,), 1)
        and result.first is not None
        and result.first.right == "columns"
    )
    result = compare_with_reference(item, inputs, nested(extra=True))
    trips = result.loops[1].trips
    assert trips is not None and (trips.entry, trips.left, trips.right) == ((3,), 3, 4)


def test_trip_counts_without_any_values() -> None:
    result = compare_with_reference(model(SUM), MODEL_INPUTS, Reference("ref", [], None, {"steps": {(): 5}}))
    (loop,) = result.loops
    assert (loop.right, loop.match_method) == ("steps", "structure") and loop.trips is not None
    assert (loop.trips.left, loop.trips.right) == (4, 5) and result.verdict is Verdict.DIFFER


def test_rows_tell_how_often_a_loop_ran() -> None:
    longer = sum_reference(v_in=[*V, 11.0])
    assert longer.verdict is Verdict.DIFFER and longer.loops[0].trips is not None
    assert (longer.loops[0].trips.left, longer.loops[0].trips.right) == (4, 5)
    shorter = sum_reference(v_in=V[:2])
    assert shorter.verdict is Verdict.PARTLY and shorter.loops[0].truncated_at_iteration == 2


def test_iterations_that_the_reference_lacks() -> None:
    result = sum_reference(v_in__0=1.0, v_in__2=4.0, v_in__3=7.0, s=S)
    assert result.verdict is Verdict.PARTLY and "ref has 'v_in' in 3 of 4 iterations" in result.notes


def test_a_run_that_a_limit_ended() -> None:
    result = compare_reference(ModelSide(model(SUM), MODEL_INPUTS, 2), arrays(v_in=V), ComparisonOptions())
    assert result.verdict is Verdict.LIMITED and result.loops[0].iterations == 2


BEFORE = """
before (float x) => (float v) {
  two = Constant <value = float {2}> ()
  doubled = Mul (x, two)
  begin = Neg (doubled)
  M = Constant <value = int64 {3}> ()
  v = Loop <body = body (int64 i, bool c, float h) => (bool keep, float h_out) {
    keep = Identity (c)
    h_out = Add (h, begin)
  }> (M, , begin)
}
"""


def test_what_differs_before_the_loop_is_where_it_comes_from() -> None:
    inputs = {"x": F32(1)}
    result = compare_with_reference(model(BEFORE), inputs, arrays(doubled=2.0, begin=-3.0, h=[-6.0, -9.0, -12.0]))
    first = result.first
    assert first is not None and first.cause is not None and first.cause.source is not None
    assert first.cause.source.name == "begin" and result.compared_values == 2
    assert "it can be followed back to 'begin'" in report_text(result)
    result = compare_with_reference(model(BEFORE), inputs, arrays(doubled=2.0, begin=-3.0))
    assert result.cause is not None and result.cause.node is not None and result.cause.node.op_type == "Neg"
    assert "main graph, value 'begin'" in report_text(result)


def test_a_trace_with_its_values(tmp_path: Any) -> None:
    first = model(SUM)
    path = tmp_path / "run.loopdb"
    with loopdbg.Recorder(path, first, MODEL_INPUTS) as recorder:
        recorder.finish(first.execute(MODEL_INPUTS, on_iteration=recorder))
    assert loopdbg.diff(path, {"v_in": F32(V), "s": F32(S)}).same
    result = loopdbg.diff(path, {"q": F32([1, 2, 5, 7]), "s": F32(S)})
    assert result.first is not None and (result.first.iteration, result.first.value, result.first.other) == (
        2,
        "v_in",
        "q",
    )
