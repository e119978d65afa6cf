"""Lesson 22: loops in loops, and how often in all."""

from __future__ import annotations

from ..lesson import Card, CardKind, ExerciseSet, LessonStep
from ..question import ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene, SceneRun

_SCENE = Scene("towers.onnxtxt", {"n": 3, "height0": 1})


def _inner_iterations(run: SceneRun) -> int:
    return sum(run["counts"])


QUESTION = ValueQuestion(
    _SCENE,
    lambda run: (
        f"towers runs {run['n']} times and carries height, from {run['height0']}, which each iteration doubles "
        "at its end; tower inside runs height times. How many iterations of tower run in all?"
    ),
    _inner_iterations,
    lambda run: f"Its entries run {', '.join(map(str, run['counts']))} times.",
    (
        WrongRule(lambda run: run["counts"][-1], "That is the last entry alone."),
        WrongRule(lambda run: run["n"] * run["height0"], "Each entry has its own trip count, and height doubles."),
        WrongRule(
            lambda run: 2 * _inner_iterations(run), "height is doubled at the end of an iteration, after tower has run."
        ),
        WrongRule(lambda run: run["n"] * run["counts"][-1], "Only the last entry runs so often."),
    ),
    "`c` to the end: the title, and `info loops`, say how often each loop ran.",
    ("How often does tower run in each iteration of towers?", "`scene A` may be run: `i` goes into the next tower."),
)
LESSON = ExerciseSet(
    22,
    "Loops in loops: how often in all",
    4,
    (
        Card(
            CardKind.READ,
            "towers carries height and doubles it; its inner loop tower runs height times. Its trip count is read "
            "again at each entry, from what is carried outside.",
            _SCENE,
        ),
        Card(
            CardKind.DO,
            "",
            _SCENE,
            steps=(
                LessonStep("i", "into", "three times: into the first tower", 3),
                LessonStep("f", "finish", "to its end"),
                LessonStep("s", "step", "to the next iteration of towers"),
            ),
        ),
        Card(
            CardKind.ASK,
            "",
            _SCENE,
            generate_question=vary_inputs(QUESTION, lambda r: {"n": r.randint(3, 5), "height0": r.randint(1, 4)}),
        ),
        Card(CardKind.LAST, "An inner loop runs as often as each entry says; in all it is the sum of them.", _SCENE),
    ),
    "Count what runs inside of what runs.",
    {"A": _SCENE},
)
