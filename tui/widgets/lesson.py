"""The card of a lesson, in a pane of its own below the header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from ...debugger.lessons.lesson import Paragraph, fitted
from ..screen.text import printable


@dataclass(frozen=True)
class CardView:
    """A card as it stood after a command; ``reply``: what was said last; ``covered``: the source would give away what
    it asks, ``quiet``: what stands below the source would; ``still``: nothing runs until there is an answer; ``asks``:
    it takes an answer, ``again``: and asks with other numbers."""

    title: str
    heading: str
    paragraphs: tuple[Paragraph, ...]
    reply: tuple[str, ...] = ()
    covered: bool = False
    quiet: bool = False
    still: bool = False
    asks: bool = False
    again: bool = False


class LessonPane(Static):
    """The lesson's title, the card, and below it what was said to an answer, in the width that there is."""

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

    def put(self, card: CardView) -> None:
        """Show a card."""
        if card == self._card:
            return
        self._card = card
        self.border_title = Content(printable(f"{card.title}   {card.heading}"))
        keys = [*(["a answer"] if card.asks else []), "h hint", *(["A again"] if card.again else []), "L next card"]
        keys += [] if card.still else ["G picture"]
        self.border_subtitle = Content(f"{'  '.join(keys)}  : scene B, card 2, lesson 3")
        self._write()

    def on_resize(self, event: Resize) -> None:
        """Lines are broken anew."""
        self._write()

    def _write(self) -> None:
        if self._card is None:
            return
        text = "\n".join(map(printable, self._lines(self._card)))
        if text != self.text:
            self.text = text
            self.update(Content(text))

    def _lines(self, card: CardView) -> Sequence[str]:
        width = max(self.content_size.width or self.app.size.width - 4, 20)
        told: tuple[Paragraph, ...] = (*card.paragraphs, *(("", *card.reply) if card.reply else ()))
        return fitted(told, width)
