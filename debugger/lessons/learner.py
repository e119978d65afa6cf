"""A learner with a lesson: which card is open, what was done of it, what is said to answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from ...runtime.errors import UsageError
from ..frontends.console.command_registry import ConsoleCommand
from ..frontends.console.console import Console
from ..session.session import Session
from .course.catalog import COURSE
from .frozen_session import COMMANDS_WHILE_FROZEN, COMMANDS_WHILE_HIDDEN, FROZEN_MESSAGE, FrozenSession
from .key_wording import KeyWording
from .learner_state import LearnerState
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
from .progress import LearnerProgress, LessonProgress
from .question import Feedback, Question, StateQuestion, ValueQuestion, format_answer
from .question_instance import QuestionInstance
from .scene import Scene
from .step_progress import StepProgress


class Learner:
    """Goes through lessons on a console, which it opens scenes on and which knows its commands.

    ``progress``: what was done before, kept at every card; ``attended``: whether somebody could interrupt a loop that
    nothing ends; ``random``: where the numbers of questions come from. ``turned``: called where another card is to be
    read, ``opened``: where another scene was opened, ``changed``: where the card says something else, with the steps
    that were done just now.
    """

    def __init__(
        self,
        progress: LearnerProgress,
        voice: KeyWording,
        *,
        attended: bool = True,
        number: int | None = None,
        random: Random | None = None,
        course: Course = COURSE,
    ) -> None:
        self.progress = progress
        self.key_wording = voice
        self.attended = attended
        self.course = course
        #: How wide what the console says of the lesson is.
        self.console_width = CARD_WIDTH_CHARS
        self.on_card_opened: Callable[[], object] = lambda: None
        self.on_scene_opened: Callable[[], object] = lambda: None
        #: Gets what is said of the lesson; by default the console says it.
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
        """The first lesson that is not done; after all of them the last one."""
        return next(
            (number for number in self.course.lessons if number not in self.progress.done_lessons),
            self.course.last_number,
        )

    # -- the console

    def create_session(self) -> Session:
        """A session on the scene of the card that is open."""
        self._scene = self._required_scene() or self._scene or self.lesson.scene
        model = self._scene.load()
        kind = FrozenSession if self.freezes_scene else Session
        return kind(model, self._scene.input_arrays(model), attended=self.attended)

    def attach_console(self, console: Console) -> None:
        """Take a console whose session is that of :meth:`session`."""
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
        """What can be typed in a lesson beside all else."""
        return {
            one.name: one
            for one in (
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
        """Say something of the lesson, in lines."""
        told = self.key_wording(text)
        if self.on_message is not None:
            self.on_message(told)
            return
        for line in wrap_text(told, self.console_width):
            self.console.write_line(line)

    def _refuse_revealing_command(self, command: str) -> None:
        """Refuse what would tell the answer.

        Raises:
            UsageError: the command does.
        """
        session = self.console.session
        still = isinstance(session, FrozenSession) and session.frozen
        harmless = COMMANDS_WHILE_HIDDEN if self.hides_listing else COMMANDS_WHILE_FROZEN
        if still and command not in harmless and command not in self.commands:
            raise UsageError(FROZEN_MESSAGE)

    # -- cards

    @property
    def card(self) -> Card:
        return self.cards[self.card_index]

    @property
    def question(self) -> Question | None:
        """What the card asks, with the numbers that were drawn."""
        return None if self.question_instance is None else self.question_instance.question

    @property
    def solved(self) -> bool:
        """The question of the card is answered right."""
        return self.question_instance is not None and self.question_instance.solved

    @property
    def title(self) -> str:
        """``Lesson 3 of 23: ... (5 min)``."""
        one = self.lesson
        return f"Lesson {one.number} of {self.course.last_number}: {one.title} ({one.minutes} min)"

    @property
    def heading(self) -> str:
        """``card 2 of 5: Do``."""
        return f"card {self.card_index + 1} of {len(self.cards)}: {self.card.kind}"

    def card_lines(self, width: int = CARD_WIDTH_CHARS) -> list[str]:
        """The card that is open, in lines of a width."""
        return wrap_paragraphs(self.paragraphs(), width)

    def paragraphs(self) -> list[Paragraph]:
        """The card that is open."""
        card = self.card
        if card.kind is CardKind.LAST:
            return [*map(self.key_wording, card.paragraphs(None)), *self._closing_lines()]  # type: ignore[arg-type]
        told = [self.key_wording(one) if isinstance(one, str) else one for one in card.paragraphs(self.question)]
        told += [self.step_progress.step_line(k, self.key_wording) for k in range(len(card.steps))]
        if card.kind is CardKind.REMEMBER and self.lesson.write_note is not None:
            told.append(self.key_wording(self.lesson.write_note(self.lesson.scene, self.key_wording.comparison_text)))
        return [*told, *self._first_guess_lines()]

    def _first_guess_lines(self) -> list[str]:
        """The first guess beside its subject, once that was seen with the right answer."""
        guess, lesson, kind = self.progress[self.lesson.number].guess, self.lesson, self.card.kind
        if not guess or not isinstance(lesson, Lesson):
            return []
        about = lesson.guess_question or lesson.question
        if kind is CardKind.SAY:
            return [f"You said first: {guess}"]
        if kind is CardKind.LOOK and isinstance(about, ValueQuestion):
            return [f"You said first: {guess}. It is {format_answer(about.answer)}: {about.grade(guess).text}"]
        return []

    def _unanswered_cards(self) -> list[int]:
        """The cards of this lesson whose question was not answered right, counted from 1; in a quiz none is left out
        that was answered at all."""
        kept = self.progress[self.lesson.number]
        have = {*kept.answered, *kept.missed}
        return [k + 1 for k, card in enumerate(self.cards) if card.kind.graded and card.has_question and k not in have]

    def _closing_lines(self) -> list[str]:
        lessons = self.course.lessons
        if left := self._unanswered_cards():
            cards = ", ".join(map(str, left))
            return [f"That was the last card. Without a right answer so far: card {cards}; `card N` opens one."]
        if isinstance(self.lesson, Quiz):
            return self._quiz_result_lines(self.progress[self.lesson.number])
        ahead = [n for n, one in lessons.items() if n not in self.progress.done_lessons]
        tried = [n for n in lessons if self.progress[n].tries > 1 and isinstance(lessons[n], Lesson)]
        if not tried:
            left_over = f"Lessons that are not: {', '.join(map(str, ahead))}." if ahead else ""
            return [f"These are done. {left_over}".strip()]
        told = ["That was all of it. What took a second try, for tomorrow:"]
        return [*told, *(f"  {self.key_wording.lesson_command(n)}   {lessons[n].title}" for n in tried)][:6]

    def _quiz_result_lines(self, kept: LessonProgress) -> list[str]:
        """What a quiz came to, with the rows that were missed."""
        count = sum(card.kind is CardKind.QUIZ for card in self.cards)
        told = f"{len(kept.answered)} of {count} answers are right."
        rows = list(dict.fromkeys(card.row for k in kept.missed if (card := self.cards[k]).row is not None))
        if not rows:
            return [told]
        return [
            f"{told} These rows were missed:",
            *(f"  {row.system.value}  {row.text}: {row.ending_text}" for row in rows),
        ]

    @property
    def hides_loop_facts(self) -> bool:
        """What is known of the loop beside its lines would give the answer away: as long as a question is open."""
        if self.question_instance is not None and self.question_instance.freezes_scene:
            return True
        return isinstance(self.lesson, Lesson) and not self.solved and not self.progress[self.lesson.number].done

    @property
    def hides_listing(self) -> bool:
        """The listing would give the answer away."""
        if self.question_instance is not None and self.question_instance.hides_listing:
            return True
        return self.lesson.hides_listing and self.card_index == 0 and not self.progress[self.lesson.number].guess

    @property
    def freezes_scene(self) -> bool:
        """Nothing runs that would give the answer away."""
        return self.question_instance is not None and self.question_instance.freezes_scene

    def _begin_lesson(self, lesson: Lesson | ExerciseSet) -> None:
        """Take up a lesson where it was left, at the latest at its question; one that is done from its beginning, and a
        quiz always."""
        self.lesson = lesson
        self.cards = lesson.deal_cards(self._random)
        kept = self.progress[lesson.number]
        if isinstance(lesson, Quiz):
            kept.answered, kept.missed, kept.card = [], [], 0
        last = next((k for k, card in enumerate(self.cards) if card.kind is CardKind.ASK), len(self.cards) - 1)
        self.card_index = 0 if kept.done else min(max(kept.card, 0), last)
        self.step_progress = StepProgress(lesson.scenes, next((card.steps for card in self.cards if card.steps), ()))
        self._scene = None
        self._show_card()

    def _show_card(self) -> None:
        """The card of the number is open now."""
        self._draw_question()
        kept = self.progress[self.lesson.number]
        if not kept.done:
            kept.card = self.card_index
        self._update_done()
        self.progress.save()

    def _draw_question(self) -> None:
        question = self.card.draw_question(self._random)
        self.question_instance = None if question is None else QuestionInstance(self.card, question)

    def _update_done(self) -> None:
        """Note whether the lesson is done: where all that it asks is answered."""
        kept = self.progress[self.lesson.number]
        over = self.card.kind is CardKind.LAST or isinstance(self.lesson, Quiz)
        if isinstance(self.lesson, ExerciseSet) and over and not self._unanswered_cards():
            kept.done = True

    def open_card(self, number: int) -> None:
        """Open a card of the lesson."""
        before, was_still = self._scene, self._session_is_frozen
        self.card_index = number
        self._show_card()
        wanted = self._required_scene() or (self.lesson.scene if was_still else None)
        if wanted is not None and (wanted is not before or was_still or self.freezes_scene):
            self._show_scene(wanted)
        self.on_card_opened()

    @property
    def _session_is_frozen(self) -> bool:
        session = None if self._console is None else self._console.session
        return isinstance(session, FrozenSession) and session.frozen

    def _required_scene(self) -> Scene | None:
        """The scene that a card needs; None: where one stands will do."""
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
        asked_of = self.question is not None and self.question.scene is scene
        kind = FrozenSession if self.freezes_scene and asked_of else Session
        self.console.attach_session(kind(model, scene.input_arrays(model), attended=self.attended))
        if self.question_instance is not None:
            self.question_instance.reset_feedback()
        self.on_scene_opened()

    def _unfreeze_scene(self) -> None:
        """The question is answered: its scene may be run."""
        if (
            self.question_instance is None
            or not self.question_instance.answer_known
            or not self.card.kind.graded
            or not self.question_instance.question.freezes_scene
        ):
            return
        session = self.console.session
        if isinstance(session, FrozenSession) and session.frozen:
            session.unfreeze()
            self.on_scene_opened()
        elif self._scene is not self.question_instance.question.scene:
            self._show_scene(self.question_instance.question.scene)

    # -- what is typed

    def _run_card_command(self, console: Console, rest: str) -> None:
        count = len(self.cards)
        if rest:
            if not rest.isdecimal() or not 1 <= int(rest) <= count:
                raise UsageError(f"card takes a number from 1 to {count}, not '{rest}'")
            self.open_card(int(rest) - 1)
        elif self.card_index + 1 < count:
            self.open_card(self.card_index + 1)
        elif (following := self._lesson_after()) is not None:
            self._start_lesson(following)
        else:
            self.write_message("That was the last card.")

    def _lesson_after(self) -> Lesson | ExerciseSet | None:
        """The lesson after this one; None: there is none."""
        return next((one for number, one in self.course.lessons.items() if number > self.lesson.number), None)

    def _run_lesson_command(self, console: Console, rest: str) -> None:
        if not rest:
            self.on_card_opened()
            return
        lessons = self.course.lessons
        if not rest.isdecimal() or int(rest) not in lessons:
            raise UsageError(f"lesson takes a number from {min(lessons)} to {self.course.last_number}, not '{rest}'")
        self._start_lesson(lessons[int(rest)])

    def _start_lesson(self, lesson: Lesson | ExerciseSet) -> None:
        self._begin_lesson(lesson)
        self._show_scene(self._required_scene() or lesson.scene)
        self.on_card_opened()

    def _run_scene_command(self, console: Console, rest: str) -> None:
        scenes = self.lesson.scenes
        letter = rest.upper()
        if letter and letter not in scenes:
            have = f"there are {', '.join(scenes)}" if len(scenes) > 1 else "this lesson has one; scene puts it back"
            raise UsageError(f"there is no scene '{rest}': {have}")
        self._show_scene(scenes[letter] if letter else self._scene or self.lesson.scene)

    def _run_answer_command(self, console: Console, rest: str) -> None:
        asked = self.question_instance
        if asked is None:
            raise UsageError("this card asks nothing; card goes on")
        if self.card.kind is CardKind.SAY:
            self._keep_guess(asked.parse_guess(rest))
        else:
            self._record_feedback(asked.answer(rest, LearnerState(console.session, asked.question.scene.reference_run)))

    def _keep_guess(self, guess: str) -> None:
        """Keep what was said first."""
        self.progress[self.lesson.number].guess = guess
        self.progress.save()
        self.write_message(f"Kept: {guess}. It is not judged. Go on with the next card.")
        self.on_card_changed(())

    def _record_feedback(self, reply: Feedback) -> None:
        """Keep what came of an answer, and say it."""
        kept, card = self.progress[self.lesson.number], self.card
        if card.kind is not CardKind.RECALL and self.card_index not in kept.answered:
            kept.tries += 1
        if reply.correct and self.card_index not in kept.answered:
            kept.answered.append(self.card_index)
        if card.kind is CardKind.QUIZ and not reply.correct:
            kept.missed.append(self.card_index)
        if reply.correct and card.kind is CardKind.ASK and isinstance(self.lesson, Lesson):
            kept.done = True
        self._update_done()
        self.progress.save()
        self._unfreeze_scene()
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
        """What other runtimes make of it."""
        note = self.lesson.write_note
        return [] if note is None else [note(self._scene or self.lesson.scene, self.key_wording.comparison_text)]

    def _run_hint_command(self, console: Console, rest: str) -> None:
        if self.question_instance is None or self.card.kind is CardKind.SAY:
            self.write_message(self._next_action_text())
            return
        told, last = self.question_instance.next_hint()
        parts = [told]
        if last and self.question_instance.answer_known:
            self._unfreeze_scene()
            parts += self._note_lines() if self.card.kind is CardKind.ASK else []
            parts += ["`again` asks with other numbers."] if self.card.can_redraw else []
        self.write_message("\n".join(parts))
        if last:
            self.on_card_changed(())

    def _next_action_text(self) -> str:
        """What to do on a card that judges no answer."""
        kind = self.card.kind
        if kind is CardKind.SAY:
            return "Say what you think: it is a guess, and is not judged. Hints come with the question."
        if kind is CardKind.LAST:
            return "That was the last card."
        if kind is CardKind.DO and (ahead := self.step_progress.next_step_text()):
            return ahead
        told = "All of it is done." if kind is CardKind.DO else "Nothing is asked here."
        return f"{told} Go on with the next card."

    def _run_again_command(self, console: Console, rest: str) -> None:
        if not self.card.can_redraw:
            asking = [k for k, one in enumerate(self.cards, 1) if one.can_redraw and one.kind is not CardKind.RECALL]
            asks = next(iter(asking), None)
            where = "; this one has none" if asks is None else f", which card {asks} asks"
            raise UsageError(f"again is for the question of a lesson{where}")
        self._draw_question()
        assert self.question is not None
        self._show_scene(self.question.scene)
        self.on_card_opened()

    # -- what is done

    def record_command(self, command: str, rest: str = "") -> None:
        """A command was carried out, typed or by its key."""
        ticked = self.step_progress.record_command(command, rest, self._scene)
        if ticked and self.card.kind is CardKind.DO:
            self.on_card_changed([self.step_progress.step_line(k, self.key_wording) for k in ticked])
        if self.question_instance is not None and command not in self.commands:
            self._check_state(self.question_instance)

    def _check_state(self, asked: QuestionInstance) -> None:
        """Say of what was tried whether that is it."""
        if not isinstance(asked.question, StateQuestion):
            return
        reply = asked.check_state(LearnerState(self.console.session, asked.question.scene.reference_run))
        if reply is None:
            return
        if reply.correct:
            self._record_feedback(reply)
        else:
            self.write_message(reply.text)


__all__ = ["Learner"]
