"""The actions of the panes, lessons and the console."""

from __future__ import annotations

from ..render.targets import BreakpointTarget, DisplayTarget, LineTarget, value_target
from ..worker_requests import SessionCommand
from .action import Action, ActionContext, HelpSection, unconditional


def _command_action(command: SessionCommand) -> str:
    return f"ask('{command}')"


def _on_node_line(ctx: ActionContext) -> bool:
    return ctx.is_ready and not ctx.is_recording and isinstance(ctx.target, LineTarget) and bool(ctx.target.node)


def _on_value(ctx: ActionContext) -> bool:
    return ctx.is_ready and value_target(ctx.target) is not None


def _on_breakpoint(ctx: ActionContext) -> bool:
    return ctx.is_ready and isinstance(ctx.target, BreakpointTarget)


def _on_display(ctx: ActionContext) -> bool:
    return ctx.is_ready and isinstance(ctx.target, DisplayTarget)


def _has_edits(ctx: ActionContext) -> bool:
    """The current branch has edits."""
    if not ctx.is_ready or ctx.is_recording or ctx.screen_state is None:
        return False
    return any(branch.current and branch.edits for branch in ctx.screen_state.view.snapshot.branches)


def _card_takes_answer(ctx: ActionContext) -> bool:
    return ctx.card_takes_answer


def _card_repeatable(ctx: ActionContext) -> bool:
    return ctx.card_repeatable


_STEPS = (
    Action("step", ("s", "right"), "step", "one iteration: to the next boundary of this loop; without loops one node",
           _command_action(SessionCommand.STEP), HelpSection.STEPS, lambda ctx: ctx.can_advance and ctx.model_has_loops,
           rank=1),
    Action("node", ("n",), "node", "one node of the body; an inner loop counts as one",
           _command_action(SessionCommand.NEXT_NODE), HelpSection.STEPS,
           lambda ctx: ctx.can_advance and not ctx.is_recording, rank=2),
    Action("continue", ("c",), "continue", "on to the next breakpoint, the end, or a limit",
           _command_action(SessionCommand.CONTINUE), HelpSection.STEPS, lambda ctx: ctx.can_advance, rank=3),
    Action("back", ("left", "S", "backspace"), "back", "back by an iteration",
           _command_action(SessionCommand.BACK), HelpSection.STEPS, lambda ctx: ctx.can_go_back, rank=4),
    Action("into", ("i",), "into", "one node, but into it where it is a loop",
           _command_action(SessionCommand.INTO), HelpSection.STEPS,
           lambda ctx: ctx.can_advance and (not ctx.is_recording or ctx.has_inner_loop), rank=12),
    Action("finish", ("f", "o"), "finish", "to the end of this loop",
           _command_action(SessionCommand.FINISH), HelpSection.STEPS,
           lambda ctx: ctx.can_advance and ctx.model_has_loops, rank=8),
    Action("back-node", ("N", "shift+left"), "", "back by a node",
           _command_action(SessionCommand.BACK_NODE), HelpSection.STEPS,
           lambda ctx: ctx.can_go_back and not ctx.is_recording),
    Action("reverse-continue", ("C",), "", "back to the last stop of a breakpoint",
           _command_action(SessionCommand.REVERSE_CONTINUE), HelpSection.STEPS, lambda ctx: ctx.can_go_back),
    Action("goto", ("g",), "goto", "to an iteration of this loop, back or ahead",
           "console('goto ')", HelpSection.STEPS, lambda ctx: ctx.in_loop, rank=16),
    Action("run-here", ("T", "f4"), "to here", "run to the line of the cursor, or to what stops before it",
           "run_here", HelpSection.STEPS, lambda ctx: ctx.can_advance and _on_node_line(ctx), ("body",), rank=11),
    Action("restart", ("r",), "restart", "back to before iteration 0 of the first loop; interrupts what runs",
           _command_action(SessionCommand.RESTART), HelpSection.STEPS, lambda ctx: ctx.can_go_back or ctx.long_running,
           rank=20),
    Action("stop", ("space",), "stop", "interrupt what runs, at its next boundary",
           "interrupt", HelpSection.STEPS, lambda ctx: ctx.busy and not ctx.text_input_focused, rank=0,
           releases_key=True, priority=True),
    # Works with any focus, with selected text, or with the help open.
    Action("stop-always", ("ctrl+c",), "", "the same, while a line is typed too",
           "interrupt_always", HelpSection.STEPS, lambda ctx: ctx.busy, releases_key=True, priority=True,
           while_typing=True),
)  # fmt: skip

_BREAKPOINTS = (
    Action("break-here", ("b",), "break here", "set or clear a breakpoint on the line of the cursor, or break if its "
           "value ...", "break_here", HelpSection.BREAK, lambda ctx: _on_node_line(ctx) or _on_value(ctx), rank=5),
    Action("break", ("B",), "", "a breakpoint in words: iter 40, if err < 1e-3, nan",
           "console('break ')", HelpSection.BREAK, lambda ctx: ctx.is_ready),
    Action("watch", ("w",), "watch", "stop where a value changes",
           "watch", HelpSection.BREAK, lambda ctx: ctx.is_ready, rank=18),
    Action("edit-breakpoint", ("e",), "edit", "change what the breakpoint asks for",
           "edit_breakpoint", HelpSection.BREAK, _on_breakpoint, ("breakpoints",), rank=1, releases_key=True),
    Action("delete", ("d", "delete"), "delete", "forget the breakpoint",
           "delete_breakpoint", HelpSection.BREAK, _on_breakpoint, ("breakpoints",), rank=1),
    Action("display", ("D",), "", "an expression whose value is seen at every stop",
           "display", HelpSection.BREAK, lambda ctx: ctx.is_ready),
    Action("edit-display", ("e",), "edit", "change what is displayed",
           "edit_display", HelpSection.BREAK, _on_display, ("displays",), rank=1, releases_key=True),
    Action("delete-display", ("d", "delete"), "delete", "display it no more",
           "delete_display", HelpSection.BREAK, _on_display, ("displays",), rank=1, releases_key=True),
    Action("edit", ("e",), "edit", "change a value: a branch of time begins",
           "edit", HelpSection.BREAK, lambda ctx: ctx.can_advance and not ctx.is_recording, rank=17),
    Action("undo", ("U",), "undo", "take back what was set last: the value, and all after it, as before",
           "ask_line('undo')", HelpSection.BREAK, _has_edits, rank=15),
    Action("plot", ("p",), "plot", "the value over iterations",
           "plot", HelpSection.BREAK, lambda ctx: ctx.model_has_loops and _on_value(ctx), rank=9),
)  # fmt: skip

_VIEW = (
    Action("open", ("enter",), "open", "open what the cursor is on: a value, a frame, a breakpoint, a moment",
           "open", HelpSection.LOOK, lambda ctx: ctx.is_ready and ctx.target is not None, rank=6),
    Action("why", ("W",), "why", "why the loop goes on, or ended",
           "why", HelpSection.LOOK, lambda ctx: ctx.in_loop, rank=7),
    Action("graph", ("G",), "graph", "the loop in focus as a graph, with its back edges; it follows every step",
           "graph", HelpSection.LOOK, lambda ctx: ctx.is_ready, rank=10),
    Action("find", ("slash",), "find", "find a text in the pane",
           "find", HelpSection.LOOK, lambda ctx: ctx.is_ready, rank=19),
    Action("find-next", ("n",), "next", "while a text is looked for: the next line with it",
           "find_next(1)", HelpSection.LOOK, lambda ctx: ctx.searching, rank=1, releases_key=True),
    Action("find-previous", ("N",), "", "while a text is looked for: the line before with it",
           "find_next(-1)", HelpSection.LOOK, lambda ctx: ctx.searching, releases_key=True),
    Action("go-to-line", ("ctrl+g", "J"), "", "to a line of the source: its number, or the name of a value or node",
           "go_to_line", HelpSection.LOOK, lambda ctx: ctx.is_ready),
    Action("frame-out", ("left_square_bracket",), "outer", "the frame around this one",
           "frame(-1)", HelpSection.LOOK, lambda ctx: ctx.has_nested_frames, rank=21),
    Action("frame-in", ("right_square_bracket",), "", "the frame inside this one",
           "frame(1)", HelpSection.LOOK, lambda ctx: ctx.has_nested_frames),
    Action("list", ("l",), "", "the listing in the console",
           "line('list')", HelpSection.LOOK, lambda ctx: ctx.is_ready),
    Action("copy", ("y",), "copy", "copy what the cursor is on",
           "copy", HelpSection.LOOK, lambda ctx: ctx.target is not None, rank=22),
    Action("fold", ("minus",), "", "hide what the loop or the If at the cursor is about",
           "fold(True)", HelpSection.LOOK, lambda ctx: ctx.is_ready, ("body",), releases_key=True),
    Action("unfold", ("plus",), "", "show it again",
           "fold(False)", HelpSection.LOOK, lambda ctx: ctx.is_ready, ("body",), releases_key=True),
    Action("to-maker", ("u",), "", "to the line that makes what this one reads (◂), and on from there",
           "walk(True)", HelpSection.LOOK, lambda ctx: ctx.is_ready, ("body",), releases_key=True),
    Action("to-reader", ("d",), "", "to the line that reads what this one makes (▸), and on from there",
           "walk(False)", HelpSection.LOOK, lambda ctx: ctx.is_ready, ("body",), releases_key=True),
    Action("code", ("v",), "", "the lines of code that the listing comes from, or the listing alone",
           "code", HelpSection.LOOK, lambda ctx: ctx.is_ready, ("body",), releases_key=True),
)  # fmt: skip

_CURSOR = (
    Action("cursor-up", ("up", "k"), "", "a line up", "cursor('up')", HelpSection.MOVE),
    Action("cursor-down", ("down", "j"), "", "a line down", "cursor('down')", HelpSection.MOVE),
    Action("page-up", ("pageup",), "", "a page up", "cursor('pageup')", HelpSection.MOVE),
    Action("page-down", ("pagedown",), "", "a page down", "cursor('pagedown')", HelpSection.MOVE),
    Action("first", ("home",), "", "the first line", "cursor('home')", HelpSection.MOVE),
    Action("last", ("end",), "", "the last line", "cursor('end')", HelpSection.MOVE),
    Action("next-pane", ("tab",), "", "the next pane", "app.focus_next", HelpSection.MOVE, lambda ctx: not ctx.typing),
    Action("previous-pane", ("shift+tab",), "", "the pane before", "app.focus_previous", HelpSection.MOVE,
           lambda ctx: not ctx.typing),
)  # fmt: skip

#: The panes in order of the numbers in their titles.
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
    # If nothing runs, escape closes the console, then the full screen.
    Action("interrupt", ("escape",), "", "interrupt what runs", "interrupt", HelpSection.SCREEN,
           lambda ctx: ctx.busy, releases_key=True, while_typing=True),
    Action("close", ("escape",), "close", "close the console, leave the search or the full screen", "close",
           HelpSection.SCREEN, lambda ctx: ctx.console_open or ctx.pane_maximized or ctx.searching, rank=4,
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
        help_text,
        textual_action,
        HelpSection.LESSON,
        lambda ctx: ctx.lesson_open,
        rank=rank,
        releases_key=True,
        useful_when=useful_when,
    )
    for name, keys, label, help_text, textual_action, rank, useful_when in (
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

#: Actions that the console line performs itself.
_CONSOLE = tuple(
    Action(name, keys, label, help_text, "", HelpSection.CONSOLE, lambda ctx: ctx.typing, rank=rank, while_typing=True)
    for name, keys, label, help_text, rank in (
        ("run-line", ("enter",), "run", "run the line", 1),
        ("complete", ("tab",), "complete", "take what is suggested; twice: list what could stand here", 2),
        ("earlier", ("up",), "earlier", "the line before", 3),
        ("later", ("down",), "", "the line after", 50),
    )
)

#: The first enabled action of a key wins.
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
