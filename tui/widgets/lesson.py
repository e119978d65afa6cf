"""The card of a lesson, in a pane of its own below the header."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.widgets import Static

from ..screen.text import printable


@dataclass(frozen=True)
class CardView:
    """A card as it stood after a command; ``reply``: what was said last; ``covered``: the source would give away what
    it asks, ``quiet``: what stands below the source would; ``asks``: it takes an answer, ``again``: and asks with other
    numbers."""

    title: str
    heading: str
    lines: tuple[str, ...]
    reply: tuple[str, ...] = ()
    covered: bool = False
    quiet: bool = False
    asks: bool = False
    again: bool = False


class LessonPane(Static):
    """The lesson's title, the card, and below it what was said to an answer."""

    DEFAULT_CSS = """
    LessonPane {
        height: auto;
        max-height: 13;
        padding: 0 1;
        border: solid $accent 60%;
        border-title-color: $accent;
        border-subtitle-color: $foreground 60%;
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
        self.border_subtitle = Content(f"{'  '.join(keys)}  : scene B, card 2, lesson 3")
        told = [*card.lines, *(("", *card.reply) if card.reply else ())]
        self.text = "\n".join(map(printable, told))
        self.update(Content(self.text))
