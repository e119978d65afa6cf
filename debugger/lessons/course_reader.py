"""A course of a teacher's own: a folder with course.toml and a file for each lesson (docs/lessons.md)."""

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

#: The file that says what the course is.
COURSE_FILE = "course.toml"


def read_course(folder: Path) -> Course:
    """A course from a folder. Every card is asked once, so that a mistake is found before a class meets it.

    Raises:
        UsageError: the folder has no course, or a file of it is wrong: it says which, where, and what.
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
    # What is done of it is kept by its place: two courses may have one title.
    key = zlib.crc32(str(folder.resolve()).encode())
    return Course(f"course-{key:08x}", title, lessons)


def _read_lesson(number: int, fields: TomlTable, folder: Path) -> ExerciseSet:
    title, minutes = fields.pop("title", str), fields.pop("minutes", int, 5)
    goal = fields.pop("goal", str, "")
    scenes = _read_scenes(TomlTable(fields.pop("scenes", dict), f"{fields.location}: scenes"), folder)
    cards = tuple(_read_card(one, scenes) for one in fields.pop_tables("cards"))
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
        one = TomlTable(fields.pop(letter, dict), f"{fields.location}.{letter}")
        scene = Scene(one.pop("model", str), one.pop("inputs", dict, {}), folder)
        one.reject_remaining()
        if not scene.path.is_file():
            raise one.error(f"there is no model {scene.path}")
        _with_location(one, partial(_check_inputs, scene))
        scenes[letter] = scene
    if not scenes:
        raise fields.error("there is no scene: [scenes.A] with a model and its inputs")
    return scenes


def _check_inputs(scene: Scene) -> None:
    """Its model takes its inputs."""
    scene.input_arrays(scene.cached_model())


def _with_location(fields: TomlTable, what: Callable[[], Any]) -> Any:
    """What something gives; an error of it says where in the file that is.

    Raises:
        UsageError: it fails.
    """
    try:
        return what()
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
    """Ask a card once, and say all that it may say."""
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
    return (lambda played: fill_template(text, played)) if "{" in text else text


def _make_read_card(fields: TomlTable, scene: Scene, text: RunText) -> Card:
    return Card(CardKind.READ, text, scene)


def _make_end_card(fields: TomlTable, scene: Scene, text: RunText) -> Card:
    return Card(CardKind.LAST, text, scene)


def _make_do_card(fields: TomlTable, scene: Scene, text: RunText) -> Card:
    return Card(CardKind.DO, text, scene, steps=tuple(map(_read_step, fields.pop_tables("steps"))))


#: What keys of the screen are called in the console.
_KEY_COMMANDS = {"←": "back", "W": "why", "[": "up", "]": "down", "B": "break"}


def _read_step(fields: TomlTable) -> LessonStep:
    keys, told, times = fields.pop("keys", str), fields.pop("does", str), fields.pop("times", int, 1)
    fields.reject_remaining()
    word = keys.split(" ")[0]
    if word == "scene":
        return LessonStep(keys, "scene", told, times)
    command = _with_location(fields, lambda: find_command(_KEY_COMMANDS.get(word, word)).name)
    return LessonStep(keys, command, told, times)


def _make_ask_card(fields: TomlTable, scene: Scene, text: RunText) -> Card:
    right = _with_location(fields, lambda: parse_expression(fields.pop("answer", str)))
    wrongs = tuple(_read_wrong_rule(one) for one in fields.pop_tables("wrong"))
    choice = fields.pop("choice", bool, False)
    if choice and len(wrongs) < CHOICE_COUNT - 1:
        raise fields.error(f"a choice needs {CHOICE_COUNT - 1} wrong answers, and has {len(wrongs)}")
    question = ValueQuestion(
        scene,
        _text_template(fields.pop("question", str)),
        lambda played: evaluate_on_run(right, played),
        _text_template(fields.pop("why", str)),
        wrongs,
        _text_template(fields.pop("see", str, "Run it to see.")),
        tuple(map(_text_template, fields.pop_strings("hints"))),
        choice,
    )
    return Card(CardKind.ASK, text, scene, generate_question=_question_generator(fields, question))


def _read_wrong_rule(fields: TomlTable) -> WrongRule:
    gives, reply = (
        _with_location(fields, lambda: parse_expression(fields.pop("gives", str))),
        _text_template(fields.pop("reply", str)),
    )
    fields.reject_remaining()
    return WrongRule(lambda played: evaluate_on_run(gives, played), reply)


def _make_place_card(fields: TomlTable, scene: Scene, text: RunText) -> Card:
    where, asks = (
        _with_location(fields, lambda: parse_expression(fields.pop("where", str))),
        fields.pop("question", str),
    )
    why, see = fields.pop("why", str), fields.pop("see", str, "Look at the panes: what is asked for is not so here.")
    hints, drawn = fields.pop_strings("hints"), _input_generator(fields, scene)

    def look(stand: LearnerState) -> Feedback | None:
        """Whether it is so where one stands."""
        if not stand.loop_name or not where.truth(LearnerScope(stand.frame, stand.reference_run)):
            return None
        return Feedback(True, fill_template(why, stand.reference_run))

    def draw(random: Random) -> Question:
        """The place with other numbers."""
        there = scene.with_inputs(**drawn(random))
        asked = _text_template(f"{asks}; then `answer here`.")
        return StateQuestion(there, asked, look, see, tuple(map(_text_template, hints)), requires_claim=True)

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
    drawn = _input_generator(fields, question.scene)
    if not question.wrong_rules:
        return lambda random: question.redraw(random, drawn(random))
    return vary_inputs(question, drawn)


def _input_generator(fields: TomlTable, scene: Scene) -> Callable[[Random], dict[str, Any]]:
    """What draws the inputs that the card varies."""
    table = TomlTable(fields.pop("draw", dict, {}), f"{fields.location}: draw")
    inputs = {port.name for port in scene.cached_model().inputs}
    rules = {}
    for name in table.remaining_names():
        if name not in inputs:
            raise table.error(f"the model has no input '{name}'; it has {', '.join(sorted(inputs))}")
        rules[name] = _value_generator(table, name)
    return lambda random: {name: rule(random) for name, rule in rules.items()}


def _value_generator(table: TomlTable, name: str) -> Callable[[Random], Any]:
    """``[1, 9]``: a whole number; ``{ of = [...] }``: one of these; ``{ count = 4, from = [0, 9] }``: so many different
    ones."""
    given = table.pop_untyped(name)
    if isinstance(given, list):
        low, high = _parse_range(table, name, given)
        return lambda random: random.randint(low, high)
    if not isinstance(given, dict):
        raise table.error(f"'{name}' is [smallest, largest], {{ of = [...] }}, or {{ count = N, from = [...] }}")
    one = TomlTable(given, f"{table.location}.{name}")
    if "of" in given:
        values = one.pop("of", list)
        one.reject_remaining()
        if not values:
            raise one.error("'of' has no value")
        return lambda random: random.choice(values)
    count = one.pop("count", int)
    low, high = _parse_range(one, "from", one.pop("from", list))
    one.reject_remaining()
    if not 0 < count <= high - low + 1:
        raise one.error(f"there are no {count} different numbers from {low} to {high}")
    return lambda random: random.sample(range(low, high + 1), count)


def _parse_range(table: TomlTable, name: str, given: list[Any]) -> tuple[int, int]:
    whole = len(given) == 2 and all(isinstance(one, int) and not isinstance(one, bool) for one in given)
    if not whole or given[0] > given[1]:
        raise table.error(f"'{name}' is two whole numbers, the smallest and the largest, not {given}")
    return given[0], given[1]
