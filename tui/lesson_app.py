"""A lesson in the screen: the debugger as it is, and above its panes the card that is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from textual import on
from textual.app import ComposeResult

from ..debugger.lessons.frozen_session import FROZEN_MESSAGE
from ..debugger.lessons.learner import Learner
from .actions import Action, ActionContext
from .app import LoopdbgApp
from .render.stop_view import ScreenState, StopView
from .session_worker import CommandFinished, SessionWorker
from .widgets.lesson import CardView, LessonPane


class LessonApp(LoopdbgApp):
    """The app with a learner at its console. What the learner says is copied in the thread that runs commands."""

    CSS = ".-covered { visibility: hidden; }"

    def __init__(self, driver: SessionWorker, learner: Learner, actions: Sequence[Action] | None = None) -> None:
        super().__init__(driver, "of the lesson", actions)
        self.learner = learner
        self.lesson_pane = LessonPane(id="lesson")
        self._reply: tuple[str, ...] = ()
        self.card = self._card_view(())
        learner.on_card_opened = self._refresh_card
        learner.on_card_changed = lambda steps: self._refresh_steps()
        learner.on_message = self._show_reply

    def _card_view(self, reply: Sequence[str]) -> CardView:
        learner = self.learner
        return CardView(
            learner.title,
            learner.heading,
            tuple(learner.paragraphs()),
            tuple(reply),
            learner.hides_listing,
            learner.hides_loop_facts,
            learner.freezes_scene,
            learner.question is not None,
            learner.card.can_redraw,
        )

    def _refresh_card(self) -> None:
        self.card = self._card_view(())

    def _refresh_steps(self) -> None:
        # Where nothing is asked, what was said last was what to do next: that is done.
        self.card = self._card_view(self.card.reply if self.card.takes_answer else ())

    def _show_reply(self, text: str) -> None:
        self.card = self._card_view(text.splitlines())

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            yield widget
            if widget is self.header:
                yield self.lesson_pane

    def on_mount(self) -> None:
        self.lesson_pane.show_card(self.card)
        if self.learner.progress.storage_error:
            self.notify(self.learner.progress.storage_error, severity="warning", markup=False)

    @property
    def action_context(self) -> ActionContext:
        return replace(
            super().action_context,
            lesson_open=True,
            card_takes_answer=self.card.takes_answer,
            card_repeatable=self.card.repeatable,
        )

    def action_console(self, text: str) -> None:
        """See :class:`.app.LoopdbgApp`; an answer is typed where the card takes one."""
        if text == "answer " and not self.card.takes_answer:
            self.status_message.say("this card asks nothing; L goes on")
        else:
            super().action_console(text)

    @on(CommandFinished)
    def handle_answer_accepted(self, message: CommandFinished) -> None:
        """What was typed for the lesson is replied to on the card: the line closes by itself."""
        if message.error is None and message.command.split(" ")[0] in self.learner.commands:
            self.call_later(self._close_console_line)

    def _close_console_line(self) -> None:
        if not self.session_worker.busy and self.action_context.console_open:
            self.action_close()

    def show_stop(self, view: StopView, error: str | None = None) -> None:
        """See :class:`.app.LoopdbgApp`; where a stop would tell the answer, nothing is said of it."""
        super().show_stop(view, error)
        if self.card.frozen:
            self.status_message.say(FROZEN_MESSAGE)

    def refresh_context(self) -> None:
        """See :class:`.app.LoopdbgApp`; what the cursor is on may be what is asked for."""
        super().refresh_context()
        if self.card.frozen:
            self.detail_line.say("")

    def action_graph(self) -> None:
        """See :class:`.app.LoopdbgApp`; the graph tells what decides."""
        if self.card.frozen:
            self.status_message.say(FROZEN_MESSAGE)
        else:
            super().action_graph()

    def _show_state(self, shown: ScreenState) -> None:
        card = self.card
        # What ends a loop, and how often it runs, stands in more than one place; of one without iterations in all.
        blind = card.frozen and (card.source_covered or shown.view.innermost.frame.stopped_by is not None)
        hidden = {"body": card.source_covered, "condition": card.frozen}
        for name, pane in self.panes.items():
            pane.set_class(blind or hidden.get(name, False), "-covered")
        self.header.set_class(blind, "-covered")
        self.lesson_pane.show_card(card)
        super()._show_state(replace(shown, quiet=card.quiet))


def lesson_worker(learner: Learner) -> SessionWorker:
    """A driver whose console is the learner's."""
    session = learner.create_session()
    driver = SessionWorker(session.model, {}, None, session)
    learner.attach_console(driver.console)
    return driver
