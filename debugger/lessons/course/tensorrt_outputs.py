"""Lesson 21: TensorRT's loop outputs."""

from __future__ import annotations

from random import Random
from typing import Any

from ..lesson import Card, CardKind, ExerciseSet, LessonStep
from ..question import ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene, SceneRun

_SCENE = Scene("kinds.py", {"n": 4, "x0": 1})
_OUTPUT_LENGTH = 6


def _collected_values(
    run: SceneRun, first: int, backward: bool = False, front: bool = False, padded: bool = True
) -> list[int]:
    """The values collected by a rule: from an iteration on, optionally reversed, and padded in front, behind or not."""
    n, x0 = run["n"], run["x0"]
    values = [x0 + 3 * (k + first) for k in range(n)]
    zeros = [0] * (_OUTPUT_LENGTH - n if padded else 0)
    values = values[::-1] if backward else values
    return [*zeros, *values] if front else [*values, *zeros]


def _output_question(name: str, prompt: str, explanation: str, wrong_rules: tuple[WrongRule, ...]) -> ValueQuestion:
    return ValueQuestion(
        _SCENE,
        lambda run: f"x is a recurrence that begins with {run['x0']}, x_next = x + 3, kCOUNT is {run['n']}. {prompt}",
        lambda run: run[name],
        explanation,
        wrong_rules,
        "`f` runs it; then `print` the output.",
        (
            "What does it collect, x or x_next? And has it a length?",
            "`scene A` may be run: `f`, and look at all three.",
        ),
        multiple_choice=name != "last",
    )


_LAST_VALUE_QUESTION = _output_question(
    "last",
    "last is a kLAST_VALUE of x: what is it?",
    "The last value of a recurrence is what the last iteration made.",
    (
        WrongRule(lambda run: run["x0"] + 3 * (run["n"] - 1), "That is what the last iteration received."),
        WrongRule(lambda run: run["x0"] + 3 * (run["n"] + 1), "That is one iteration too many."),
    ),
)
_CONCATENATE_QUESTION = _output_question(
    "all",
    f"all is a kCONCATENATE of x itself, with length {_OUTPUT_LENGTH}: what is it?",
    "The recurrence begins with what went in; where the length is more than the iterations, zeros follow.",
    (
        WrongRule(lambda run: _collected_values(run, 1), "Those are the values of x_next; x begins with what went in."),
        WrongRule(
            lambda run: _collected_values(run, 0, padded=False),
            f"Its length is {_OUTPUT_LENGTH}, however many iterations run.",
        ),
        WrongRule(lambda run: _collected_values(run, 0, front=True), "What is not filled comes last."),
    ),
)
_REVERSE_QUESTION = _output_question(
    "back",
    f"back is a kREVERSE of x_next, with length {_OUTPUT_LENGTH}: what is it?",
    "The newest value comes first; what is not filled comes last, as it does for kCONCATENATE.",
    (
        WrongRule(lambda run: _collected_values(run, 1), "That is the order of a kCONCATENATE."),
        WrongRule(lambda run: _collected_values(run, 1, backward=True, front=True), "What is not filled comes last."),
        WrongRule(
            lambda run: _collected_values(run, 1, backward=True, padded=False), f"Its length is {_OUTPUT_LENGTH}."
        ),
        WrongRule(
            lambda run: _collected_values(run, 0, backward=True), "Those are the values of x; it collects x_next."
        ),
    ),
)


def _random_inputs(random: Random) -> dict[str, Any]:
    return {"n": random.randint(2, 5), "x0": random.randint(1, 9)}


LESSON = ExerciseSet(
    21,
    "TensorRT's loop outputs: three kinds, and a length",
    5,
    (
        Card(
            CardKind.READ,
            "A value leaves a TensorRT loop by a loop output: kLAST_VALUE, of a recurrence; kCONCATENATE and kREVERSE, "
            "which collect along a new axis and have a length, here 6. A length below the number of iterations is an "
            "error.",
            _SCENE,
        ),
        Card(
            CardKind.DO,
            "",
            _SCENE,
            steps=(
                LessonStep("s", "step", "twice: see what all and back have", 2),
                LessonStep("f", "finish", "to the end: last, all, back"),
            ),
        ),
        Card(CardKind.ASK, "", _SCENE, generate_question=vary_inputs(_LAST_VALUE_QUESTION, _random_inputs)),
        Card(CardKind.ASK, "", _SCENE, generate_question=vary_inputs(_CONCATENATE_QUESTION, _random_inputs)),
        Card(CardKind.ASK, "", _SCENE, generate_question=vary_inputs(_REVERSE_QUESTION, _random_inputs)),
        Card(CardKind.LAST,
             "kLAST_VALUE: one value. kCONCATENATE, kREVERSE: as long as their length says, zeros behind.",
             _SCENE),
    ),
    "Say what each kind of loop output gives.",
    {"A": _SCENE},
)  # fmt: skip
