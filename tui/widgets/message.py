"""The line above the keys: where the session stands and why, what runs, or what went wrong."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from ..driver import Progress
from ..screen.text import printable
from .kept import keep_rows


class Message(Static):
    """A sentence. An error says so in words and stays until the next stop."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        keep_rows(self)
        self.text = ""
        self._said = ("", False)

    def say(self, text: str, error: bool = False) -> None:
        """Show a sentence."""
        self._said = (text, error)
        self._put(f"error: {text}" if error else text, error)

    def say_running(self, progress: Progress, name: str, iterations: int | None, key: str) -> None:
        """Show what runs, in place of the sentence; :meth:`say` ends that. ``key``: what interrupts it."""
        done = "" if iterations is None else f" · {iterations:,} iterations of '{name}'".replace(",", " ")
        self._put(f"{progress.command}: {progress.seconds:.1f} s{done} · {key} interrupts", False)

    def _put(self, text: str, error: bool) -> None:
        text = printable(text)
        if error != self.has_class("-error"):
            self.set_class(error, "-error")
        if text == self.text:
            return
        # Only where it takes another number of lines the others have to move.
        longer = max(cell_len(text), cell_len(self.text)) >= self.size.width - 2
        self.text = text
        self.update(Content(text), layout=longer)
