"""Lesson 19: an If inside a loop."""

from __future__ import annotations

from ..lesson import Card, CardKind, ExerciseSet, LessonStep
from ..question import ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene, SceneRun

_SCENE = Scene("fork.onnxtxt", {"n": 4, "x0": 7})


def _run_with_fixed_branches(run: SceneRun, even: bool, odd: bool) -> int:
    """The result of a wrong rule that always takes certain branches."""
    x = int(run["x0"])
    for _ in range(run["n"]):
        is_even = x % 2 == 0
        x = x // 2 if (is_even and even) or (not is_even and not odd) else 3 * x + 1
    return x


def _value_after_changed_count(run: SceneRun, change: int) -> int | None:
    if run["n"] + change < 0:
        return None
    x: int = run.scene.with_inputs(n=run["n"] + change).reference_run["x_last"]
    return x


QUESTION = ValueQuestion(
    _SCENE,
    lambda run: (
        f"x begins with {run['x0']}. Each iteration halves x where it is even; where it is odd x becomes 3x + 1. "
        f"What is x_last after {run['n']} iterations?"
    ),
    lambda run: run["x_last"],
    "An If runs one branch, which may be another one in each iteration.",
    (
        WrongRule(lambda run: _value_after_changed_count(run, -1), "One iteration is missing."),
        WrongRule(lambda run: _value_after_changed_count(run, 1), "That is one iteration too many."),
        WrongRule(
            lambda run: _run_with_fixed_branches(run, even=True, odd=False),
            "That halves always: the other branch is never taken.",
        ),
        WrongRule(
            lambda run: _run_with_fixed_branches(run, even=False, odd=True), "That takes the other branch always."
        ),
    ),
    "Step with `n`: the listing marks the branch that runs.",
    ("Is x even or odd in each iteration?", "`scene A` may be run: step with `n` through the If."),
)
LESSON = ExerciseSet(
    19,
    "An If inside a loop",
    4,
    (
        Card(
            CardKind.READ,
            "A body may hold an If: its branches are graphs of their own, of which one runs in each iteration. What it "
            "gives has one name, whichever branch made it.",
            _SCENE,
        ),
        Card(
            CardKind.DO,
            "",
            _SCENE,
            steps=(
                LessonStep("n", "next", "three nodes: up to the If", 3),
                LessonStep("s", "step", "to the boundary: 7 is odd, so x is 22"),
                LessonStep("s", "step", "22 is even, so x is 11"),
            ),
        ),
        Card(
            CardKind.ASK,
            "",
            _SCENE,
            generate_question=vary_inputs(QUESTION, lambda r: {"n": r.randint(3, 6), "x0": r.randint(3, 20)}),
        ),
        Card(CardKind.LAST, "One branch an iteration; the other one is not computed.", _SCENE),
    ),
    "Follow a body that chooses.",
    {"A": _SCENE},
)
