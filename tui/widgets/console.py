"""The console: a line to type commands into, and what they say above it."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static

from ..screen.text import printable

#: So many lines of output are kept.
_KEPT = 400


class _Line(Input):
    """The line itself: up and down bring earlier ones back, tab takes the suggestion."""

    def __init__(self, complete: Callable[[str], list[str]]) -> None:
        super().__init__(
            placeholder="command, or help", select_on_focus=False, compact=True, suggester=_Names(complete)
        )
        self._typed: list[str] = []
        self._at = 0

    def remember(self, line: str) -> None:
        """Keep a line for later."""
        if line and line != (self._typed[-1] if self._typed else ""):
            self._typed.append(line)
        self._at = len(self._typed)

    def on_key(self, event: events.Key) -> None:
        """Keys that a one-line input leaves to others."""
        if event.key in ("up", "down"):
            event.stop()
            self._at = min(max(self._at + (1 if event.key == "down" else -1), 0), len(self._typed))
            self.value = self._typed[self._at] if self._at < len(self._typed) else ""
            self.cursor_position = len(self.value)
        elif event.key == "tab":
            event.stop()
            event.prevent_default()
            self.action_cursor_right()


class _Names(Suggester):
    """The first of what the last word can become."""

    def __init__(self, complete: Callable[[str], list[str]]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._complete = complete

    async def get_suggestion(self, value: str) -> str | None:
        for word in self._complete(value):
            for k in range(len(word), 0, -1):
                if value.endswith(word[:k]) and len(word) > k:
                    return value + word[k:]
        return None


class ConsolePane(Vertical):
    """Hidden until a key opens it; what commands say stays until it is closed."""

    class Entered(Message):
        """A line to run."""

        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    class Searched(Message):
        """A text to look for in the pane; "" for the one before."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, complete: Callable[[str], list[str]], id: str) -> None:
        super().__init__(id=id)
        self.line = _Line(complete)
        # Closed, it must not be what the keys go to.
        self.line.disabled = True
        self._said: list[str] = []
        self._output = Static(id="said")
        self._scroll = VerticalScroll(self._output, id="said-scroll", can_focus=False)

    @property
    def text(self) -> str:
        """What it shows."""
        return "\n".join(self._said)

    def compose(self) -> ComposeResult:
        yield self._scroll
        yield self.line

    def open(self, text: str = "") -> None:
        """Show it, with something typed already."""
        self.display = True
        self.line.disabled = False
        self.line.value = text
        self.line.cursor_position = len(text)
        self.line.focus()

    def close(self) -> None:
        """Hide it and forget what was said."""
        self.display = False
        self.line.disabled = True
        self._said.clear()
        self._show()

    def say(self, *lines: str) -> None:
        """Show lines below what is there."""
        if lines:
            self.display = True
            self._said = [*self._said, *map(printable, lines)][-_KEPT:]
            self._show()

    def _show(self) -> None:
        self._output.update(Content("\n".join(self._said)))
        self._scroll.display = bool(self._said)
        self._scroll.scroll_end(animate=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The line is complete."""
        event.stop()
        line = event.value.strip()
        self.line.value = ""
        if line.startswith("/"):
            self.post_message(self.Searched(line[1:].strip()))
            return
        self.line.remember(line)
        if line:
            self.say(f"> {line}")
            self.post_message(self.Entered(line))
