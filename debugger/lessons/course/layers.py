"""Lesson 20: an LSTM operator is a loop."""

from __future__ import annotations

from random import Random
from typing import Any

from ..lesson import Card, Kind, Step, Tasks
from ..question import Question, ValueQuestion, Wrong, varied
from ..scene import Played, Scene


def _layer(direction: str, lens: int = 4, steps: int = 4) -> Scene:
    X = [[[float(k)]] for k in range(1, steps + 1)]
    return Scene(f"layer_{direction}.onnxtxt", {"X": X, "lens": [lens]})


def _last_row(played: Played) -> int:
    """Which row of Y is Y_h."""
    rows, last = played["Y"], played["Y_h"]
    return next(k for k, row in enumerate(rows) if row[0] == last[0])


def _first_read(played: Played) -> int:
    """Which row of X the first iteration reads."""
    backward = "reverse" in played.scene.model
    return int(played["lens"][0]) - 1 if backward else 0


LAST_ROW = ValueQuestion(
    _layer("forward"),
    lambda played: (
        f"An LSTM with direction {'reverse' if 'reverse' in played.scene.model else 'forward'} reads X of "
        f"{len(played['X'])} rows, of which sequence_lens says that {played['lens'][0]} count. Which row of Y is Y_h, "
        "the state after the last iteration? Say its number, from 0."
    ),
    _last_row,
    lambda played: (
        f"The first iteration reads row {_first_read(played)} of X, and each state stands in Y at the row that was "
        f"read: the last one is row {_last_row(played)}."
    ),
    (
        Wrong(lambda played: len(played["X"]) - 1, "That row is the last of X; the last iteration reads another one."),
        Wrong(lambda played: int(played["lens"][0]), "Rows are counted from 0."),
        Wrong(lambda played: int(played["lens"][0]) - 1, "There the layer begins, as it reads from the back."),
        Wrong(lambda _: 0, "There the layer begins, as it reads from the front."),
    ),
    "`f`, and compare Y_h with the rows of Y.",
    (
        "From which end does it read, and how many rows?",
        "`scene A` and `scene B` may be run: `f`, `print Y`, `print Y_h`.",
    ),
)


def _rows(random: Random) -> dict[str, Any]:
    steps = random.randint(5, 9)
    X = [[[float(k)]] for k in range(1, steps + 1)]
    return {"X": X, "lens": [random.randint(3, steps - 1)]}


def _layer_draw(random: Random) -> Question:
    base = LAST_ROW if random.random() < 0.7 else _REVERSED
    return varied(base, _rows)(random)


_REVERSED = ValueQuestion(
    _layer("reverse"),
    lambda played: (
        f"An LSTM with direction reverse reads X of {len(played['X'])} rows, of which sequence_lens says that "
        f"{played['lens'][0]} count. Which row of X does its first iteration read? Say its number, from 0."
    ),
    _first_read,
    "It begins with the last row that counts, and goes to row 0, which makes Y_h.",
    (
        Wrong(lambda played: len(played["X"]) - 1, "That row does not count: sequence_lens is less."),
        Wrong(lambda played: int(played["lens"][0]), "Rows are counted from 0."),
        Wrong(lambda _: 0, "There it ends: it reads from the back."),
    ),
    "`s`, and look at the part of X.",
    ("Which row is the last one that counts?", "`scene B` may be run: `s`, and look at the part of X."),
)
_LAYERS = {"A": _layer("forward"), "B": _layer("reverse")}
LESSON = Tasks(
    20,
    "An LSTM operator is a loop",
    5,
    (
        Card(
            Kind.READ,
            "An LSTM operator runs a cell over the rows of X: X is sliced, the states h and c are carried, Y collects "
            "h, Y_h is the last h. The debugger opens it as the loop that it is. A reads forward, B in reverse.",
            _LAYERS["A"],
        ),
        Card(
            Kind.DO,
            "",
            _LAYERS["A"],
            steps=(
                Step("s", "step", "one row, and a new state"),
                Step("f", "finish", "to the end"),
                Step("scene B", "scene", "the same in reverse"),
                Step("s", "step", "its first row is the last of X"),
                Step("f", "finish", "to the end"),
            ),
        ),
        Card(Kind.ASK, "", _LAYERS["A"], draw=_layer_draw),
        Card(Kind.ASK, "", _LAYERS["A"], draw=_layer_draw),
        Card(Kind.LAST, "Y has its rows in the order of X, however it reads; Y_h is what the last iteration made.",
             _LAYERS["A"]),
    ),
    "Read a recurrent operator as a loop.",
    _LAYERS,
)  # fmt: skip
