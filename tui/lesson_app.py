"""The app of a lesson: the debugger with the open card above its panes."""

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
    """The app with a learner attached to its console. The card view is copied in the worker thread."""

    CSS = ".-covered { visibility: hidden; }"

    def __init__(self, worker: SessionWorker, learner: Learner, actions: Sequence[Action] | None = None) -> None:
        super().__init__(worker, "of the lesson", actions)
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
        # Without a question, the reply was the next instruction, which is done now.
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
        """See :class:`.app.LoopdbgApp`; rejects answers if the card has no question."""
        if text == "answer " and not self.card.takes_answer:
            self.status_message.say("this card asks nothing; L goes on")
        else:
            super().action_console(text)

    @on(CommandFinished)
    def handle_answer_accepted(self, message: CommandFinished) -> None:
        """Close the console after a lesson command: the card shows the reply."""
        if message.error is None and message.command.split(" ")[0] in self.learner.commands:
            self.call_later(self._close_console_line)

    def _close_console_line(self) -> None:
        if not self.session_worker.busy and self.action_context.console_open:
            self.action_close()

    def show_stop(self, view: StopView, error: str | None = None) -> None:
        """See :class:`.app.LoopdbgApp`; hides the stop message if it would give away the answer."""
        super().show_stop(view, error)
        if self.card.frozen:
            self.status_message.say(FROZEN_MESSAGE)

    def refresh_context(self) -> None:
        """See :class:`.app.LoopdbgApp`; hides the detail line if it may contain the answer."""
        super().refresh_context()
        if self.card.frozen:
            self.detail_line.say("")

    def action_graph(self) -> None:
        """See :class:`.app.LoopdbgApp`; refused if the graph would give away the answer."""
        if self.card.frozen:
            self.status_message.say(FROZEN_MESSAGE)
        else:
            super().action_graph()

    def _show_state(self, state: ScreenState) -> None:
        card = self.card
        # Several panes show what ends the loop and its trip count; all panes do for a loop without iterations.
        hide_all = card.frozen and (card.source_covered or state.view.innermost.frame.stopped_by is not None)
        hidden = {"body": card.source_covered, "condition": card.frozen}
        for name, pane in self.panes.items():
            pane.set_class(hide_all or hidden.get(name, False), "-covered")
        self.header.set_class(hide_all, "-covered")
        self.lesson_pane.show_card(card)
        super()._show_state(replace(state, quiet=card.quiet))


def lesson_worker(learner: Learner) -> SessionWorker:
    """Create a session worker with the learner attached to its console."""
    session = learner.create_session()
    worker = SessionWorker(session.model, {}, None, session)
    learner.attach_console(worker.console)
    return worker
