"""A learner with a lesson: which card is open, what was done of it, what is said to answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from ...runtime.errors import UsageError
from ..console.command import Command
from ..console.console import Console
from ..session.session import Session
from .asked import Asked
from .course.table import COURSE
from .lesson import WIDTH, Card, Course, Kind, Lesson, Paragraph, Quiz, Tasks, fitted, wrapped
from .progress import Done, Progress
from .question import Question, Reply, StateQuestion, ValueQuestion, show
from .scene import Scene
from .stand import Stand
from .steps import Ticks
from .still import BLIND, HARMLESS, WHY, StillSession
from .voice import Voice


class Learner:
    """Goes through lessons on a console, which it opens scenes on and which knows its commands.

    ``progress``: what was done before, kept at every card; ``attended``: whether somebody could interrupt a loop that
    nothing ends; ``random``: where the numbers of questions come from. ``turned``: called where another card is to be
    read, ``opened``: where another scene was opened, ``changed``: where the card says something else, with the steps
    that were done just now.
    """

    def __init__(
        self,
        progress: Progress,
        voice: Voice,
        *,
        attended: bool = True,
        number: int | None = None,
        random: Random | None = None,
        course: Course = COURSE,
    ) -> None:
        self.progress = progress
        self.voice = voice
        self.attended = attended
        self.course = course
        #: How wide what the console says of the lesson is.
        self.width = WIDTH
        self.turned: Callable[[], object] = lambda: None
        self.opened: Callable[[], object] = lambda: None
        #: Gets what is said of the lesson; by default the console says it.
        self.tell: Callable[[str], object] | None = None
        self.changed: Callable[[Sequence[str]], object] = lambda steps: None
        self.number = 0
        #: The question of the card.
        self.asked: Asked | None = None
        self._random = random or Random()
        self._scene: Scene | None = None
        self._console: Console | None = None
        self._begin(course.lessons[self.next_lesson() if number is None else number])

    def next_lesson(self) -> int:
        """The first lesson that is not done; after all of them the last one."""
        return next((number for number in self.course.lessons if number not in self.progress.done), self.course.last)

    # -- the console

    def session(self) -> Session:
        """A session on the scene of the card that is open."""
        self._scene = self._wanted() or self._scene or self.lesson.scene
        model = self._scene.load()
        kind = StillSession if self.still else Session
        return kind(model, self._scene.arrays(model), attended=self.attended)

    def attach(self, console: Console) -> None:
        """Take a console whose session is that of :meth:`session`."""
        self._console = console
        console.more = self.commands
        console.before = self._before
        console.on_done = self.done

    @property
    def console(self) -> Console:
        assert self._console is not None
        return self._console

    @property
    def commands(self) -> Mapping[str, Command]:
        """What can be typed in a lesson beside all else."""
        return {
            one.name: one
            for one in (
                Command("answer", (), "answer X", "answer the question of the card; answer here: this is the place",
                        self._answer),
                Command("hint", (), "hint", "where to look; then which keys; then the answer", self._hint),
                Command("again", (), "again", "the question with other numbers", self._ask_again),
                Command("scene", (), "scene [A]", "the lesson's model as it was, or with other inputs", self._open),
                Command("card", (), "card [N]", "the next card of the lesson, or card N", self._turn),
                Command("lesson", (), "lesson [N]", "lesson N; without a number the card again", self._choose),
            )
        }  # fmt: skip

    def say(self, text: str) -> None:
        """Say something of the lesson, in lines."""
        told = self.voice(text)
        if self.tell is not None:
            self.tell(told)
            return
        for line in wrapped(told, self.width):
            self.console.say(line)

    def _before(self, command: str) -> None:
        """Refuse what would tell the answer.

        Raises:
            UsageError: the command does.
        """
        session = self.console.session
        still = isinstance(session, StillSession) and session.still
        harmless = BLIND if self.covered else HARMLESS
        if still and command not in harmless and command not in self.commands:
            raise UsageError(WHY)

    # -- cards

    @property
    def card(self) -> Card:
        return self.cards[self.number]

    @property
    def question(self) -> Question | None:
        """What the card asks, with the numbers that were drawn."""
        return None if self.asked is None else self.asked.question

    @property
    def answered(self) -> bool:
        """The question of the card is answered right."""
        return self.asked is not None and self.asked.right

    @property
    def title(self) -> str:
        """``Lesson 3 of 23: ... (5 min)``."""
        one = self.lesson
        return f"Lesson {one.number} of {self.course.last}: {one.title} ({one.minutes} min)"

    @property
    def heading(self) -> str:
        """``card 2 of 5: Do``."""
        return f"card {self.number + 1} of {len(self.cards)}: {self.card.kind}"

    def lines(self, width: int = WIDTH) -> list[str]:
        """The card that is open, in lines of a width."""
        return fitted(self.paragraphs(), width)

    def paragraphs(self) -> list[Paragraph]:
        """The card that is open."""
        card = self.card
        if card.kind is Kind.LAST:
            return [*map(self.voice, card.paragraphs(None)), *self._last()]  # type: ignore[arg-type]
        told = [self.voice(one) if isinstance(one, str) else one for one in card.paragraphs(self.question)]
        told += [self.ticks.line(k, self.voice) for k in range(len(card.steps))]
        if card.kind is Kind.REMEMBER and self.lesson.note is not None:
            told.append(self.voice(self.lesson.note(self.lesson.scene, self.voice.against)))
        return [*told, *self._said_first()]

    def _said_first(self) -> list[str]:
        """The first guess beside its subject, once that was seen with the right answer."""
        guess, lesson, kind = self.progress[self.lesson.number].guess, self.lesson, self.card.kind
        if not guess or not isinstance(lesson, Lesson):
            return []
        about = lesson.say or lesson.ask
        if kind is Kind.SAY:
            return [f"You said first: {guess}"]
        if kind is Kind.LOOK and isinstance(about, ValueQuestion):
            return [f"You said first: {guess}. It is {show(about.answer)}: {about.judge(guess).text}"]
        return []

    def _unanswered(self) -> list[int]:
        """The cards of this lesson whose question was not answered right, counted from 1; in a quiz none is left out
        that was answered at all."""
        kept = self.progress[self.lesson.number]
        have = {*kept.answered, *kept.missed}
        return [k + 1 for k, card in enumerate(self.cards) if card.kind.judged and card.asks and k not in have]

    def _last(self) -> list[str]:
        lessons = self.course.lessons
        if left := self._unanswered():
            cards = ", ".join(map(str, left))
            return [f"That was the last card. Without a right answer so far: card {cards}; `card N` opens one."]
        if isinstance(self.lesson, Quiz):
            return self._verdict(self.progress[self.lesson.number])
        ahead = [n for n, one in lessons.items() if n not in self.progress.done]
        tried = [n for n in lessons if self.progress[n].tries > 1 and isinstance(lessons[n], Lesson)]
        if not tried:
            left_over = f"Lessons that are not: {', '.join(map(str, ahead))}." if ahead else ""
            return [f"These are done. {left_over}".strip()]
        told = ["That was all of it. What took a second try, for tomorrow:"]
        return [*told, *(f"  {self.voice.learn(n)}   {lessons[n].title}" for n in tried)][:6]

    def _verdict(self, kept: Done) -> list[str]:
        """What a quiz came to, with the rows that were missed."""
        count = sum(card.kind is Kind.QUIZ for card in self.cards)
        told = f"{len(kept.answered)} of {count} answers are right."
        rows = list(dict.fromkeys(card.row for k in kept.missed if (card := self.cards[k]).row is not None))
        if not rows:
            return [told]
        return [f"{told} These rows were missed:", *(f"  {row.system.value}  {row.text}: {row.ends}" for row in rows)]

    @property
    def quiet(self) -> bool:
        """What is known of the loop beside its lines would give the answer away: as long as a question is open."""
        if self.asked is not None and self.asked.still:
            return True
        return isinstance(self.lesson, Lesson) and not self.answered and not self.progress[self.lesson.number].done

    @property
    def covered(self) -> bool:
        """The listing would give the answer away."""
        if self.asked is not None and self.asked.covered:
            return True
        return self.lesson.covered and self.number == 0 and not self.progress[self.lesson.number].guess

    @property
    def still(self) -> bool:
        """Nothing runs that would give the answer away."""
        return self.asked is not None and self.asked.still

    def _begin(self, lesson: Lesson | Tasks) -> None:
        """Take up a lesson where it was left, at the latest at its question; one that is done from its beginning, and a
        quiz always."""
        self.lesson = lesson
        self.cards = lesson.deal(self._random)
        kept = self.progress[lesson.number]
        if isinstance(lesson, Quiz):
            kept.answered, kept.missed, kept.card = [], [], 0
        last = next((k for k, card in enumerate(self.cards) if card.kind is Kind.ASK), len(self.cards) - 1)
        self.number = 0 if kept.done else min(max(kept.card, 0), last)
        self.ticks = Ticks(lesson.scenes, next((card.steps for card in self.cards if card.steps), ()))
        self._scene = None
        self._show_card()

    def _show_card(self) -> None:
        """The card of the number is open now."""
        self._ask()
        kept = self.progress[self.lesson.number]
        if not kept.done:
            kept.card = self.number
        self._settle()
        self.progress.save()

    def _ask(self) -> None:
        question = self.card.asked(self._random)
        self.asked = None if question is None else Asked(self.card, question)

    def _settle(self) -> None:
        """Note whether the lesson is done: where all that it asks is answered."""
        kept = self.progress[self.lesson.number]
        over = self.card.kind is Kind.LAST or isinstance(self.lesson, Quiz)
        if isinstance(self.lesson, Tasks) and over and not self._unanswered():
            kept.done = True

    def turn(self, number: int) -> None:
        """Open a card of the lesson."""
        before, was_still = self._scene, self._stands_still
        self.number = number
        self._show_card()
        wanted = self._wanted() or (self.lesson.scene if was_still else None)
        if wanted is not None and (wanted is not before or was_still or self.still):
            self._show_scene(wanted)
        self.turned()

    @property
    def _stands_still(self) -> bool:
        session = None if self._console is None else self._console.session
        return isinstance(session, StillSession) and session.still

    def _wanted(self) -> Scene | None:
        """The scene that a card needs; None: where one stands will do."""
        kind, question = self.card.kind, self.question
        if kind in (Kind.REMEMBER, Kind.LAST):
            return None
        if question is not None and (kind.judged or isinstance(question, StateQuestion)):
            return question.scene
        return None if self._scene in self.lesson.scenes.values() else self.lesson.scene

    # -- scenes

    def _show_scene(self, scene: Scene) -> None:
        self._scene = scene
        model = scene.load()
        asked_of = self.question is not None and self.question.scene is scene
        kind = StillSession if self.still and asked_of else Session
        self.console.open(kind(model, scene.arrays(model), attended=self.attended))
        if self.asked is not None:
            self.asked.moved()
        self.opened()

    def _uncover(self) -> None:
        """The question is answered: its scene may be run."""
        if self.asked is None or not self.asked.spent or not self.card.kind.judged or not self.asked.question.still:
            return
        session = self.console.session
        if isinstance(session, StillSession) and session.still:
            session.release()
            self.opened()
        elif self._scene is not self.asked.question.scene:
            self._show_scene(self.asked.question.scene)

    # -- what is typed

    def _turn(self, console: Console, rest: str) -> None:
        count = len(self.cards)
        if rest:
            if not rest.isdecimal() or not 1 <= int(rest) <= count:
                raise UsageError(f"card takes a number from 1 to {count}, not '{rest}'")
            self.turn(int(rest) - 1)
        elif self.number + 1 < count:
            self.turn(self.number + 1)
        elif (following := self._following()) is not None:
            self._start(following)
        else:
            self.say("That was the last card.")

    def _following(self) -> Lesson | Tasks | None:
        """The lesson after this one; None: there is none."""
        return next((one for number, one in self.course.lessons.items() if number > self.lesson.number), None)

    def _choose(self, console: Console, rest: str) -> None:
        if not rest:
            self.turned()
            return
        lessons = self.course.lessons
        if not rest.isdecimal() or int(rest) not in lessons:
            raise UsageError(f"lesson takes a number from {min(lessons)} to {self.course.last}, not '{rest}'")
        self._start(lessons[int(rest)])

    def _start(self, lesson: Lesson | Tasks) -> None:
        self._begin(lesson)
        self._show_scene(self._wanted() or lesson.scene)
        self.turned()

    def _open(self, console: Console, rest: str) -> None:
        scenes = self.lesson.scenes
        letter = rest.upper()
        if letter and letter not in scenes:
            have = f"there are {', '.join(scenes)}" if len(scenes) > 1 else "this lesson has one; scene puts it back"
            raise UsageError(f"there is no scene '{rest}': {have}")
        self._show_scene(scenes[letter] if letter else self._scene or self.lesson.scene)

    def _answer(self, console: Console, rest: str) -> None:
        asked = self.asked
        if asked is None:
            raise UsageError("this card asks nothing; card goes on")
        if self.card.kind is Kind.SAY:
            self._guess(asked.guess(rest))
        else:
            self._judged(asked.answer(rest, Stand(console.session, asked.question.scene.played)))

    def _guess(self, guess: str) -> None:
        """Keep what was said first."""
        self.progress[self.lesson.number].guess = guess
        self.progress.save()
        self.say(f"Kept: {guess}. It is not judged. Go on with the next card.")
        self.changed(())

    def _judged(self, reply: Reply) -> None:
        """Keep what came of an answer, and say it."""
        kept, card = self.progress[self.lesson.number], self.card
        if card.kind is not Kind.RECALL and self.number not in kept.answered:
            kept.tries += 1
        if reply.right and self.number not in kept.answered:
            kept.answered.append(self.number)
        if card.kind is Kind.QUIZ and not reply.right:
            kept.missed.append(self.number)
        if reply.right and card.kind is Kind.ASK and isinstance(self.lesson, Lesson):
            kept.done = True
        self._settle()
        self.progress.save()
        self._uncover()
        self._reply(reply)
        self.changed(())

    def _reply(self, reply: Reply) -> None:
        parts = [f"✓ Right. {reply.text}" if reply.right else f"✗ {reply.text}"]
        if self.asked is not None and self.asked.spent and not reply.right and self.card.again:
            parts.append("Run it to see; `again` asks with other numbers.")
        if reply.right and self.card.kind is Kind.ASK:
            parts += self._note()
        self.say("\n".join(parts))

    def _note(self) -> list[str]:
        """What other runtimes make of it."""
        note = self.lesson.note
        return [] if note is None else [note(self._scene or self.lesson.scene, self.voice.against)]

    def _hint(self, console: Console, rest: str) -> None:
        if self.asked is None or self.card.kind is Kind.SAY:
            self.say(self._next())
            return
        told, last = self.asked.hint()
        parts = [told]
        if last and self.asked.spent:
            self._uncover()
            parts += self._note() if self.card.kind is Kind.ASK else []
            parts += ["`again` asks with other numbers."] if self.card.again else []
        self.say("\n".join(parts))
        if last:
            self.changed(())

    def _next(self) -> str:
        """What to do on a card that judges no answer."""
        kind = self.card.kind
        if kind is Kind.SAY:
            return "Say what you think: it is a guess, and is not judged. Hints come with the question."
        if kind is Kind.LAST:
            return "That was the last card."
        if kind is Kind.DO and (ahead := self.ticks.ahead()):
            return ahead
        told = "All of it is done." if kind is Kind.DO else "Nothing is asked here."
        return f"{told} Go on with the next card."

    def _ask_again(self, console: Console, rest: str) -> None:
        if not self.card.again:
            asking = [k for k, one in enumerate(self.cards, 1) if one.again and one.kind is not Kind.RECALL]
            asks = next(iter(asking), None)
            where = "; this one has none" if asks is None else f", which card {asks} asks"
            raise UsageError(f"again is for the question of a lesson{where}")
        self._ask()
        assert self.question is not None
        self._show_scene(self.question.scene)
        self.turned()

    # -- what is done

    def done(self, command: str, rest: str = "") -> None:
        """A command was carried out, typed or by its key."""
        ticked = self.ticks.tick(command, rest, self._scene)
        if ticked and self.card.kind is Kind.DO:
            self.changed([self.ticks.line(k, self.voice) for k in ticked])
        if self.asked is not None and command not in self.commands:
            self._see(self.asked)

    def _see(self, asked: Asked) -> None:
        """Say of what was tried whether that is it."""
        if not isinstance(asked.question, StateQuestion):
            return
        reply = asked.seen(Stand(self.console.session, asked.question.scene.played))
        if reply is None:
            return
        if reply.right:
            self._judged(reply)
        else:
            self.say(reply.text)


__all__ = ["Learner"]
