"""The help screen: the keys, the signs, the words."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

_HELP = (
    (
        "Steps",
        (
            ("s", "one iteration: to the next boundary of this loop"),
            ("n", "one node of the body; an inner loop counts as one"),
            ("i", "one node, but into it where it is a loop"),
            ("f", "finish: to the end of this loop"),
            ("c", "continue: to the next breakpoint, the end, or a limit"),
            ("← N", "back by an iteration, back by a node"),
            ("C", "back to the last stop of a breakpoint"),
            ("r", "restart: back to before iteration 0 of the first loop"),
            ("esc x", "interrupt what runs, at its next boundary"),
        ),
    ),
    (
        "Looking",
        (
            ("[ ]", "the frame around this one, the frame inside it"),
            ("tab", "the next pane; arrow and page keys scroll it"),
            ("b w e g", "break at, watch, set a value, go to an iteration"),
            ("W l", "why the loop goes on or ended, list the loop"),
            (":", "the console: help lists its commands, esc closes it"),
            ("? q", "this help, quit"),
        ),
    ),
    (
        "Signs",
        (
            ("▶ ✗", "the node that runs next, the node that failed"),
            ("· –", "not computed yet, in the branch not taken"),
            ("T F", "at this boundary the loop went on, it ended"),
            ("= ±", "unchanged, the largest change of an element"),
            ("~ …", "rounded, left out"),
            ("×", "NaN or Inf in a picture"),
        ),
    ),
    (
        "Words",
        (
            ("boundary", "the moment between two iterations"),
            ("back edge", "carries what one iteration yields to the next one"),
            ("history", "what it carried (of a tensor the norm) at the stops"),
            ("scan output", "collects one element of every iteration"),
            ("capture", "a value of the graph around that the body uses"),
            ("frame", "one running loop; nested loops make a stack"),
        ),
    ),
)


def _content() -> Content:
    parts: list[str | tuple[str, str]] = []
    for title, rows in _HELP:
        parts.append((f"{title}\n", "bold"))
        for sign, text in rows:
            parts += [(f"  {sign:<13}", "$accent"), f"{text}\n"]
        parts.append("\n")
    return Content.assemble(*parts[:-1]).rstrip()


class HelpScreen(ModalScreen[None]):
    """Goes away with any of the keys that a person would try."""

    BINDINGS = [Binding("escape,q,question_mark,f1,enter", "dismiss", "close")]

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as box:
            box.border_title = "Help"
            box.border_subtitle = "esc closes"
            yield Static(_content())
