"""The lessons as texts: their size, their vocabulary, and the promises of every Do and Look step."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from random import Random

import pytest

from lesson_driver import KEY_WORDING, LESSONS, LessonDriver
from loopdbg.debugger.describe.termination import LoopKind
from loopdbg.debugger.describe.vocabulary.glossary import glossary_entry
from loopdbg.debugger.lessons.course.catalog import LESSONS_BY_NUMBER, deal_quiz_cards
from loopdbg.debugger.lessons.lesson import (
    CARD_WIDTH_CHARS,
    CardKind,
    Lesson,
    Quiz,
    wrap_paragraphs,
)
from loopdbg.debugger.lessons.loop_modes import LOOP_MODES, LoopMode, modes_of_system
from loopdbg.debugger.lessons.mode_question import MAX_ITERATIONS, ModeQuestion, mode_question_generator
from loopdbg.debugger.lessons.question import StateQuestion
from loopdbg.debugger.lessons.scene import MODELS_FOLDER
from loopdbg.runtime.graph import System
from loopdbg.tui.cli.commands.samples import SAMPLES_FOLDER, sample_files

#: Maximum number of lines of a card, and of a practice card.
SHORT, TALL = 6, 11
ROOT = Path(__file__).parents[4]
EVERY = pytest.mark.parametrize("lesson", LESSONS, ids=lambda item: str(item.number))


def test_course_has_twelve_lessons_for_an_hour() -> None:
    assert [lesson.number for lesson in LESSONS] == list(range(1, 13))
    assert 50 <= sum(lesson_value.minutes for lesson_value in LESSONS) <= 65


def test_later_lessons_continue_the_numbering() -> None:
    assert list(LESSONS_BY_NUMBER) == [*range(1, 30)] and isinstance(LESSONS_BY_NUMBER[23], Quiz)


@pytest.mark.parametrize("number", LESSONS_BY_NUMBER)
def test_card_has_few_lines_of_76_columns(number: int) -> None:
    """Six lines in the hour; cards with a loop file or a table have as many as a small screen has space for."""
    learner = LessonDriver(number).learner
    for card in range(len(learner.cards)):
        for _ in range(3):
            learner.open_card(card)
            lines = learner.open_card_lines()
            assert len(lines) <= (SHORT if number <= 12 else TALL), (learner.heading, lines)
            assert max(map(len, lines)) <= CARD_WIDTH_CHARS, (learner.heading, lines)


def test_text_uses_the_available_width() -> None:
    learner = LessonDriver(9).learner
    learner.open_card(1)
    assert len(learner.open_card_lines(200)) < len(learner.open_card_lines(76)) < len(learner.open_card_lines(50))
    assert max(map(len, learner.open_card_lines(200))) > 150


def test_every_mode_of_the_three_tables_is_asked() -> None:
    """The quiz asks each one every time, the lessons draw among them; the example is from the row in question."""
    for seed in range(5):
        cards = deal_quiz_cards(Random(seed))
        assert {card.row for card in cards if card.row is not None} == set(LOOP_MODES) and len(cards) == 21
        for card in cards[:20]:
            question = card.draw_question(Random(seed))
            assert isinstance(question, ModeQuestion) and question.row is card.row
    for number, system in ((14, System.ONNX), (15, System.OPENVINO), (16, System.TENSORRT)):
        asked = [card for card in LESSONS_BY_NUMBER[number].cards if card.kind is CardKind.ASK]
        drawn = {
            q.row for card in asked for k in range(12) if isinstance(q := card.draw_question(Random(k)), ModeQuestion)
        }
        assert drawn == set(modes_of_system(system)) and len(drawn) == (4 if system is System.TENSORRT else 5)


@pytest.mark.parametrize("row", LOOP_MODES, ids=lambda row: f"{row.system.value} {row.kind.value}")
def test_mode_behaves_as_its_row_states(row: LoopMode) -> None:
    """Run to check the number of iterations, with a true and a false initial condition."""
    n, usual = 8, 4
    counts = {
        LoopKind.ENDLESS: (MAX_ITERATIONS, MAX_ITERATIONS),
        LoopKind.WHILE: (usual, 0),
        LoopKind.DO_WHILE: (usual, 1),
        LoopKind.FOR: (n, n),
        LoopKind.FOR_WHILE: (usual, 0),
    }[row.kind]
    for k in range(8):
        question = mode_question_generator(row.system, row.kind)(Random(k))
        assert isinstance(question, ModeQuestion)
        scene = replace(question.scene, inputs={"n": n, "x0": 1, "limit": 9})
        late = scene.with_inputs(x0=9)
        assert (scene.reference_run.iterations, late.reference_run.iterations) == counts
        short = scene.with_inputs(n=2).reference_run.iterations
        assert short == {LoopKind.ENDLESS: MAX_ITERATIONS, LoopKind.FOR: 2, LoopKind.FOR_WHILE: 2}.get(row.kind, usual)


def test_mode_is_shown_as_in_its_file_and_the_listing_is_covered() -> None:
    klass = LessonDriver(14, seed=2)
    klass("card 4")
    message = " ".join(klass.learner.open_card_lines())
    assert (
        "M: " in message
        and "cond: " in message
        and "the body yields as its condition: more = x_next < limit" in message
    )
    assert klass.learner.hides_listing and "which row" in message.lower()
    output = klass.answer_correctly()
    assert (
        "✓ Right. In row (" in squeezed(output)
        and "With these inputs it " in squeezed(output)
        and not klass.learner.hides_listing
    )


@pytest.mark.parametrize("system", [System.ONNX, System.OPENVINO, System.TENSORRT])
def test_wrong_mode_is_contrasted_with_its_behaviour(system: System) -> None:
    for k in range(12):
        question = mode_question_generator(system)(Random(k))
        assert isinstance(question, ModeQuestion)
        for letter, word in question.choices.items():
            reply = question.grade(letter)
            assert reply.correct == (word == question.answer)
            if not reply.correct:
                other, this = re.findall(r"(?:makes (\d+) iteration|(does not end))", reply.text)[:2]
                assert other != this, reply.text


@EVERY
def test_lesson_introduces_at_most_four_words_with_help(lesson: Lesson) -> None:
    assert len(lesson.terms) <= 4
    for word in lesson.terms:
        assert glossary_entry(word) is not None, word


@EVERY
def test_no_word_is_used_before_its_lesson(lesson: Lesson) -> None:
    later = {word for lesson_value in LESSONS if lesson_value.number > lesson.number for word in lesson_value.terms}
    # Remarks of a lesson on other tools may use later words.
    cards = [card for card in lesson.cards if card.kind not in (CardKind.REMEMBER, CardKind.RECALL)]
    texts = [
        line
        for card in cards
        for line in wrap_paragraphs(card.paragraphs(card.draw_question(Random(1))), CARD_WIDTH_CHARS)
    ]
    text = " ".join([*texts, *(step.description for card in cards for step in card.steps)]).lower()
    for word in later - {"part", "absent", "frame", "entry"}:
        assert not re.search(rf"\b{word.lower()}s?\b", text), word


@EVERY
def test_do_step_works_by_keys_and_look_step_shows_its_promise(lesson: Lesson) -> None:
    klass = LessonDriver(lesson.number)
    klass.open_card("Do")
    seen: list[str] = []
    for step in klass.learner.card.steps:
        for _ in range(step.times):
            line = step.keys if " " in step.keys else step.command
            output = klass(line)
            assert not output.startswith("error"), (line, output)
            # The card is read after the last step, when earlier screens are gone.
            seen = [output, klass("list all"), klass("frame"), klass("info values"), klass("why")]
            if len(klass.console.session.frames) > 1:
                seen.append(klass("backtrace"))
    assert all(line.startswith("✓") for line in klass.learner.open_card_lines() if line[:1] in "✓·"), (
        klass.learner.open_card_lines()
    )
    outputs = klass.console.session.outputs or {}
    seen += [f"{name} {value.dtype} {list(value.shape)} {value.tolist()}" for name, value in outputs.items()]
    everything = squeezed(" ".join(seen)).replace("int64", "i64")
    klass.open_card("Look")
    for promised in re.findall(r"`([^`]+)`", " ".join(klass.learner.open_card_lines())):
        # What the screen shows in its title, the console states for the current position.
        assert squeezed(promised) in everything, promised


def squeezed(text: str) -> str:
    return " ".join(text.split())


ASKING = [
    (number, k)
    for number, item in LESSONS_BY_NUMBER.items()
    for k, card in enumerate(item.cards)
    if card.kind is CardKind.ASK
]


@pytest.mark.parametrize(("number", "card"), ASKING)
def test_hints_lead_from_where_to_look_to_the_answer(number: int, card: int) -> None:
    klass = LessonDriver(number)
    klass(f"card {card + 1}")
    question = klass.learner.question
    hints = [klass("hint").replace(" `again` asks with other numbers.", "") for _ in range(4)]
    assert len({*hints[:3]}) == 3 and squeezed(hints[3]) == squeezed(hints[2]), hints
    if not isinstance(question, StateQuestion):
        assert str(question.answer) in hints[2]  # type: ignore[union-attr]
        assert "this question is answered" in klass("answer 1")
        klass("again")
        assert "✓ Right" in klass.answer_correctly()


PRACTICE = [
    number
    for number, item in LESSONS_BY_NUMBER.items()
    if not isinstance(item, Lesson) and any(card.steps for card in item.cards)
]


@pytest.mark.parametrize("number", PRACTICE)
def test_practice_do_step_works_by_keys(number: int) -> None:
    klass = LessonDriver(number)
    klass.open_card("Do")
    for step in klass.learner.card.steps:
        for _ in range(step.times):
            output = klass(step.keys if " " in step.keys else step.command)
            assert not output.startswith("error"), (step, output)
    assert all(line.startswith("✓") for line in klass.learner.open_card_lines() if line[:1] in "✓·"), (
        klass.learner.open_card_lines()
    )


def test_key_wording_per_front_end() -> None:
    assert KEY_WORDING("`←` and `n`, then `W`") == "`back` and `n`, then `why`"


def test_the_package_takes_every_model_along() -> None:
    """What the wheel and the sdist are reported to hold covers what lies there."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    patterns = setuptools["package-data"]["loopdbg"]
    assert "sample_models/lessons/*" in patterns
    files = [str(path.relative_to(SAMPLES_FOLDER.parent)) for path in sample_files()]
    assert len(files) > 60
    assert [name for name in files if not any(fnmatch(name, pattern) for pattern in patterns)] == []
    manifest = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").split()
    suffixes = {path.suffix for path in [*sample_files(), *MODELS_FOLDER.iterdir()] if path.is_file()}
    assert {f"*{suffix}" for suffix in suffixes} <= set(manifest)


def test_every_scene_model_exists() -> None:
    scenes = [scene for lesson in LESSONS_BY_NUMBER.values() for scene in lesson.scenes.values()]
    cards = [card.scene for lesson in LESSONS_BY_NUMBER.values() for card in lesson.cards]
    assert [scene.model for scene in (*scenes, *cards) if not scene.path.is_file()] == []
