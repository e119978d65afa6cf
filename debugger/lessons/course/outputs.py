"""Lesson 21: TensorRT's loop outputs."""

from __future__ import annotations

from random import Random
from typing import Any

from ..lesson import Card, Kind, Step, Tasks
from ..question import ValueQuestion, Wrong, varied
from ..scene import Played, Scene

_KINDS = Scene("kinds.py", {"n": 4, "x0": 1})
_ROOM = 6


def _values(played: Played, first: int, back: bool = False, front: bool = False, padded: bool = True) -> list[int]:
    """What a rule collects: from x of an iteration on, backwards, padded in front or behind, or not at all."""
    n, x0 = played["n"], played["x0"]
    values = [x0 + 3 * (k + first) for k in range(n)]
    zeros = [0] * (_ROOM - n if padded else 0)
    values = values[::-1] if back else values
    return [*zeros, *values] if front else [*values, *zeros]


def _output(name: str, asks: str, why: str, wrongs: tuple[Wrong, ...]) -> ValueQuestion:
    return ValueQuestion(
        _KINDS,
        lambda played: (
            f"x is a recurrence that begins with {played['x0']}, x_next = x + 3, kCOUNT is {played['n']}. {asks}"
        ),
        lambda played: played[name],
        why,
        wrongs,
        "`f` runs it; then `print` the output.",
        (
            "What does it collect, x or x_next? And has it a length?",
            "`scene A` may be run: `f`, and look at all three.",
        ),
        choice=name != "last",
    )


_LAST = _output(
    "last",
    "last is a kLAST_VALUE of x: what is it?",
    "The last value of a recurrence is what the last iteration made.",
    (
        Wrong(lambda played: played["x0"] + 3 * (played["n"] - 1), "That is what the last iteration received."),
        Wrong(lambda played: played["x0"] + 3 * (played["n"] + 1), "That is one iteration too many."),
    ),
)
_ALL = _output(
    "all",
    f"all is a kCONCATENATE of x itself, with length {_ROOM}: what is it?",
    "The recurrence begins with what went in; where the length is more than the iterations, zeros stand behind.",
    (
        Wrong(lambda played: _values(played, 1), "Those are the values of x_next; x begins with what went in."),
        Wrong(lambda played: _values(played, 0, padded=False), f"Its length is {_ROOM}, however many iterations run."),
        Wrong(lambda played: _values(played, 0, front=True), "What is not filled stands behind."),
    ),
)
_BACK = _output(
    "back",
    f"back is a kREVERSE of x_next, with length {_ROOM}: what is it?",
    "The newest value comes first; what is not filled stands behind, as it does for kCONCATENATE.",
    (
        Wrong(lambda played: _values(played, 1), "That is the order of a kCONCATENATE."),
        Wrong(lambda played: _values(played, 1, back=True, front=True), "What is not filled stands behind."),
        Wrong(lambda played: _values(played, 1, back=True, padded=False), f"Its length is {_ROOM}."),
        Wrong(lambda played: _values(played, 0, back=True), "Those are the values of x; it collects x_next."),
    ),
)


def _trips(random: Random) -> dict[str, Any]:
    return {"n": random.randint(2, 5), "x0": random.randint(1, 9)}


LESSON = Tasks(
    21,
    "TensorRT's loop outputs: three kinds, and a length",
    5,
    (
        Card(
            Kind.READ,
            "A value leaves a TensorRT loop by a loop output: kLAST_VALUE, of a recurrence; kCONCATENATE and kREVERSE, "
            "which collect along a new axis and have a length, here 6. A length below the number of iterations is an "
            "error.",
            _KINDS,
        ),
        Card(
            Kind.DO,
            "",
            _KINDS,
            steps=(
                Step("s", "step", "twice: see what all and back have", 2),
                Step("f", "finish", "to the end: last, all, back"),
            ),
        ),
        Card(Kind.ASK, "", _KINDS, draw=varied(_LAST, _trips)),
        Card(Kind.ASK, "", _KINDS, draw=varied(_ALL, _trips)),
        Card(Kind.ASK, "", _KINDS, draw=varied(_BACK, _trips)),
        Card(Kind.LAST, "kLAST_VALUE: one value. kCONCATENATE, kREVERSE: as long as their length says, zeros behind.",
             _KINDS),
    ),
    "Say what each kind of loop output gives.",
    {"A": _KINDS},
)  # fmt: skip
