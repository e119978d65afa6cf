"""Custom courses of a teacher: what the documentation describes, and errors in their files."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from random import Random

import pytest

import loopdbg
from error_fields import raises_error
from lesson_driver import LessonDriver
from loopdbg.debugger.lessons.course_reader import read_course
from loopdbg.debugger.lessons.question import ValueQuestion
from loopdbg.debugger.lessons.scene import MODELS_FOLDER

DOCS = Path(__file__).parents[4] / "docs" / "lessons.md"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The course of the documentation."""
    first, lesson = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    (tmp_path / "course.toml").write_text(first, encoding="utf-8")
    (tmp_path / "counting.toml").write_text(lesson, encoding="utf-8")
    shutil.copy(MODELS_FOLDER / "add3.onnxtxt", tmp_path)
    return tmp_path


def changed(course: Path, old: str, new: str) -> None:
    """Change the lesson's file."""
    path = course / "counting.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_documented_course_can_be_completed(course: Path) -> None:
    result = read_course(course)
    assert result.title == "Loops in our decoder" and [lesson.title for lesson in result.lessons.values()] == [
        "A body that runs again"
    ]
    klass = LessonDriver(1, course=result)
    assert klass.learner.title == "Lesson 1 of 1: A body that runs again (4 min)"
    assert klass.card == "The body adds 3. Here it runs 5 times, from 0."
    klass("card", "step 2", "finish")
    assert [line[0] for line in klass.learner.open_card_lines()] == ["✓", "✓"]
    klass("card")
    question = klass.learner.question
    assert isinstance(question, ValueQuestion)
    n, x0 = question.scene.inputs["n"], question.scene.inputs["x0"]
    assert question.answer == x0 + 3 * n and 3 <= n <= 9 and x0 in (0, 10, 20)
    assert "One iteration is missing." in klass(f"answer {x0 + 3 * (n - 1)}")
    klass("again")
    assert "iterations add 3 each" in klass.answer_correctly()
    klass("card")
    assert "✗ Not here." in klass("step", "answer here")
    klass("again")
    assert "✓ Right. Three iterations have added 3 each." in klass("step 3", "answer here")
    klass("card")
    assert "Which row of ONNX's table" in klass.card and "✓ Right. In row (M" in klass("answer for")
    klass("card")
    assert (
        klass.card.startswith("Before iteration N the body has run N times.")
        and 1 in klass.learner.progress.done_lessons
    )


def test_numbers_are_drawn_as_the_file_defines(course: Path) -> None:
    changed(course, "draw = { n = [3, 9], x0 = { of = [0, 10, 20] } }", "draw = { n = [4, 4], x0 = [7, 8] }")
    card = read_course(course).lessons[1].cards[2]
    asked = [card.draw_question(Random(k)) for k in range(20)]
    assert {(item.scene.inputs["n"], item.scene.inputs["x0"]) for item in asked if item is not None} == {(4, 7), (4, 8)}


@pytest.mark.parametrize(("exact", "marks"), [("true", ["✓", "·"]), ("false", ["✓", "✓"])])
def test_step_counts_with_other_arguments_unless_exact(course: Path, exact: str, marks: list[str]) -> None:
    changed(course, '{ keys = "f", does = "to the end" }', f'{{ keys = "print n", does = "a value", exact = {exact} }}')
    klass = LessonDriver(1, course=read_course(course))
    klass("card", "step 2", "print x0")
    assert [line[0] for line in klass.learner.open_card_lines()] == marks


def test_drawn_lists_have_distinct_numbers(course: Path) -> None:
    shutil.copy(MODELS_FOLDER / "digits.onnxtxt", course)
    (course / "counting.toml").write_text(
        """
title = "Cutting"
[scenes.A]
model = "digits.onnxtxt"
inputs = { x = [1, 2, 3, 4] }
[[cards]]
kind = "ask"
question = "x is {x}: what is back?"
draw = { x = { count = 3, from = [1, 9] } }
answer = "back"
why = "From the end."
choice = true
wrong = [
    { gives = "there", reply = "That is from the front." },
    { gives = "back + 1", reply = "One more." },
    { gives = "there + 1", reply = "One more." },
]
""",
        encoding="utf-8",
    )
    card = read_course(course).lessons[1].cards[0]
    for k in range(10):
        question = card.draw_question(Random(k))
        assert isinstance(question, ValueQuestion) and len(question.choices) == 4
        x = question.scene.inputs["x"]
        assert len({*x}) == 3 and question.answer == int("".join(map(str, x[::-1])))


#: The text to change in the lesson, its replacement, and the error.
FAULTS = [
    ('title = "A body', 'titel = "A body', r"counting.toml: 'title' is missing; it is a text"),
    ("minutes = 4", 'minutes = "4"', r"counting.toml: 'minutes' is a whole number, not '4'"),
    ("minutes = 4", "minutes = 4\nhours = 1", r"there is no field 'hours'; there are title, minutes"),
    ("minutes = 4", "minutes = ", r"counting.toml: is no TOML: "),
    ("[scenes.A]", "[scenes.first]", r"counting.toml: scenes: a scene is a capital letter, not 'first'"),
    ('model = "add3.onnxtxt"', 'model = "add4.onnxtxt"', r"scenes.A: there is no model .*add4.onnxtxt"),
    (
        "inputs = { n = 5, x0 = 0 }",
        'inputs = { n = 5, x0 = "a" }',
        r"scenes.A: its model does not run with these inputs",
    ),
    ('kind = "read"', 'kind = "reed"', r"cards 1: there is no kind 'reed'; there are read, do, ask"),
    ("Here it runs {n} times", "Here it runs {m} times", r"cards 1: .*'m'"),
    ("Here it runs {n} times", "Here it runs {n +} times", r"cards 1: 'n \+'"),
    ('keys = "s"', 'keys = "fly"', r"cards 2: steps 1: there is no command 'fly'"),
    ('does = "one iteration"', "does = 1", r"cards 2: steps 1: 'does' is a text, not 1"),
    ('answer = "x_last"', 'answer = "x_end"', r"cards 3: .*'x_end'"),
    ('gives = "x0 + 3"', 'gives = "x0 +"', r"cards 3: wrong 2: 'x0 \+'"),
    (
        "n = [3, 9]",
        "n = [9, 3]",
        r"cards 3: draw: 'n' is two whole numbers, the smallest and the largest, not \[9, 3\]",
    ),
    ("n = [3, 9]", "m = [3, 9]", r"cards 3: draw: the model has no input 'm'; it has n, x0"),
    ("{ of = [0, 10, 20] }", "{ of = [] }", r"cards 3: draw.x0: 'of' has no value"),
    ('answer = "x_last"', 'answer = "x_last"\nchoice = true', r"cards 3: a choice needs 3 wrong answers, and has 2"),
    ('answer = "x_last"', 'answer = "x_last"\nscene = "B"', r"cards 3: there is no scene 'B'; there are A"),
    ('gives = "x0 + 3"', 'gives = "x_last"', r""),
    ('where = "x == x0 + 9"', 'where = "x =="', r"cards 4: 'x =='"),
]


@pytest.mark.parametrize(
    ("old", "new", "message"), FAULTS, ids=[f"{k} {new[:20]}" for k, (_, new, _) in enumerate(FAULTS)]
)
def test_error_in_a_file_is_one_clear_message(course: Path, old: str, new: str, message: str) -> None:
    changed(course, old, new)
    if not message:
        assert read_course(course).title
        return
    with pytest.raises(loopdbg.UsageError, match=message) as error:
        read_course(course)
    assert str(error.value).startswith(str(course)) and len(str(error.value).splitlines()) <= 3


def test_always_right_wrong_answers_are_reported(course: Path) -> None:
    changed(course, 'gives = "x_last - 3"', 'gives = "x_last"')
    changed(course, 'gives = "x0 + 3"', 'gives = "x_last"')
    with pytest.raises(loopdbg.UsageError, match="cards 3: no numbers tell the right answer from the wrong ones"):
        read_course(course)


def test_missing_or_empty_folder_is_refused(tmp_path: Path) -> None:
    with raises_error(loopdbg.UsageError, name=tmp_path / "nowhere", expected="a folder"):
        read_course(tmp_path / "nowhere")
    with raises_error(loopdbg.UsageError, name="course.toml"):
        read_course(tmp_path)
    (tmp_path / "course.toml").write_text('title = "Nothing"\n')
    with raises_error(loopdbg.UsageError, name=tmp_path, expected="a lesson"):
        read_course(tmp_path)
    (tmp_path / "course.toml").write_bytes(b"\xff\xfe")
    with raises_error(loopdbg.UsageError, name=tmp_path / "course.toml", expected="TOML"):
        read_course(tmp_path)
    (tmp_path / "course.toml").write_text('title = "One"\nlessons = ["none.toml"]\n')
    with raises_error(loopdbg.UsageError, name=tmp_path / "none.toml", got="No such file or directory"):
        read_course(tmp_path)


def test_progress_of_two_courses_is_separate(course: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "copy"
    shutil.copytree(course, other)
    assert read_course(course).name != read_course(other).name
