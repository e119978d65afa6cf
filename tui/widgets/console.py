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

from ...runtime.text import count_text
from ..render.formatting import escape_unprintable
from ..render.source_listing import fit_printed_rows
from ..render.styled_text import truncate
from .line_input import LineInput

#: So many lines of output are kept.
_TRANSCRIPT_MAX_LINES = 2000
#: So many of the pasted lines that wait are shown.
_SHOWN_PASTED_LINES_MAX = 8
#: What a line that is no command begins with.
_FIND_SIGN, _GO_TO_SIGN = "/", "@"
#: Where the last word of a line begins, and what it can become.
Completer = Callable[[str], tuple[int, list[str]]]


def _prompt_sign(line: str) -> str:
    """What makes a line a prompt; "" for a command."""
    return line[:1] if line[:1] in (_FIND_SIGN, _GO_TO_SIGN) else ""


class ConsoleInput(LineInput):
    """The line itself: up and down bring earlier ones of its kind back, tab completes."""

    class CandidatesFound(Message):
        """What could stand at the end of the line; empty for nothing to show."""

        def __init__(self, words: list[str]) -> None:
            super().__init__()
            self.words = words

    class LinesPasted(Message):
        """Lines that were pasted below the one that is typed into."""

        def __init__(self, lines: list[str]) -> None:
            super().__init__()
            self.lines = lines

    class SpacePressed(Message):
        """The space key in an empty line."""

    class TranscriptScrolled(Message):
        """A page of the transcript up (-1) or down."""

        def __init__(self, way: int) -> None:
            super().__init__()
            self.direction = way

    def __init__(self, complete: Completer) -> None:
        super().__init__(
            placeholder="command, or help", select_on_focus=False, compact=True, suggester=_ConsoleSuggester(complete)
        )
        self._completer = complete
        self._entered_lines: list[str] = []
        self._recall_index = 0

    def add_to_history(self, line: str) -> None:
        """Keep a line for later."""
        if line and line != (self._entered_lines[-1] if self._entered_lines else ""):
            self._entered_lines.append(line)
        self._recall_index = len(self._entered_lines)

    async def on_key(self, event: events.Key) -> None:
        """Keys that a one-line input leaves to others."""
        if event.key in ("up", "down"):
            self._recall(1 if event.key == "down" else -1)
        elif event.key in ("pageup", "pagedown"):
            self.post_message(self.TranscriptScrolled(-1 if event.key == "pageup" else 1))
        elif event.key == "tab":
            self._complete_word()
        elif event.key == "space" and not self.value:
            self.post_message(self.SpacePressed())
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
        at = self._recall_index + way
        while 0 <= at < len(self._entered_lines) and _prompt_sign(self._entered_lines[at]) != sign:
            at += way
        if at >= 0:
            self._recall_index = min(at, len(self._entered_lines))
            self._set_text(
                self._entered_lines[self._recall_index] if self._recall_index < len(self._entered_lines) else sign
            )

    def insert_lines(self, lines: list[str]) -> None:
        """See :class:`LineInput`; pasted commands stay apart, one line each."""
        if len(lines) < 2 or _prompt_sign(self.value):
            super().insert_lines(lines)
            return
        begin, end = sorted(self.selection)
        before, after = self.value[:begin], self.value[end:]
        self._set_text(before + lines[0])
        self.post_message(self.LinesPasted([*lines[1:-1], lines[-1] + after]))

    def _set_text(self, text: str) -> None:
        self.value = text
        self.cursor_position = len(text)

    def _complete_word(self) -> None:
        """Complete the last word as far as all that it can become agree, and show those."""
        start, words = self._completer(self.value)
        first, last = min(words, default=""), max(words, default="")
        # What the first and the last in order begin with, those between begin with as well.
        common = first[: next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]
        if len(common) > len(self.value) - start:
            self._set_text(self.value[:start] + common)
        self.post_message(self.CandidatesFound(words if len(words) > 1 else []))


class _ConsoleSuggester(Suggester):
    """The first of what the last word can become."""

    def __init__(self, complete: Completer) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._completer = complete

    async def get_suggestion(self, value: str) -> str | None:
        start, words = self._completer(value)
        word = next((word for word in words if len(word) > len(value) - start), None)
        return None if word is None or not value[start:] else value[:start] + word


class ConsolePane(Vertical):
    """Hidden until a key opens it; what commands said stays in its transcript."""

    class LineEntered(Message):
        """A line to run."""

        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    #: See :class:`ConsoleInput`.
    SpacePressed = ConsoleInput.SpacePressed

    class SearchRequested(Message):
        """A text to find in the pane; "" for the one before."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class LineRequested(Message):
        """A line of the source to go to: its number, or a name."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, complete: Completer, line_names: Callable[[], Sequence[str]], id: str) -> None:
        super().__init__(id=id)
        self._complete_command, self._line_names = complete, line_names
        self.input_line = ConsoleInput(self._complete)
        # Closed, it must not be what the keys go to.
        self.input_line.disabled = True
        #: It was opened for one line, and closes once that was done.
        self.one_shot = False
        self._transcript: list[str] = []
        self._transcript_label = Static(id="said")
        self._transcript_scroll = VerticalScroll(self._transcript_label, id="said-scroll", can_focus=False)
        self._candidates_label = Static(id="candidates")
        self._candidates_label.display = False
        #: Pasted lines that run one after the other once the one that is typed into is entered.
        self._pasted_lines: list[str] = []

    def _complete(self, line: str) -> tuple[int, list[str]]:
        """What the end of a command can become, or a name to go to; a text to find can be anything."""
        sign = _prompt_sign(line)
        if not sign:
            return self._complete_command(line)
        names = [name for name in self._line_names() if name.startswith(line[1:])] if sign == _GO_TO_SIGN else []
        return (1, names) if names else (len(line), [])

    @property
    def text(self) -> str:
        """Its transcript."""
        return "\n".join(self._transcript)

    @property
    def candidates(self) -> str:
        """What it offers for the end of the line, "" for nothing."""
        return str(self._candidates_label.content) if self._candidates_label.display else ""

    def compose(self) -> ComposeResult:
        yield self._transcript_scroll
        yield self._candidates_label
        yield self.input_line

    def open(self, text: str = "", once: bool = False) -> None:
        """Show it, with something typed already."""
        self.display = True
        self.one_shot = once
        self.input_line.disabled = False
        self.input_line.value = text
        self.input_line.cursor_position = len(text)
        # At once: what is typed ahead is for it.
        self.screen.set_focus(self.input_line)
        self._refresh_transcript()

    def close(self) -> None:
        """Hide it; pasted lines that wait are said not to have run."""
        self.drop_pasted()
        self.display = False
        self.one_shot = False
        self.input_line.disabled = True
        self._candidates_label.display = False

    def say(self, *lines: str) -> None:
        """Show lines below what is there."""
        if lines:
            self.display = True
            self._transcript = [*self._transcript, *map(escape_unprintable, lines)][-_TRANSCRIPT_MAX_LINES:]
            self._refresh_transcript()

    def reject_line(self, line: str) -> None:
        """A line went wrong: one that it was opened for stays to be mended, pasted ones behind it do not run."""
        self.drop_pasted()
        if self.one_shot and not self.input_line.value:
            self.input_line.value = line
            self.input_line.cursor_position = len(line)

    def run_next_pasted(self) -> None:
        """A line is done: run the next one of those that were pasted."""
        if self._pasted_lines:
            self._submit_line(self._pasted_lines.pop(0))

    def drop_pasted(self) -> None:
        """Run no pasted line any more, and say which ones did not run."""
        if self._pasted_lines:
            told, self._pasted_lines = _pasted_preview(self._pasted_lines), []
            self.say("not run:", *told)

    def _refresh_transcript(self) -> None:
        # Before it is visible it has no size: both sides and the scroll bar take what is left of the screen.
        width = self._transcript_scroll.scrollable_content_region.width or self.app.size.width - 4
        self._transcript_label.update(Content("\n".join(fit_printed_rows(self._transcript, width))))
        self._transcript_scroll.display = bool(self._transcript)
        self._transcript_scroll.scroll_end(animate=False)

    def on_resize(self) -> None:
        """What was cut to the width is cut to another one."""
        if self._transcript:
            self._refresh_transcript()

    def on_input_changed(self) -> None:
        """What was offered was for the line as it was."""
        self._candidates_label.display = False

    def on_console_input_candidates_found(self, event: ConsoleInput.CandidatesFound) -> None:
        """Show what the last word can become."""
        event.stop()
        # After the change of the line that completing made, which hides them.
        self.call_after_refresh(self._show_candidates, event.words)

    def _show_candidates(self, words: list[str]) -> None:
        self._candidates_label.display = bool(words)
        self._candidates_label.update(
            Content(truncate(escape_unprintable("  ".join(words)), max(1, 2 * self.size.width - 4)))
        )

    def on_console_input_lines_pasted(self, event: ConsoleInput.LinesPasted) -> None:
        """Several lines were pasted: they wait for the first one to be entered."""
        event.stop()
        self.one_shot = False
        self._pasted_lines[:0] = event.lines
        self.say("enter runs these lines after it, one by one; esc drops them:", *_pasted_preview(self._pasted_lines))

    def on_console_input_transcript_scrolled(self, event: ConsoleInput.TranscriptScrolled) -> None:
        """A page of the transcript."""
        event.stop()
        self._transcript_scroll.scroll_relative(
            y=event.direction * max(1, self._transcript_scroll.size.height - 1), animate=False
        )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The line is complete."""
        event.stop()
        line = event.value.strip()
        meant = {_FIND_SIGN: self.SearchRequested, _GO_TO_SIGN: self.LineRequested}.get(line[:1])
        if meant is not None:
            self.input_line.add_to_history(line)
            self.post_message(meant(line[1:].strip()))
        elif line:
            self._submit_line(line)
        else:
            self.run_next_pasted()

    def _submit_line(self, line: str) -> None:
        self.input_line.add_to_history(line)
        self.say(f"> {line}")
        self.post_message(self.LineEntered(line))


def _pasted_preview(lines: Sequence[str]) -> list[str]:
    """Lines to be shown, of many the first ones and how many more there are."""
    more = len(lines) - _SHOWN_PASTED_LINES_MAX
    shown = [f"  {line}" for line in lines[:_SHOWN_PASTED_LINES_MAX]]
    return [*shown, f"  … {count_text(more, 'more line')}"] if more > 0 else shown
