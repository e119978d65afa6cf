"""The actions of the panes, lessons and the console."""

from __future__ import annotations

from .action import Action, Condition, HelpSection

_STEPS = (
    Action("step", ("s", "right"), "step", "one iteration: to the next boundary of this loop; without loops one node",
           "run.ask('step')", HelpSection.STEPS, Condition.CAN_STEP, rank=1),
    Action("node", ("n",), "node", "one node of the body; an inner loop counts as one",
           "run.ask('next node')", HelpSection.STEPS, Condition.CAN_STEP_NODE, rank=2),
    Action("continue", ("c",), "continue", "on to the next breakpoint, the end, or a limit",
           "run.ask('continue')", HelpSection.STEPS, Condition.CAN_ADVANCE, rank=3),
    Action("back", ("left", "S", "backspace"), "back", "back by an iteration",
           "run.ask('back')", HelpSection.STEPS, Condition.CAN_GO_BACK, rank=4),
    Action("into", ("i",), "into", "one node, but into it where it is a loop", "run.ask('into')", HelpSection.STEPS,
           Condition.CAN_ENTER, rank=12),
    Action("finish", ("f", "o"), "finish", "to the end of this loop", "run.ask('finish')", HelpSection.STEPS,
           Condition.CAN_STEP, rank=8),
    Action("back-node", ("N", "shift+left"), "", "back by a node", "run.ask('back node')", HelpSection.STEPS,
           Condition.CAN_GO_BACK_NODE),
    Action("reverse-continue", ("C",), "", "back to the last stop of a breakpoint",
           "run.ask('reverse-continue')", HelpSection.STEPS, Condition.CAN_GO_BACK),
    Action("goto", ("g",), "goto", "to an iteration of this loop, back or ahead",
           "dialogs.console('goto ')", HelpSection.STEPS, Condition.IN_LOOP, rank=16),
    Action("run-here", ("T", "f4"), "to here", "run to the line of the cursor, or to what stops before it",
           "cursor.run_here", HelpSection.STEPS, Condition.CAN_RUN_HERE, ("body",), rank=11),
    Action("restart", ("r",), "restart", "back to before iteration 0 of the first loop; interrupts what runs",
           "run.ask('restart')", HelpSection.STEPS, Condition.CAN_RESTART, rank=20),
    Action("stop", ("space",), "stop", "interrupt what runs, at its next boundary",
           "run.interrupt", HelpSection.STEPS, Condition.CAN_STOP, rank=0, releases_key=True, priority=True),
    # Works with any focus, with selected text, or with the help open.
    Action("stop-always", ("ctrl+c",), "", "the same, while a line is typed too",
           "run.interrupt", HelpSection.STEPS, Condition.BUSY, releases_key=True, priority=True, while_typing=True),
)  # fmt: skip

_BREAKPOINTS = (
    Action("break-here", ("b",), "break here", "set or clear a breakpoint on the line of the cursor, or break if its "
           "value ...", "cursor.break_here", HelpSection.BREAK, Condition.CAN_BREAK_HERE, rank=5),
    Action("break", ("B",), "", "a breakpoint in words: iter 40, if err < 1e-3, nan",
           "dialogs.console('break ')", HelpSection.BREAK, Condition.READY),
    Action("watch", ("w",), "watch", "stop where a value changes",
           "cursor.watch", HelpSection.BREAK, Condition.READY, rank=18),
    Action("edit-breakpoint", ("e",), "edit", "change what the breakpoint asks for",
           "cursor.edit_breakpoint", HelpSection.BREAK, Condition.ON_BREAKPOINT, ("breakpoints",), rank=1,
           releases_key=True),
    Action("delete", ("d", "delete"), "delete", "forget the breakpoint",
           "cursor.delete_breakpoint", HelpSection.BREAK, Condition.ON_BREAKPOINT, ("breakpoints",), rank=1),
    Action("display", ("D",), "", "an expression whose value is seen at every stop",
           "cursor.display", HelpSection.BREAK, Condition.READY),
    Action("edit-display", ("e",), "edit", "change what is displayed",
           "cursor.edit_display", HelpSection.BREAK, Condition.ON_DISPLAY, ("displays",), rank=1, releases_key=True),
    Action("delete-display", ("d", "delete"), "delete", "display it no more",
           "cursor.delete_display", HelpSection.BREAK, Condition.ON_DISPLAY, ("displays",), rank=1, releases_key=True),
    Action("edit", ("e",), "edit", "change a value: a branch of time begins",
           "cursor.edit", HelpSection.BREAK, Condition.CAN_STEP_NODE, rank=17),
    Action("undo", ("U",), "undo", "take back what was set last: the value, and all after it, as before",
           "run.ask_line('undo')", HelpSection.BREAK, Condition.HAS_EDITS, rank=15),
    Action("plot", ("p",), "plot", "the value over iterations",
           "cursor.plot", HelpSection.BREAK, Condition.CAN_PLOT, rank=9),
)  # fmt: skip

_VIEW = (
    Action("open", ("enter",), "open", "open what the cursor is on: a value, a frame, a breakpoint, a moment",
           "cursor.open", HelpSection.LOOK, Condition.CAN_OPEN, rank=6),
    Action("why", ("W",), "why", "why the loop goes on, or ended",
           "run.why", HelpSection.LOOK, Condition.IN_LOOP, rank=7),
    Action("graph", ("G",), "graph", "the loop in focus as a graph, with its back edges; it follows every step",
           "dialogs.graph", HelpSection.LOOK, Condition.READY, rank=10),
    Action("find", ("slash",), "find", "find a text in the pane",
           "dialogs.find", HelpSection.LOOK, Condition.READY, rank=19),
    Action("find-next", ("n",), "next", "while a text is looked for: the next line with it",
           "panes.find_next(1)", HelpSection.LOOK, Condition.SEARCHING, rank=1, releases_key=True),
    Action("find-previous", ("N",), "", "while a text is looked for: the line before with it",
           "panes.find_next(-1)", HelpSection.LOOK, Condition.SEARCHING, releases_key=True),
    Action("go-to-line", ("ctrl+g", "J"), "", "to a line of the source: its number, or the name of a value or node",
           "dialogs.go_to_line", HelpSection.LOOK, Condition.READY),
    Action("frame-out", ("left_square_bracket",), "outer", "the frame around this one",
           "run.frame(-1)", HelpSection.LOOK, Condition.NESTED_FRAMES, rank=21),
    Action("frame-in", ("right_square_bracket",), "", "the frame inside this one",
           "run.frame(1)", HelpSection.LOOK, Condition.NESTED_FRAMES),
    Action("profile", ("P",), "", "time and memory of a run, by loop and node, in the console",
           "run.line('profile 8')", HelpSection.LOOK, Condition.READY),
    Action("list", ("l",), "", "the listing in the console", "run.line('list')", HelpSection.LOOK, Condition.READY),
    Action("copy", ("y",), "copy", "copy what the cursor is on",
           "cursor.copy", HelpSection.LOOK, Condition.CAN_COPY, rank=22),
    Action("fold", ("minus",), "", "hide what the loop or the If at the cursor is about",
           "panes.fold(True)", HelpSection.LOOK, Condition.READY, ("body",), releases_key=True),
    Action("unfold", ("plus",), "", "show it again",
           "panes.fold(False)", HelpSection.LOOK, Condition.READY, ("body",), releases_key=True),
    Action("to-maker", ("u",), "", "to the line that makes what this one reads (◂), and on from there",
           "panes.walk(True)", HelpSection.LOOK, Condition.READY, ("body",), releases_key=True),
    Action("to-reader", ("d",), "", "to the line that reads what this one makes (▸), and on from there",
           "panes.walk(False)", HelpSection.LOOK, Condition.READY, ("body",), releases_key=True),
    Action("code", ("v",), "", "the lines of code that the listing comes from, or the listing alone",
           "panes.code", HelpSection.LOOK, Condition.READY, ("body",), releases_key=True),
)  # fmt: skip

_CURSOR = (
    Action("cursor-up", ("up", "k"), "", "a line up", "panes.cursor('up')", HelpSection.MOVE),
    Action("cursor-down", ("down", "j"), "", "a line down", "panes.cursor('down')", HelpSection.MOVE),
    Action("page-up", ("pageup",), "", "a page up", "panes.cursor('pageup')", HelpSection.MOVE),
    Action("page-down", ("pagedown",), "", "a page down", "panes.cursor('pagedown')", HelpSection.MOVE),
    Action("first", ("home",), "", "the first line", "panes.cursor('home')", HelpSection.MOVE),
    Action("last", ("end",), "", "the last line", "panes.cursor('end')", HelpSection.MOVE),
    Action("next-pane", ("tab",), "", "the next pane", "app.focus_next", HelpSection.MOVE, Condition.NOT_TYPING),
    Action("previous-pane", ("shift+tab",), "", "the pane before", "app.focus_previous", HelpSection.MOVE,
           Condition.NOT_TYPING),
)  # fmt: skip

#: The panes in the order of the screen: the key that focuses each, shown before its title, and the title.
_PANES = {
    "body": ("1", "Source"), "back-edges": ("2", "Back edges"), "condition": ("3", "Condition"),
    "stack": ("4", "Stack"), "breakpoints": ("5", "Breakpoints"), "scans": ("6", "Scan outputs"),
    "inputs": ("7", "Inputs"), "timeline": ("8", "Timeline"), "outputs": ("9", "Outputs"),
    "displays": ("0", "Displays"),
}  # fmt: skip
PANE_KEYS = {pane: key for pane, (key, _) in _PANES.items()}

_PANE_FOCUS = tuple(
    Action(f"pane-{number}", (key,), "", f"to the pane {title}", f"panes.pane('{pane}')", HelpSection.SCREEN)
    for number, (pane, (key, title)) in enumerate(_PANES.items(), 1)
)

_SCREEN = (
    Action("zoom", ("z",), "full screen", "the pane alone, or all again", "panes.zoom", HelpSection.SCREEN, rank=23),
    Action("tab-next", ("greater_than_sign",), "", "the next tab of a small screen", "panes.tab(1)",
           HelpSection.SCREEN),
    Action("tab-previous", ("less_than_sign",), "", "the tab before", "panes.tab(-1)", HelpSection.SCREEN),
    Action("mouse", ("m",), "", "mouse off, so that the terminal selects text, or on again", "app.mouse",
           HelpSection.SCREEN),
    Action("console", ("colon",), "command", "the console: help lists its commands",
           "dialogs.console('')", HelpSection.SCREEN, rank=24),
    # If nothing runs, escape closes the console, then the full screen.
    Action("interrupt", ("escape",), "", "interrupt what runs", "run.interrupt", HelpSection.SCREEN,
           Condition.BUSY, releases_key=True, while_typing=True),
    Action("close", ("escape",), "close", "close the console, leave the search or the full screen", "dialogs.close",
           HelpSection.SCREEN, Condition.CAN_CLOSE, rank=4, releases_key=True, while_typing=True),
    Action("theme", ("t",), "", "dark or light", "app.theme", HelpSection.SCREEN),
    Action("palette", ("ctrl+p",), "all", "find any of these by its words", "dialogs.palette",
           HelpSection.SCREEN, rank=90, priority=True, while_typing=True),
    Action("help", ("question_mark", "f1"), "help", "all keys, signs and words", "dialogs.help",
           HelpSection.SCREEN, rank=91),
    Action("suspend", ("ctrl+z",), "", "to the shell; fg comes back", "app.suspend_process", HelpSection.SCREEN,
           priority=True, while_typing=True),
    Action("quit", ("q",), "quit", "leave; asks where something would be lost", "dialogs.quit",
           HelpSection.SCREEN, rank=92),
    Action("idle", ("x", "ctrl+c"), "", "interrupt what runs; where nothing runs, say so", "run.stop",
           HelpSection.SCREEN),
)  # fmt: skip

_LESSON = tuple(
    Action(name, (key,), name.replace("-", " "), help_text, textual_action, HelpSection.LESSON, Condition.IN_LESSON,
           rank=rank, releases_key=True, useful_when=useful_when)
    for name, key, help_text, textual_action, rank, useful_when in (
        ("answer", "a", "answer the question of the card", "dialogs.console('answer ')", 1, Condition.TAKES_ANSWER),
        ("next-card", "L", "the next card of the lesson", "run.ask_line('card')", 2, Condition.ALWAYS),
        ("hint", "h", "where to look; then which keys; then the answer", "run.ask_line('hint')", 3, Condition.ALWAYS),
        ("again", "A", "the question of the lesson with other numbers", "run.ask_line('again')", 5,
         Condition.REPEATABLE),
    )
)  # fmt: skip

#: Actions that the console line performs itself.
_CONSOLE = tuple(
    Action(name, keys, label, help_text, "", HelpSection.CONSOLE, Condition.TYPING, rank=rank, while_typing=True)
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
