"""The status line above the keys: the stop and its reason, the progress, or an error."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from ...debugger.session.worker import RunProgress
from ..render.formatting import escape_unprintable
from .row_cache import enable_row_cache


class StatusMessage(Static):
    """One sentence. Errors have a prefix and stay until the next stop."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        enable_row_cache(self)
        self.text = ""
        self._last_message = ("", False)

    def say(self, text: str, error: bool = False) -> None:
        """Show a message."""
        self._last_message = (text, error)
        self._set_text(f"error: {text}" if error else text, error)

    def show_command_progress(self, progress: RunProgress, name: str, iterations: int | None, key: str) -> None:
        """Show the progress of a command until the next :meth:`say`; ``key``: the key that interrupts it."""
        done = "" if iterations is None else f" · {iterations:,} iterations of '{name}'".replace(",", " ")
        self._set_text(f"{progress.label}: {progress.seconds:.1f} s{done} · {key} interrupts", False)

    def _set_text(self, text: str, error: bool) -> None:
        text = escape_unprintable(text)
        if error != self.has_class("-error"):
            self.set_class(error, "-error")
        if text == self.text:
            return
        # A new layout is needed only if the number of lines can change.
        may_wrap = max(cell_len(text), cell_len(self.text)) >= self.size.width - 2
        self.text = text
        self.update(Content(text), layout=may_wrap)
