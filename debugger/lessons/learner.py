"""A learner with a lesson: which card is open, what was done of it, what is said to answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...runtime.errors import UsageError
from ..console.command import Command
from ..console.console import Console
from ..session.session import Session
from .course.table import ALL
from .lesson import Card, Kind, Lesson, Tasks, wrapped
from .progress import Progress
from .question import OpenQuestion, Question, Reply, StateQuestion, ValueQuestion, show
from .scene import Scene
from .stand import Stand
from .voice import Voice


class Learner:
    """Goes through lessons on a console, which it opens scenes on and which knows its commands.

    ``progress``: what was done before, kept at every card; ``attended``: whether somebody could interrupt a loop that
    nothing ends; ``turned``: called where another card is to be read, ``opened``: where another scene was opened,
    ``changed``: where the card says something else, with the steps that were done just now.
    """

    def __init__(self, progress: Progress, voice: Voice, *, attended: bool = True, number: int | None = None) -> None:
        self.progress = progress
        self.voice = voice
        self.attended = attended
        self.turned: Callable[[], object] = lambda: None
        self.opened: Callable[[], object] = lambda: None
        #: Gets what is said of the lesson, in lines; by default the console says it.
        self.tell: Callable[[Sequence[str]], object] | None = None
        self.changed: Callable[[Sequence[str]], object] = lambda steps: None
        self.lesson: Lesson | Tasks = ALL[self.next_lesson() if number is None else number]
        self.number = 0
        self.question: Question | None = None
        #: How often each step of the lesson was done, in order.
        self.ticks: list[int] = []
        #: The question of the card is answered.
        self.answered = False
        self._hints = 0
        self._again = 0
        #: What was said of the state last, which is not said twice.
        self._said: str | None = None
        self._scene: Scene | None = None
        self._console: Console | None = None
        self._begin(self.lesson)

    def next_lesson(self) -> int:
        """The first lesson that is not done; after all of them what comes then."""
        return next((number for number in ALL if number not in self.progress.done), max(ALL))

    # -- the console

    def session(self) -> Session:
        """A session on the scene of the card that is open."""
        self._scene = self._wanted() or self._scene or self.lesson.scene
        model = self._scene.load()
        return Session(model, self._scene.arrays(model), attended=self.attended)

    def attach(self, console: Console) -> None:
        """Take a console whose session is that of :meth:`session`."""
        self._console = console
        console.more = self.commands
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
                Command("answer", (), "answer X", "answer the question of the card", self._answer),
                Command("hint", (), "hint", "where to look; then which keys; then the answer", self._hint),
                Command("again", (), "again", "the question with other numbers", self._ask_again),
                Command("scene", (), "scene [A]", "the lesson's model as it was, or with other inputs", self._open),
                Command("card", (), "card [N]", "the next card of the lesson, or card N", self._turn),
                Command("lesson", (), "lesson [N]", "lesson N; without a number the card again", self._choose),
            )
        }

    def say(self, text: str) -> None:
        """Say something of the lesson, in lines."""
        lines = wrapped(self.voice(text))
        if self.tell is not None:
            self.tell(lines)
            return
        for line in lines:
            self.console.say(line)

    # -- cards

    @property
    def card(self) -> Card:
        return self.lesson.cards[self.number]

    @property
    def title(self) -> str:
        """``Lesson 3 of 12: ... (5 min)``."""
        one = self.lesson
        of = f"Lesson {one.number} of {max(ALL) - 1}: " if isinstance(one, Lesson) else ""
        return f"{of}{one.title} ({one.minutes} min)"

    @property
    def heading(self) -> str:
        """``card 2 of 5: Do``."""
        return f"card {self.number + 1} of {len(self.lesson.cards)}: {self.card.kind}"

    def lines(self) -> list[str]:
        """The card that is open."""
        card = self.card
        if card.kind is Kind.LAST:
            return self._last()
        told = [self.voice(line) for line in card.lines(self.question)]
        told += [self._step_line(k) for k in range(len(card.steps))]
        return [*told, *self._said_first()]

    def _said_first(self) -> list[str]:
        """The first guess beside its subject: once that was reached, with the right answer."""
        guess, lesson, kind = self.progress[self.lesson.number].guess, self.lesson, self.card.kind
        if not guess or not isinstance(lesson, Lesson):
            return []
        about = lesson.say or lesson.ask
        if kind is Kind.SAY or (kind is Kind.ASK and about is self.question):
            return [f"You said first: {guess}"]
        if kind is Kind.LOOK and isinstance(lesson.say, ValueQuestion):
            return wrapped(f"You said first: {guess}. It is {show(lesson.say.answer)}: {lesson.say.judge(guess).text}")
        return []

    def _step_line(self, k: int) -> str:
        step = self.card.steps[k]
        ticks = self.ticks[k]
        mark = "✓" if ticks >= step.times else "·"
        keys = self.voice(f"`{step.keys}`").strip("`")
        return f"{mark} {keys:<8} {step.told}" + (f" ({ticks} of {step.times})" if 0 < ticks < step.times else "")

    def _unanswered(self) -> list[int]:
        """The cards of this lesson with a task that was not answered right, counted from 1."""
        answered = self.progress[self.lesson.number].answered
        cards = enumerate(self.lesson.cards)
        return [k + 1 for k, card in cards if card.kind is Kind.TASK and k not in answered]

    def _last(self) -> list[str]:
        if left := self._unanswered():
            cards = ", ".join(map(str, left))
            return wrapped(f"That was the last card. Without a right answer so far: card {cards}; `card N` opens one.")
        tried = [n for n in ALL if self.progress[n].tries > 1 and isinstance(ALL[n], Lesson)]
        lessons = [n for n, one in ALL.items() if isinstance(one, Lesson) and n not in self.progress.done]
        if not tried and lessons:
            return wrapped(f"These tasks are done. Lessons that are not: {', '.join(map(str, lessons))}.")
        if not tried:
            return ["That was all of it. Every question came right at the first try."]
        told = ["That was all of it. What took a second try, for tomorrow:"]
        return [*told, *(f"  {self.voice.learn(n)}   {ALL[n].title}" for n in tried)][:6]

    @property
    def quiet(self) -> bool:
        """What is known of the loop beside its lines would give the answer away: as long as a question is open."""
        return isinstance(self.lesson, Lesson) and not self.answered and not self.progress[self.lesson.number].done

    @property
    def covered(self) -> bool:
        """The listing would give the answer away."""
        return self.lesson.covered and self.number == 0 and not self.progress[self.lesson.number].guess

    def _begin(self, lesson: Lesson | Tasks) -> None:
        """Take up a lesson where it was left, at the latest at its question; one that is done from its beginning."""
        self.lesson = lesson
        kept, cards = self.progress[lesson.number], lesson.cards
        last = next((k for k, card in enumerate(cards) if card.kind is Kind.ASK), len(cards) - 1)
        self.number = 0 if kept.done else min(max(kept.card, 0), last)
        steps = next((card.steps for card in lesson.cards if card.steps), ())
        self.ticks = [0] * len(steps)
        self._scene = None
        self._show_card()

    def _show_card(self) -> None:
        """The card of the number is open now."""
        self.question = self.card.question
        self.answered = False
        self._hints = self._again = 0
        self._said = None
        kept = self.progress[self.lesson.number]
        if not kept.done:
            kept.card = self.number
        if self.card.kind is Kind.LAST and not self._unanswered():
            kept.done = True
        self.progress.save()

    def turn(self, number: int) -> None:
        """Open a card of the lesson."""
        before = self._scene
        self.number = number
        self._show_card()
        wanted = self._wanted()
        if wanted is not None and wanted is not before:
            self._show_scene(wanted)
        self.turned()

    def _wanted(self) -> Scene | None:
        """The scene that a card needs; None: where one stands will do."""
        kind, question = self.card.kind, self.question
        if kind in (Kind.REMEMBER, Kind.LAST):
            return None
        if question is not None and (kind in (Kind.RECALL, Kind.TASK) or isinstance(question, StateQuestion)):
            return question.scene
        return None if self._scene in self.lesson.scenes.values() else self.lesson.scene

    # -- scenes

    def _show_scene(self, scene: Scene) -> None:
        self._scene = scene
        model = scene.load()
        self.console.open(Session(model, scene.arrays(model), attended=self.attended))
        self._said = None
        self.opened()

    # -- what is typed

    def _turn(self, console: Console, rest: str) -> None:
        count = len(self.lesson.cards)
        if rest:
            if not rest.isdecimal() or not 1 <= int(rest) <= count:
                raise UsageError(f"card takes a number from 1 to {count}, not '{rest}'")
            self.turn(int(rest) - 1)
        elif self.number + 1 < count:
            self.turn(self.number + 1)
        elif isinstance(self.lesson, Lesson):
            self._start(ALL[self.lesson.number + 1])
        else:
            self.say("That was the last card.")

    def _choose(self, console: Console, rest: str) -> None:
        if not rest:
            self.turned()
            return
        if not rest.isdecimal() or int(rest) not in ALL:
            raise UsageError(f"lesson takes a number from 1 to {max(ALL)}, not '{rest}'")
        self._start(ALL[int(rest)])

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
        question = self.question
        if question is None:
            raise UsageError("this card asks nothing; card goes on")
        if self.card.kind is Kind.SAY:
            self._guess(question, rest)
        elif isinstance(question, StateQuestion):
            self._look(question, asked=True)
        elif isinstance(question, ValueQuestion):
            if not rest:
                raise UsageError("answer what? as in answer 5")
            self._judged(question.judge(rest))
        elif isinstance(question, OpenQuestion):
            self._judged(Reply(True, "You have looked; nobody else can check it."))

    def _guess(self, question: Question, rest: str) -> None:
        """Keep what was said first."""
        if not rest:
            raise UsageError("say what you think, as in answer 5; it is kept, and not judged")
        kept = self.progress[self.lesson.number]
        kept.guess = show(question.read(rest)) if isinstance(question, ValueQuestion) else rest
        self.progress.save()
        self.say(f"Kept: {kept.guess}. Nobody judges it. Go on with the next card.")
        self.changed(())

    def _judged(self, reply: Reply) -> None:
        kept = self.progress[self.lesson.number]
        if self.card.kind is not Kind.RECALL and not self.answered:
            kept.tries += 1
        if not reply.right:
            self.progress.save()
            self.say(f"✗ {reply.text}")
            return
        beside = ""
        if self.card.kind is Kind.ASK and kept.guess and isinstance(self.question, ValueQuestion):
            beside = f" You said first: {kept.guess}; it is {show(self.question.answer)}."
        first = not self.answered
        self.answered = True
        if self.number not in kept.answered:
            kept.answered.append(self.number)
        self.say(f"✓ Right. {reply.text}{beside}")
        if self.card.kind is Kind.ASK:
            kept.done = True
            if first and self.lesson.note is not None and self._scene is not None:
                self.say(self.lesson.note(self._scene, self.voice.against))
        self.progress.save()
        self.changed(())

    def _hint(self, console: Console, rest: str) -> None:
        if self.question is None or self.card.kind is Kind.SAY:
            self.say(self._next())
            return
        self.say(self.question.hint(self._hints))
        self._hints += 1

    def _next(self) -> str:
        """What to do on a card that judges no answer."""
        kind = self.card.kind
        if kind is Kind.SAY:
            return "Say what you think: it is a guess, and nobody judges it. Hints come with the question."
        if kind is Kind.LAST:
            return "That was the last card."
        steps = zip(self.card.steps, self.ticks, strict=False)
        step = next(((step, ticks + 1) for step, ticks in steps if ticks < step.times), None)
        if step is not None:
            one, turn = step
            times = f" ({turn} of {one.times})" if one.times > 1 else ""
            return f"Next is `{one.keys}`{times}: {one.told}."
        told = "All of it is done." if kind is Kind.DO else "Nothing is asked here."
        return f"{told} Go on with the next card."

    def _ask_again(self, console: Console, rest: str) -> None:
        card = self.card
        if not card.again:
            asks = next((k for k, one in enumerate(self.lesson.cards, 1) if one.again), None)
            where = "; this one has none" if asks is None else f", which card {asks} asks"
            raise UsageError(f"again is for the question of a lesson{where}")
        self.question = card.again[self._again % len(card.again)]
        self._again += 1
        self._hints = 0
        self.answered = False
        self._show_scene(self.question.scene)
        self.turned()

    # -- what is done

    def done(self, command: str, rest: str = "") -> None:
        """A command was carried out, typed or by its key."""
        times = int(rest) if rest.isdecimal() else 1
        ticked = self._tick(command, rest, times)
        if ticked and self.card.kind is Kind.DO:
            self.changed([self._step_line(k) for k in ticked])
        if isinstance(self.question, StateQuestion) and self.card.kind is not Kind.SAY and command not in self.commands:
            self._look(self.question)

    def _tick(self, command: str, rest: str, times: int) -> list[int]:
        """Note steps as done; returns those that are done now and were not."""
        steps = next((card.steps for card in self.lesson.cards if card.steps), ())
        letters, letter = [], next(iter(self.lesson.scenes), "")
        for step in steps:
            letter = step.keys.partition(" ")[2] if step.command == "scene" else letter
            letters.append(letter)
        done = []
        for _ in range(times):
            for k, step in enumerate(steps):
                # What is to be done in one scene is not done in another.
                if self.lesson.scenes.get(letters[k]) is not self._scene:
                    continue
                what = step.keys.partition(" ")[2].lower() if step.exact else ""
                if self.ticks[k] < step.times and step.command == command and what in ("", rest.lower()):
                    self.ticks[k] += 1
                    done += [k] if self.ticks[k] == step.times else []
                    break
        return done

    def _look(self, question: StateQuestion, asked: bool = False) -> None:
        """Test where the learner stands; what was said of it last is said again only if it is asked for."""
        if self.answered and not asked:
            return
        reply = question.look(Stand(self.console.session, question.scene.played))
        if reply is None:
            self._said = None
            if asked:
                self._judged(Reply(False, f"Not yet. {question.see if isinstance(question.see, str) else ''}"))
            return
        if asked or reply.text != self._said:
            self._said = reply.text
            if reply.right or asked:
                self._judged(reply)
            else:
                self.say(reply.text)


__all__ = ["Learner"]
