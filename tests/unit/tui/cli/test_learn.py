"""``loopdbg learn`` without a screen."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_runner import CliResult, run_cli
from lesson_driver import KEY_WORDING, LessonDriver, solution_commands
from loopdbg.debugger.lessons.lesson import wrap_paragraphs
from loopdbg.debugger.lessons.question import StateQuestion, ValueQuestion

FILE = "lessons.json"
Learn = Callable[..., CliResult]


@pytest.fixture
def learn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Learn:
    """Opens a lesson, with its progress kept in a folder, and types lines into it."""

    def opened(folder: Path, *arguments: str, typed: str = "") -> CliResult:
        monkeypatch.setenv("LOOPDBG_CONFIG_DIR", str(folder))
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        return run_cli(capsys, "learn", *arguments)

    return opened


def first(seed: int) -> str:
    """The answer to the question of lesson 1 with the numbers of a seed."""
    klass = LessonDriver(1, seed=seed)
    klass("card 4")
    assert isinstance(klass.learner.question, StateQuestion)
    return "\n".join(["card 4", *solution_commands(klass.learner.question), ""])


def test_lesson_runs_as_text_with_piped_answers(learn: Learn, tmp_path: Path) -> None:
    klass = LessonDriver(3, seed=0)
    klass("card 4", "again")
    question = klass.learner.question
    assert isinstance(question, ValueQuestion)
    typed = f"answer 18\n\nstep 6\nn\nn\nwhy\n\n\nanswer 9\nagain\nanswer {question.answer}\n\nquit\n"
    ran = learn(tmp_path, "3", "--seed", "0", typed=typed)
    assert (ran.status, ran.err) == (0, "")
    message = ran.out
    for text in (
        "for i in range(max_trips) while below:",
        "Lesson 3 of 29: The condition speaks of the next iteration (5 min)   card 1 of 5: Say first",
        "Kept: 18.",
        "✓ s        six times: count goes 15 → 18",
        "✓ why      why the loop ended",
        "✗ Not 9.",
        "✓ Right. Iteration",
        "card 5 of 5: Remember",
    ):
        assert text in message, text
    listed = learn(tmp_path, "--list").out.splitlines()
    assert listed[2].startswith("✓  3") and listed[3].startswith("   4") and len(listed) == 29


def test_progress_can_be_reset(learn: Learn, tmp_path: Path) -> None:
    learn(tmp_path, "1", "--seed", "1", typed=first(1))
    assert learn(tmp_path, "--list").out.startswith("✓  1")
    assert learn(tmp_path, "--reset").out == "what was done is forgotten\n"
    assert learn(tmp_path, "--list").out.startswith("   1")


def test_first_unfinished_lesson_is_opened(learn: Learn, tmp_path: Path) -> None:
    assert "Lesson 1 of 29" in learn(tmp_path).out
    learn(tmp_path, "1", "--seed", "1", typed=first(1))
    assert "Lesson 2 of 29" in learn(tmp_path, "--text").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0"], "from 1 to 29, not '0'"),
        (["30"], "from 1 to 29, not '30'"),
        (["-1"], "from 1 to 29, not '-1'"),
        (["two"], "two: there is no such folder"),
        (["1", "2"], "a folder and the number of a lesson, not '1 2'"),
        (["--export", "pdf", "x"], "--export writes html, not 'pdf'"),
        (["--seed", "x"], "--seed"),
    ],
)
def test_invalid_arguments_are_one_line(learn: Learn, tmp_path: Path, words: list[str], message: str) -> None:
    ran = learn(tmp_path, *words)
    assert ran.status == 2 and message in ran.error_line and "Traceback" not in ran.error_line


def test_endless_scene_does_not_hang(learn: Learn, tmp_path: Path) -> None:
    ran = learn(tmp_path, "6", typed="scene C\nfinish\nstep 6\nwhy\n")
    assert ran.status == 0 and "error: " in ran.out and "never ends" in ran.out


def test_unwritable_home_is_only_reported(learn: Learn, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = learn(tmp_path / "file", "1", "--seed", "1", typed=first(1))
    assert ran.status == 0 and "✓ Right" in ran.out
    damaged = tmp_path / "there"
    damaged.mkdir()
    (damaged / FILE).write_text("{")
    ran = learn(damaged, "1", typed="")
    assert ran.status == 0 and "damaged" in ran.err


def test_whole_course_runs_as_text_with_right_answers(learn: Learn, tmp_path: Path) -> None:
    """From the first card of the first lesson to the last of the quiz, every line of every card is printed."""
    typed, cards = whole_course(seed=7)
    ran = learn(tmp_path, "--text", "--seed", "7", typed="\n".join(typed))
    assert (ran.status, ran.err) == (0, "")
    messages = ran.out.splitlines()
    for line in cards:
        assert line in messages, line
    assert not any(line.startswith("error: ") for line in messages) and "20 of 20 answers are right." in ran.out
    listed = learn(tmp_path, "--list").out.splitlines()
    assert len(listed) == 29 and all(line.startswith("✓") for line in listed), listed


def whole_course(seed: int) -> tuple[list[str], list[str]]:
    """The lines typed to go through all lessons, and every line of their cards, margin included."""
    klass = LessonDriver(1, seed=seed)
    typed, cards = [], []
    while True:
        learner = klass.learner
        messages = [
            KEY_WORDING(paragraph) if isinstance(paragraph, str) else paragraph
            for paragraph in learner.card.paragraphs(learner.question)
        ]
        cards += [f"  {line}" for line in wrap_paragraphs(messages, 76)]
        lines = [
            step.keys if " " in step.keys else step.command for step in learner.card.steps for _ in range(step.times)
        ]
        if learner.card.kind.graded and learner.question is not None:
            question = learner.question
            place = isinstance(question, StateQuestion)
            lines += solution_commands(question) if place else [f"answer {question.answer}"]  # type: ignore[attr-defined, arg-type]
        typed += [*lines, "card"]
        if "That was the last card" in klass(*lines, "card"):
            return typed[:-1], cards


def test_course_is_written_as_pages(learn: Learn, tmp_path: Path) -> None:
    ran = learn(tmp_path, "--export", "html", str(tmp_path / "pages"))
    assert (ran.status, ran.err) == (0, "") and ran.out.startswith("wrote 31 pages: ")
    assert (tmp_path / "pages" / "index.html").is_file()


def test_unwritable_page_folder_is_one_line(learn: Learn, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = learn(tmp_path, "--export", "html", str(tmp_path / "file" / "pages"))
    assert ran.status == 2 and "the pages cannot be written" in ran.error_line
