"""Lesson 6: absent is not true."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from ..lesson import Lesson, LessonStep
from ..question import ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene, SceneRun

SCENE_INPUTS = {"n": 6, "x0": 0}
A = Scene("climb.onnxtxt", SCENE_INPUTS)
B = Scene("climb_absent.onnxtxt", SCENE_INPUTS)
C = Scene("climb_endless.onnxtxt", {"x0": 0})


def _iterations_if_absent_is_true(run: SceneRun) -> int:
    """The trip count if the condition were connected to true."""
    return A.with_inputs(**run.scene.inputs).reference_run.iterations


QUESTION = ValueQuestion(
    B,
    lambda run: f"How many iterations run in B, with n = {run['n']} and x0 = {run['x0']}?",
    lambda run: run.iterations,
    lambda run: (
        f"The body yields more, and it is ignored: only the trip count of {run['n']} ends the loop. rows is "
        f"{run['rows']}."
    ),
    (
        WrongRule(
            _iterations_if_absent_is_true,
            "So it would be with true. ONNX's table says otherwise: without cond the body still yields a condition, "
            "and it is ignored.",
        ),
        WrongRule(lambda _: 0, "Absent is not false: no condition is tested, so none can stop the loop."),
        WrongRule(lambda _: "endless|never|infinite|no end", "That is C: there the trip count is absent too."),
    ),
    "In B step with `s`, and see what the loop does after more is false.",
    (
        "In scene B, stand before iteration 3, where more is false, and press `W`.",
        "`scene B` may be run with n = 6: `f`, and the title says how many ran.",
    ),
)


def _inputs(random: Random) -> dict[str, int]:
    return {"n": random.randint(4, 9), "x0": random.randint(0, 3)}


#: The recall question of lesson 9.
RECALL_QUESTION = ValueQuestion(
    B.with_inputs(n=4, x0=2),
    lambda run: (
        "Once more lesson 6's B: x_next = x + 1, the condition more = x_next < 3, and the condition input is absent. "
        f"With n = {run['n']} and x0 = {run['x0']}, how many iterations run?"
    ),
    QUESTION.compute_answer,
    QUESTION.explanation,
    QUESTION.wrong_rules,
    "`s` runs one iteration: does it go on after more is false?",
    ("What is ignored where the condition input is absent?", "Lesson 6 has the loop to be run: its scene B."),
)
generate_question, generate_recall = vary_inputs(QUESTION, _inputs), vary_inputs(RECALL_QUESTION, _inputs)


def _note(scene: Scene, compare: Callable[[Scene, str], str]) -> str:
    return (
        "ONNX Runtime and OpenVINO test what the body yields all the same, and stop where more is false: know this "
        f"before you convert a model. {compare(B, 'onnxruntime')} shows it."
    )


LESSON = Lesson(
    6,
    "Absent is not true",
    6,
    "Read a loop whose condition input is missing, and know what never ends.",
    ("absent",),
    {"A": A, "B": B, "C": C},
    "x_next = x + 1, the condition more = x_next < 3, rows collects x_next. In A the loop's condition input is "
    "connected to true and the trip count n is 6; in B the condition input is absent: nothing is connected to it; in "
    "C both inputs are absent.",
    (
        LessonStep("f", "finish", "in A: three iterations, rows is [1, 2, 3]"),
        LessonStep("scene B", "scene", "the condition input is absent"),
        LessonStep("s", "step", "three times: more is false", 3),
        LessonStep("scene C", "scene", "the trip count is absent as well"),
        LessonStep("s", "step", "six times", 6),
        LessonStep("W", "why", "whether it ends"),
    ),
    "The first line of why, here in C: `never ends`. Go back to see the others: in B the trip count alone decides, and "
    "why says that more is ignored; in A the condition decides.",
    QUESTION,
    generate_question,
    "cond true: the body decides from iteration 1 on. cond absent: what the body yields is ignored, only the trip "
    "count ends it.",
    write_note=_note,
)
