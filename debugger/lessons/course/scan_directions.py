"""Lesson 18: directions of a Scan."""

from __future__ import annotations

from random import Random
from typing import Any

from ..lesson import Card, CardKind, ExerciseSet, LessonStep
from ..question import ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene

_SCENE = Scene("meet.onnxtxt", {"x": [1, 2, 3], "y": [10, 20, 30]})


def _running_sums(x: list[int], y: list[int]) -> list[int]:
    sums, total = [], 0
    for a, b in zip(x, y, strict=True):
        total += a * b
        sums.append(total)
    return sums


def _scan_question(name: str, other: str, explanation: str) -> ValueQuestion:
    return ValueQuestion(
        _SCENE,
        lambda run: (
            f"x is {run['x']}, read from its front, y is {run['y']}, read from its back. Each iteration adds "
            f"a·b to t, from 0; sums collects t in order, newest with the newest first. What is {name}?"
        ),
        lambda run: run[name],
        explanation,
        (
            WrongRule(lambda run: run[other], f"That is {other}."),
            WrongRule(
                lambda run: _running_sums(run["x"], run["y"]), "y is read from its back: the first b is its last one."
            ),
            WrongRule(
                lambda run: [a * b for a, b in zip(run["x"], run["y"][::-1], strict=True)],
                "Those are the products; t adds them up.",
            ),
            WrongRule(lambda run: _running_sums(run["x"], run["y"])[::-1], "y is read from its back."),
        ),
        "`s` runs an iteration: a and b are the parts that it got.",
        ("Which b meets the first a?", "`scene A` may be run: `s`, and look at a, b and t."),
        multiple_choice=True,
    )


def _random_inputs(random: Random) -> dict[str, Any]:
    return {"x": random.sample(range(1, 6), 3), "y": [10 * k for k in random.sample(range(1, 6), 3)]}


LESSON = ExerciseSet(
    18,
    "ONNX Scan: directions in and out",
    5,
    (
        Card(
            CardKind.READ,
            "An ONNX Scan has no count and no condition: it runs once for each part of its inputs. "
            "scan_input_directions says from which end each input is read, scan_output_directions on which side each "
            "output grows.",
            _SCENE,
        ),
        Card(
            CardKind.DO,
            "",
            _SCENE,
            steps=(
                LessonStep("s", "step", "a is 1, the first of x; b is 30, the last of y", 1),
                LessonStep("s", "step", "a is 2, b is 20"),
                LessonStep("f", "finish", "to its end: compare sums and newest"),
            ),
        ),
        Card(CardKind.ASK, "", _SCENE, generate_question=vary_inputs(
             _scan_question("sums", "newest", "It collects t after each iteration."), _random_inputs)),
        Card(CardKind.ASK, "", _SCENE, generate_question=vary_inputs(
             _scan_question("newest", "sums", "Each t is put in front of those before."), _random_inputs)),
        Card(CardKind.LAST, "Direction 1 of an input reads it from its back; of an output it puts the newest first.",
             _SCENE),
    ),
    "Say what a Scan reads and collects, in both directions.",
    {"A": _SCENE},
)  # fmt: skip
