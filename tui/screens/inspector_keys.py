"""The keys of the inspector: bindings, the line at its foot, and its help come from this table."""

from __future__ import annotations

from typing import NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from .above import Above


class Key(NamedTuple):
    """One thing to do. ``sign``: how the key is written; ``label``: at the foot, "" for in the help alone."""

    keys: str
    does: str
    sign: str
    label: str
    help: str


KEYS = (
    Key("left", "iteration(-1)", "←", "", "the value in the iteration before"),
    Key("right", "iteration(1)", "→", "", "the value in the next iteration, up to the one at hand"),
    Key("g", "ask('iteration')", "g", "iteration", "the value in an iteration that is typed"),
    Key("up,k", "cursor(-1, 0)", "↑ k", "", "a row up"),
    Key("down,j", "cursor(1, 0)", "↓ j", "", "a row down"),
    Key("shift+left,h", "cursor(0, -1)", "h", "", "a cell to the left"),
    Key("shift+right,l", "cursor(0, 1)", "l", "", "a cell to the right"),
    Key("pageup", "page(-1)", "pgup", "", "a page of rows up"),
    Key("pagedown", "page(1)", "pgdn", "", "a page of rows down"),
    Key("home", "jump(0)", "home", "", "the first element"),
    Key("end", "jump(-1)", "end", "", "the last element"),
    Key("left_square_bracket", "ask('slice')", "[", "slice", "a slice, as NumPy writes it: [0, :, 3]"),
    Key("enter", "open", "enter", "", "open an item of a sequence; type a slice of a tensor"),
    Key("f", "format", "f", "digits", "how numbers are written: 4, 8, all digits, exponents, bits"),
    Key("m", "heat", "m", "heat map", "all of it as a picture, or the numbers again"),
    Key("t", "difference", "t", "Δ", "the difference to another iteration, or the numbers again"),
    Key("d", "ask('compare')", "d", "Δ to", "which iteration the difference is to"),
    Key("n", "not_finite", "n", "NaN", "the next NaN or infinity"),
    Key("x", "largest", "x", "largest Δ", "the element that changed most"),
    Key("slash", "ask('find')", "/", "find", "the next element with a value: 0.5, nan, > 3, != 0"),
    Key("p", "plot", "p", "plot", "the value over iterations, as large as the screen"),
    Key("s", "ask('save')", "s", "save", "save it as .npy"),
    Key("y", "copy_cell", "y", "copy", "copy the element"),
    Key("Y", "copy_part", "Y", "as NumPy", "copy what is in the slice as a NumPy expression"),
    Key("b", "break_if", "b", "break if", "a breakpoint on this element"),
    Key("question_mark,f1", "help", "?", "help", "these keys"),
    Key("escape,q", "leave", "esc", "back", "back to where it was opened"),
)


#: At the foot these are always there, at its end.
_ALWAYS = ("?", "esc")


def foot(width: int) -> list[str | tuple[str, str]]:
    """The line at the foot: as many keys as there is room for."""
    labelled = [key for key in KEYS if key.label]
    ends = [key for key in labelled if key.sign in _ALWAYS]
    room = width - sum(len(key.sign) + len(key.label) + 3 for key in ends)
    told: list[str | tuple[str, str]] = []
    for key in labelled:
        taken = len(key.sign) + len(key.label) + 3
        if key not in ends and taken <= room:
            room -= taken
            told += [(key.sign, "bold $accent"), f" {key.label}  "]
    for key in ends:
        told += [(key.sign, "bold $accent"), f" {key.label}  "]
    return told


class KeysScreen(Above[None]):
    """The keys of the inspector; goes away with any of those that a person would try."""

    BINDINGS = [Binding("escape,q,question_mark,f1,enter", "leave", "close")]

    def compose(self) -> ComposeResult:
        parts: list[str | tuple[str, str]] = []
        for key in KEYS:
            parts += [(f"  {key.sign:<8}", "$accent"), f"{key.help}\n"]
        with VerticalScroll(id="help") as box:
            box.border_title = "Inspector"
            box.border_subtitle = "esc closes"
            yield Static(Content.assemble(*parts).rstrip())
