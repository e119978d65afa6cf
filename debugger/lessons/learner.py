"""Controller of a lesson: the open card, its progress, and the feedback to answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from ...runtime.errors import UsageError
from ..frontends.console.command_registry import ConsoleCommand
from ..frontends.console.console import Console
from ..session.session import Session
from .course.catalog import COURSE
from .key_wording import KeyWording
from .lesson import (
    CARD_WIDTH_CHARS,
    Card,
    CardKind,
    Course,
    ExerciseSet,
    Lesson,
    Paragraph,
    Quiz,
    wrap_paragraphs,
    wrap_text,
)
from .locked_session import COMMANDS_WHILE_HIDDEN, COMMANDS_WHILE_LOCKED, LOCKED_MESSAGE, LockedSession
from .progress import LearnerProgress, LessonProgress
from .question import Feedback, Question, StateQuestion, ValueQuestion, format_answer
from .question_instance import QuestionInstance
from .scene import Scene
from .session_queries import LearnerState
from .step_progress import StepProgress


class Learner:
    """Runs lessons on a console: opens their scenes and adds their commands.

    ``progress``: saved at every card; ``attended``: whether a user can interrupt an infinite loop; ``random``: draws
    the numbers of questions. Callbacks: ``on_card_opened`` and ``on_scene_opened`` after another card or scene was
    opened, ``on_card_changed`` with the steps completed just now.
    """

    def __init__(
        self,
        progress: LearnerProgress,
        wording: KeyWording,
        *,
        attended: bool = True,
        number: int | None = None,
        random: Random | None = None,
        course: Course = COURSE,
    ) -> None:
        self.progress = progress
        self.key_wording = wording
        self.attended = attended
        self.course = course
        #: The width of lesson text in the console.
        self.console_width = CARD_WIDTH_CHARS
        self.on_card_opened: Callable[[], object] = lambda: None
        self.on_scene_opened: Callable[[], object] = lambda: None
        #: Receives messages of the lesson; by default the console prints them.
        self.on_message: Callable[[str], object] | None = None
        self.on_card_changed: Callable[[Sequence[str]], object] = lambda steps: None
        self.card_index = 0
        #: The question of the card.
        self.question_instance: QuestionInstance | None = None
        self._random = random or Random()
        self._scene: Scene | None = None
        self._console: Console | None = None
        self._begin_lesson(course.lessons[self.next_lesson() if number is None else number])

    def next_lesson(self) -> int:
        """The first lesson that is not done, else the last one."""
        return next(
            (number for number in self.course.lessons if number not in self.progress.done_lessons),
            self.course.highest_lesson_number,
        )

    # -- the console

    def create_session(self) -> Session:
        """A session on the scene of the open card."""
        self._scene = self._required_scene() or self._scene or self.lesson.scene
        model = self._scene.load()
        kind = LockedSession if self.locks_scene else Session
        return kind(model, self._scene.input_arrays(model), attended=self.attended)

    def attach_console(self, console: Console) -> None:
        """Attach a console with the session of :meth:`create_session`."""
        self._console = console
        console.extra_commands = self.commands
        console.before_command = self._refuse_revealing_command
        console.on_command_done = self.record_command

    @property
    def console(self) -> Console:
        assert self._console is not None
        return self._console

    @property
    def commands(self) -> Mapping[str, ConsoleCommand]:
        """The additional console commands of a lesson."""
        return {
            command.name: command
            for command in (
                ConsoleCommand("answer", (), "answer X",
                               "answer the question of the card; answer here: this is the place",
                               self._run_answer_command),
                ConsoleCommand("hint", (), "hint", "where to look; then which keys; then the answer",
                               self._run_hint_command),
                ConsoleCommand("again", (), "again", "the question with other numbers", self._run_again_command),
                ConsoleCommand("scene", (), "scene [A]", "the lesson's model as it was, or with other inputs",
                               self._run_scene_command),
                ConsoleCommand("card", (), "card [N]", "the next card of the lesson, or card N",
                               self._run_card_command),
                ConsoleCommand("lesson", (), "lesson [N]", "lesson N; without a number the card again",
                               self._run_lesson_command),
            )
        }  # fmt: skip

    def write_message(self, text: str) -> None:
        """Print a message of the lesson, wrapped."""
        message = self.key_wording(text)
        if self.on_message is not None:
            self.on_message(message)
            return
        for line in wrap_text(message, self.console_width):
            self.console.write_line(line)

    def _refuse_revealing_command(self, command: str) -> None:
        """Refuse commands that would reveal the answer.

        Raises:
            UsageError: the command would.
        """
        session = self.console.session
        locked = isinstance(session, LockedSession) and session.locked
        allowed = COMMANDS_WHILE_HIDDEN if self.hides_listing else COMMANDS_WHILE_LOCKED
        if locked and command not in allowed and command not in self.commands:
            raise UsageError(LOCKED_MESSAGE)

    # -- cards

    @property
    def card(self) -> Card:
        return self.cards[self.card_index]

    @property
    def question(self) -> Question | None:
        """The question of the card with the drawn numbers."""
        return None if self.question_instance is None else self.question_instance.question

    @property
    def solved(self) -> bool:
        """The question of the card was answered correctly."""
        return self.question_instance is not None and self.question_instance.solved

    @property
    def title(self) -> str:
        """``Lesson 3 of 23: ... (5 min)``."""
        lesson = self.lesson
        return f"Lesson {lesson.number} of {self.course.highest_lesson_number}: {lesson.title} ({lesson.minutes} min)"

    @property
    def heading(self) -> str:
        """``card 2 of 5: Do``."""
        return f"card {self.card_index + 1} of {len(self.cards)}: {self.card.kind}"

    def open_card_lines(self, width: int = CARD_WIDTH_CHARS) -> list[str]:
        """The open card, wrapped to a width."""
        return wrap_paragraphs(self.paragraphs(), width)

    def paragraphs(self) -> list[Paragraph]:
        """The paragraphs of the open card."""
        card = self.card
        if card.kind is CardKind.LAST:
            return [*map(self.key_wording, card.paragraphs(None)), *self._closing_lines()]  # type: ignore[arg-type]
        parts = [self.key_wording(part) if isinstance(part, str) else part for part in card.paragraphs(self.question)]
        parts += [self.step_progress.step_line(k, self.key_wording) for k in range(len(card.steps))]
        if card.kind is CardKind.REMEMBER and self.lesson.write_note is not None:
            parts.append(self.key_wording(self.lesson.write_note(self.lesson.scene, self.key_wording.comparison_text)))
        return [*parts, *self._first_guess_lines()]

    def _first_guess_lines(self) -> list[str]:
        """The learner's first guess, with its feedback after the answer is known."""
        guess, lesson, kind = self.progress[self.lesson.number].guess, self.lesson, self.card.kind
        if not guess or not isinstance(lesson, Lesson):
            return []
        question = lesson.first_question
        if kind is CardKind.SAY:
            return [f"Your first guess: {guess}"]
        if kind is CardKind.LOOK and isinstance(question, ValueQuestion):
            return [f"Your first guess: {guess}. It is {format_answer(question.answer)}: {question.grade(guess).text}"]
        return []

    def _unanswered_cards(self) -> list[int]:
        """The cards of this lesson without a correct answer, counted from 1; in a quiz those without any answer."""
        progress = self.progress[self.lesson.number]
        done = {*progress.answered, *progress.missed}
        return [k + 1 for k, card in enumerate(self.cards) if card.kind.graded and card.has_question and k not in done]

    def _closing_lines(self) -> list[str]:
        lessons = self.course.lessons
        if missing := self._unanswered_cards():
            cards = ", ".join(map(str, missing))
            return [f"That was the last card. Without a right answer so far: card {cards}; `card N` opens one."]
        if isinstance(self.lesson, Quiz):
            return self._quiz_result_lines(self.progress[self.lesson.number])
        undone = [n for n in lessons if n not in self.progress.done_lessons]
        retried = [n for n in lessons if self.progress[n].tries > 1 and isinstance(lessons[n], Lesson)]
        if not retried:
            rest = f"Lessons that are not: {', '.join(map(str, undone))}." if undone else ""
            return [f"These are done. {rest}".strip()]
        heading = ["That was all of it. What took a second try, for tomorrow:"]
        return [*heading, *(f"  {self.key_wording.lesson_command(n)}   {lessons[n].title}" for n in retried)][:6]

    def _quiz_result_lines(self, progress: LessonProgress) -> list[str]:
        """The score of a quiz, with the missed rows."""
        count = sum(card.kind is CardKind.QUIZ for card in self.cards)
        score = f"{len(progress.answered)} of {count} answers are right."
        rows = list(dict.fromkeys(card.row for k in progress.missed if (card := self.cards[k]).row is not None))
        if not rows:
            return [score]
        return [
            f"{score} These rows were missed:",
            *(f"  {row.system.value}  {row.text}: {row.ending_text}" for row in rows),
        ]

    @property
    def hides_loop_facts(self) -> bool:
        """Whether notes on the loop would reveal the answer of an open question."""
        if self.question_instance is not None and self.question_instance.locks_scene:
            return True
        return isinstance(self.lesson, Lesson) and not self.solved and not self.progress[self.lesson.number].done

    @property
    def hides_listing(self) -> bool:
        """Whether the listing would reveal the answer."""
        if self.question_instance is not None and self.question_instance.hides_listing:
            return True
        return self.lesson.hides_listing and self.card_index == 0 and not self.progress[self.lesson.number].guess

    @property
    def locks_scene(self) -> bool:
        """Whether running the scene would reveal the answer."""
        return self.question_instance is not None and self.question_instance.locks_scene

    def _begin_lesson(self, lesson: ExerciseSet) -> None:
        """Resume a lesson at the saved card, but not after its question; finished lessons and quizzes restart."""
        self.lesson = lesson
        self.cards = lesson.deal_cards(self._random)
        progress = self.progress[lesson.number]
        if isinstance(lesson, Quiz):
            progress.answered, progress.missed, progress.card = [], [], 0
        last = next((k for k, card in enumerate(self.cards) if card.kind is CardKind.ASK), len(self.cards) - 1)
        self.card_index = 0 if progress.done else min(max(progress.card, 0), last)
        self.step_progress = StepProgress(lesson.scenes, next((card.steps for card in self.cards if card.steps), ()))
        self._scene = None
        self._show_card()

    def _show_card(self) -> None:
        """Open the card at ``card_index``."""
        self._draw_question()
        progress = self.progress[self.lesson.number]
        if not progress.done:
            progress.card = self.card_index
        self._mark_exercises_done()
        self.progress.save()

    def _draw_question(self) -> None:
        question = self.card.draw_question(self._random)
        self.question_instance = None if question is None else QuestionInstance(self.card, question)

    def _mark_exercises_done(self) -> None:
        """Mark an exercise set done once all questions are answered."""
        progress = self.progress[self.lesson.number]
        at_end = self.card.kind is CardKind.LAST or isinstance(self.lesson, Quiz)
        if not isinstance(self.lesson, Lesson) and at_end and not self._unanswered_cards():
            progress.done = True

    def open_card(self, number: int) -> None:
        """Open a card of the lesson."""
        old_scene, was_locked = self._scene, self._session_is_locked
        self.card_index = number
        self._show_card()
        scene = self._required_scene() or (self.lesson.scene if was_locked else None)
        if scene is not None and (scene is not old_scene or was_locked or self.locks_scene):
            self._show_scene(scene)
        self.on_card_opened()

    @property
    def _session_is_locked(self) -> bool:
        session = None if self._console is None else self._console.session
        return isinstance(session, LockedSession) and session.locked

    def _required_scene(self) -> Scene | None:
        """The scene that the card needs; None: the current one."""
        kind, question = self.card.kind, self.question
        if kind in (CardKind.REMEMBER, CardKind.LAST):
            return None
        if question is not None and (kind.graded or isinstance(question, StateQuestion)):
            return question.scene
        return None if self._scene in self.lesson.scenes.values() else self.lesson.scene

    # -- scenes

    def _show_scene(self, scene: Scene) -> None:
        self._scene = scene
        model = scene.load()
        has_question = self.question is not None and self.question.scene is scene
        kind = LockedSession if self.locks_scene and has_question else Session
        self.console.attach_session(kind(model, scene.input_arrays(model), attended=self.attended))
        if self.question_instance is not None:
            self.question_instance.reset_feedback()
        self.on_scene_opened()

    def _unlock_scene(self) -> None:
        """Let the scene run once the question is answered."""
        if (
            self.question_instance is None
            or not self.question_instance.answer_known
            or not self.card.kind.graded
            or not self.question_instance.question.locks_scene
        ):
            return
        session = self.console.session
        if isinstance(session, LockedSession) and session.locked:
            session.unlock()
            self.on_scene_opened()
        elif self._scene is not self.question_instance.question.scene:
            self._show_scene(self.question_instance.question.scene)

    # -- commands

    def _run_card_command(self, console: Console, rest: str) -> None:
        count = len(self.cards)
        if rest:
            if not rest.isdecimal() or not 1 <= int(rest) <= count:
                raise UsageError(
                    f"card takes a number from 1 to {count}, not '{rest}'", expected=f"1 to {count}", got=rest
                )
            self.open_card(int(rest) - 1)
        elif self.card_index + 1 < count:
            self.open_card(self.card_index + 1)
        elif (lesson := self._following_lesson()) is not None:
            self._start_lesson(lesson)
        else:
            self.write_message("That was the last card.")

    def _following_lesson(self) -> ExerciseSet | None:
        """The next lesson, or None."""
        lessons = self.course.lessons
        return next((lessons[number] for number in lessons if number > self.lesson.number), None)

    def _run_lesson_command(self, console: Console, rest: str) -> None:
        if not rest:
            self.on_card_opened()
            return
        lessons = self.course.lessons
        if not rest.isdecimal() or int(rest) not in lessons:
            raise UsageError(
                f"lesson takes a number from {min(lessons)} to {self.course.highest_lesson_number}, not '{rest}'",
                expected=f"{min(lessons)} to {self.course.highest_lesson_number}",
                got=rest,
            )
        self._start_lesson(lessons[int(rest)])

    def _start_lesson(self, lesson: ExerciseSet) -> None:
        self._begin_lesson(lesson)
        self._show_scene(self._required_scene() or lesson.scene)
        self.on_card_opened()

    def _run_scene_command(self, console: Console, rest: str) -> None:
        scenes = self.lesson.scenes
        letter = rest.upper()
        if letter and letter not in scenes:
            hint = f"there are {', '.join(scenes)}" if len(scenes) > 1 else "this lesson has one; scene puts it back"
            raise UsageError(f"there is no scene '{rest}': {hint}", name=rest)
        self._show_scene(scenes[letter] if letter else self._scene or self.lesson.scene)

    def _run_answer_command(self, console: Console, rest: str) -> None:
        asked = self.question_instance
        if asked is None:
            raise UsageError("this card asks nothing; card goes on")
        if self.card.kind is CardKind.SAY:
            self._save_guess(asked.parse_guess(rest))
        else:
            self._record_feedback(asked.answer(rest, LearnerState(console.session, asked.question.scene.reference_run)))

    def _save_guess(self, guess: str) -> None:
        """Save the first guess."""
        self.progress[self.lesson.number].guess = guess
        self.progress.save()
        self.write_message(f"Kept: {guess}. It is not judged. Go on with the next card.")
        self.on_card_changed(())

    def _record_feedback(self, reply: Feedback) -> None:
        """Save the result of an answer, and print it."""
        lesson, card = self.progress[self.lesson.number], self.card
        if card.kind is not CardKind.RECALL and self.card_index not in lesson.answered:
            lesson.tries += 1
        if reply.correct and self.card_index not in lesson.answered:
            lesson.answered.append(self.card_index)
        if card.kind is CardKind.QUIZ and not reply.correct:
            lesson.missed.append(self.card_index)
        if reply.correct and card.kind is CardKind.ASK and isinstance(self.lesson, Lesson):
            lesson.done = True
        self._mark_exercises_done()
        self.progress.save()
        self._unlock_scene()
        self._write_feedback(reply)
        self.on_card_changed(())

    def _write_feedback(self, reply: Feedback) -> None:
        parts = [f"✓ Right. {reply.text}" if reply.correct else f"✗ {reply.text}"]
        if (
            self.question_instance is not None
            and self.question_instance.answer_known
            and not reply.correct
            and self.card.can_redraw
        ):
            parts.append("Run it to see; `again` asks with other numbers.")
        if reply.correct and self.card.kind is CardKind.ASK:
            parts += self._note_lines()
        self.write_message("\n".join(parts))

    def _note_lines(self) -> list[str]:
        """The note on other runtimes."""
        note = self.lesson.write_note
        return [] if note is None else [note(self._scene or self.lesson.scene, self.key_wording.comparison_text)]

    def _run_hint_command(self, console: Console, rest: str) -> None:
        if self.question_instance is None or self.card.kind is CardKind.SAY:
            self.write_message(self._next_action_text())
            return
        hint, is_last = self.question_instance.next_hint()
        parts = [hint]
        if is_last and self.question_instance.answer_known:
            self._unlock_scene()
            parts += self._note_lines() if self.card.kind is CardKind.ASK else []
            parts += ["`again` asks with other numbers."] if self.card.can_redraw else []
        self.write_message("\n".join(parts))
        if is_last:
            self.on_card_changed(())

    def _next_action_text(self) -> str:
        """The next action on a card without a graded question."""
        kind = self.card.kind
        if kind is CardKind.SAY:
            return "Say what you think: it is a guess, and is not judged. Hints come with the question."
        if kind is CardKind.LAST:
            return "That was the last card."
        if kind is CardKind.DO and (step := self.step_progress.next_step_text()):
            return step
        status = "All of it is done." if kind is CardKind.DO else "Nothing is asked here."
        return f"{status} Go on with the next card."

    def _run_again_command(self, console: Console, rest: str) -> None:
        if not self.card.can_redraw:
            numbers = [k for k, c in enumerate(self.cards, 1) if c.can_redraw and c.kind is not CardKind.RECALL]
            number = next(iter(numbers), None)
            detail = "; this one has none" if number is None else f", which card {number} asks"
            raise UsageError(f"again is for the question of a lesson{detail}")
        self._draw_question()
        assert self.question is not None
        self._show_scene(self.question.scene)
        self.on_card_opened()

    # -- executed commands

    def record_command(self, command: str, rest: str = "") -> None:
        """Record an executed command."""
        completed = self.step_progress.record_command(command, rest, self._scene)
        if completed and self.card.kind is CardKind.DO:
            self.on_card_changed([self.step_progress.step_line(k, self.key_wording) for k in completed])
        if self.question_instance is not None and command not in self.commands:
            self._check_state(self.question_instance)

    def _check_state(self, instance: QuestionInstance) -> None:
        """Give feedback on the state that the learner reached."""
        if not isinstance(instance.question, StateQuestion):
            return
        reply = instance.grade_state(LearnerState(self.console.session, instance.question.scene.reference_run))
        if reply is None:
            return
        if reply.correct:
            self._record_feedback(reply)
        else:
            self.write_message(reply.text)


__all__ = ["Learner"]
