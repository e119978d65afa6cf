"""Lessons on the screen: every Do step by its keys, the promise of every Look step, and answers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from app_driver import AppDriver, open_app, run_app
from lesson_driver import KEY_WORDING, LESSONS, course_with_question, value_question
from loopdbg.debugger.lessons.course import state_questions
from loopdbg.debugger.lessons.course.catalog import COURSE
from loopdbg.debugger.lessons.key_wording import KeyWording
from loopdbg.debugger.lessons.learner import Learner
from loopdbg.debugger.lessons.lesson import Lesson, LessonStep
from loopdbg.debugger.lessons.mode_question import ModeQuestion
from loopdbg.debugger.lessons.progress import LearnerProgress
from loopdbg.debugger.lessons.question import Question
from loopdbg.tui.screens.debugger.screen import make_lesson_screen
from loopdbg.tui.screens.graph import GraphScreen
from loopdbg.tui.screens.help import HelpScreen
from loopdbg.tui.screens.output_panel import PanelScreen
from text_models import sample

#: The keys that are pressed for a command.
KEYS = {
    "step": "s",
    "next": "n",
    "into": "i",
    "finish": "f",
    "back": "left",
    "restart": "r",
    "why": "W",
    "up": "left_square_bracket",
    "down": "right_square_bracket",
}


class LessonScreen(AppDriver):
    """A lesson that is open on the screen."""

    @property
    def card(self) -> str:
        """The card and the reply to an answer, as drawn."""
        return squeezed(self.lesson.pane.text)

    @property
    def heading(self) -> str:
        return str(self.lesson.pane.border_title)

    async def line(self, text: str) -> None:
        """Type a line into the console, and close it again."""
        await self.press("colon")
        await self.type(text)
        if self.console_pane.display:
            await self.press("escape")

    async def do(self, step: LessonStep) -> None:
        """Carry out a step of a lesson once, as a user would."""
        if step.command in KEYS:
            await self.press(KEYS[step.command])
        else:
            await self.line(step.keys)

    def everything(self) -> str:
        """The text of all panes and of the header."""
        panes = "\n".join(pane.text for pane in self.panes.values())
        above = self.app.screen.text if isinstance(self.app.screen, PanelScreen) else ""
        return squeezed(f"{self.header}\n{self.message}\n{panes}\n{self.console_pane.text}\n{above}")


def tight(text: str) -> str:
    """A text without the blanks inside shapes, as the screen writes them."""
    return squeezed(text).replace(", ", ",")


def squeezed(text: str) -> str:
    return " ".join(text.split())


@asynccontextmanager
async def lesson(
    number: int, size: tuple[int, int] = (120, 36), path: Path | None = None, ask: Question | None = None
) -> AsyncIterator[LessonScreen]:
    course = COURSE if ask is None else course_with_question(number, ask)
    voice = KeyWording({}, KEY_WORDING.comparison_text, KEY_WORDING.lesson_command)
    learner = Learner(LearnerProgress(path), voice, number=number, random=Random(0), course=course)
    async with run_app(make_lesson_screen(learner), size) as screen:
        yield LessonScreen(screen.app, screen.pilot)


async def open_card(screen: LessonScreen, kind: str) -> None:
    """Turn to the card of a kind."""
    while kind not in screen.heading:
        await screen.press("L")


@pytest.mark.parametrize("lesson_value", LESSONS, ids=lambda item: str(item.number))
async def test_do_step_works_by_keys_and_look_step_shows_its_promise(lesson_value: Lesson) -> None:
    async with lesson(lesson_value.number) as screen:
        await open_card(screen, "Do")
        seen = []
        steps = next(card.steps for card in lesson_value.cards if card.steps)
        for step in steps:
            for _ in range(step.times):
                await screen.do(step)
            # The card is read after the last step, when earlier screens are gone.
            seen = [screen.everything()]
            await screen.press("W")
            seen.append(screen.everything())
            while screen.console_pane.display or len(screen.app.screen_stack) > 1:
                await screen.press("escape")
        assert screen.card.count("✓") == len(steps), screen.card
        await open_card(screen, "Look")
        promised = re.findall(r"`([^`]+)`", " ".join(screen.lesson.learner.open_card_lines()))
        for text in promised:
            assert any(tight(text) in tight(all_of_it) for all_of_it in seen), text


async def test_lesson_starts_once() -> None:
    async with lesson(1) as screen:
        assert screen.session_worker.finished_count == 1


async def test_answer_is_typed_with_a_and_gets_a_reply_on_the_card() -> None:
    async with lesson(3, ask=value_question(3).with_inputs(limit=21)) as screen:
        assert "card 1 of 5: Say first" in screen.heading and "max_trips" not in screen.card
        await screen.press("a")
        assert screen.console_pane.input_line.value == "answer "
        await screen.type("answer 18")
        await screen.pilot.pause()
        assert not screen.console_pane.display, "the line closes by itself"
        assert "Kept: 18. It is not judged" in screen.card
        await screen.line("card 4")
        await screen.press("h")
        assert "is 21 there before below is false?" in screen.card
        await screen.line("answer 18")
        assert "✗ Iteration 6 has run" in screen.card
        await screen.press("A")
        assert "limit is 21" in screen.card and "✗" not in screen.card
        assert re.search(r"limit .*\b21\b", screen.text("inputs"))
        await screen.line("answer 21")
        assert "✓ Right. Iteration 6 runs, yields 21 < 21" in screen.card


async def test_position_answer_is_submitted() -> None:
    async with lesson(1, ask=state_questions.run_count_question(5, 3)) as screen:
        await open_card(screen, "Ask")
        await screen.press("s", "s")
        await screen.line("answer here")
        assert "✗ Here 2 have run" in screen.card
        await screen.press("A", "s", "s", "s")
        assert "✓" not in screen.card
        await screen.line("answer here")
        assert "✓ Right. 3 have run" in screen.card
        assert not screen.console_pane.display, "the card says it"


async def test_attempted_answer_is_visible_after_a_key() -> None:
    async with lesson(5, ask=state_questions.iteration_count_question(5)) as screen:
        await open_card(screen, "Ask")
        await screen.line("set limit = 16")
        await screen.press("f")
        assert "6: in iteration 4 the comparison still says go on" in screen.card
        await screen.press("r")
        await screen.line("set limit = 13")
        await screen.press("f")
        assert "✓ Right. The condition ended it" in screen.card


@pytest.mark.parametrize("key", ["s", "n", "f", "c", "i"])
async def test_no_key_runs_the_loop_in_question(key: str) -> None:
    async with lesson(3) as screen:
        await open_card(screen, "Ask")
        before = {name: pane.text for name, pane in screen.panes.items()}
        await screen.press(key)
        assert "covered until the question is answered" in screen.message
        assert {name: pane.text for name, pane in screen.panes.items()} == before
        await screen.line("scene A")
        await screen.press("s")
        assert "iteration 1" in screen.header, "the example may be run"


async def test_loop_can_be_run_after_the_answer() -> None:
    async with lesson(3, ask=value_question(3).with_inputs(limit=21)) as screen:
        await open_card(screen, "Ask")
        await screen.line("answer 21")
        await screen.press("f")
        assert "✓ Right" in screen.card and "21" in screen.text("scans")


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_mode_question_covers_its_listing(size: tuple[int, int]) -> None:
    async with lesson(15, size) as screen:
        await screen.line("card 4")
        drawn = squeezed(" ".join(screen.visible_rows()).replace("│", " "))
        for line in screen.lesson.learner.open_card_lines():
            assert squeezed(line) in drawn or squeezed(line) in screen.card, line
        assert "trip_count:" in drawn and "Which row of OpenVINO's table" in drawn and "do-while" in drawn
        words = ("while True", "for i in range", "while loop", "for loop", "endless", "ends ", "decides", "no limit")
        below = screen.visible_rows()[len(screen.lesson.pane.text.splitlines()) + 3 :]
        assert not any(word in row for row in below for word in words), below
        assert not any("3 Condition" in row for row in below)
        question = screen.lesson.learner.question
        assert isinstance(question, ModeQuestion)
        await screen.line(f"answer {question.answer}")
        assert "✓ Right. In row (" in screen.card
        assert any("x_next" in row for row in screen.visible_rows())


@pytest.mark.parametrize(("number", "card"), [(4, 4), (6, 4), (14, 4), (22, 3)])
async def test_screen_does_not_reveal_the_answer(number: int, card: int) -> None:
    """Lesson 4's loop may run no iteration: its outputs are then available at once."""
    async with lesson(number) as screen:
        await screen.line(f"card {card}")
        assert screen.lesson.card.locked
        assert screen.message.startswith("covered until the question is answered") and not screen.detail_line.text
        below = "\n".join(screen.visible_rows()[len(screen.lesson.pane.text.splitlines()) + 3 :])
        assert not any(word in below for word in ("no iteration:", "ended", "trip count is reached")), below
        covered = all(pane.has_class("-covered") for pane in screen.panes.values())
        assert covered == screen.debugger.header.has_class("-covered") == (number in (4, 14))
        await screen.press("G")
        assert not isinstance(screen.app.screen, GraphScreen)
        assert "G picture" not in str(screen.lesson.pane.border_subtitle)
        question = screen.lesson.learner.question
        assert question is not None
        await screen.line(f"answer {question.answer}")  # type: ignore[attr-defined]
        assert "✓ Right" in screen.card and not screen.lesson.card.locked
        assert "G picture" in str(screen.lesson.pane.border_subtitle)
        await screen.press("G")
        assert isinstance(screen.app.screen, GraphScreen)


@pytest.mark.parametrize(("size", "lines"), [((80, 24), 4), ((200, 60), 2)])
async def test_text_uses_the_available_width(size: tuple[int, int], lines: int) -> None:
    async with lesson(2, size) as screen:
        assert len(screen.lesson.pane.text.splitlines()) - 2 <= lines
        assert max(map(len, screen.lesson.pane.text.splitlines())) > size[0] * 0.8


async def test_scene_change_switches_the_model_in_every_pane() -> None:
    async with lesson(6) as screen:
        assert "climb.onnxtxt" in screen.header
        await screen.line("scene B")
        assert "climb_absent.onnxtxt" in screen.header
        await screen.line("scene C")
        assert "no limit" in screen.header
        await screen.line("lesson 11")
        assert "stairs.onnxtxt" in screen.header and "Lesson 11 of 29" in screen.heading
        await screen.press("i", "i", "i", "s")
        assert "stair" in screen.text("stack")


async def test_outer_frame_shows_its_scan_outputs() -> None:
    async with lesson(11) as screen:
        await screen.press("s", "i", "i", "i", "left_square_bracket")
        assert re.search(r"rows +i64 \[1\]", screen.text("scans"))
        await screen.line("down")
        assert "▸ stair" in screen.text("stack")


async def test_source_is_covered_until_a_guess() -> None:
    async with lesson(7) as screen:
        assert not any("a, b = b, a" in row for row in screen.visible_rows())
        await screen.press("a")
        await screen.type("answer c")
        await screen.press("escape")
        assert any("a, b = b, a" in row for row in screen.visible_rows())


async def test_answer_is_not_shown_below_source_early() -> None:
    async with lesson(6, ask=value_question(6)) as screen:
        await screen.line("scene B")
        assert "ends:" not in screen.text("body") and "note:" not in screen.text("body")
        await open_card(screen, "Ask")
        await screen.line("answer 6")
        assert "ONNX Runtime" in screen.card and "ends:" in screen.text("body")


async def test_restart_with_other_inputs_is_shown() -> None:
    async with lesson(3) as screen:
        await screen.press("s", "s")
        await screen.line("restart start=4 limit=9")
        assert "iteration 0" in screen.header and re.search(r"limit .*\b9\b", screen.text("inputs"))
        assert "4" in screen.text("back-edges")


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
@pytest.mark.parametrize("number", [2, 9, 12])
async def test_card_is_fully_visible_at_every_size(number: int, size: tuple[int, int]) -> None:
    async with lesson(number, size) as screen:
        for _ in range(6):
            drawn = squeezed(" ".join(screen.visible_rows()).replace("│", " "))
            for line in screen.lesson.pane.text.splitlines():
                assert squeezed(line) in drawn, line
            await screen.press("L")


async def test_lesson_keys_are_shown_only_in_lessons() -> None:
    async with lesson(1, (200, 60)) as screen:
        assert "a answer" in screen.keys and "L next card" in screen.keys
        await screen.press("question_mark")
        assert isinstance(screen.app.screen, HelpScreen) and "In a lesson" in screen.app.screen.text
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        assert "next card" not in screen.keys
        await screen.press("question_mark")
        assert isinstance(screen.app.screen, HelpScreen) and "In a lesson" not in screen.app.screen.text


async def test_keys_are_offered_only_on_cards_where_they_work() -> None:
    async with lesson(2, (200, 60)) as screen:
        offered = {}
        for kind in ("Say first", "Do", "Look", "Ask", "Remember"):
            assert f": {kind}" in screen.heading
            assert ("a answer" in screen.keys, "A again" in screen.keys) == (
                "a answer" in str(screen.lesson.pane.border_subtitle),
                "A again" in str(screen.lesson.pane.border_subtitle),
            )
            offered[kind] = ("a answer" in screen.keys, "A again" in screen.keys)
            await screen.press("L")
        assert offered == {
            "Say first": (True, False),
            "Do": (False, False),
            "Look": (False, False),
            "Ask": (True, True),
            "Remember": (False, False),
        }


async def test_keys_explain_what_to_do_on_a_card_without_a_question() -> None:
    async with lesson(2) as screen:
        await screen.press("h")
        assert "is not judged" in screen.card and not screen.status_message.has_class("-error")
        await screen.press("L", "h")
        assert "Next is `n`: one node: x_next is 2." in screen.card
        await screen.press("n")
        assert "✓ n" in screen.card and "Next is" not in screen.card, "what was done is not to be done next"
        await screen.press("h")
        assert "Next is `n`: what was received is 1 still" in screen.card
        await screen.press("a")
        assert screen.message == "this card asks nothing; L goes on" and not screen.console_pane.display


async def test_unsaved_progress_is_only_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with lesson(1, path=tmp_path / "file" / "x.json", ask=state_questions.run_count_question(5, 3)) as screen:
        await open_card(screen, "Ask")
        await screen.press("s", "s", "s")
        await screen.line("answer here")
        assert "✓ Right" in screen.card
