"""Causes that are demonstrated by applying edits: one, two together, edits without effect, and what cannot be shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diff_checks import compare_models, report_text
from loopdbg.debugger.compare.proof import intervention
from loopdbg.debugger.compare.proof.intervention import Reruns
from loopdbg.debugger.compare.reference_match.reference_comparison import compare_reference
from loopdbg.debugger.compare.report.findings import Comparison, Demonstration, EditEffect, Verdict
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide, TraceSide, open_side
from loopdbg.debugger.reference.reference_files import reference_from_arrays
from loopdbg.debugger.trace.recorder import Recorder
from loopdbg.runtime.errors import InterruptError
from text_models import model

F32 = np.float32
#: ``w`` is read by nothing that the output needs where ``p`` is true.
BASE = """g (float[2] x, bool p, int64 n) => (float[2] y, float[2] z)
<bool go = {1}, float[2] bias = {1, -1}, float[2] unused = {3, 4}> {
  a = Loop (n, go, x) <body = step (int64 i, bool c, float[2] h) => (bool c2, float[2] h2) {
    c2 = Identity (c)
    s = Add (h, bias)
    t = Tanh (s)
    other = Mul (s, unused)
    h2 = If (p) <then_branch = yes () => (float[2] u) { u = Identity (t) },
                 else_branch = no () => (float[2] v) { v = Identity (other) }>
  }>
  y = Neg (a)
  z = Abs (x)
}"""
FEEDS: dict[str, Any] = {"x": F32([0.5, -1]), "p": np.bool_(True), "n": np.int64(3)}


def compared(*changes: tuple[str, str], **inputs: Any) -> Comparison:
    """The comparison of BASE with what the changes make of it."""
    text = BASE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return compare_models(BASE, text, **{**FEEDS, **inputs})


def effects(comparison: Comparison) -> list[tuple[str, EditEffect]]:
    return [(item.name, item.effect) for item in comparison.static_differences]


TANH, OUTPUT = ("t = Tanh", "t = Sin"), ("z = Abs", "z = Neg")
BIAS, UNUSED = ("bias = {1, -1}", "bias = {1, -2}"), ("unused = {3, 4}", "unused = {3, 5}")


def test_one_edit_is_shown_by_one_rerun() -> None:
    result = compared(BIAS)
    assert effects(result) == [("bias", EditEffect.CAUSE)]
    demonstration = result.demonstration
    assert demonstration is not None and demonstration.method == "edits"
    assert demonstration.reruns == 1 and demonstration.is_minimal and demonstration.bit_identical


def test_two_edits_that_act_together_are_both_causes() -> None:
    result = compared(TANH, BIAS)
    assert dict(effects(result)) == {"bias": EditEffect.CAUSE, "t": EditEffect.CAUSE}
    assert result.demonstration is not None and result.demonstration.reruns == 3


def test_exchanged_operands_are_one_cause() -> None:
    text = BASE.replace("s = Add (h, bias)", "s = Sub (h, bias)")
    result = compare_models(text, text.replace("Sub (h, bias)", "Sub (bias, h)"), **FEEDS)
    assert effects(result) == [("s", EditEffect.CAUSE)]
    assert result.demonstration is not None and result.demonstration.reruns == 1


def test_edits_that_cannot_be_applied_alone_are_causes_together() -> None:
    """Two attributes of one node: it is computed as on the right, or not."""
    text = BASE.replace("t = Tanh (s)", "t = HardSigmoid <alpha = 0.5, beta = 0.5> (s)")
    result = compare_models(text, text.replace("<alpha = 0.5, beta = 0.5>", "<alpha = 0.25, beta = 0.25>"), **FEEDS)
    assert effects(result) == [("t", EditEffect.CAUSE)] * 2


#: The last node of BASE and a constant that it reads, on both sides -> which edits are causes.
EDITS_OF_ONE_NODE = [
    ("Mul (x, k)", "2, 2", "Sub (x, k)", "2, 3", {"z", "k"}),
    ("Mul (x, k)", "-8, -9", "Max (x, k)", "-9, -9", {"z"}),
    ("Mul (x, k)", "2, 2", "Div (x, k)", "-1, -1", {"k"}),
]


@pytest.mark.parametrize(("node", "k", "other", "other_k", "causes"), EDITS_OF_ONE_NODE)
def test_edits_of_one_node_are_applied_one_by_one(
    node: str, k: str, other: str, other_k: str, causes: set[str]
) -> None:
    texts = (
        BASE.replace("Abs (x)", new).replace("<bool go", f"<float[2] k = {{{numbers}}}, bool go")
        for new, numbers in ((node, k), (other, other_k))
    )
    result = compare_models(*texts, **FEEDS)
    assert {name for name, effect in effects(result) if effect is EditEffect.CAUSE} == causes
    assert {name for name, _ in effects(result)} == {"z", "k"}


def test_edits_of_two_outputs_are_both_causes() -> None:
    assert dict(effects(compared(TANH, OUTPUT))) == {"t": EditEffect.CAUSE, "z": EditEffect.CAUSE}


def test_edit_of_a_branch_that_is_not_taken_has_no_effect() -> None:
    result = compared(UNUSED, TANH)
    assert effects(result) == [("t", EditEffect.CAUSE), ("unused", EditEffect.NO_EFFECT)]
    lines = [line.strip() for line in report_text(result).splitlines()]
    assert lines.index("cause:") < lines.index("written otherwise, without effect on these inputs:")
    shown = "with this edit applied to left, the outputs are those of right, bit for bit"
    assert any(line.startswith(f"shown by: {shown}") for line in lines)
    taken = compared(UNUSED, TANH, p=np.bool_(False))
    assert effects(taken) == [("unused", EditEffect.CAUSE), ("t", EditEffect.NO_EFFECT)]


def test_edits_of_equal_runs_have_no_effect() -> None:
    result = compared(UNUSED)
    assert result.verdict is Verdict.SAME and result.demonstration is None
    assert effects(result) == [("unused", EditEffect.NO_EFFECT)]


def test_minimal_set_of_many_edits() -> None:
    changes = [("c2 = Identity (c)", "c2 = Identity (go)"), UNUSED, ("t = Tanh (s)", "t = Tanh (h)"), OUTPUT, BIAS]
    result = compared(*changes)
    causes = {name for name, effect in effects(result) if effect is EditEffect.CAUSE}
    assert causes == {"t", "z"} and {"unused", "bias"} <= {name for name, _ in effects(result)} - causes


def test_other_iterations_are_shown_by_the_iterations() -> None:
    counting = BASE.replace("c2 = Identity (c)", "c2 = Less (i, last)").replace("bool go", "int64 last = {0}, bool go")
    result = compare_models(counting, counting.replace("last = {0}", "last = {1}"), **FEEDS)
    assert effects(result) == [("last", EditEffect.CAUSE)]
    assert result.demonstration is not None and "iterations" in result.demonstration.text


def test_values_of_a_loop_are_shown_where_no_output_differs() -> None:
    hidden = BASE.replace("y = Neg (a)", "y = Sub (a, a)")
    result = compare_models(hidden, hidden.replace(*BIAS), **FEEDS)
    assert not result.outputs and result.first is not None
    assert effects(result) == [("bias", EditEffect.CAUSE)]


def test_where_one_side_never_ends_the_iterations_are_shown() -> None:
    test = "s0 = ReduceMin <keepdims = 0> (h)  c2 = Less (s0, limit)"
    forever = BASE.replace("Loop (n, go", "Loop (, go").replace("c2 = Identity (c)", test)
    forever = forever.replace("bool go", "float limit = {5}, bool go")
    result = compare_models(forever, forever.replace("limit = {5}", "limit = {-5}"), most=50, **FEEDS)
    assert effects(result) == [("limit", EditEffect.CAUSE)]


def test_edits_to_a_recorded_run_are_applied_to_the_model(tmp_path: Path) -> None:
    recording, changed = tmp_path / "run.loopdb", model(BASE.replace(*BIAS))
    with Recorder(recording, changed, FEEDS) as recorder:
        recorder.finish(changed.execute(FEEDS, on_iteration=recorder))
    side = open_side(recording)
    assert isinstance(side, TraceSide)
    result = compare_sides(ModelSide(model(BASE), FEEDS), side, ComparisonOptions())
    side.trace.close()
    assert effects(result) == [("bias", EditEffect.CAUSE)]


def test_values_of_a_reference_are_substituted() -> None:
    rows, h = [], FEEDS["x"]
    for _ in range(3):
        h = np.sin(h + F32([1, -1]))
        rows.append(h)
    shown = proof_against({"h2": np.array(rows), "y": -h})
    assert shown is not None and (shown.method, shown.reruns) == ("values", 1)
    # What is after the loop differs, too: substituted values of the loop do not show that.
    assert proof_against({"h2": np.array(rows), "y": h}) is None


def proof_against(reference: dict[str, Any]) -> Demonstration | None:
    """How the cause of differences between BASE and recorded values is shown."""
    result = compare_reference(
        ModelSide(model(BASE), FEEDS), reference_from_arrays("values", reference), ComparisonOptions()
    )
    assert result.verdict is Verdict.DIFFER and result.first is not None
    return result.demonstration


def test_interrupt_prints_the_smallest_set_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    run = Reruns.run

    def interrupted(self: Reruns, *arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) > 4:
            raise InterruptError("interrupted")
        return run(self, *arguments, **options)

    monkeypatch.setattr(Reruns, "run", interrupted)
    text = BASE
    for old, new in (TANH, BIAS, UNUSED, OUTPUT):
        text = text.replace(old, new)
    sides = [ModelSide(model(item), FEEDS) for item in (BASE, text)]
    result = compare_sides(sides[0], sides[1], ComparisonOptions(reports_partial=True))
    assert isinstance(result.error, InterruptError) and result.verdict is Verdict.DIFFER
    assert result.demonstration is not None and not result.demonstration.is_minimal
    assert "interrupted" in result.demonstration.text and EditEffect.CAUSE in dict(effects(result)).values()
    calls.clear()
    with pytest.raises(InterruptError):
        compare_sides(*[ModelSide(model(item), FEEDS) for item in (BASE, text)], ComparisonOptions())


def test_search_ends_after_the_most_reruns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervention, "MAX_RERUNS", 1)
    result = compared(TANH, BIAS)
    assert result.demonstration is not None and not result.demonstration.method
    assert {effect for _, effect in effects(result)} == {EditEffect.UNKNOWN}
