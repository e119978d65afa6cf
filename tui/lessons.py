"""A lesson in the screen: the debugger as it is, and above its panes the card that is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from textual import on
from textual.app import ComposeResult

from ..debugger.lessons.learner import Learner
from ..debugger.lessons.still import WHY
from .actions import Action, Now
from .app import LoopdbgApp
from .driver import Driver, Stopped
from .screen.view import Shown, View
from .widgets.lesson import CardView, LessonPane


class LessonApp(LoopdbgApp):
    """The app with a learner at its console. What the learner says is copied in the thread that runs commands."""

    CSS = ".-covered { visibility: hidden; }"

    def __init__(self, driver: Driver, learner: Learner, actions: Sequence[Action] | None = None) -> None:
        super().__init__(driver, "of the lesson", actions)
        self.learner = learner
        self.lesson = LessonPane(id="lesson")
        self._reply: tuple[str, ...] = ()
        self.card = self._look(())
        learner.turned = self._turned
        learner.changed = lambda steps: self._changed()
        learner.tell = self._tell

    def _look(self, reply: Sequence[str]) -> CardView:
        learner = self.learner
        return CardView(
            learner.title,
            learner.heading,
            tuple(learner.paragraphs()),
            tuple(reply),
            learner.covered,
            learner.quiet,
            learner.still,
            learner.question is not None,
            learner.card.again,
        )

    def _turned(self) -> None:
        self.card = self._look(())

    def _changed(self) -> None:
        # Where nothing is asked, what was said last was what to do next: that is done.
        self.card = self._look(self.card.reply if self.card.asks else ())

    def _tell(self, text: str) -> None:
        self.card = self._look(text.splitlines())

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            yield widget
            if widget is self.header:
                yield self.lesson

    def on_mount(self) -> None:
        self.lesson.put(self.card)
        if self.learner.progress.trouble:
            self.notify(self.learner.progress.trouble, severity="warning", markup=False)

    @property
    def now(self) -> Now:
        return replace(super().now, lesson=True, asks=self.card.asks, again=self.card.again)

    def action_console(self, text: str) -> None:
        """See :class:`.app.LoopdbgApp`; an answer is typed where the card takes one."""
        if text == "answer " and not self.card.asks:
            self.message.say("this card asks nothing; L goes on")
        else:
            super().action_console(text)

    @on(Stopped)
    def answered(self, message: Stopped) -> None:
        """What was typed for the lesson is replied to on the card: the line closes by itself."""
        if message.error is None and message.command.split(" ")[0] in self.learner.commands:
            self.call_later(self._close_line)

    def _close_line(self) -> None:
        if not self.driver.busy and self.now.console:
            self.action_close()

    def show(self, view: View, error: str | None = None) -> None:
        """See :class:`.app.LoopdbgApp`; where a stop would tell the answer, nothing is said of it."""
        super().show(view, error)
        if self.card.still:
            self.message.say(WHY)

    def look_around(self) -> None:
        """See :class:`.app.LoopdbgApp`; what the cursor is on may be what is asked for."""
        super().look_around()
        if self.card.still:
            self.detail.say("")

    def action_graph(self) -> None:
        """See :class:`.app.LoopdbgApp`; the graph tells what decides."""
        if self.card.still:
            self.message.say(WHY)
        else:
            super().action_graph()

    def _show(self, shown: Shown) -> None:
        card = self.card
        # What ends a loop, and how often it runs, stands in more than one place; of one without iterations in all.
        blind = card.still and (card.covered or shown.view.top.frame.stopped_by is not None)
        hidden = {"body": card.covered, "condition": card.still}
        for name, pane in self.panes.items():
            pane.set_class(blind or hidden.get(name, False), "-covered")
        self.header.set_class(blind, "-covered")
        self.lesson.put(card)
        super()._show(replace(shown, quiet=card.quiet))


def lesson_driver(learner: Learner) -> Driver:
    """A driver whose console is the learner's."""
    session = learner.session()
    driver = Driver(session.model, {}, None, session)
    learner.attach(driver.console)
    return driver
