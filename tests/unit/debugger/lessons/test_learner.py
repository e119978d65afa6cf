"""Going through a lesson: cards, completed steps, guesses, hints, and saved progress."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lesson_driver import LESSONS, LessonDriver, value_question
from loopdbg.debugger.lessons.course import state_questions
from loopdbg.debugger.lessons.course.catalog import LESSONS_BY_NUMBER
from loopdbg.debugger.lessons.mode_question import ModeQuestion
from loopdbg.debugger.lessons.progress import LearnerProgress
from loopdbg.debugger.lessons.question import StateQuestion, ValueQuestion


def test_lesson_from_first_to_last_card() -> None:
    klass = LessonDriver(3, ask=value_question(3).with_inputs(limit=22))
    assert klass.learner.heading == "card 1 of 5: Say first"
    assert "Kept: 18. It is not judged" in klass("answer 18")
    klass("card")
    assert klass.learner.open_card_lines()[0] == "· s        six times: count goes 15 → 18"
    klass("step 5")
    assert klass.learner.open_card_lines()[0].startswith("·")
    klass("s", "n", "n", "why")
    assert all(line.startswith("✓") for line in klass.learner.open_card_lines())
    klass("card")
    assert "Your first guess: 18. It is 21: Iteration 6 has run" in squeezed(klass.card)
    klass("card")
    assert "✗ Iteration 7 has run" in klass("answer 21") and 3 not in klass.learner.progress.done_lessons
    klass("again")
    assert "✓ Right. Iteration 7 runs" in squeezed(klass("answer 24"))
    klass("card")
    assert "Remember" in klass.learner.heading
    assert 3 in klass.learner.progress.done_lessons and klass.learner.progress[3].tries == 2
    klass("card")
    assert klass.learner.title.startswith("Lesson 4 of 29")


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_guess_is_kept_and_never_judged() -> None:
    klass = LessonDriver(1)
    for guess in ("12", "15", "99"):
        assert "✓" not in klass(f"answer {guess}") and "✗" not in klass(f"answer {guess}")
    assert klass.learner.progress[1].guess == "99" and klass.learner.progress[1].tries == 0
    klass.open_card("Look")
    assert "Your first guess: 99. It is 15" in klass.card


def test_steps_are_recognized_in_any_spelling() -> None:
    klass = LessonDriver(2)
    klass("card", "next 2", "n")
    assert [line[0] for line in klass.learner.open_card_lines()[1:]] == list("✓✓✓··")
    klass("fin", "restart", "step")
    assert [line[0] for line in klass.learner.open_card_lines()[1:]] == list("✓✓✓✓✓")


def test_repeated_step_shows_its_count() -> None:
    klass = LessonDriver(3)
    klass("card", "step 2")
    assert klass.learner.open_card_lines()[0] == "· s        six times: count goes 15 → 18 (2 of 6)"


def test_step_counts_only_in_its_own_scene() -> None:
    klass = LessonDriver(12)
    klass.open_card("Do")
    klass("scene B", "finish")
    assert [line[0] for line in klass.learner.open_card_lines()] == list("·✓✓·")
    klass("scene A", "finish")
    assert [line[0] for line in klass.learner.open_card_lines()] == list("✓✓✓·")


def test_scenes_are_opened_by_letter() -> None:
    klass = LessonDriver(4)
    klass("card", "finish")
    assert klass("scene b").startswith("before iteration 0")
    assert klass("print x0", "finish") == "0 loop 'halve' ends after 1 iteration: the condition is false"
    assert "runs no iteration" in klass("scene C")
    assert klass("scene D") == "error: there is no scene 'D': there are A, B, C"
    assert klass("scene") == "loop 'halve' runs no iteration: the condition is false before the first"
    assert klass("lesson 1", "scene b").endswith(
        "error: there is no scene 'b': this lesson has one; scene puts it back"
    )


def test_repeated_question_has_its_own_scene() -> None:
    klass = LessonDriver(5)
    assert klass.learner.heading == "card 1 of 6: Once more"
    assert klass.console.session.model.name == "twice.onnxtxt"
    question = klass.learner.question
    assert isinstance(question, ValueQuestion)
    assert "✗ That is got" in klass(f"answer {question.scene.reference_run['got']}")
    klass("again")
    assert "✓" in klass.answer_correctly()
    assert klass.learner.progress[5].tries == 0
    klass("card")
    assert klass.console.session.model.name == "counter.onnx"


def test_position_counts_when_submitted() -> None:
    klass = LessonDriver(1, ask=state_questions.run_count_question(5, 3))
    klass.open_card("Ask")
    assert "✓" not in klass("step 3") and "✗" not in klass("step")
    assert "✗ Here 4 have run" in klass("answer here")
    assert "this question is answered" in klass("back", "answer here")
    klass("again", "step 3")
    assert "✓ Right. 3 have run" in klass("answer here")


def test_tried_answer_is_repeated_only_on_request() -> None:
    klass = LessonDriver(5, ask=state_questions.iteration_count_question(5))
    klass.open_card("Ask")
    assert "6: in iteration 4" in klass("set limit = 16", "finish")
    assert "6: in iteration 4" not in klass("print count")
    assert "✗ It ran 6: in iteration 4" in klass("answer here")
    assert "✓ Right" in klass("restart", "set limit = 13", "finish")
    assert "✓" not in klass("print count")


def test_no_position_before_question_opens() -> None:
    klass = LessonDriver(1)
    assert klass("step 3") == "before iteration 3 of loop 'add3'"


@pytest.mark.parametrize(
    ("card", "typed", "error"),
    [
        ("Say first", "answer", "say what you think, as in answer 5"),
        ("Say first", "answer many apples!", "'many apples!' cannot be read as an answer"),
        ("Do", "answer 5", "this card asks nothing"),
        ("Do", "again", "again is for the question of a lesson, which card 4 asks"),
        ("Ask", "answer", "answer what? as in answer 5"),
        ("Ask", "answer [1, 2", "'[1, 2' cannot be read as an answer"),
        ("Ask", "answer z", "there is no choice 'z'; there are a, b, c, d"),
        ("Ask", "lesson 99", "lesson takes a number from 1 to 29, not '99'"),
        ("Ask", "lesson one", "lesson takes a number from 1 to 29, not 'one'"),
        ("Ask", "card 9", "card takes a number from 1 to 5, not '9'"),
        ("Ask", "card x", "card takes a number from 1 to 5, not 'x'"),
    ],
)
def test_invalid_input_is_one_clear_error(card: str, typed: str, error: str) -> None:
    klass = LessonDriver(2)
    klass.open_card(card)
    before = klass.learner.open_card_lines()
    assert klass(typed).startswith(f"error: {error}")
    assert klass.learner.open_card_lines() == before


@pytest.mark.parametrize(
    ("card", "hint"),
    [
        ("Say first", "Say what you think: it is a guess, and is not judged."),
        ("Do", "Next is `n`: one node: x_next is 2."),
        ("Look", "Nothing is asked here. Go on with the next card."),
        ("Remember", "Nothing is asked here. Go on with the next card."),
    ],
)
def test_hint_without_a_question_says_what_to_do(card: str, hint: str) -> None:
    klass = LessonDriver(2)
    klass.open_card(card)
    assert klass("hint").startswith(hint)


def test_hint_among_steps_is_the_next_step() -> None:
    klass = LessonDriver(2)
    klass.open_card("Do")
    klass("next")
    assert klass("hint").startswith("Next is `n`: what was received is 1 still")
    klass("next", "next", "step", "finish")
    assert klass("hint") == "All of it is done. Go on with the next card."
    klass = LessonDriver(6)
    klass.open_card("Do")
    klass("finish", "scene B", "step")
    assert klass("hint") == "Next is `s` (2 of 3): three times: more is false."


def test_again_names_the_card_with_the_question() -> None:
    klass = LessonDriver(5)
    klass.open_card("Do")
    assert klass("again") == "error: again is for the question of a lesson, which card 5 asks"


def test_lesson_commands_are_completed_and_explained() -> None:
    klass = LessonDriver(1)
    assert klass.console.complete("les") == ["lesson"]
    assert "answer X" in klass("help") and klass("help hint").startswith("hint   where to look")
    assert klass("help trip count").startswith("trip count: ")


def test_covered_listing_is_shown_after_a_guess() -> None:
    klass = LessonDriver(7)
    assert klass.learner.hides_listing
    klass("answer 2 1")
    assert not klass.learner.hides_listing and klass.learner.progress[7].guess == "[2, 1]"
    assert not LessonDriver(6).learner.hides_listing


def test_every_lesson_can_be_completed_card_by_card() -> None:
    klass = LessonDriver(1)
    seen = []
    while True:
        seen.append((klass.learner.lesson.number, klass.learner.card_index))
        if "That was the last card" in klass("card"):
            break
    assert seen == [(number, k) for number, lesson in LESSONS_BY_NUMBER.items() for k in range(len(lesson.cards))]
    assert seen[-1] == (29, 3)


def test_summary_after_the_hour(tmp_path: Path) -> None:
    klass = LessonDriver(13, tmp_path / "lessons.json")
    klass.learner.progress[2].tries = 3
    assert "✓ Right. Iteration 137 made it" in squeezed(klass("break nan", "continue", "answer here"))
    klass("card")
    question = klass.learner.question
    assert isinstance(question, ValueQuestion)
    assert "The condition is false before that" in klass("answer 9999") or "Not 9999" in squeezed(
        " ".join(klass.output_lines)
    )
    klass("again")
    assert "✓ Right." in klass.answer_correctly()
    klass("card")
    assert "✓ Right. 0 iterations ran" in klass.answer_correctly()
    klass("card")
    assert "A model of your own" in klass.card
    klass("card")
    assert klass.learner.open_card_lines() == [
        "That was all of it. What took a second try, for tomorrow:",
        "  learn 2   Two values, one edge",
    ]
    assert 13 in klass.learner.progress.done_lessons


def test_unanswered_lesson_is_not_praised(tmp_path: Path) -> None:
    klass = LessonDriver(13, tmp_path / "lessons.json")
    klass("card", "answer 77", "card", "card", "card")
    message = squeezed(" ".join(klass.learner.open_card_lines()))
    assert "Without a right answer so far: card 1, 2, 3" in message and "came right" not in message
    assert 13 not in klass.learner.progress.done_lessons
    klass("card 1", "break nan", "continue", "answer here", "card 2")
    klass.answer_correctly()
    klass("card 3")
    klass.answer_correctly()
    klass("card 5")
    assert 13 in klass.learner.progress.done_lessons
    assert "Lessons that are not: 1, 2, 3" in squeezed(" ".join(klass.learner.open_card_lines()))


def test_quiz_reports_right_answers_and_missed_rows(tmp_path: Path) -> None:
    klass = LessonDriver(23, tmp_path / "lessons.json", seed=4)
    assert klass.learner.heading == "card 1 of 21: Quiz" and klass.learner.title.startswith(
        "Lesson 23 of 29: Quiz: twenty"
    )
    rows = []
    for k in range(20):
        question = klass.learner.question
        assert isinstance(question, ModeQuestion)
        if k in (3, 7):
            wrong = next(letter for letter, word in question.choices.items() if word != question.answer)
            assert "✗" in klass(f"answer {wrong}")
            assert "this question is answered; card goes on" in klass("again", "answer a")
            rows.append(question.row)
        else:
            assert "✓ Right" in klass.answer_correctly()
        klass("card")
    lines = klass.learner.open_card_lines(200)
    assert lines[0] == "18 of 20 answers are right. These rows were missed:"
    assert [line.split(": ")[0].split("  ")[-1] for line in lines[1:]] == [row.text for row in dict.fromkeys(rows)]
    assert 23 in klass.learner.progress.done_lessons
    assert LearnerProgress(tmp_path / "lessons.json")[23].missed == [3, 7]
    later = LessonDriver(23, tmp_path / "lessons.json", seed=5)
    assert later.learner.card_index == 0 and not later.learner.progress[23].missed, "dealt again"


def test_unfinished_quiz_is_not_done() -> None:
    klass = LessonDriver(23)
    klass.answer_correctly()
    klass("card 21")
    assert "Without a right answer so far: card 2, 3" in klass.card and 23 not in klass.learner.progress.done_lessons


@pytest.mark.parametrize("number", LESSONS_BY_NUMBER)
def test_numbers_follow_the_seed(number: int) -> None:
    def cards(seed: int) -> list[list[str]]:
        klass = LessonDriver(number, seed=seed)
        messages = []
        for k in range(len(klass.learner.cards)):
            klass.learner.open_card(k)
            messages.append(klass.learner.open_card_lines())
        return messages

    assert cards(1) == cards(1)
    assert any(cards(1) != cards(seed) for seed in (2, 3, 4))


# -- saved progress


def test_progress_is_saved_card_by_card(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lessons.json"
    klass = LessonDriver(1, path)
    klass("answer 12", "card", "card")
    later = LessonDriver(1, path)
    assert later.learner.heading == "card 3 of 5: Look" and "Your first guess: 12" in later.card
    later("card")
    later.answer_correctly()
    assert LearnerProgress(path).done_lessons == {1}
    assert LessonDriver(None, path).learner.lesson.number == 2
    assert LessonDriver(1, path).learner.heading == "card 1 of 5: Say first", "a finished lesson starts again"


def test_lesson_left_after_its_question_reopens_there(tmp_path: Path) -> None:
    path = tmp_path / "lessons.json"
    LessonDriver(1, path)("card 5")
    assert LessonDriver(1, path).learner.heading == "card 4 of 5: Ask"


def test_completed_course_leads_to_the_next_one(tmp_path: Path) -> None:
    progress = LearnerProgress(tmp_path / "lessons.json")
    for lesson in LESSONS:
        progress[lesson.number].done = True
    progress.save()
    assert LessonDriver(None, progress.path).learner.title == "Lesson 13 of 29: After the hour (10 min)"
    for number in LESSONS_BY_NUMBER:
        progress[number].done = True
    progress.save()
    assert LessonDriver(None, progress.path).learner.lesson.number == 29
    progress.reset()
    assert LessonDriver(None, progress.path).learner.lesson.number == 1


@pytest.mark.parametrize("text", ["", "{", "[]", '{"lessons": 5}', '{"lessons": {"x": {}}}', '{"lessons": {"1": 3}}'])
def test_damaged_progress_file_restarts_with_message(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lessons.json"
    path.write_text(text)
    progress = LearnerProgress(path)
    assert not progress.done_lessons and "is damaged; it starts again" in progress.storage_error
    progress[1].done = True
    progress.save()
    assert LearnerProgress(path).done_lessons == {1} and json.loads(path.read_text(encoding="utf-8"))["version"] == 1


def test_unwritable_progress_is_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    klass = LessonDriver(1, tmp_path / "file" / "lessons.json")
    klass.open_card("Ask")
    assert "✓" in klass.answer_correctly() and 1 in klass.learner.progress.done_lessons
    assert "is not kept" in klass.learner.progress.storage_error


def test_questions_are_of_both_kinds() -> None:
    kinds = {1: StateQuestion, 5: StateQuestion, 8: StateQuestion, 11: StateQuestion}
    for lesson in LESSONS:
        assert isinstance(lesson.question, kinds.get(lesson.number, ValueQuestion))
