"""A lesson in the debugger: its card above the panes, and what the card hides until there is an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from textual.widget import Widget

from ....debugger.lessons.learner import Learner
from ...command_worker import CommandFinished
from ...render.stop_view import ScreenState
from ...widgets.lesson import CardView, LessonPane
from ...widgets.pane import Pane


class LessonPanel:
    """The open card of a learner, who is attached to the console. The card view is copied in the worker thread."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.pane = LessonPane(id="lesson")
        self.card = self._card_view(())
        learner.on_card_opened = self._refresh_card
        learner.on_card_changed = lambda steps: self._refresh_keeping_reply()
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
            learner.locks_scene,
            learner.question is not None,
            learner.card.can_redraw,
        )

    def _refresh_card(self) -> None:
        self.card = self._card_view(())

    def _refresh_keeping_reply(self) -> None:
        # Without a question, the reply was the next instruction, which is done now.
        self.card = self._card_view(self.card.reply if self.card.takes_answer else ())

    def _show_reply(self, text: str) -> None:
        self.card = self._card_view(text.splitlines())

    def show_state(self, state: ScreenState, panes: Iterable[Pane], header: Widget) -> ScreenState:
        """Show the card, hide the panes that would give away its answer, and return the state for the others."""
        card = self.card
        # Several panes show what ends the loop and its trip count; all panes do for a loop without iterations.
        hide_all = card.locked and (card.source_covered or state.view.stop_state.frame.stopped_by is not None)
        hidden = {"body": card.source_covered, "condition": card.locked}
        for pane in panes:
            pane.set_class(hide_all or hidden.get(pane.id or "", False), "-covered")
        header.set_class(hide_all, "-covered")
        self.pane.show_card(card)
        return replace(state, quiet=card.quiet)

    def shows_reply_to(self, message: CommandFinished) -> bool:
        """Whether the card shows the reply to a command, so that the console can close."""
        return message.error is None and message.command.split(" ")[0] in self.learner.commands
