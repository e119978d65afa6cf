"""The actions on the panes, in a lesson and in the console."""

from __future__ import annotations

from ..requests import Command
from ..screen.targets import BreakpointTarget, DisplayTarget, LineTarget, value_of
from .action import Action, Now, Section, always


def _ask(command: Command) -> str:
    return f"ask('{command}')"


def _stopped_line(now: Now) -> bool:
    return now.here and not now.recorded and isinstance(now.target, LineTarget) and bool(now.target.node)


def _on_value(now: Now) -> bool:
    return now.here and value_of(now.target) is not None


def _on_breakpoint(now: Now) -> bool:
    return now.here and isinstance(now.target, BreakpointTarget)


def _on_display(now: Now) -> bool:
    return now.here and isinstance(now.target, DisplayTarget)


def _was_set(now: Now) -> bool:
    """Something was set by hand on this branch."""
    if not now.here or now.recorded or now.shown is None:
        return False
    return any(one.current and one.edits for one in now.shown.view.snapshot.branches)


def _asks(now: Now) -> bool:
    return now.asks


def _again(now: Now) -> bool:
    return now.again


_STEPS = (
    Action("step", ("s", "right"), "step", "one iteration: to the next boundary of this loop; without loops one node",
           _ask(Command.STEP), Section.STEPS, lambda now: now.ahead and now.loops, rank=1),
    Action("node", ("n",), "node", "one node of the body; an inner loop counts as one",
           _ask(Command.NODE), Section.STEPS, lambda now: now.ahead and not now.recorded, rank=2),
    Action("continue", ("c",), "continue", "on to the next breakpoint, the end, or a limit",
           _ask(Command.CONTINUE), Section.STEPS, lambda now: now.ahead, rank=3),
    Action("back", ("left", "S", "backspace"), "back", "back by an iteration",
           _ask(Command.BACK), Section.STEPS, lambda now: now.behind, rank=4),
    Action("into", ("i",), "into", "one node, but into it where it is a loop",
           _ask(Command.INTO), Section.STEPS, lambda now: now.ahead and (not now.recorded or now.around), rank=12),
    Action("finish", ("f", "o"), "finish", "to the end of this loop",
           _ask(Command.FINISH), Section.STEPS, lambda now: now.ahead and now.loops, rank=8),
    Action("back-node", ("N", "shift+left"), "", "back by a node",
           _ask(Command.BACK_NODE), Section.STEPS, lambda now: now.behind and not now.recorded),
    Action("reverse-continue", ("C",), "", "back to the last stop of a breakpoint",
           _ask(Command.BACK_ON), Section.STEPS, lambda now: now.behind),
    Action("goto", ("g",), "goto", "to an iteration of this loop, back or ahead",
           "console('goto ')", Section.STEPS, lambda now: now.looping, rank=16),
    Action("run-here", ("T", "f4"), "to here", "run to the line of the cursor, or to what stops before it",
           "run_here", Section.STEPS, lambda now: now.ahead and _stopped_line(now), ("body",), rank=11),
    Action("restart", ("r",), "restart", "back to before iteration 0 of the first loop; interrupts what runs",
           _ask(Command.RESTART), Section.STEPS, lambda now: now.behind or now.slow, rank=20),
    Action("stop", ("space",), "stop", "interrupt what runs, at its next boundary",
           "interrupt", Section.STEPS, lambda now: now.busy and not now.in_line, rank=0, only=True, first=True),
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
           "delete_breakpoint", Section.BREAK, _on_breakpoint, ("breakpoints",), rank=1),
    Action("display", ("D",), "", "an expression whose value is seen at every stop",
           "display", Section.BREAK, lambda now: now.here),
    Action("edit-display", ("e",), "edit", "change what is displayed",
           "edit_display", Section.BREAK, _on_display, ("displays",), rank=1, only=True),
    Action("delete-display", ("d", "delete"), "delete", "display it no more",
           "delete_display", Section.BREAK, _on_display, ("displays",), rank=1, only=True),
    Action("edit", ("e",), "edit", "change a value: a branch of time begins",
           "edit", Section.BREAK, lambda now: now.ahead and not now.recorded, rank=17),
    Action("undo", ("U",), "undo", "take back what was set last: the value, and all after it, as before",
           "ask_line('undo')", Section.BREAK, _was_set, rank=15),
    Action("plot", ("p",), "plot", "the value over iterations",
           "plot", Section.BREAK, lambda now: now.loops and _on_value(now), rank=9),
)  # fmt: skip

_LOOKS = (
    Action("open", ("enter",), "open", "open what the cursor is on: a value, a frame, a breakpoint, a moment",
           "open", Section.LOOK, lambda now: now.here and now.target is not None, rank=6),
    Action("why", ("W",), "why", "why the loop goes on, or ended",
           "why", Section.LOOK, lambda now: now.looping, rank=7),
    Action("graph", ("G",), "graph", "the loop in focus as a graph, with its back edges; it follows every step",
           "graph", Section.LOOK, lambda now: now.here, rank=10),
    Action("find", ("slash",), "find", "find a text in the pane",
           "find", Section.LOOK, lambda now: now.here, rank=19),
    Action("find-next", ("n",), "next", "while a text is looked for: the next line with it",
           "find_next(1)", Section.LOOK, lambda now: now.searching, rank=1, only=True),
    Action("find-previous", ("N",), "", "while a text is looked for: the line before with it",
           "find_next(-1)", Section.LOOK, lambda now: now.searching, only=True),
    Action("go-to-line", ("ctrl+g", "J"), "", "to a line of the source: its number, or the name of a value or node",
           "go_to_line", Section.LOOK, lambda now: now.here),
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
    Action("to-maker", ("u",), "", "to the line that makes what this one reads (◂), and on from there",
           "walk(True)", Section.LOOK, lambda now: now.here, ("body",), only=True),
    Action("to-reader", ("d",), "", "to the line that reads what this one makes (▸), and on from there",
           "walk(False)", Section.LOOK, lambda now: now.here, ("body",), only=True),
    Action("code", ("v",), "", "the lines of code that the listing comes from, or the listing alone",
           "code", Section.LOOK, lambda now: now.here, ("body",), only=True),
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
PANES = (
    "body",
    "back-edges",
    "condition",
    "stack",
    "breakpoints",
    "scans",
    "inputs",
    "timeline",
    "outputs",
    "displays",
)
_NAMES = (
    "Source", "Back edges", "Condition", "Stack", "Breakpoints", "Scan outputs", "Inputs", "Timeline", "Outputs",
    "Displays",
)  # fmt: skip

_PANES = tuple(
    Action(f"pane-{number}", (str(number % 10),), "", f"to the pane {name}", f"pane('{pane}')", Section.SCREEN)
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
    Action("suspend", ("ctrl+z",), "", "to the shell; fg comes back", "suspend_process", Section.SCREEN,
           first=True, typed=True),
    Action("quit", ("q",), "quit", "leave; asks where something would be lost", "quit", Section.SCREEN, rank=92),
    Action("idle", ("x", "ctrl+c"), "", "interrupt what runs; where nothing runs, say so", "stop", Section.SCREEN),
)  # fmt: skip

_LESSON = tuple(
    Action(name, keys, label, told, does, Section.LESSON, lambda now: now.lesson, rank=rank, only=True, use=use)
    for name, keys, label, told, does, rank, use in (
        ("answer", ("a",), "answer", "answer the question of the card", "console('answer ')", 1, _asks),
        ("next-card", ("L",), "next card", "the next card of the lesson", "ask_line('card')", 2, always),
        ("hint", ("h",), "hint", "where to look; then which keys; then the answer", "ask_line('hint')", 3, always),
        ("again", ("A",), "again", "the question of the lesson with other numbers", "ask_line('again')", 5, _again),
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
ON_PANES: tuple[Action, ...] = (*_LOOKS, *_STEPS, *_BREAKS, *_MOVES, *_PANES, *_SCREEN, *_LESSON, *_CONSOLE)
