"""The pane of a lesson's card, below the header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from ...debugger.lessons.lesson import Paragraph, wrap_paragraphs
from ..render.formatting import escape_unprintable


@dataclass(frozen=True)
class CardView:
    """The state of a card after a command.

    ``source_covered``: the source would give away the answer; ``quiet``: the notes below the source would; ``locked``:
    nothing runs before an answer; ``repeatable``: the question can be asked with other numbers."""

    title: str
    heading: str
    paragraphs: tuple[Paragraph, ...]
    reply: tuple[str, ...] = ()
    source_covered: bool = False
    quiet: bool = False
    locked: bool = False
    takes_answer: bool = False
    repeatable: bool = False


class LessonPane(Static):
    """The lesson's title, the card, and below it the reply to an answer, wrapped to the width."""

    DEFAULT_CSS = """
    LessonPane {
        height: auto;
        max-height: 60%;
        padding: 0 1;
        border: solid $accent 60%;
        border-title-color: $accent;
        border-subtitle-color: $foreground 60%;
        overflow-y: auto;
    }
    """

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.text = ""
        self._card: CardView | None = None

    def show_card(self, card: CardView) -> None:
        """Show a card."""
        if card == self._card:
            return
        self._card = card
        self.border_title = Content(escape_unprintable(f"{card.title}   {card.heading}"))
        keys = [
            *(["a answer"] if card.takes_answer else []),
            "h hint",
            *(["A again"] if card.repeatable else []),
            "L next card",
        ]
        keys += [] if card.locked else ["G picture"]
        self.border_subtitle = Content(f"{'  '.join(keys)}  : scene B, card 2, lesson 3")
        self._refresh_text()

    def on_resize(self, event: Resize) -> None:
        """Wrap the text again."""
        self._refresh_text()

    def _refresh_text(self) -> None:
        if self._card is None:
            return
        text = "\n".join(map(escape_unprintable, self._card_lines(self._card)))
        if text != self.text:
            self.text = text
            self.update(Content(text))

    def _card_lines(self, card: CardView) -> Sequence[str]:
        width = max(self.content_size.width or self.app.size.width - 4, 20)
        paragraphs: tuple[Paragraph, ...] = (*card.paragraphs, *(("", *card.reply) if card.reply else ()))
        return wrap_paragraphs(paragraphs, width)
