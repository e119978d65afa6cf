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
from ..console.command import find
from .fields import Fields
from .formula import StandScope, filled, formula, value_of
from .lesson import Card, Course, Kind, Lesson, Step, Tasks
from .own_mode import mode_of
from .question import CHOICES, Draw, Question, Reply, StateQuestion, Told, ValueQuestion, Wrong, varied
from .scene import Scene
from .stand import Stand

#: The file that says what the course is.
COURSE = "course.toml"


def read_course(folder: Path) -> Course:
    """A course from a folder. Every card is asked once, so that a mistake is found before a class meets it.

    Raises:
        UsageError: the folder has no course, or a file of it is wrong: it says which, where, and what.
        ModelError: a model cannot be read.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder; learn takes a folder with a course, or a lesson's number")
    if not (folder / COURSE).is_file():
        raise UsageError(f"{folder}: there is no {COURSE} in it, which gives the course its title (docs/lessons.md)")
    fields = Fields.read(folder / COURSE)
    title = fields.take("title", str)
    names = fields.texts("lessons") or tuple(sorted(path.name for path in folder.glob("*.toml") if path.name != COURSE))
    fields.end()
    if not names:
        raise UsageError(f"{folder}: there is no lesson in it: a lesson is a file such as 1.toml (docs/lessons.md)")
    lessons: dict[int, Lesson | Tasks] = {
        number: _lesson(number, Fields.read(folder / name), folder) for number, name in enumerate(names, 1)
    }
    # What is done of it is kept by its place: two courses may have one title.
    key = zlib.crc32(str(folder.resolve()).encode())
    return Course(f"course-{key:08x}", title, lessons)


def _lesson(number: int, fields: Fields, folder: Path) -> Tasks:
    title, minutes = fields.take("title", str), fields.take("minutes", int, 5)
    goal = fields.take("goal", str, "")
    scenes = _scenes(Fields(fields.take("scenes", dict), f"{fields.where}: scenes"), folder)
    cards = tuple(_card(one, scenes) for one in fields.tables("cards"))
    fields.end()
    if not cards:
        raise fields.wrong("there is no card: each is a [[cards]]")
    if cards[-1].kind is not Kind.LAST:
        cards = (*cards, Card(Kind.LAST, "", next(iter(scenes.values()))))
    return Tasks(number, title, minutes, cards, goal, scenes)


def _scenes(fields: Fields, folder: Path) -> dict[str, Scene]:
    scenes = {}
    for letter in sorted(fields.names()):
        if not (len(letter) == 1 and letter.isascii() and letter.isupper()):
            raise fields.wrong(f"a scene is a capital letter, not '{letter}'")
        one = Fields(fields.take(letter, dict), f"{fields.where}.{letter}")
        scene = Scene(one.take("model", str), one.take("inputs", dict, {}), folder)
        one.end()
        if not scene.path.is_file():
            raise one.wrong(f"there is no model {scene.path}")
        _checked(one, partial(_opened, scene))
        scenes[letter] = scene
    if not scenes:
        raise fields.wrong("there is no scene: [scenes.A] with a model and its inputs")
    return scenes


def _opened(scene: Scene) -> None:
    """Its model takes its inputs."""
    scene.arrays(scene.known())


def _checked(fields: Fields, what: Callable[[], Any]) -> Any:
    """What something gives; an error of it says where in the file that is.

    Raises:
        UsageError: it fails.
    """
    try:
        return what()
    except UsageError as error:
        text = str(error)
        raise UsageError(text if text.startswith(fields.where) else f"{fields.where}: {text}") from None
    except (LoopdbgError, ValueError, TypeError, KeyError, OSError) as error:
        raise fields.wrong(f"its model does not run with these inputs: {error}") from None


# -- cards


def _card(fields: Fields, scenes: Mapping[str, Scene]) -> Card:
    kind = fields.take("kind", str)
    if kind not in _MAKERS:
        raise fields.wrong(f"there is no kind '{kind}'; there are {', '.join(_MAKERS)}")
    letter = fields.take("scene", str, next(iter(scenes)))
    if letter not in scenes:
        raise fields.wrong(f"there is no scene '{letter}'; there are {', '.join(scenes)}")
    scene = scenes[letter]
    card = _MAKERS[kind](fields, scene, _told(fields.take("text", str, "")))
    fields.end()
    _checked(fields, lambda: _tried(card))
    return card


def _tried(card: Card) -> None:
    """Ask a card once, and say all that it may say."""
    question = card.asked(Random(0))
    card.paragraphs(question)
    if isinstance(question, ValueQuestion):
        question.judge(str(question.answer))
        for value, _ in question.rules:
            question.judge(str(value))
        question.judge("-987654321")
    for number in range(3 if question is not None else 0):
        question.hint(number)  # type: ignore[union-attr]


def _told(text: str) -> Told:
    return (lambda played: filled(text, played)) if "{" in text else text


def _read(fields: Fields, scene: Scene, text: Told) -> Card:
    return Card(Kind.READ, text, scene)


def _end(fields: Fields, scene: Scene, text: Told) -> Card:
    return Card(Kind.LAST, text, scene)


def _do(fields: Fields, scene: Scene, text: Told) -> Card:
    return Card(Kind.DO, text, scene, steps=tuple(map(_step, fields.tables("steps"))))


#: What keys of the screen are called in the console.
_KEYS = {"←": "back", "W": "why", "[": "up", "]": "down", "B": "break"}


def _step(fields: Fields) -> Step:
    keys, told, times = fields.take("keys", str), fields.take("does", str), fields.take("times", int, 1)
    fields.end()
    word = keys.split(" ")[0]
    if word == "scene":
        return Step(keys, "scene", told, times)
    command = _checked(fields, lambda: find(_KEYS.get(word, word)).name)
    return Step(keys, command, told, times)


def _ask(fields: Fields, scene: Scene, text: Told) -> Card:
    right = _checked(fields, lambda: formula(fields.take("answer", str)))
    wrongs = tuple(_wrong(one) for one in fields.tables("wrong"))
    choice = fields.take("choice", bool, False)
    if choice and len(wrongs) < CHOICES - 1:
        raise fields.wrong(f"a choice needs {CHOICES - 1} wrong answers, and has {len(wrongs)}")
    question = ValueQuestion(
        scene,
        _told(fields.take("question", str)),
        lambda played: value_of(right, played),
        _told(fields.take("why", str)),
        wrongs,
        _told(fields.take("see", str, "Run it to see.")),
        tuple(map(_told, fields.texts("hints"))),
        choice,
    )
    return Card(Kind.ASK, text, scene, draw=_draw(fields, question))


def _wrong(fields: Fields) -> Wrong:
    gives, reply = _checked(fields, lambda: formula(fields.take("gives", str))), _told(fields.take("reply", str))
    fields.end()
    return Wrong(lambda played: value_of(gives, played), reply)


def _place(fields: Fields, scene: Scene, text: Told) -> Card:
    where, asks = _checked(fields, lambda: formula(fields.take("where", str))), fields.take("question", str)
    why, see = fields.take("why", str), fields.take("see", str, "Look at the panes: what is asked for is not so here.")
    hints, drawn = fields.texts("hints"), _drawn(fields, scene)

    def look(stand: Stand) -> Reply | None:
        """Whether it is so where one stands."""
        if not stand.loop or not where.truth(StandScope(stand.frame, stand.played)):
            return None
        return Reply(True, filled(why, stand.played))

    def draw(random: Random) -> Question:
        """The place with other numbers."""
        there = scene.given(**drawn(random))
        asked = _told(f"{asks}; then `answer here`.")
        return StateQuestion(there, asked, look, see, tuple(map(_told, hints)), claimed=True)

    return Card(Kind.ASK, text, scene, draw=draw)


def _mode(fields: Fields, scene: Scene, text: Told) -> Card:
    question = _checked(fields, lambda: mode_of(scene))
    return Card(Kind.ASK, text, scene, draw=lambda random: replace(question, seed=random.randrange(1 << 30)))


_MAKERS: Mapping[str, Callable[[Fields, Scene, Told], Card]] = {
    "read": _read,
    "do": _do,
    "ask": _ask,
    "place": _place,
    "mode": _mode,
    "end": _end,
}

# -- numbers


def _draw(fields: Fields, question: ValueQuestion) -> Draw:
    drawn = _drawn(fields, question.scene)
    if not question.wrongs:
        return lambda random: question.drawn(random, drawn(random))
    return varied(question, drawn)


def _drawn(fields: Fields, scene: Scene) -> Callable[[Random], dict[str, Any]]:
    """What draws the inputs that the card varies."""
    table = Fields(fields.take("draw", dict, {}), f"{fields.where}: draw")
    inputs = {port.name for port in scene.known().inputs}
    rules = {}
    for name in table.names():
        if name not in inputs:
            raise table.wrong(f"the model has no input '{name}'; it has {', '.join(sorted(inputs))}")
        rules[name] = _rule(table, name)
    return lambda random: {name: rule(random) for name, rule in rules.items()}


def _rule(table: Fields, name: str) -> Callable[[Random], Any]:
    """``[1, 9]``: a whole number; ``{ of = [...] }``: one of these; ``{ count = 4, from = [0, 9] }``: so many different
    ones."""
    given = table.any(name)
    if isinstance(given, list):
        low, high = _range(table, name, given)
        return lambda random: random.randint(low, high)
    if not isinstance(given, dict):
        raise table.wrong(f"'{name}' is [smallest, largest], {{ of = [...] }}, or {{ count = N, from = [...] }}")
    one = Fields(given, f"{table.where}.{name}")
    if "of" in given:
        values = one.take("of", list)
        one.end()
        if not values:
            raise one.wrong("'of' has no value")
        return lambda random: random.choice(values)
    count = one.take("count", int)
    low, high = _range(one, "from", one.take("from", list))
    one.end()
    if not 0 < count <= high - low + 1:
        raise one.wrong(f"there are no {count} different numbers from {low} to {high}")
    return lambda random: random.sample(range(low, high + 1), count)


def _range(table: Fields, name: str, given: list[Any]) -> tuple[int, int]:
    whole = len(given) == 2 and all(isinstance(one, int) and not isinstance(one, bool) for one in given)
    if not whole or given[0] > given[1]:
        raise table.wrong(f"'{name}' is two whole numbers, the smallest and the largest, not {given}")
    return given[0], given[1]
