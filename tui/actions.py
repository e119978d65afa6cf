"""Everything that a person can do on the screen, in one table.

Key bindings, the line of keys at the foot, the help, the palette, what a config file may remap, and docs/keys.md come
from it; what is not in it cannot be done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ..runtime.errors import UsageError
from ..runtime.text import did_you_mean
from .requests import Command
from .screen.targets import BreakpointTarget, LineTarget, Target, value_of
from .screen.view import Shown

#: What a config file calls keys, and what a key is called where people read it.
_SIGNS = {
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "escape": "esc",
    "backspace": "⌫",
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
    "minus": "-",
    "plus": "+",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "pageup": "pgup",
    "pagedown": "pgdn",
}
_KEYS = {sign: key for key, sign in _SIGNS.items()}


@dataclass(frozen=True)
class Now:
    """What the screen stands at, as far as actions depend on it. ``pane``: the id of the one that has the focus;
    ``target``: what its cursor is on."""

    shown: Shown | None = None
    #: A command runs or waits; ``slow``: for so long that the screen says so.
    busy: bool = False
    slow: bool = False
    #: The console is open; ``typing``: its line has the focus.
    console: bool = False
    typing: bool = False
    full: bool = False
    #: A search is under way in the pane.
    searching: bool = False
    pane: str = ""
    target: Target | None = None
    #: A lesson is open beside the panes.
    lesson: bool = False

    @property
    def here(self) -> bool:
        """Something is shown, and nothing runs for long."""
        return self.shown is not None and not self.slow

    @property
    def ahead(self) -> bool:
        """There is something left to run."""
        return self.here and self.shown is not None and not self.shown.done

    @property
    def behind(self) -> bool:
        """There is somewhere to go back to."""
        return self.here and self.shown is not None and not self.shown.view.beginning

    @property
    def recorded(self) -> bool:
        """A recording is shown: nothing runs."""
        return self.shown is not None and self.shown.view.recorded

    @property
    def looping(self) -> bool:
        """A loop is in focus."""
        return self.here and self.shown is not None and self.shown.frame.frame.loop is not None

    @property
    def nested(self) -> bool:
        """There are frames to choose from."""
        return self.here and self.shown is not None and len(self.shown.view.frames) > 1


class Section(StrEnum):
    """A chapter of the help."""

    STEPS = "Steps"
    BREAK = "Breakpoints and values"
    LOOK = "Looking"
    MOVE = "Cursor"
    SCREEN = "Screen"
    LESSON = "In a lesson"
    CONSOLE = "In the console"


When = Callable[[Now], bool]


def _always(now: Now) -> bool:
    return True


@dataclass(frozen=True)
class Action:
    """One thing to do. ``does``: the app's action, as Textual writes it; ``label``: at the foot, "" for never there.

    ``when``: whether it would do something now; the foot and the palette show it only then. ``panes``: where it is
    about a pane, the ids of those; keys mean this only there, before what they mean elsewhere. ``rank``: at the foot
    the lowest come first. ``only``: False where its key is to say why not, instead of being free for others.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    does: str
    section: Section
    when: When = _always
    panes: tuple[str, ...] = ()
    rank: int = 50
    only: bool = False
    #: Before what the focused widget makes of the key.
    first: bool = False
    #: While a line is typed as well.
    typed: bool = False

    def applies(self, now: Now) -> bool:
        """Whether it would do something now."""
        return (not self.panes or now.pane in self.panes) and (self.typed or not now.typing) and self.when(now)

    def bound(self, now: Now) -> bool:
        """Whether its key means it now."""
        if self.panes and (now.pane not in self.panes or now.typing):
            return False
        return not self.only or self.when(now)


def _ask(command: Command) -> str:
    return f"ask('{command}')"


def _stopped_line(now: Now) -> bool:
    return now.here and not now.recorded and isinstance(now.target, LineTarget) and bool(now.target.node)


def _on_value(now: Now) -> bool:
    return now.here and value_of(now.target) is not None


def _on_breakpoint(now: Now) -> bool:
    return now.here and isinstance(now.target, BreakpointTarget)


_STEPS = (
    Action("step", ("s", "right"), "step", "one iteration: to the next boundary of this loop",
           _ask(Command.STEP), Section.STEPS, lambda now: now.ahead, rank=1),
    Action("node", ("n",), "node", "one node of the body; an inner loop counts as one",
           _ask(Command.NODE), Section.STEPS, lambda now: now.ahead and not now.recorded, rank=2),
    Action("continue", ("c",), "continue", "on to the next breakpoint, the end, or a limit",
           _ask(Command.CONTINUE), Section.STEPS, lambda now: now.ahead, rank=3),
    Action("back", ("left", "S", "backspace"), "back", "back by an iteration",
           _ask(Command.BACK), Section.STEPS, lambda now: now.behind, rank=4),
    Action("into", ("i",), "into", "one node, but into it where it is a loop",
           _ask(Command.INTO), Section.STEPS, lambda now: now.ahead and not now.recorded, rank=12),
    Action("finish", ("f", "o"), "finish", "to the end of this loop",
           _ask(Command.FINISH), Section.STEPS, lambda now: now.ahead, rank=8),
    Action("back-node", ("N", "shift+left"), "", "back by a node",
           _ask(Command.BACK_NODE), Section.STEPS, lambda now: now.behind and not now.recorded),
    Action("reverse-continue", ("C",), "", "back to the last stop of a breakpoint",
           _ask(Command.BACK_ON), Section.STEPS, lambda now: now.behind),
    Action("goto", ("g",), "goto", "to an iteration of this loop, back or ahead",
           "console('goto ')", Section.STEPS, lambda now: now.looping, rank=16),
    Action("restart", ("r",), "restart", "back to before iteration 0 of the first loop; interrupts what runs",
           _ask(Command.RESTART), Section.STEPS, lambda now: now.behind or now.slow, rank=20),
    Action("stop", ("space",), "stop", "interrupt what runs, at its next boundary",
           "interrupt", Section.STEPS, lambda now: now.busy and not now.typing, rank=0, only=True, first=True),
    # With the focus anywhere, text selected, or a help open: what runs can be stopped.
    Action("stop-always", ("ctrl+c",), "", "the same, while a line is typed too",
           "interrupt_always", Section.STEPS, lambda now: now.busy, only=True, first=True, typed=True),
)  # fmt: skip

_BREAKS = (
    Action("break-here", ("b",), "break here", "set or clear a breakpoint on the line of the cursor, or break if its "
           "value ...", "break_here", Section.BREAK, lambda now: _stopped_line(now) or _on_value(now), rank=5),
    Action("break", ("B",), "", "a breakpoint in words: iter 40, if err < 1e-3, nan",
           "console('break ')", Section.BREAK, lambda now: now.here),
    Action("watch", ("w",), "watch", "stop where a value changes",
           "watch", Section.BREAK, lambda now: now.here, rank=18),
    Action("edit-breakpoint", ("e",), "edit", "change what the breakpoint asks for",
           "edit_breakpoint", Section.BREAK, _on_breakpoint, ("breakpoints",), rank=1, only=True),
    Action("delete", ("d", "delete"), "delete", "forget the breakpoint",
           "delete_breakpoint", Section.BREAK, _on_breakpoint, ("breakpoints",), rank=1, only=True),
    Action("edit", ("e",), "edit", "change a value: a branch of time begins",
           "edit", Section.BREAK, lambda now: now.ahead and not now.recorded, rank=17),
    Action("plot", ("p",), "plot", "the value over iterations",
           "plot", Section.BREAK, _on_value, rank=9),
)  # fmt: skip

_LOOKS = (
    Action("open", ("enter",), "open", "open what the cursor is on: a value, a frame, a breakpoint, a moment",
           "open", Section.LOOK, lambda now: now.here and now.target is not None, rank=6),
    Action("why", ("W",), "why", "why the loop goes on, or ended",
           "why", Section.LOOK, lambda now: now.looping, rank=7),
    Action("find", ("slash",), "find", "find a text in the pane",
           "find", Section.LOOK, lambda now: now.here, rank=19),
    Action("find-next", ("n",), "next", "the next line with the text",
           "find_next(1)", Section.LOOK, lambda now: now.searching, rank=1, only=True),
    Action("find-previous", ("N",), "", "the line before with the text",
           "find_next(-1)", Section.LOOK, lambda now: now.searching, only=True),
    Action("frame-out", ("left_square_bracket",), "outer", "the frame around this one",
           "frame(-1)", Section.LOOK, lambda now: now.nested, rank=21),
    Action("frame-in", ("right_square_bracket",), "", "the frame inside this one",
           "frame(1)", Section.LOOK, lambda now: now.nested),
    Action("list", ("l",), "", "the listing in the console",
           "line('list')", Section.LOOK, lambda now: now.here),
    Action("copy", ("y",), "copy", "copy what the cursor is on",
           "copy", Section.LOOK, lambda now: now.target is not None, rank=22),
    Action("fold", ("minus",), "", "hide what the loop or the If at the cursor is about",
           "fold(True)", Section.LOOK, lambda now: now.here, ("body",), only=True),
    Action("unfold", ("plus",), "", "show it again",
           "fold(False)", Section.LOOK, lambda now: now.here, ("body",), only=True),
)  # fmt: skip

_MOVES = (
    Action("cursor-up", ("up", "k"), "", "a line up", "cursor('up')", Section.MOVE),
    Action("cursor-down", ("down", "j"), "", "a line down", "cursor('down')", Section.MOVE),
    Action("page-up", ("pageup",), "", "a page up", "cursor('pageup')", Section.MOVE),
    Action("page-down", ("pagedown",), "", "a page down", "cursor('pagedown')", Section.MOVE),
    Action("first", ("home",), "", "the first line", "cursor('home')", Section.MOVE),
    Action("last", ("end",), "", "the last line", "cursor('end')", Section.MOVE),
    Action("next-pane", ("tab",), "", "the next pane", "app.focus_next", Section.MOVE, lambda now: not now.typing),
    Action("previous-pane", ("shift+tab",), "", "the pane before", "app.focus_previous", Section.MOVE,
           lambda now: not now.typing),
)  # fmt: skip

#: The panes by number, as their titles say it.
PANES = ("body", "back-edges", "condition", "stack", "breakpoints", "scans", "inputs", "timeline", "outputs")
_NAMES = (
    "Source", "Back edges", "Condition", "Stack", "Breakpoints", "Scan outputs", "Inputs", "Timeline", "Outputs",
)  # fmt: skip

_PANES = tuple(
    Action(f"pane-{number}", (str(number),), "", f"to the pane {name}", f"pane('{pane}')", Section.SCREEN)
    for number, (pane, name) in enumerate(zip(PANES, _NAMES, strict=True), 1)
)

_SCREEN = (
    Action("zoom", ("z",), "full screen", "the pane alone, or all again", "zoom", Section.SCREEN, rank=23),
    Action("tab-next", ("greater_than_sign",), "", "the next tab of a small screen", "tab(1)", Section.SCREEN),
    Action("tab-previous", ("less_than_sign",), "", "the tab before", "tab(-1)", Section.SCREEN),
    Action("mouse", ("m",), "", "mouse off, so that the terminal selects text, or on again", "mouse", Section.SCREEN),
    Action("console", ("colon",), "command", "the console: help lists its commands",
           "console('')", Section.SCREEN, rank=24),
    # Where nothing runs any more: the console, then the full screen.
    Action("interrupt", ("escape",), "", "interrupt what runs", "interrupt", Section.SCREEN,
           lambda now: now.busy, only=True, typed=True),
    Action("close", ("escape",), "close", "close the console, leave the search or the full screen", "close",
           Section.SCREEN, lambda now: now.console or now.full or now.searching, rank=4, only=True, typed=True),
    Action("theme", ("t",), "", "dark or light", "theme", Section.SCREEN),
    Action("palette", ("ctrl+p",), "all", "find any of these by its words", "palette", Section.SCREEN, rank=90,
           first=True, typed=True),
    Action("help", ("question_mark", "f1"), "help", "all keys, signs and words", "help", Section.SCREEN, rank=91),
    Action("suspend", ("ctrl+z",), "", "to the shell; fg comes back", "suspend_process", Section.SCREEN),
    Action("quit", ("q",), "quit", "leave; asks where something would be lost", "quit", Section.SCREEN, rank=92),
    Action("idle", ("x", "ctrl+c"), "", "interrupt what runs; where nothing runs, say so", "stop", Section.SCREEN),
)  # fmt: skip

_LESSON = tuple(
    Action(name, keys, label, told, does, Section.LESSON, lambda now: now.lesson, rank=rank, only=True)
    for name, keys, label, told, does, rank in (
        ("answer", ("a",), "answer", "answer the question of the card", "console('answer ')", 1),
        ("next-card", ("L",), "next card", "the next card of the lesson", "ask_line('card')", 2),
        ("hint", ("h",), "hint", "where to look; then which keys; then the answer", "ask_line('hint')", 3),
        ("again", ("A",), "again", "the question of the lesson with other numbers", "ask_line('again')", 5),
    )
)

#: What the line of the console does itself.
_CONSOLE = tuple(
    Action(name, keys, label, told, "", Section.CONSOLE, lambda now: now.typing, rank=rank, typed=True)
    for name, keys, label, told, rank in (
        ("run-line", ("enter",), "run", "run the line", 1),
        ("complete", ("tab",), "complete", "take what is suggested; twice: list what could stand here", 2),
        ("earlier", ("up",), "earlier", "the line before", 3),
        ("later", ("down",), "", "the line after", 50),
    )
)

#: Earlier ones win where several have a key.
ACTIONS: tuple[Action, ...] = (*_LOOKS, *_STEPS, *_BREAKS, *_MOVES, *_PANES, *_SCREEN, *_LESSON, *_CONSOLE)


def by_id(actions: Iterable[Action] = ACTIONS) -> dict[str, Action]:
    """The table by id."""
    return {action.id: action for action in actions}


def key_name(key: str) -> str:
    """What a person calls a key: ``←``, ``esc``, ``^p``."""
    if key.startswith("ctrl+"):
        return f"^{key.removeprefix('ctrl+')}"
    if key.startswith("shift+"):
        return f"shift {key_name(key.removeprefix('shift+'))}"
    return _SIGNS.get(key, key)


def keys_text(action: Action) -> str:
    """All keys of an action."""
    return " ".join(map(key_name, action.keys))


def remapped(keymap: Mapping[str, Sequence[str]]) -> tuple[Action, ...]:
    """The table with other keys, by id.

    Raises:
        UsageError: there is no such action, or two that can be meant at the same time have one key.
    """
    known = by_id()
    for name in keymap:
        if name not in known or not known[name].does:
            hint = did_you_mean(name, list(known), "'{}'", 3)
            raise UsageError(f"there is no action '{name}'{hint or '; docs/keys.md lists them'}")
    table = tuple(
        replace(one, keys=tuple(_KEYS.get(key, key) for key in keymap[one.id])) if one.id in keymap else one
        for one in ACTIONS
    )
    for name in keymap:
        _refuse_clash(by_id(table)[name], table)
    return table


def _refuse_clash(changed: Action, table: Iterable[Action]) -> None:
    # Keys that mean something only now and then are shared on purpose.
    if changed.only:
        return
    for other in table:
        if other.id == changed.id or other.only or (other.panes and other.panes != changed.panes):
            continue
        both = set(other.keys) & set(changed.keys)
        if both:
            key = key_name(min(both))
            raise UsageError(f"'{changed.id}' and '{other.id}' both have the key {key}; give one of them another")
