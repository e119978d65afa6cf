"""Lesson 7: all back edges at once."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from ....runtime.text import counted
from ..lesson import Lesson, Step
from ..question import ValueQuestion, Wrong, one_of, varied
from ..scene import Played, Scene

SCENE = Scene("swap.onnxtxt", {"n": 3, "a0": 1, "b0": 2})
ROTATED = Scene("rotate.onnxtxt", {"n": 2, "a0": 1, "b0": 2, "c0": 3})


def _one_after_another(played: Played, back: bool = False) -> list[int]:
    """What comes of it where each assignment sees those before it."""
    names = [name for name in "abc" if f"{name}0" in played.scene.inputs]
    values = [played[f"{name}0"] for name in names]
    order = list(range(len(values)))
    for _ in range(played["n"]):
        for k in reversed(order) if back else order:
            values[k] = values[(k + 1) % len(values)]
    return values


def _last(played: Played) -> list[int]:
    return [played[f"{name}_last"] for name in "abc" if f"{name}0" in played.scene.inputs]


def _once_less(played: Played) -> list[int]:
    return _last(played.scene.given(n=played["n"] - 1).played)


WRONGS = (
    Wrong(
        _one_after_another,
        "That is one after another: a = b, then the next takes what is the new a. All results are taken first.",
    ),
    Wrong(lambda played: _one_after_another(played, back=True), "The same slip in the other order."),
    Wrong(
        _once_less,
        lambda played: f"Right after {counted(played['n'] - 1, 'trade')}; there are {played['n']}.",
    ),
)
ASK = ValueQuestion(
    SCENE,
    lambda played: (
        f"From a = {played['a0']} and b = {played['b0']}, with n = {played['n']}: what are (a_last, b_last)?"
    ),
    _last,
    "At each boundary both results are taken first, then both are handed on: a real trade, each time.",
    WRONGS,
    "Step with `s`: both rows change in one step.",
    ("Python's `a, b = b, a` does the same.", "`scene A` may be run: `s`, and look at both rows."),
    choice=True,
)
ROTATE = ValueQuestion(
    ROTATED,
    lambda played: (
        f"Three values in a ring: a receives b, b receives c, c receives a. From {played['a0']}, {played['b0']}, "
        f"{played['c0']} with n = {played['n']}: what are (a_last, b_last, c_last)?"
    ),
    _last,
    "All three results are taken first, then all are handed on: the ring turns by one place an iteration.",
    WRONGS,
    "Step with `s`: all rows change in one step.",
    ("Python's `a, b, c = b, c, a` does the same.", "Each iteration turns the ring by one place."),
    choice=True,
)


def _pair(random: Random) -> dict[str, int]:
    a, b = random.sample(range(1, 10), 2)
    return {"n": random.randint(2, 7), "a0": a, "b0": b}


def _ring(random: Random) -> dict[str, int]:
    a, b, c = random.sample(range(1, 10), 3)
    return {"n": random.randint(2, 5), "a0": a, "b0": b, "c0": c}


#: Asked again before lesson 12.
RECALL = varied(ROTATE, _ring)
DRAW = one_of(varied(ASK, _pair), RECALL)


def _note(scene: Scene, against: Callable[[Scene, str], str]) -> str:
    values = _one_after_another(SCENE.played)
    return (
        f"OpenVINO's CPU plugin writes back edges one after another where a body hands an input on: it gives "
        f"{tuple(values)} here. {against(SCENE, 'openvino')} shows it."
    )


LESSON = Lesson(
    7,
    "All back edges at once",
    5,
    "Know what happens when carried values trade places.",
    (),
    {"A": SCENE},
    "Two carried values, and a body without any node: it yields b as the next a, and a as the next b. The listing is "
    "covered until you have guessed.",
    (
        Step("s", "step", "1 2 becomes 2 1"),
        Step("s", "step", "and back"),
        Step("s", "step", "and once more: the end"),
    ),
    "Both rows change in one step: a `1 → 2` and b `2 → 1`. The listing says it in one line: `a, b = b, a`.",
    ASK,
    DRAW,
    "At a boundary all results are taken first, then all are handed on.",
    note=_note,
    covered=True,
)
