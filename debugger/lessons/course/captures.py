"""Lesson 8: what the body can see."""

from __future__ import annotations

from random import Random

from ..learner_state import LearnerState
from ..lesson import Lesson, LessonStep
from ..question import Feedback, Question, StateQuestion, ValueQuestion, WrongRule
from ..scene import Scene, SceneRun

SCENE = Scene("grow.onnxtxt", {"n": 3, "start": 1})


def _carried_before_iteration_2(run: SceneRun) -> int:
    """The value of x before iteration 2."""
    x: int = run.carried_value("grow", "x", 2)
    return x


def _check_final_value(wanted: int, state: LearnerState) -> Feedback | None:
    """Check that one change of start before iteration 2 gives the wanted x_last."""
    edits = state.edits
    if state.stopped_by is None or not state.at_boundary or not edits:
        return None
    x, edit = state.carried("x"), edits[0]
    old_x = _carried_before_iteration_2(state.reference_run)
    if len(edits) > 1:
        return Feedback(False, f"x_last is {x}, by {len(edits)} changes; one is enough: `r`.")
    if edit.name != "start":
        status = "is right, but" if x == wanted else f"is {x}, and"
        return Feedback(
            False, f"x_last {status} you changed {edit.name}, which the back edge carries. Leave it alone: `r`."
        )
    added = state.value("start")
    if x == wanted and edit.iteration == 2:
        return Feedback(True, f"Iteration 2 received {old_x} and read start again: {old_x} + {added} is {wanted}.")
    if edit.iteration < 2:
        return Feedback(
            False,
            f"x_last is {x}: every iteration from {edit.iteration} on adds {added}. But see: x itself did not jump to "
            f"{added}; the initial value was taken once. Set it before iteration 2.",
        )
    return Feedback(False, f"x_last is {x}: iteration 2 adds start to what it received, {old_x} + {added}.")


def final_value_question(start: int, wanted: int) -> StateQuestion:
    """Ask to change x_last to a number."""
    return StateQuestion(
        SCENE.with_inputs(start=start),
        f"Before iteration 2 change start alone so that x_last becomes {wanted}; then `f`.",
        lambda state: _check_final_value(wanted, state),
        "`r`, `s`, `s`, then set start, then `f`: the row of x says what x_last is.",
        (
            f"x before iteration 2, plus what, is {wanted}?",
            "`r`, `s`, `s`, set a value of start, `f`.",
            lambda run: (
                f"x is {_carried_before_iteration_2(run)} there: `set start ="
                f" {wanted - _carried_before_iteration_2(run)}`."
            ),
        ),
    )


def generate_question(random: Random) -> Question:
    """Any start, and an x_last that no start gives in all three iterations."""
    start, added = random.randint(1, 4), random.randint(7, 20)
    return final_value_question(start, 3 * start + added)


LESSON = Lesson(
    8,
    "What the body can see",
    5,
    "Tell a value read once, at the start, from one read in every iteration.",
    ("capture",),
    {"A": SCENE},
    "x begins with start, and x_next = x + start: the body reads start a second time, by its name, from the graph "
    "around it. That is a capture. n is 3 and start is 1.",
    (LessonStep("s", "step", "x goes 1 → 2"), LessonStep("s", "step", "x goes 2 → 3")),
    "x moves, `2 → 3`, and the inputs of the body say `start` 1, which no step moves.",
    final_value_question(1, 13),
    generate_question,
    "The initial value is read once, a capture in every iteration, and no iteration can change a capture. (In OpenVINO "
    "a body sees nothing around it: what ONNX captures comes in as an invariant input.)",
    guess_question=ValueQuestion(
        SCENE,
        "What is x_last?",
        lambda run: run["x_last"],
        "it begins with 1, and three iterations add 1 each.",
        (WrongRule(lambda _: 8, "8 would be doubling: each iteration adds start, not x."),),
        "`f` runs to the end.",
    ),
)
