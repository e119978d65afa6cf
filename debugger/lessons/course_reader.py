"""Reads a custom course: a folder with course.toml and a file for each lesson (docs/lessons.md)."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from ...runtime.errors import LoopdbgError, UsageError
from ..frontends.console.command_registry import find_command
from .course_expressions import LearnerScope, evaluate_on_run, fill_template, parse_expression
from .learner_state import LearnerState
from .lesson import Card, CardKind, Course, ExerciseSet, Lesson, LessonStep
from .mode_drill import mode_drill
from .question import (
    CHOICE_COUNT,
    Feedback,
    Question,
    QuestionGenerator,
    RunText,
    StateQuestion,
    ValueQuestion,
    WrongRule,
    vary_inputs,
)
from .scene import Scene
from .toml_table import TomlTable

#: The file that describes the course.
COURSE_FILE = "course.toml"


def read_course(folder: Path) -> Course:
    """Read a course from a folder, and test every card once, so that errors are found before class.

    Raises:
        UsageError: the folder has no course, or a file is invalid; the message names the file, place and error.
        ModelError: a model cannot be read.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder; learn takes a folder with a course, or a lesson's number")
    if not (folder / COURSE_FILE).is_file():
        raise UsageError(
            f"{folder}: there is no {COURSE_FILE} in it, which gives the course its title (docs/lessons.md)"
        )
    fields = TomlTable.read(folder / COURSE_FILE)
    title = fields.pop("title", str)
    names = fields.pop_strings("lessons") or tuple(
        sorted(path.name for path in folder.glob("*.toml") if path.name != COURSE_FILE)
    )
    fields.reject_remaining()
    if not names:
        raise UsageError(f"{folder}: there is no lesson in it: a lesson is a file such as 1.toml (docs/lessons.md)")
    lessons: dict[int, Lesson | ExerciseSet] = {
        number: _read_lesson(number, TomlTable.read(folder / name), folder) for number, name in enumerate(names, 1)
    }
    # Progress is stored by path: two courses may have the same title.
    key = zlib.crc32(str(folder.resolve()).encode())
    return Course(f"course-{key:08x}", title, lessons)


def _read_lesson(number: int, fields: TomlTable, folder: Path) -> ExerciseSet:
    title, minutes = fields.pop("title", str), fields.pop("minutes", int, 5)
    goal = fields.pop("goal", str, "")
    scenes = _read_scenes(TomlTable(fields.pop("scenes", dict), f"{fields.location}: scenes"), folder)
    cards = tuple(_read_card(table, scenes) for table in fields.pop_tables("cards"))
    fields.reject_remaining()
    if not cards:
        raise fields.error("there is no card: each is a [[cards]]")
    if cards[-1].kind is not CardKind.LAST:
        cards = (*cards, Card(CardKind.LAST, "", next(iter(scenes.values()))))
    return ExerciseSet(number, title, minutes, cards, goal, scenes)


def _read_scenes(fields: TomlTable, folder: Path) -> dict[str, Scene]:
    scenes = {}
    for letter in sorted(fields.remaining_names()):
        if not (len(letter) == 1 and letter.isascii() and letter.isupper()):
            raise fields.error(f"a scene is a capital letter, not '{letter}'")
        table = TomlTable(fields.pop(letter, dict), f"{fields.location}.{letter}")
        scene = Scene(table.pop("model", str), table.pop("inputs", dict, {}), folder)
        table.reject_remaining()
        if not scene.path.is_file():
            raise table.error(f"there is no model {scene.path}")
        _with_location(table, partial(_check_inputs, scene))
        scenes[letter] = scene
    if not scenes:
        raise fields.error("there is no scene: [scenes.A] with a model and its inputs")
    return scenes


def _check_inputs(scene: Scene) -> None:
    """Check that the model accepts the inputs."""
    scene.input_arrays(scene.cached_model())


def _with_location(fields: TomlTable, compute: Callable[[], Any]) -> Any:
    """Call ``compute``, and add the location in the file to its errors.

    Raises:
        UsageError: the call fails.
    """
    try:
        return compute()
    except UsageError as error:
        text = str(error)
        raise UsageError(text if text.startswith(fields.location) else f"{fields.location}: {text}") from None
    except (LoopdbgError, ValueError, TypeError, KeyError, OSError) as error:
        raise fields.error(f"its model does not run with these inputs: {error}") from None


# -- cards


def _read_card(fields: TomlTable, scenes: Mapping[str, Scene]) -> Card:
    kind = fields.pop("kind", str)
    if kind not in _CARD_MAKERS:
        raise fields.error(f"there is no kind '{kind}'; there are {', '.join(_CARD_MAKERS)}")
    letter = fields.pop("scene", str, next(iter(scenes)))
    if letter not in scenes:
        raise fields.error(f"there is no scene '{letter}'; there are {', '.join(scenes)}")
    scene = scenes[letter]
    card = _CARD_MAKERS[kind](fields, scene, _text_template(fields.pop("text", str, "")))
    fields.reject_remaining()
    _with_location(fields, lambda: _try_card(card))
    return card


def _try_card(card: Card) -> None:
    """Render a card once, with all of its replies and hints."""
    question = card.draw_question(Random(0))
    card.paragraphs(question)
    if isinstance(question, ValueQuestion):
        question.grade(str(question.answer))
        for value, _ in question.wrong_answers:
            question.grade(str(value))
        question.grade("-987654321")
    for number in range(3 if question is not None else 0):
        question.hint(number)  # type: ignore[union-attr]


def _text_template(text: str) -> RunText:
    return (lambda run: fill_template(text, run)) if "{" in text else text


def _make_read_card(fields: TomlTable, scene: Scene, text: RunText) -> Card:
    return Card(CardKind.READ, text, scene)


def _make_end_card(fields: TomlTable, scene: Scene, text: RunText) -> Card:
    return Card(CardKind.LAST, text, scene)


def _make_do_card(fields: TomlTable, scene: Scene, text: RunText) -> Card:
    return Card(CardKind.DO, text, scene, steps=tuple(map(_read_step, fields.pop_tables("steps"))))


#: The console commands of screen keys.
_KEY_COMMANDS = {"←": "back", "W": "why", "[": "up", "]": "down", "B": "break"}


def _read_step(fields: TomlTable) -> LessonStep:
    keys, description, times = fields.pop("keys", str), fields.pop("does", str), fields.pop("times", int, 1)
    fields.reject_remaining()
    word = keys.split(" ")[0]
    if word == "scene":
        return LessonStep(keys, "scene", description, times)
    command = _with_location(fields, lambda: find_command(_KEY_COMMANDS.get(word, word)).name)
    return LessonStep(keys, command, description, times)


def _make_ask_card(fields: TomlTable, scene: Scene, text: RunText) -> Card:
    answer = _with_location(fields, lambda: parse_expression(fields.pop("answer", str)))
    wrong_rules = tuple(_read_wrong_rule(table) for table in fields.pop_tables("wrong"))
    choice = fields.pop("choice", bool, False)
    if choice and len(wrong_rules) < CHOICE_COUNT - 1:
        raise fields.error(f"a choice needs {CHOICE_COUNT - 1} wrong answers, and has {len(wrong_rules)}")
    question = ValueQuestion(
        scene,
        _text_template(fields.pop("question", str)),
        lambda run: evaluate_on_run(answer, run),
        _text_template(fields.pop("why", str)),
        wrong_rules,
        _text_template(fields.pop("see", str, "Run it to see.")),
        tuple(map(_text_template, fields.pop_strings("hints"))),
        choice,
    )
    return Card(CardKind.ASK, text, scene, generate_question=_question_generator(fields, question))


def _read_wrong_rule(fields: TomlTable) -> WrongRule:
    value, reply = (
        _with_location(fields, lambda: parse_expression(fields.pop("gives", str))),
        _text_template(fields.pop("reply", str)),
    )
    fields.reject_remaining()
    return WrongRule(lambda run: evaluate_on_run(value, run), reply)


def _make_place_card(fields: TomlTable, scene: Scene, text: RunText) -> Card:
    condition, prompt = (
        _with_location(fields, lambda: parse_expression(fields.pop("where", str))),
        fields.pop("question", str),
    )
    cause, hint = fields.pop("why", str), fields.pop("see", str, "Look at the panes: what is asked for is not so here.")
    hints, vary = fields.pop_strings("hints"), _input_generator(fields, scene)

    def check_state(state: LearnerState) -> Feedback | None:
        """Whether the condition holds in the learner's state."""
        if not state.loop_name or not condition.truth(LearnerScope(state.frame, state.reference_run)):
            return None
        return Feedback(True, fill_template(cause, state.reference_run))

    def draw(random: Random) -> Question:
        """The question with other inputs."""
        varied = scene.with_inputs(**vary(random))
        asks = _text_template(f"{prompt}; then `answer here`.")
        return StateQuestion(varied, asks, check_state, hint, tuple(map(_text_template, hints)), requires_claim=True)

    return Card(CardKind.ASK, text, scene, generate_question=draw)


def _make_mode_card(fields: TomlTable, scene: Scene, text: RunText) -> Card:
    question = _with_location(fields, lambda: mode_drill(scene))
    return Card(
        CardKind.ASK, text, scene, generate_question=lambda random: replace(question, seed=random.randrange(1 << 30))
    )


_CARD_MAKERS: Mapping[str, Callable[[TomlTable, Scene, RunText], Card]] = {
    "read": _make_read_card,
    "do": _make_do_card,
    "ask": _make_ask_card,
    "place": _make_place_card,
    "mode": _make_mode_card,
    "end": _make_end_card,
}

# -- numbers


def _question_generator(fields: TomlTable, question: ValueQuestion) -> QuestionGenerator:
    draw_inputs = _input_generator(fields, question.scene)
    if not question.wrong_rules:
        return lambda random: question.redraw(random, draw_inputs(random))
    return vary_inputs(question, draw_inputs)


def _input_generator(fields: TomlTable, scene: Scene) -> Callable[[Random], dict[str, Any]]:
    """A generator of the inputs that the card varies."""
    table = TomlTable(fields.pop("draw", dict, {}), f"{fields.location}: draw")
    inputs = {port.name for port in scene.cached_model().inputs}
    rules = {}
    for name in table.remaining_names():
        if name not in inputs:
            raise table.error(f"the model has no input '{name}'; it has {', '.join(sorted(inputs))}")
        rules[name] = _value_generator(table, name)
    return lambda random: {name: rule(random) for name, rule in rules.items()}


def _value_generator(table: TomlTable, name: str) -> Callable[[Random], Any]:
    """``[1, 9]``: an integer; ``{ of = [...] }``: a choice; ``{ count = 4, from = [0, 9] }``: 4 distinct integers."""
    rule = table.pop_untyped(name)
    if isinstance(rule, list):
        low, high = _parse_range(table, name, rule)
        return lambda random: random.randint(low, high)
    if not isinstance(rule, dict):
        raise table.error(f"'{name}' is [smallest, largest], {{ of = [...] }}, or {{ count = N, from = [...] }}")
    fields = TomlTable(rule, f"{table.location}.{name}")
    if "of" in rule:
        values = fields.pop("of", list)
        fields.reject_remaining()
        if not values:
            raise fields.error("'of' has no value")
        return lambda random: random.choice(values)
    count = fields.pop("count", int)
    low, high = _parse_range(fields, "from", fields.pop("from", list))
    fields.reject_remaining()
    if not 0 < count <= high - low + 1:
        raise fields.error(f"there are no {count} different numbers from {low} to {high}")
    return lambda random: random.sample(range(low, high + 1), count)


def _parse_range(table: TomlTable, name: str, bounds: list[Any]) -> tuple[int, int]:
    valid = len(bounds) == 2 and all(isinstance(bound, int) and not isinstance(bound, bool) for bound in bounds)
    if not valid or bounds[0] > bounds[1]:
        raise table.error(f"'{name}' is two whole numbers, the smallest and the largest, not {bounds}")
    return bounds[0], bounds[1]
