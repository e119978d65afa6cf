"""The console: a command line with its transcript above. A leading sign makes the line another prompt: ``/`` for a text
to find, ``@`` for a source line to go to."""

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

#: The number of output lines kept.
_TRANSCRIPT_MAX_LINES = 2000
#: The number of pending pasted lines shown.
_SHOWN_PASTED_LINES_MAX = 8
#: Prefixes of lines that are not commands.
FIND_SIGN, GO_TO_SIGN = "/", "@"
#: Returns the start of the last word of a line, and its completions.
Completer = Callable[[str], tuple[int, list[str]]]


def _prompt_sign(line: str) -> str:
    """The prompt prefix of a line; "" for a command."""
    return line[:1] if line[:1] in (FIND_SIGN, GO_TO_SIGN) else ""


class ConsoleInput(LineInput):
    """The input line: up and down recall earlier lines with the same prefix, tab completes."""

    class CandidatesFound(Message):
        """The completion candidates of the last word; empty to show none."""

        def __init__(self, words: list[str]) -> None:
            super().__init__()
            self.words = words

    class LinesPasted(Message):
        """Further lines of a multi-line paste."""

        def __init__(self, lines: list[str]) -> None:
            super().__init__()
            self.lines = lines

    class SpacePressed(Message):
        """The space key in an empty line."""

    class TranscriptScrolled(Message):
        """A page of the transcript up (-1) or down."""

        def __init__(self, direction: int) -> None:
            super().__init__()
            self.direction = direction

    def __init__(self, complete: Completer) -> None:
        super().__init__(
            placeholder="command, or help", select_on_focus=False, compact=True, suggester=_ConsoleSuggester(complete)
        )
        self._completer = complete
        self._entered_lines: list[str] = []
        self._recall_index = 0

    def add_to_history(self, line: str) -> None:
        """Add a line to the history."""
        if line and line != (self._entered_lines[-1] if self._entered_lines else ""):
            self._entered_lines.append(line)
        self._recall_index = len(self._entered_lines)

    async def on_key(self, event: events.Key) -> None:
        """Handle keys that a one-line input ignores."""
        if event.key in ("up", "down"):
            self._recall_line(1 if event.key == "down" else -1)
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
        """See :class:`~textual.widgets.Input`; clears the line at once, so that typed-ahead keys go to the next one."""
        await super().action_submit()
        self.value = ""

    def _recall_line(self, direction: int) -> None:
        """Recall the previous (-1) or next (1) line with the same prefix."""
        sign = _prompt_sign(self.value)
        index = self._recall_index + direction
        while 0 <= index < len(self._entered_lines) and _prompt_sign(self._entered_lines[index]) != sign:
            index += direction
        if index >= 0:
            self._recall_index = min(index, len(self._entered_lines))
            self._set_text(
                self._entered_lines[self._recall_index] if self._recall_index < len(self._entered_lines) else sign
            )

    def insert_lines(self, lines: list[str]) -> None:
        """See :class:`LineInput`; pasted commands stay separate lines."""
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
        """Complete the last word to the common prefix of its candidates, and show them."""
        start, words = self._completer(self.value)
        first, last = min(words, default=""), max(words, default="")
        # The common prefix of the smallest and the largest word is that of all.
        common = first[: next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]
        if len(common) > len(self.value) - start:
            self._set_text(self.value[:start] + common)
        self.post_message(self.CandidatesFound(words if len(words) > 1 else []))


class _ConsoleSuggester(Suggester):
    """Suggests the first completion of the last word."""

    def __init__(self, complete: Completer) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._completer = complete

    async def get_suggestion(self, value: str) -> str | None:
        start, words = self._completer(value)
        word = next((word for word in words if len(word) > len(value) - start), None)
        return None if word is None or not value[start:] else value[:start] + word


class ConsolePane(Vertical):
    """Hidden until a key opens it; the transcript keeps the output of commands."""

    class LineEntered(Message):
        """A line was entered: a command; after its ``sign``, a text to find or a source line to go to, "" for none."""

        def __init__(self, line: str, sign: str = "") -> None:
            super().__init__()
            self.line, self.sign = line, sign

    #: See :class:`ConsoleInput`.
    SpacePressed = ConsoleInput.SpacePressed

    def __init__(self, complete: Completer, line_names: Callable[[], Sequence[str]], id: str) -> None:
        super().__init__(id=id)
        self._complete_command, self._line_names = complete, line_names
        self.input_line = ConsoleInput(self._complete_line)
        # A closed console must not receive keys.
        self.input_line.disabled = True
        #: The console closes after one line.
        self.one_shot = False
        self._transcript: list[str] = []
        self._transcript_label = Static(id="transcript")
        self._transcript_scroll = VerticalScroll(self._transcript_label, id="transcript-scroll", can_focus=False)
        self._candidates_label = Static(id="candidates")
        self._candidates_label.display = False
        #: Pasted lines that run in order after the current line.
        self._pasted_lines: list[str] = []

    def _complete_line(self, line: str) -> tuple[int, list[str]]:
        """Complete a command or the name of a source line; searches have no completion."""
        sign = _prompt_sign(line)
        if not sign:
            return self._complete_command(line)
        names = [name for name in self._line_names() if name.startswith(line[1:])] if sign == GO_TO_SIGN else []
        return (1, names) if names else (len(line), [])

    @property
    def text(self) -> str:
        """The transcript."""
        return "\n".join(self._transcript)

    @property
    def candidates(self) -> str:
        """The completion candidates shown, "" for none."""
        return str(self._candidates_label.content) if self._candidates_label.display else ""

    def compose(self) -> ComposeResult:
        yield self._transcript_scroll
        yield self._candidates_label
        yield self.input_line

    def open(self, text: str = "", one_shot: bool = False) -> None:
        """Show the console with a prefilled line."""
        self.display = True
        self.one_shot = one_shot
        self.input_line.disabled = False
        self.input_line.value = text
        self.input_line.cursor_position = len(text)
        # At once, so that typed-ahead keys reach the line.
        self.screen.set_focus(self.input_line)
        self._refresh_transcript()

    def close(self) -> None:
        """Hide the console; pending pasted lines are reported as not run."""
        self.drop_pasted()
        self.display = False
        self.one_shot = False
        self.input_line.disabled = True
        self._candidates_label.display = False

    def say(self, *lines: str) -> None:
        """Append lines to the transcript."""
        if lines:
            self.display = True
            self._transcript = [*self._transcript, *map(escape_unprintable, lines)][-_TRANSCRIPT_MAX_LINES:]
            self._refresh_transcript()

    def restore_failed_line(self, line: str) -> None:
        """Handle a failed line: a one-shot line is restored for correction, pending pasted lines are dropped."""
        self.drop_pasted()
        if self.one_shot and not self.input_line.value:
            self.input_line.value = line
            self.input_line.cursor_position = len(line)

    def run_next_pasted(self) -> None:
        """Run the next pasted line."""
        if self._pasted_lines:
            self._submit_line(self._pasted_lines.pop(0))

    def drop_pasted(self) -> None:
        """Drop pending pasted lines, and report them."""
        if self._pasted_lines:
            dropped, self._pasted_lines = _pasted_preview(self._pasted_lines), []
            self.say("not run:", *dropped)

    def _refresh_transcript(self) -> None:
        # Without a size yet, subtract borders and scroll bar from the screen width.
        width = self._transcript_scroll.scrollable_content_region.width or self.app.size.width - 4
        self._transcript_label.update(Content("\n".join(fit_printed_rows(self._transcript, width))))
        self._transcript_scroll.display = bool(self._transcript)
        self._transcript_scroll.scroll_end(animate=False)

    def on_resize(self) -> None:
        """Refit the transcript to the new width."""
        if self._transcript:
            self._refresh_transcript()

    def on_input_changed(self) -> None:
        """Hide the candidates, which belong to the previous text."""
        self._candidates_label.display = False

    def on_console_input_candidates_found(self, event: ConsoleInput.CandidatesFound) -> None:
        """Show the completions of the last word."""
        event.stop()
        # Deferred: the change event of the completion itself hides the candidates.
        self.call_after_refresh(self._show_candidates, event.words)

    def _show_candidates(self, words: list[str]) -> None:
        self._candidates_label.display = bool(words)
        self._candidates_label.update(
            Content(truncate(escape_unprintable("  ".join(words)), max(1, 2 * self.size.width - 4)))
        )

    def on_console_input_lines_pasted(self, event: ConsoleInput.LinesPasted) -> None:
        """Queue pasted lines until the first is entered."""
        event.stop()
        self.one_shot = False
        self._pasted_lines[:0] = event.lines
        self.say("enter runs these lines after it, one by one; esc drops them:", *_pasted_preview(self._pasted_lines))

    def on_console_input_transcript_scrolled(self, event: ConsoleInput.TranscriptScrolled) -> None:
        event.stop()
        self._transcript_scroll.scroll_relative(
            y=event.direction * max(1, self._transcript_scroll.size.height - 1), animate=False
        )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        line = event.value.strip()
        if sign := _prompt_sign(line):
            self.input_line.add_to_history(line)
            self.post_message(self.LineEntered(line[1:].strip(), sign))
        elif line:
            self._submit_line(line)
        else:
            self.run_next_pasted()

    def _submit_line(self, line: str) -> None:
        self.input_line.add_to_history(line)
        self.say(f"> {line}")
        self.post_message(self.LineEntered(line))


def _pasted_preview(lines: Sequence[str]) -> list[str]:
    """The first pasted lines, and the number of further ones."""
    hidden_count = len(lines) - _SHOWN_PASTED_LINES_MAX
    preview = [f"  {line}" for line in lines[:_SHOWN_PASTED_LINES_MAX]]
    return [*preview, f"  … {count_text(hidden_count, 'more line')}"] if hidden_count > 0 else preview
