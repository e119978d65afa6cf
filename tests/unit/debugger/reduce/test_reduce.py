"""The smallest submodel that shows a finding: a NaN, a breakpoint hit, a difference of two models."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from error_fields import raises_error
from loopdbg.debugger.compare.running.value_comparison import Delta, Tolerance
from loopdbg.debugger.reduce import initial_candidate
from loopdbg.debugger.reduce.initial_candidate import Finding, NothingFoundError
from loopdbg.debugger.reduce.interestingness import Observation, is_same_finding, normalized_error
from loopdbg.debugger.reduce.reducer import ReductionResult, reduce
from loopdbg.debugger.reduce.reduction_session import ReductionSession
from loopdbg.debugger.reduce.repro.repro import make_repro
from loopdbg.debugger.reduce.repro.repro_report import FindingSource
from loopdbg.runtime.errors import UsageError
from text_models import load_proto, model, proto, sample

#: The first NaN arises in iteration 2 of the inner loop, in iteration 3 of the outer one.
NESTED_NAN = """
g (float[3] a, float[5,4] rows) => (float[3] y) <int64 five = {5}, int64 four = {4}> {
  start = Abs (a)
  last = Loop (five, , start) <body = outer (int64 i, bool c, float[3] h) => (bool keep, float[3] h_new) {
    keep = Identity (c)
    row = Gather <axis = 0> (rows, i)
    h_new = Loop (four, , h) <body = inner (int64 j, bool d, float[3] g) => (bool keep2, float[3] g_new) {
      keep2 = Identity (d)
      one = Gather <axis = 0> (row, j)
      root = Sqrt (one)
      moved = Mul (g, root)
      g_new = Tanh (moved)
    }>
  }>
  y = Neg (last)
}
"""
PAIR = """
g (float[4] a, int64 n) => (float[4] y, float[N] s) <float[4] weight = {1, 2, 3, 4}> {
  squared = Mul (a, a)
  start = Add (squared, weight)
  y, s = Loop (n, , start) <body = body (int64 i, bool c, float[4] h) => (bool keep, float[4] h_new, float e) {
    keep = Identity (c)
    number = Cast <to = 1> (i)
    moved = Add (h, number)
    h_new = Sin (moved)
    e = ReduceSum <keepdims = 0> (h_new)
  }>
}
"""


def reduced(finding: Finding, **more: Any) -> ReductionResult:
    return reduce(ReductionSession(finding.test, finding.candidate, finding.observation, limit=finding.limit, **more))


def nodes(result: ReductionResult, which: int = 0) -> list[str]:
    document = result.candidate.documents[which]
    return [step.op_type for step in (*document.nodes(), *document.inner_nodes())]


def nested() -> tuple[loopdbg.Model, Mapping[str, Any]]:
    rows = np.ones((5, 4), np.float32)
    rows[3, 2] = -4
    return model(NESTED_NAN), {"a": np.array([1, 2, 3], np.float32), "rows": rows}


def changed(text: str, old: str, new: str) -> loopdbg.Model:
    assert old in text
    return load_proto(proto(text.replace(old, new)))


def compare_predicate(right: loopdbg.Model) -> Finding:
    return initial_candidate.find_model_difference(
        model(PAIR), right, {"a": np.ones(4, np.float32), "n": np.array(7)}, Tolerance()
    )


# ------------------------------------------------------------------ NaN


def test_reduces_to_the_node_that_makes_an_infinity() -> None:
    result = reduced(initial_candidate.find_breakpoint_hit(*sample("vanishing_scale.onnx"), "nan"))
    assert nodes(result) == ["Div"] and (result.observation.kind, result.end_reason) == ("inf", "smallest")
    assert {name: value.tolist() for name, value in result.candidate.inputs.items()} == {"h": [1.0], "s": 0.0}


def test_reduces_to_the_node_inside_two_loops() -> None:
    result = reduced(initial_candidate.find_breakpoint_hit(*nested(), "nan"))
    assert nodes(result) == ["Sqrt"] and result.observation.kind == "nan"
    assert [value.tolist() for value in result.candidate.inputs.values()] == [-4.0]


def test_mask_of_infinities_is_no_finding() -> None:
    text = """
g (float[2] a, float[2] mask) => (float[2] y) {
  b = Add (a, mask)
  c = Exp (b)
  d = Sub (mask, mask)
  y = Mul (c, d)
}"""
    inputs = {"a": np.ones(2, np.float32), "mask": np.array([0, -np.inf], np.float32)}
    result = reduced(initial_candidate.find_breakpoint_hit(model(text), inputs, "nan"))
    assert nodes(result) == ["Sub"] and result.observation.kind == "nan"


def test_model_without_nan_is_no_finding() -> None:
    with pytest.raises(NothingFoundError, match="no value of it becomes NaN") as error:
        initial_candidate.find_breakpoint_hit(*sample("newton_sqrt.onnx"), "nan")
    assert error.value.exit_status == 8


# ------------------------------------------------------------------ breakpoints


def test_breakpoint_keeps_the_computed_value() -> None:
    result = reduced(initial_candidate.find_breakpoint_hit(*sample("newton_sqrt.onnx"), "err < 1e-3"))
    assert "breakpoint 1 (if err < 1e-3)" in result.observation.text
    assert nodes(result)[0] == "Loop" and {"Sub", "Abs", "Div"} <= set(nodes(result))
    # One iteration is left, and it starts where the second last one ended.
    session = loopdbg.debug(*sample("newton_sqrt.onnx"))
    session.breakpoints.add("if err < 1e-3")
    session.continue_()
    assert session.back().text
    assert session.frame["x"] in result.candidate.inputs.values()


def test_breakpoint_without_a_hit_is_no_finding() -> None:
    with pytest.raises(NothingFoundError, match="true at no boundary"):
        initial_candidate.find_breakpoint_hit(*sample("newton_sqrt.onnx"), "err < -1")
    with raises_error(UsageError, name="no_such"):
        initial_candidate.find_breakpoint_hit(*sample("newton_sqrt.onnx"), "no_such < 1")


# ------------------------------------------------------------------ two models


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("h_new = Sin (moved)", "h_new = Tanh (moved)", ["Sin"]),
        ("moved = Add (h, number)", "moved = Sub (h, number)", ["Add"]),
        ("ReduceSum <keepdims = 0>", "ReduceMax <keepdims = 0>", ["ReduceSum"]),
        ("squared = Mul (a, a)", "squared = Add (a, a)", ["Mul"]),
        ("{1, 2, 3, 4}", "{1, 2, 3.5, 4}", ["Add"]),
    ],
)
def test_only_the_change_is_left(old: str, new: str, left: list[str]) -> None:
    result = reduced(compare_predicate(changed(PAIR, old, new)))
    assert nodes(result) == left and len(nodes(result, 1)) == 1


def test_names_may_differ() -> None:
    other = PAIR.replace("h_new = Sin (moved)", "h_new = Tanh (moved)")
    for name in ("squared", "start", "moved", "h_new", "number"):
        other = other.replace(name, f"v_{len(name)}_{name[0]}")
    result = reduced(compare_predicate(load_proto(proto(other))))
    assert (nodes(result), nodes(result, 1)) == (["Sin"], ["Tanh"])
    assert result.candidate.documents[0].inputs == result.candidate.documents[1].inputs == ["moved"]


def test_different_trip_count_is_found() -> None:
    source = proto(PAIR.replace("Loop (n, ,", "Loop (five, ,"))
    source.graph.initializer.append(onnx.numpy_helper.from_array(np.array(5), "five"))
    result = reduced(compare_predicate(load_proto(source)))
    assert result.observation.kind in ("value", "shape") and nodes(result)[0] == "Loop" and len(nodes(result)) <= 3


def test_equal_models_are_no_finding() -> None:
    with pytest.raises(NothingFoundError, match="outputs are the same"):
        compare_predicate(model(PAIR))
    with raises_error(UsageError, name="system", expected="onnx", got="openvino"):
        initial_candidate.find_model_difference(model(PAIR), sample("lstm.xml")[0], {}, Tolerance())


def test_an_input_that_one_model_reads_keeps_no_node() -> None:
    text = "g (float[1] v, float[1] f) => (float[1] t, float[1] u) <float[1] c = {4}> { t = Div (v, %s)  u = Exp (f) }"
    left, right = model(text % "c"), model(text % "f")
    inputs = {"v": np.float32([1]), "f": np.float32([3])}
    result = reduced(initial_candidate.find_model_difference(left, right, inputs, Tolerance()))
    assert [nodes(result, k) for k in (0, 1)] == [["Div"], ["Div"]]


# ------------------------------------------------------------------ the search


def test_search_is_deterministic() -> None:
    marks = [
        reduced(initial_candidate.find_breakpoint_hit(*nested(), "nan")).candidate.documents[0].content_key()
        for _ in range(2)
    ]
    assert marks[0] == marks[1]


class RecordingPredicate:
    """A predicate that records its candidates."""

    allows_other_values = True

    def __init__(self, predicate: Any) -> None:
        self.predicate, self.first_observation, self.asked = predicate, predicate.first_observation, []

    def __call__(self, candidate: Any) -> Observation | None:
        arrays = {name: np.asarray(value) for name, value in candidate.inputs.items()}
        values = sorted((name, item.shape, item.tobytes()) for name, item in arrays.items())
        self.asked.append((candidate.documents[0].content_key(), str(values)))
        return self.predicate(candidate)


def test_no_candidate_is_tested_twice() -> None:
    finding = initial_candidate.find_breakpoint_hit(*nested(), "nan")
    seen = RecordingPredicate(finding.test)
    result = reduced(replace(finding, test=seen))
    assert result.tests == len(seen.asked) == len(set(seen.asked)) > 5


def test_limit_leaves_the_best_so_far() -> None:
    finding = initial_candidate.find_breakpoint_hit(*nested(), "nan")
    result = reduced(finding, most=3)
    assert (result.end_reason, result.tests) == ("spent", 3)
    assert finding.test(result.candidate) is not None
    assert reduced(finding, seconds=0).tests == 0


def test_ctrl_c_leaves_the_best_so_far() -> None:
    finding = initial_candidate.find_breakpoint_hit(*nested(), "nan")
    messages: list[str] = []

    def say(text: str) -> None:
        messages.append(text)
        if len(messages) == 4:
            raise KeyboardInterrupt

    result = reduced(finding, say=say)
    assert result.end_reason == "interrupted" and finding.test(result.candidate) is not None
    assert messages[0] == "outputs: 5 nodes, test 1"


# ------------------------------------------------------------------ equivalent findings


def test_errors_are_matched_by_their_message() -> None:
    first = "Fail: Node 'a_1' (Add) of type 7 is not supported: 'x' at /tmp/a.onnx:12"
    other = "Fail: Node 'zz' (Mul) of type 9 is not supported: 'y' at /tmp/b.onnx:3"
    assert normalized_error(first) == normalized_error(other) == "fail node of type is not supported at"
    assert is_same_finding(Observation("refused", text=first), Observation("refused", text=other))
    assert not is_same_finding(
        Observation("refused", text=first), Observation("refused", text="Fail: no such operator")
    )
    assert not is_same_finding(Observation("refused", text=first), Observation("crashed", text=other))


def test_difference_keeps_its_kind() -> None:
    nan = Observation("value", delta=Delta("value", np.inf, np.inf, (), np.float32(1), np.float32("nan")))
    inf = Observation("value", delta=Delta("value", np.inf, np.inf, (), np.float32(1), np.float32("inf")))
    large = Observation("value", delta=Delta("value", 1.0, 0.5, (), 1.0, 2.0))
    small = Observation("value", delta=Delta("value", 1e-3, 1e-4, (), 1.0, 1.0001))
    assert is_same_finding(nan, nan) and not is_same_finding(nan, inf) and not is_same_finding(large, nan)
    assert is_same_finding(large, small) and not is_same_finding(small, large)


# ------------------------------------------------------------------ packs


def test_pack_reproduces_the_finding(tmp_path: Path) -> None:
    result, inputs = nested()
    outcome = make_repro(
        initial_candidate.find_breakpoint_hit(result, inputs, "nan"), FindingSource([result.name]), tmp_path / "pack"
    )
    assert outcome.confirmed and outcome.output.recheck is not None and outcome.output.recheck.kind == "nan"
    again = loopdbg.load(tmp_path / "pack" / "model.onnx")
    onnx.checker.check_model(tmp_path / "pack" / "model.onnx")
    assert np.isnan(again.run({"one": np.float32(-4)})["root"])
    assert outcome.output.nbytes < 200
    page = (tmp_path / "pack" / "README.md").read_text(encoding="utf-8")
    assert page.startswith("# Sqrt makes a NaN: 'root'\n") and "root = Sqrt (one)" in page
    assert str(tmp_path) not in page


def test_torch_script_runs_the_reduced_model(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the scripts for PyTorch need it")
    two = compare_predicate(changed(PAIR, "h_new = Sin (moved)", "h_new = Tanh (moved)"))
    whole = initial_candidate.Finding(two.candidate, two.observation, two.test, two.limit, 0)
    from loopdbg.debugger.reduce.repro.repro_scripts import ReproScript
    from loopdbg.debugger.reduce.repro.torch_script import torch_script

    document = whole.candidate.documents[0]
    inputs = whole.candidate.inputs_for(document)
    outputs = document.build_model().run(inputs)
    text = torch_script(document.proto, ReproScript("all of it", "differs", ["m.onnx"], inputs, outputs, 1e-4, 1e-5))  # type: ignore[attr-defined]
    (tmp_path / "run_torch.py").write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, tmp_path / "run_torch.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
