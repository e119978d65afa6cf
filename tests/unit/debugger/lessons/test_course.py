"""The lessons as texts: their size, their words, and what every Do and Look promises."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from learning import VOICE, Class
from loopdbg.debugger.lessons.course.table import ALL, LESSONS
from loopdbg.debugger.lessons.lesson import HEIGHT, WIDTH, Kind, Lesson
from loopdbg.debugger.lessons.question import StateQuestion
from loopdbg.debugger.lessons.scene import MODELS
from loopdbg.debugger.words.vocabulary.field import meaning

ROOT = Path(__file__).parents[4]
EVERY = pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: str(one.number))


def test_there_are_twelve_for_an_hour() -> None:
    assert [one.number for one in LESSONS] == list(range(1, 13))
    assert 50 <= sum(one.minutes for one in LESSONS) <= 65


@pytest.mark.parametrize("number", ALL)
def test_a_card_has_at_most_six_lines_of_76_columns(number: int) -> None:
    learner = Class(number).learner
    for card in range(len(ALL[number].cards)):
        learner.turn(card)
        for question in (None, *learner.card.again):
            if question is not None:
                learner.question = question
            lines = learner.lines()
            assert len(lines) <= HEIGHT, (learner.heading, lines)
            assert max(map(len, lines)) <= WIDTH, (learner.heading, lines)


@EVERY
def test_a_lesson_brings_at_most_four_words_which_help_explains(lesson: Lesson) -> None:
    assert len(lesson.words) <= 4
    for word in lesson.words:
        assert meaning(word) is not None, word


@EVERY
def test_no_word_is_used_before_the_lesson_that_brings_it(lesson: Lesson) -> None:
    later = {word for one in LESSONS if one.number > lesson.number for word in one.words}
    # What a lesson says of the world outside may name what comes later.
    cards = [card for card in lesson.cards if card.kind not in (Kind.REMEMBER, Kind.RECALL)]
    texts = [line for card in cards for line in card.lines()] + [step.told for card in cards for step in card.steps]
    text = " ".join(texts).lower()
    for word in later - {"part", "absent", "frame", "entry"}:
        assert not re.search(rf"\b{word.lower()}s?\b", text), word


@EVERY
def test_do_is_done_by_its_keys_and_look_shows_what_it_promises(lesson: Lesson) -> None:
    klass = Class(lesson.number)
    klass.to("Do")
    seen: list[str] = []
    for step in klass.learner.card.steps:
        for _ in range(step.times):
            line = step.keys if " " in step.keys else step.command
            said = klass(line)
            assert not said.startswith("error"), (line, said)
            seen += [said, klass("list all"), klass("frame"), klass("info values"), klass("why")]
            if len(klass.console.session.frames) > 1:
                seen.append(klass("backtrace"))
    assert all(line.startswith("✓") for line in klass.learner.lines() if line[:1] in "✓·"), klass.learner.lines()
    outputs = klass.console.session.outputs or {}
    seen += [f"{name} {value.dtype} {list(value.shape)} {value.tolist()}" for name, value in outputs.items()]
    everything = squeezed(" ".join(seen)).replace("int64", "i64")
    klass.to("Look")
    for promised in re.findall(r"`([^`]+)`", " ".join(lesson.cards[klass.learner.number].lines())):
        # What the title of the screen says the console says of the moment.
        assert squeezed(promised) in everything, promised


def squeezed(text: str) -> str:
    return " ".join(text.split())


@EVERY
def test_hints_go_from_where_to_look_to_the_answer(lesson: Lesson) -> None:
    klass = Class(lesson.number)
    klass.to("Ask")
    hints = [klass("hint") for _ in range(4)]
    assert len({*hints[:3]}) == 3 and hints[3] == hints[2], hints
    if not isinstance(lesson.ask, StateQuestion):
        assert str(lesson.ask.answer) in hints[2]  # type: ignore[attr-defined]


def test_what_a_front_end_calls_its_keys_is_said_in_its_words() -> None:
    assert VOICE("`←` and `n`, then `W`") == "`back` and `n`, then `why`"


def test_the_package_takes_every_model_along() -> None:
    """What the wheel and the sdist are told to hold covers what lies there."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    patterns = (*told["loopdbg.lesson_models"], "*.py")
    files = [path.name for path in MODELS.iterdir() if path.is_file()]
    assert len(files) > 30
    assert [name for name in files if not any(fnmatch(name, pattern) for pattern in patterns)] == []
    manifest = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").split()
    assert set(told["loopdbg.lesson_models"]) <= set(manifest)


def test_every_model_of_a_scene_is_there() -> None:
    scenes = [scene for lesson in LESSONS for scene in lesson.scenes.values()]
    cards = [card.scene for lesson in ALL.values() for card in lesson.cards]
    assert [scene.model for scene in (*scenes, *cards) if not scene.path.is_file()] == []
