"""The console: a line to type commands into, and what they said above it. A sign before the line makes it a prompt for
something else: ``/`` for a text to find, ``@`` for a line of the source to go to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static

from ...runtime.text import counted
from ..screen.lines import fit
from ..screen.listing import fit_printed
from ..screen.text import printable
from .line_input import LineInput

#: So many lines of output are kept.
_KEPT = 2000
#: So many of the pasted lines that wait are shown.
_SHOWN_WAITING = 8
#: What a line that is no command begins with.
_FIND, _GO_TO = "/", "@"
#: Where the last word of a line begins, and what it can become.
Complete = Callable[[str], tuple[int, list[str]]]


def _prompt_sign(line: str) -> str:
    """What makes a line a prompt; "" for a command."""
    return line[:1] if line[:1] in (_FIND, _GO_TO) else ""


class _Line(LineInput):
    """The line itself: up and down bring earlier ones of its kind back, tab completes."""

    class Candidates(Message):
        """What could stand at the end of the line; empty for nothing to show."""

        def __init__(self, words: list[str]) -> None:
            super().__init__()
            self.words = words

    class Pasted(Message):
        """Lines that were pasted below the one that is typed into."""

        def __init__(self, lines: list[str]) -> None:
            super().__init__()
            self.lines = lines

    class Spaced(Message):
        """The space key in an empty line."""

    class Scrolled(Message):
        """A page of the transcript up (-1) or down."""

        def __init__(self, way: int) -> None:
            super().__init__()
            self.way = way

    def __init__(self, complete: Complete) -> None:
        super().__init__(
            placeholder="command, or help", select_on_focus=False, compact=True, suggester=_Names(complete)
        )
        self._complete = complete
        self._typed: list[str] = []
        self._at = 0

    def remember(self, line: str) -> None:
        """Keep a line for later."""
        if line and line != (self._typed[-1] if self._typed else ""):
            self._typed.append(line)
        self._at = len(self._typed)

    async def on_key(self, event: events.Key) -> None:
        """Keys that a one-line input leaves to others."""
        if event.key in ("up", "down"):
            self._recall(1 if event.key == "down" else -1)
        elif event.key in ("pageup", "pagedown"):
            self.post_message(self.Scrolled(-1 if event.key == "pageup" else 1))
        elif event.key == "tab":
            self._take()
        elif event.key == "space" and not self.value:
            self.post_message(self.Spaced())
        else:
            return
        event.stop()
        event.prevent_default()

    async def action_submit(self) -> None:
        """See :class:`~textual.widgets.Input`; the line is empty at once: what is typed ahead is for the next one."""
        await super().action_submit()
        self.value = ""

    def _recall(self, way: int) -> None:
        """Bring back the line before (-1) or after (1) among those of the same kind."""
        sign = _prompt_sign(self.value)
        at = self._at + way
        while 0 <= at < len(self._typed) and _prompt_sign(self._typed[at]) != sign:
            at += way
        if at >= 0:
            self._at = min(at, len(self._typed))
            self._put(self._typed[self._at] if self._at < len(self._typed) else sign)

    def insert_lines(self, lines: list[str]) -> None:
        """See :class:`LineInput`; pasted commands stay apart, one line each."""
        if len(lines) < 2 or _prompt_sign(self.value):
            super().insert_lines(lines)
            return
        begin, end = sorted(self.selection)
        before, after = self.value[:begin], self.value[end:]
        self._put(before + lines[0])
        self.post_message(self.Pasted([*lines[1:-1], lines[-1] + after]))

    def _put(self, text: str) -> None:
        self.value = text
        self.cursor_position = len(text)

    def _take(self) -> None:
        """Complete the last word as far as all that it can become agree, and show those."""
        start, words = self._complete(self.value)
        first, last = min(words, default=""), max(words, default="")
        # What the first and the last in order begin with, those between begin with as well.
        common = first[: next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]
        if len(common) > len(self.value) - start:
            self._put(self.value[:start] + common)
        self.post_message(self.Candidates(words if len(words) > 1 else []))


class _Names(Suggester):
    """The first of what the last word can become."""

    def __init__(self, complete: Complete) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._complete = complete

    async def get_suggestion(self, value: str) -> str | None:
        start, words = self._complete(value)
        word = next((word for word in words if len(word) > len(value) - start), None)
        return None if word is None or not value[start:] else value[:start] + word


class ConsolePane(Vertical):
    """Hidden until a key opens it; what commands said stays in its transcript."""

    class Entered(Message):
        """A line to run."""

        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    #: See :class:`_Line`.
    Spaced = _Line.Spaced

    class Searched(Message):
        """A text to find in the pane; "" for the one before."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Sought(Message):
        """A line of the source to go to: its number, or a name."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, complete: Complete, line_names: Callable[[], Sequence[str]], id: str) -> None:
        super().__init__(id=id)
        self._complete_command, self._line_names = complete, line_names
        self.line = _Line(self._complete)
        # Closed, it must not be what the keys go to.
        self.line.disabled = True
        #: It was opened for one line, and closes once that was done.
        self.once = False
        self._said: list[str] = []
        self._output = Static(id="said")
        self._scroll = VerticalScroll(self._output, id="said-scroll", can_focus=False)
        self._candidates = Static(id="candidates")
        self._candidates.display = False
        #: Pasted lines that run one after the other once the one that is typed into is entered.
        self._waiting: list[str] = []

    def _complete(self, line: str) -> tuple[int, list[str]]:
        """What the end of a command can become, or a name to go to; a text to find can be anything."""
        sign = _prompt_sign(line)
        if not sign:
            return self._complete_command(line)
        names = [name for name in self._line_names() if name.startswith(line[1:])] if sign == _GO_TO else []
        return (1, names) if names else (len(line), [])

    @property
    def text(self) -> str:
        """Its transcript."""
        return "\n".join(self._said)

    @property
    def candidates(self) -> str:
        """What it offers for the end of the line, "" for nothing."""
        return str(self._candidates.content) if self._candidates.display else ""

    def compose(self) -> ComposeResult:
        yield self._scroll
        yield self._candidates
        yield self.line

    def open(self, text: str = "", once: bool = False) -> None:
        """Show it, with something typed already."""
        self.display = True
        self.once = once
        self.line.disabled = False
        self.line.value = text
        self.line.cursor_position = len(text)
        # At once: what is typed ahead is for it.
        self.screen.set_focus(self.line)
        self._show()

    def close(self) -> None:
        """Hide it; pasted lines that wait are said not to have run."""
        self.drop_waiting()
        self.display = False
        self.once = False
        self.line.disabled = True
        self._candidates.display = False

    def say(self, *lines: str) -> None:
        """Show lines below what is there."""
        if lines:
            self.display = True
            self._said = [*self._said, *map(printable, lines)][-_KEPT:]
            self._show()

    def refused(self, line: str) -> None:
        """A line went wrong: one that it was opened for stays to be mended, pasted ones behind it do not run."""
        self.drop_waiting()
        if self.once and not self.line.value:
            self.line.value = line
            self.line.cursor_position = len(line)

    def run_waiting(self) -> None:
        """A line is done: run the next one of those that were pasted."""
        if self._waiting:
            self._enter(self._waiting.pop(0))

    def drop_waiting(self) -> None:
        """Run no pasted line any more, and say which ones did not run."""
        if self._waiting:
            told, self._waiting = _counted_lines(self._waiting), []
            self.say("not run:", *told)

    def _show(self) -> None:
        # Before it is visible it has no size: both sides and the scroll bar take what is left of the screen.
        width = self._scroll.scrollable_content_region.width or self.app.size.width - 4
        self._output.update(Content("\n".join(fit_printed(self._said, width))))
        self._scroll.display = bool(self._said)
        self._scroll.scroll_end(animate=False)

    def on_resize(self) -> None:
        """What was cut to the width is cut to another one."""
        if self._said:
            self._show()

    def on_input_changed(self) -> None:
        """What was offered was for the line as it was."""
        self._candidates.display = False

    def on__line_candidates(self, event: _Line.Candidates) -> None:
        """Show what the last word can become."""
        event.stop()
        # After the change of the line that completing made, which hides them.
        self.call_after_refresh(self._offer, event.words)

    def _offer(self, words: list[str]) -> None:
        self._candidates.display = bool(words)
        self._candidates.update(Content(fit(printable("  ".join(words)), max(1, 2 * self.size.width - 4))))

    def on__line_pasted(self, event: _Line.Pasted) -> None:
        """Several lines were pasted: they wait for the first one to be entered."""
        event.stop()
        self.once = False
        self._waiting[:0] = event.lines
        self.say("enter runs these lines after it, one by one; esc drops them:", *_counted_lines(self._waiting))

    def on__line_scrolled(self, event: _Line.Scrolled) -> None:
        """A page of the transcript."""
        event.stop()
        self._scroll.scroll_relative(y=event.way * max(1, self._scroll.size.height - 1), animate=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The line is complete."""
        event.stop()
        line = event.value.strip()
        meant = {_FIND: self.Searched, _GO_TO: self.Sought}.get(line[:1])
        if meant is not None:
            self.line.remember(line)
            self.post_message(meant(line[1:].strip()))
        elif line:
            self._enter(line)
        else:
            self.run_waiting()

    def _enter(self, line: str) -> None:
        self.line.remember(line)
        self.say(f"> {line}")
        self.post_message(self.Entered(line))


def _counted_lines(lines: Sequence[str]) -> list[str]:
    """Lines to be shown, of many the first ones and how many more there are."""
    more = len(lines) - _SHOWN_WAITING
    shown = [f"  {line}" for line in lines[:_SHOWN_WAITING]]
    return [*shown, f"  … {counted(more, 'more line')}"] if more > 0 else shown
