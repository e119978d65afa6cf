"""Lesson 20: an LSTM operator is a loop."""

from __future__ import annotations

from random import Random
from typing import Any

from ..lesson import Card, CardKind, ExerciseSet, LessonStep
from ..question import Question, ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene, SceneRun


def _layer_scene(direction: str, lens: int = 4, steps: int = 4) -> Scene:
    X = [[[float(k)]] for k in range(1, steps + 1)]
    return Scene(f"layer_{direction}.onnxtxt", {"X": X, "lens": [lens]})


def _final_state_row(run: SceneRun) -> int:
    """The row of Y that equals Y_h."""
    rows, last = run["Y"], run["Y_h"]
    return next(k for k, row in enumerate(rows) if row[0] == last[0])


def _first_row_read(run: SceneRun) -> int:
    """The row of X that the first iteration reads."""
    backward = "reverse" in run.scene.model
    return int(run["lens"][0]) - 1 if backward else 0


FINAL_ROW_QUESTION = ValueQuestion(
    _layer_scene("forward"),
    lambda run: (
        f"An LSTM with direction {'reverse' if 'reverse' in run.scene.model else 'forward'} reads X of "
        f"{len(run['X'])} rows, of which sequence_lens says that {run['lens'][0]} count. Which row of Y is Y_h, "
        "the state after the last iteration? Say its number, from 0."
    ),
    _final_state_row,
    lambda run: (
        f"The first iteration reads row {_first_row_read(run)} of X, and each state is in Y at the row that was "
        f"read: the last one is row {_final_state_row(run)}."
    ),
    (
        WrongRule(lambda run: len(run["X"]) - 1, "That row is the last of X; the last iteration reads another one."),
        WrongRule(lambda run: int(run["lens"][0]), "Rows are counted from 0."),
        WrongRule(lambda run: int(run["lens"][0]) - 1, "There the layer begins, as it reads from the back."),
        WrongRule(lambda _: 0, "There the layer begins, as it reads from the front."),
    ),
    "`f`, and compare Y_h with the rows of Y.",
    (
        "From which end does it read, and how many rows?",
        "`scene A` and `scene B` may be run: `f`, `print Y`, `print Y_h`.",
    ),
)


def _random_inputs(random: Random) -> dict[str, Any]:
    steps = random.randint(5, 9)
    X = [[[float(k)]] for k in range(1, steps + 1)]
    return {"X": X, "lens": [random.randint(3, steps - 1)]}


def _generate_question(random: Random) -> Question:
    base = FINAL_ROW_QUESTION if random.random() < 0.7 else _REVERSED_QUESTION
    return vary_inputs(base, _random_inputs)(random)


_REVERSED_QUESTION = ValueQuestion(
    _layer_scene("reverse"),
    lambda run: (
        f"An LSTM with direction reverse reads X of {len(run['X'])} rows, of which sequence_lens says that "
        f"{run['lens'][0]} count. Which row of X does its first iteration read? Say its number, from 0."
    ),
    _first_row_read,
    "It begins with the last row that counts, and goes to row 0, which makes Y_h.",
    (
        WrongRule(lambda run: len(run["X"]) - 1, "That row does not count: sequence_lens is less."),
        WrongRule(lambda run: int(run["lens"][0]), "Rows are counted from 0."),
        WrongRule(lambda _: 0, "There it ends: it reads from the back."),
    ),
    "`s`, and look at the part of X.",
    ("Which row is the last one that counts?", "`scene B` may be run: `s`, and look at the part of X."),
)
_SCENES = {"A": _layer_scene("forward"), "B": _layer_scene("reverse")}
LESSON = ExerciseSet(
    20,
    "An LSTM operator is a loop",
    5,
    (
        Card(
            CardKind.READ,
            "An LSTM operator runs a cell over the rows of X: X is sliced, the states h and c are carried, Y collects "
            "h, Y_h is the last h. The debugger opens it as the loop that it is. A reads forward, B in reverse.",
            _SCENES["A"],
        ),
        Card(
            CardKind.DO,
            "",
            _SCENES["A"],
            steps=(
                LessonStep("s", "step", "one row, and a new state"),
                LessonStep("f", "finish", "to the end"),
                LessonStep("scene B", "scene", "the same in reverse"),
                LessonStep("s", "step", "its first row is the last of X"),
                LessonStep("f", "finish", "to the end"),
            ),
        ),
        Card(CardKind.ASK, "", _SCENES["A"], generate_question=_generate_question),
        Card(CardKind.ASK, "", _SCENES["A"], generate_question=_generate_question),
        Card(CardKind.LAST, "Y has its rows in the order of X, however it reads; Y_h is what the last iteration made.",
             _SCENES["A"]),
    ),
    "Read a recurrent operator as a loop.",
    _SCENES,
)  # fmt: skip
