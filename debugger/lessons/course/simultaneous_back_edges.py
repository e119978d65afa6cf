"""Lesson 7: all back edges at once."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from ....runtime.text import count_text
from ..lesson import Lesson, LessonStep
from ..question import ValueQuestion, WrongRule, choose_generator, vary_inputs
from ..scene import Scene, SceneRun

SCENE = Scene("swap.onnxtxt", {"n": 3, "a0": 1, "b0": 2})
ROTATION_SCENE = Scene("rotate.onnxtxt", {"n": 2, "a0": 1, "b0": 2, "c0": 3})


def _sequential_assignment(run: SceneRun, backward: bool = False) -> list[int]:
    """The result if each assignment saw those before it."""
    names = [name for name in "abc" if f"{name}0" in run.scene.inputs]
    values = [run[f"{name}0"] for name in names]
    order = list(range(len(values)))
    for _ in range(run["n"]):
        for k in reversed(order) if backward else order:
            values[k] = values[(k + 1) % len(values)]
    return values


def _final_values(run: SceneRun) -> list[int]:
    return [run[f"{name}_last"] for name in "abc" if f"{name}0" in run.scene.inputs]


def _values_one_iteration_earlier(run: SceneRun) -> list[int]:
    return _final_values(run.scene.with_inputs(n=run["n"] - 1).reference_run)


WRONG_RULES = (
    WrongRule(
        _sequential_assignment,
        "That is what one assignment after another gives: the second one sees the new a. All results are taken first.",
    ),
    WrongRule(
        lambda run: _sequential_assignment(run, backward=True),
        "That is what one assignment after another gives, in the other order.",
    ),
    WrongRule(
        _values_one_iteration_earlier,
        lambda run: f"That is right after {count_text(run['n'] - 1, 'trade')}; there are {run['n']}.",
    ),
)
SWAP_QUESTION = ValueQuestion(
    SCENE,
    lambda run: f"From a = {run['a0']} and b = {run['b0']}, with n = {run['n']}: what are (a_last, b_last)?",
    _final_values,
    "At each boundary both results are taken first, then both are handed on: they trade places each time.",
    WRONG_RULES,
    "Step with `s`: both rows change in one step.",
    ("Python's `a, b = b, a` does the same.", "`scene A` may be run: `s`, and look at both rows."),
    multiple_choice=True,
)
ROTATION_QUESTION = ValueQuestion(
    ROTATION_SCENE,
    lambda run: (
        f"Three values in a ring: a receives b, b receives c, c receives a. From {run['a0']}, {run['b0']}, "
        f"{run['c0']} with n = {run['n']}: what are (a_last, b_last, c_last)?"
    ),
    _final_values,
    "All three results are taken first, then all are handed on: the ring turns by one place an iteration.",
    WRONG_RULES,
    "Step with `s`: all rows change in one step.",
    ("Python's `a, b, c = b, c, a` does the same.", "Each iteration turns the ring by one place."),
    multiple_choice=True,
)


def _swap_inputs(random: Random) -> dict[str, int]:
    a, b = random.sample(range(1, 10), 2)
    return {"n": random.randint(2, 7), "a0": a, "b0": b}


def _rotation_inputs(random: Random) -> dict[str, int]:
    a, b, c = random.sample(range(1, 10), 3)
    return {"n": random.randint(2, 5), "a0": a, "b0": b, "c0": c}


#: The recall question of lesson 12.
generate_recall = vary_inputs(ROTATION_QUESTION, _rotation_inputs)
generate_question = choose_generator(vary_inputs(SWAP_QUESTION, _swap_inputs), generate_recall)


def _note(scene: Scene, compare: Callable[[Scene, str], str]) -> str:
    values = _sequential_assignment(SCENE.reference_run)
    return (
        f"OpenVINO's CPU plugin writes back edges one after another where a body hands an input on: it gives "
        f"{tuple(values)} here. {compare(SCENE, 'openvino')} shows it."
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
        LessonStep("s", "step", "1 2 becomes 2 1"),
        LessonStep("s", "step", "and back"),
        LessonStep("s", "step", "and once more: the end"),
    ),
    "Both rows change in one step: a `1 → 2` and b `2 → 1`. The listing says it in one line: `a, b = b, a`.",
    SWAP_QUESTION,
    generate_question,
    "At a boundary all results are taken first, then all are handed on.",
    write_note=_note,
    hides_listing=True,
)
