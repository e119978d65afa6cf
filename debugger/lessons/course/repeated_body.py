"""Lesson 1: a body that runs again."""

from __future__ import annotations

from random import Random

from ....runtime.text import count_text
from ..learner_state import LearnerState
from ..lesson import Lesson, LessonStep
from ..question import Feedback, Question, StateQuestion, ValueQuestion, WrongRule
from ..scene import Scene

SCENE = Scene("add3.onnxtxt", {"n": 5, "x0": 0})


def _check_run_count(wanted: int, state: LearnerState) -> Feedback | None:
    """Check that the body has run the wanted number of times."""
    if not state.at_boundary:
        return None
    count = state.iteration
    numbers = f"numbers 0 to {count - 1}" if count > 1 else "number 0"
    if state.stopped_by is not None:
        return Feedback(False, f"All {count} have run, and the loop ended.")
    if count == wanted:
        return Feedback(True, f"{count} have run, {numbers}. Before iteration {count} the body has run {count} times.")
    if count == 0:
        return Feedback(False, "None yet: the loop is before its first iteration.")
    status = f"Here {count} have run, {numbers}."
    if count == wanted + 1:
        return Feedback(False, f"{status} Counting begins at 0: before iteration {wanted} it has run {wanted} times.")
    return Feedback(False, f"{status} The title says which one comes next.")


def run_count_question(n: int, wanted: int) -> StateQuestion:
    """Ask for the stop after a number of iterations."""
    return StateQuestion(
        SCENE.with_inputs(n=n),
        f"Stand where the body has run exactly {count_text(wanted, 'time')}; then `answer here`.",
        lambda state: _check_run_count(wanted, state),
        "At a boundary the title says which iteration comes next.",
        (
            "Count the presses of `s`.",
            "`r` goes back to the beginning, `s` runs one iteration, `←` takes one back.",
            f"`r`, then `s` {count_text(wanted, 'time')}: the title then says iteration {wanted}.",
        ),
        requires_claim=True,
    )


def _check_carried_value(wanted: int, state: LearnerState) -> Feedback | None:
    """Check that x has the wanted value."""
    if not state.at_boundary:
        return None
    x, iteration = state.carried("x"), state.iteration
    if x == wanted:
        return Feedback(True, f"x is {x} before iteration {iteration}: that many iterations have added 3 each.")
    return Feedback(False, f"x is {x} here, before iteration {iteration}.")


def carried_value_question(n: int, x0: int, iteration: int) -> StateQuestion:
    """Ask for the stop with the value of x before an iteration."""
    wanted = x0 + 3 * iteration
    return StateQuestion(
        SCENE.with_inputs(n=n, x0=x0),
        f"x begins with {x0}. Stand where x is {wanted}; then `answer here`.",
        lambda state: _check_carried_value(wanted, state),
        "Watch the row of x while you press `s`.",
        (
            "x grows by 3 an iteration.",
            "`s` and `←` move by an iteration.",
            f"`r`, then `s` {count_text(iteration, 'time')}.",
        ),
        requires_claim=True,
    )


def generate_question(random: Random) -> Question:
    """One of the two questions, at random."""
    n = random.randint(6, 9)
    if random.random() < 0.5:
        return run_count_question(n, random.randint(2, n - 1))
    return carried_value_question(n, random.randint(0, 9), random.randint(2, n - 1))


QUESTION = run_count_question(5, 3)
LESSON = Lesson(
    1,
    "A body that runs again",
    3,
    "Know the position in a loop: before which iteration, after how many.",
    ("body", "iteration", "boundary", "trip count"),
    {"A": SCENE},
    "A loop runs its body again and again; each run is an iteration, and the most that may run is its trip "
    "count. Here the body makes x_next = x + 3, the trip count n is 5, and x begins with 0.",
    (
        LessonStep("s", "step", "to the next boundary: between two iterations"),
        LessonStep("s", "step", "and to the one after it"),
        LessonStep("←", "back", "one boundary back"),
        LessonStep("s", "step", "and on again"),
    ),
    "The title says `iteration 2` of 5: that one runs next, so two have run. The row of x says "
    "`3 → 6`: iteration 1 received 3 and made 6 of it.",
    QUESTION,
    generate_question,
    "Before iteration N the body has run N times.\nIf you have a minute: `f` runs to the end. What does the title "
    "say there?",
    guess_question=ValueQuestion(
        SCENE,
        "What is x_last, when all is done?",
        lambda run: run["x_last"],
        lambda run: f"{run['n']} iterations add 3 each.",
        (
            WrongRule(lambda run: run["x0"] + 3 * (run["n"] - 1), "One iteration is missing."),
            WrongRule(lambda run: run["x0"] + 3, "That is after one iteration."),
        ),
        "`f` runs to the end.",
    ),
)


def zero_iterations_question(x0: int = 7) -> ValueQuestion:
    """The question of lesson 4 on a loop without iterations."""
    return ValueQuestion(
        SCENE.with_inputs(n=0, x0=x0),
        lambda run: f"Lesson 1's loop, which adds 3, with n = 0 and x0 = {run['x0']}: what is x_last?",
        lambda run: run["x_last"],
        lambda run: (
            f"A trip count of 0 lets no iteration run, and the initial value {run['x0']} comes out as it went in."
        ),
        (
            WrongRule(lambda run: run["x0"] + 3, "That is after one iteration, and none runs."),
            WrongRule(lambda _: 0, "Nothing sets it to 0: where no iteration runs x keeps its initial value."),
            WrongRule(
                lambda _: "nothing|error|nan|none",
                "A carried value always has one: where no iteration runs, its initial value.",
            ),
        ),
        "Read the title: how many iterations ran? And what does the row of x show?",
        ("What does the row of x show?", "`f`, then read the row of x."),
    )
