"""The actions on the panes, in a lesson and in the console."""

from __future__ import annotations

from ..render.targets import BreakpointTarget, DisplayTarget, LineTarget, value_target
from ..worker_requests import SessionCommand
from .action import Action, ActionContext, HelpSection, unconditional


def _command_action(command: SessionCommand) -> str:
    return f"ask('{command}')"


def _on_node_line(now: ActionContext) -> bool:
    return now.is_ready and not now.is_recording and isinstance(now.target, LineTarget) and bool(now.target.node)


def _on_value(now: ActionContext) -> bool:
    return now.is_ready and value_target(now.target) is not None


def _on_breakpoint(now: ActionContext) -> bool:
    return now.is_ready and isinstance(now.target, BreakpointTarget)


def _on_display(now: ActionContext) -> bool:
    return now.is_ready and isinstance(now.target, DisplayTarget)


def _has_edits(now: ActionContext) -> bool:
    """Something was set by hand on this branch."""
    if not now.is_ready or now.is_recording or now.screen_state is None:
        return False
    return any(one.current and one.edits for one in now.screen_state.view.snapshot.branches)


def _card_takes_answer(now: ActionContext) -> bool:
    return now.card_takes_answer


def _card_repeatable(now: ActionContext) -> bool:
    return now.card_repeatable


_STEPS = (
    Action("step", ("s", "right"), "step", "one iteration: to the next boundary of this loop; without loops one node",
           _command_action(SessionCommand.STEP), HelpSection.STEPS, lambda now: now.can_advance and now.model_has_loops,
           rank=1),
    Action("node", ("n",), "node", "one node of the body; an inner loop counts as one",
           _command_action(SessionCommand.NEXT_NODE), HelpSection.STEPS,
           lambda now: now.can_advance and not now.is_recording, rank=2),
    Action("continue", ("c",), "continue", "on to the next breakpoint, the end, or a limit",
           _command_action(SessionCommand.CONTINUE), HelpSection.STEPS, lambda now: now.can_advance, rank=3),
    Action("back", ("left", "S", "backspace"), "back", "back by an iteration",
           _command_action(SessionCommand.BACK), HelpSection.STEPS, lambda now: now.can_go_back, rank=4),
    Action("into", ("i",), "into", "one node, but into it where it is a loop",
           _command_action(SessionCommand.INTO), HelpSection.STEPS,
           lambda now: now.can_advance and (not now.is_recording or now.has_inner_loop), rank=12),
    Action("finish", ("f", "o"), "finish", "to the end of this loop",
           _command_action(SessionCommand.FINISH), HelpSection.STEPS,
           lambda now: now.can_advance and now.model_has_loops, rank=8),
    Action("back-node", ("N", "shift+left"), "", "back by a node",
           _command_action(SessionCommand.BACK_NODE), HelpSection.STEPS,
           lambda now: now.can_go_back and not now.is_recording),
    Action("reverse-continue", ("C",), "", "back to the last stop of a breakpoint",
           _command_action(SessionCommand.REVERSE_CONTINUE), HelpSection.STEPS, lambda now: now.can_go_back),
    Action("goto", ("g",), "goto", "to an iteration of this loop, back or ahead",
           "console('goto ')", HelpSection.STEPS, lambda now: now.in_loop, rank=16),
    Action("run-here", ("T", "f4"), "to here", "run to the line of the cursor, or to what stops before it",
           "run_here", HelpSection.STEPS, lambda now: now.can_advance and _on_node_line(now), ("body",), rank=11),
    Action("restart", ("r",), "restart", "back to before iteration 0 of the first loop; interrupts what runs",
           _command_action(SessionCommand.RESTART), HelpSection.STEPS, lambda now: now.can_go_back or now.long_running,
           rank=20),
    Action("stop", ("space",), "stop", "interrupt what runs, at its next boundary",
           "interrupt", HelpSection.STEPS, lambda now: now.busy and not now.text_input_focused, rank=0,
           releases_key=True, priority=True),
    # With the focus anywhere, text selected, or a help open: what runs can be stopped.
    Action("stop-always", ("ctrl+c",), "", "the same, while a line is typed too",
           "interrupt_always", HelpSection.STEPS, lambda now: now.busy, releases_key=True, priority=True,
           while_typing=True),
)  # fmt: skip

_BREAKPOINTS = (
    Action("break-here", ("b",), "break here", "set or clear a breakpoint on the line of the cursor, or break if its "
           "value ...", "break_here", HelpSection.BREAK, lambda now: _on_node_line(now) or _on_value(now), rank=5),
    Action("break", ("B",), "", "a breakpoint in words: iter 40, if err < 1e-3, nan",
           "console('break ')", HelpSection.BREAK, lambda now: now.is_ready),
    Action("watch", ("w",), "watch", "stop where a value changes",
           "watch", HelpSection.BREAK, lambda now: now.is_ready, rank=18),
    Action("edit-breakpoint", ("e",), "edit", "change what the breakpoint asks for",
           "edit_breakpoint", HelpSection.BREAK, _on_breakpoint, ("breakpoints",), rank=1, releases_key=True),
    Action("delete", ("d", "delete"), "delete", "forget the breakpoint",
           "delete_breakpoint", HelpSection.BREAK, _on_breakpoint, ("breakpoints",), rank=1),
    Action("display", ("D",), "", "an expression whose value is seen at every stop",
           "display", HelpSection.BREAK, lambda now: now.is_ready),
    Action("edit-display", ("e",), "edit", "change what is displayed",
           "edit_display", HelpSection.BREAK, _on_display, ("displays",), rank=1, releases_key=True),
    Action("delete-display", ("d", "delete"), "delete", "display it no more",
           "delete_display", HelpSection.BREAK, _on_display, ("displays",), rank=1, releases_key=True),
    Action("edit", ("e",), "edit", "change a value: a branch of time begins",
           "edit", HelpSection.BREAK, lambda now: now.can_advance and not now.is_recording, rank=17),
    Action("undo", ("U",), "undo", "take back what was set last: the value, and all after it, as before",
           "ask_line('undo')", HelpSection.BREAK, _has_edits, rank=15),
    Action("plot", ("p",), "plot", "the value over iterations",
           "plot", HelpSection.BREAK, lambda now: now.model_has_loops and _on_value(now), rank=9),
)  # fmt: skip

_VIEW = (
    Action("open", ("enter",), "open", "open what the cursor is on: a value, a frame, a breakpoint, a moment",
           "open", HelpSection.LOOK, lambda now: now.is_ready and now.target is not None, rank=6),
    Action("why", ("W",), "why", "why the loop goes on, or ended",
           "why", HelpSection.LOOK, lambda now: now.in_loop, rank=7),
    Action("graph", ("G",), "graph", "the loop in focus as a graph, with its back edges; it follows every step",
           "graph", HelpSection.LOOK, lambda now: now.is_ready, rank=10),
    Action("find", ("slash",), "find", "find a text in the pane",
           "find", HelpSection.LOOK, lambda now: now.is_ready, rank=19),
    Action("find-next", ("n",), "next", "while a text is looked for: the next line with it",
           "find_next(1)", HelpSection.LOOK, lambda now: now.searching, rank=1, releases_key=True),
    Action("find-previous", ("N",), "", "while a text is looked for: the line before with it",
           "find_next(-1)", HelpSection.LOOK, lambda now: now.searching, releases_key=True),
    Action("go-to-line", ("ctrl+g", "J"), "", "to a line of the source: its number, or the name of a value or node",
           "go_to_line", HelpSection.LOOK, lambda now: now.is_ready),
    Action("frame-out", ("left_square_bracket",), "outer", "the frame around this one",
           "frame(-1)", HelpSection.LOOK, lambda now: now.has_nested_frames, rank=21),
    Action("frame-in", ("right_square_bracket",), "", "the frame inside this one",
           "frame(1)", HelpSection.LOOK, lambda now: now.has_nested_frames),
    Action("list", ("l",), "", "the listing in the console",
           "line('list')", HelpSection.LOOK, lambda now: now.is_ready),
    Action("copy", ("y",), "copy", "copy what the cursor is on",
           "copy", HelpSection.LOOK, lambda now: now.target is not None, rank=22),
    Action("fold", ("minus",), "", "hide what the loop or the If at the cursor is about",
           "fold(True)", HelpSection.LOOK, lambda now: now.is_ready, ("body",), releases_key=True),
    Action("unfold", ("plus",), "", "show it again",
           "fold(False)", HelpSection.LOOK, lambda now: now.is_ready, ("body",), releases_key=True),
    Action("to-maker", ("u",), "", "to the line that makes what this one reads (◂), and on from there",
           "walk(True)", HelpSection.LOOK, lambda now: now.is_ready, ("body",), releases_key=True),
    Action("to-reader", ("d",), "", "to the line that reads what this one makes (▸), and on from there",
           "walk(False)", HelpSection.LOOK, lambda now: now.is_ready, ("body",), releases_key=True),
    Action("code", ("v",), "", "the lines of code that the listing comes from, or the listing alone",
           "code", HelpSection.LOOK, lambda now: now.is_ready, ("body",), releases_key=True),
)  # fmt: skip

_CURSOR = (
    Action("cursor-up", ("up", "k"), "", "a line up", "cursor('up')", HelpSection.MOVE),
    Action("cursor-down", ("down", "j"), "", "a line down", "cursor('down')", HelpSection.MOVE),
    Action("page-up", ("pageup",), "", "a page up", "cursor('pageup')", HelpSection.MOVE),
    Action("page-down", ("pagedown",), "", "a page down", "cursor('pagedown')", HelpSection.MOVE),
    Action("first", ("home",), "", "the first line", "cursor('home')", HelpSection.MOVE),
    Action("last", ("end",), "", "the last line", "cursor('end')", HelpSection.MOVE),
    Action("next-pane", ("tab",), "", "the next pane", "app.focus_next", HelpSection.MOVE, lambda now: not now.typing),
    Action("previous-pane", ("shift+tab",), "", "the pane before", "app.focus_previous", HelpSection.MOVE,
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
_PANE_TITLES = (
    "Source", "Back edges", "Condition", "Stack", "Breakpoints", "Scan outputs", "Inputs", "Timeline", "Outputs",
    "Displays",
)  # fmt: skip

_PANE_FOCUS = tuple(
    Action(f"pane-{number}", (str(number % 10),), "", f"to the pane {name}", f"pane('{pane}')", HelpSection.SCREEN)
    for number, (pane, name) in enumerate(zip(PANES, _PANE_TITLES, strict=True), 1)
)

_SCREEN = (
    Action("zoom", ("z",), "full screen", "the pane alone, or all again", "zoom", HelpSection.SCREEN, rank=23),
    Action("tab-next", ("greater_than_sign",), "", "the next tab of a small screen", "tab(1)", HelpSection.SCREEN),
    Action("tab-previous", ("less_than_sign",), "", "the tab before", "tab(-1)", HelpSection.SCREEN),
    Action("mouse", ("m",), "", "mouse off, so that the terminal selects text, or on again", "mouse",
           HelpSection.SCREEN),
    Action("console", ("colon",), "command", "the console: help lists its commands",
           "console('')", HelpSection.SCREEN, rank=24),
    # Where nothing runs any more: the console, then the full screen.
    Action("interrupt", ("escape",), "", "interrupt what runs", "interrupt", HelpSection.SCREEN,
           lambda now: now.busy, releases_key=True, while_typing=True),
    Action("close", ("escape",), "close", "close the console, leave the search or the full screen", "close",
           HelpSection.SCREEN, lambda now: now.console_open or now.pane_maximized or now.searching, rank=4,
           releases_key=True, while_typing=True),
    Action("theme", ("t",), "", "dark or light", "theme", HelpSection.SCREEN),
    Action("palette", ("ctrl+p",), "all", "find any of these by its words", "palette", HelpSection.SCREEN, rank=90,
           priority=True, while_typing=True),
    Action("help", ("question_mark", "f1"), "help", "all keys, signs and words", "help", HelpSection.SCREEN, rank=91),
    Action("suspend", ("ctrl+z",), "", "to the shell; fg comes back", "suspend_process", HelpSection.SCREEN,
           priority=True, while_typing=True),
    Action("quit", ("q",), "quit", "leave; asks where something would be lost", "quit", HelpSection.SCREEN, rank=92),
    Action("idle", ("x", "ctrl+c"), "", "interrupt what runs; where nothing runs, say so", "stop", HelpSection.SCREEN),
)  # fmt: skip

_LESSON = tuple(
    Action(
        name,
        keys,
        label,
        told,
        does,
        HelpSection.LESSON,
        lambda now: now.lesson_open,
        rank=rank,
        releases_key=True,
        useful_when=use,
    )
    for name, keys, label, told, does, rank, use in (
        ("answer", ("a",), "answer", "answer the question of the card", "console('answer ')", 1, _card_takes_answer),
        ("next-card", ("L",), "next card", "the next card of the lesson", "ask_line('card')", 2, unconditional),
        (
            "hint",
            ("h",),
            "hint",
            "where to look; then which keys; then the answer",
            "ask_line('hint')",
            3,
            unconditional,
        ),
        (
            "again",
            ("A",),
            "again",
            "the question of the lesson with other numbers",
            "ask_line('again')",
            5,
            _card_repeatable,
        ),
    )
)

#: What the line of the console does itself.
_CONSOLE = tuple(
    Action(name, keys, label, told, "", HelpSection.CONSOLE, lambda now: now.typing, rank=rank, while_typing=True)
    for name, keys, label, told, rank in (
        ("run-line", ("enter",), "run", "run the line", 1),
        ("complete", ("tab",), "complete", "take what is suggested; twice: list what could stand here", 2),
        ("earlier", ("up",), "earlier", "the line before", 3),
        ("later", ("down",), "", "the line after", 50),
    )
)

#: Earlier ones win where several have a key.
PANE_ACTIONS: tuple[Action, ...] = (
    *_VIEW,
    *_STEPS,
    *_BREAKPOINTS,
    *_CURSOR,
    *_PANE_FOCUS,
    *_SCREEN,
    *_LESSON,
    *_CONSOLE,
)
