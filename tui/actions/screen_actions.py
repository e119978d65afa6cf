"""The actions of all other screens: inspector, graph, editors, lists, text and the quit confirmation."""

from __future__ import annotations

from ..worker_requests import SessionCommand
from .action import Action, HelpSection


def _command_action(command: SessionCommand) -> str:
    return f"ask('{command}')"


_INSPECTOR = (
    Action("inspect-before", ("left",), "iteration", "the value in the iteration before",
           "iteration(-1)", HelpSection.INSPECTOR, lambda ctx: ctx.inspector.has_previous, rank=1),
    Action("inspect-next", ("right",), "", "the value in the next iteration, up to the one at hand",
           "iteration(1)", HelpSection.INSPECTOR,
           lambda ctx: ctx.inspector.iteration is not None and ctx.inspector.iteration < ctx.inspector.last_iteration),
    Action("inspect-iteration", ("g",), "goto", "the value in an iteration that is typed",
           "ask('iteration')", HelpSection.INSPECTOR, lambda ctx: ctx.inspector.last_iteration > 0, rank=6),
    Action("inspect-plot", ("p",), "plot", "the value over iterations, as large as the screen",
           "plot", HelpSection.INSPECTOR, lambda ctx: ctx.inspector.last_iteration > 0, rank=10),
    Action("inspect-difference", ("t",), "Δ", "the difference to another iteration, or the numbers again",
           "difference", HelpSection.INSPECTOR, lambda ctx: ctx.inspector.can_compare, rank=7),
    Action("inspect-difference-to", ("d",), "Δ to", "which iteration the difference is to",
           "ask('compare')", HelpSection.INSPECTOR, lambda ctx: ctx.inspector.can_compare, rank=14),
    Action("inspect-largest", ("x",), "largest Δ", "the element that changed most",
           "largest", HelpSection.INSPECTOR, lambda ctx: ctx.inspector.can_compare, rank=8),
    Action("inspect-break", ("b",), "break if", "a breakpoint on this element",
           "break_if", HelpSection.INSPECTOR, lambda ctx: ctx.inspector.can_break, rank=13),
    Action("inspect-help", ("question_mark", "f1"), "help", "these keys", "help", HelpSection.INSPECTOR, rank=91),
    Action("inspect-leave", ("escape", "q"), "back", "back to where it was opened",
           "leave", HelpSection.INSPECTOR, rank=92, while_typing=True),
)  # fmt: skip

_ELEMENTS = (
    Action("inspect-up", ("up", "k"), "", "a row up", "cursor(-1, 0)", HelpSection.ELEMENTS),
    Action("inspect-down", ("down", "j"), "", "a row down", "cursor(1, 0)", HelpSection.ELEMENTS),
    Action("inspect-left", ("h", "shift+left"), "", "a cell to the left", "cursor(0, -1)", HelpSection.ELEMENTS),
    Action("inspect-right", ("l", "shift+right"), "", "a cell to the right", "cursor(0, 1)", HelpSection.ELEMENTS),
    Action("inspect-page-up", ("pageup",), "", "a page of rows up", "page(-1)", HelpSection.ELEMENTS),
    Action("inspect-page-down", ("pagedown",), "", "a page of rows down", "page(1)", HelpSection.ELEMENTS),
    Action("inspect-first", ("home",), "", "the first element", "jump(0)", HelpSection.ELEMENTS),
    Action("inspect-last", ("end",), "", "the last element", "jump(-1)", HelpSection.ELEMENTS),
    Action("inspect-slice", ("left_square_bracket",), "slice", "a slice, as NumPy writes it: [0, :, 3]",
           "ask('slice')", HelpSection.ELEMENTS, lambda ctx: ctx.inspector.is_tensor, rank=2),
    Action("inspect-open", ("enter",), "open", "open an item of a sequence; type a slice of a tensor",
           "open", HelpSection.ELEMENTS, lambda ctx: ctx.inspector.has_items, rank=1),
    Action("inspect-digits", ("f",), "digits", "how numbers are written: 4, 8, all digits, exponents, bits",
           "format", HelpSection.ELEMENTS, lambda ctx: ctx.inspector.has_elements, rank=3),
    Action("inspect-heat-map", ("m",), "heat map", "all of it as a picture, or the numbers again",
           "heat", HelpSection.ELEMENTS, lambda ctx: ctx.inspector.has_elements, rank=4),
    Action("inspect-nan", ("n",), "NaN", "the next NaN or infinity",
           "not_finite", HelpSection.ELEMENTS, lambda ctx: ctx.inspector.has_elements, rank=5),
    Action("inspect-find", ("slash",), "find", "the next element with a value: 0.5, nan, > 3, != 0",
           "ask('find')", HelpSection.ELEMENTS, lambda ctx: ctx.inspector.has_elements, rank=9),
    Action("inspect-save", ("s",), "save", "save it as .npy",
           "ask('save')", HelpSection.ELEMENTS, lambda ctx: ctx.inspector.is_tensor, rank=11),
    Action("inspect-copy", ("y",), "copy", "copy the element",
           "copy_cell", HelpSection.ELEMENTS, lambda ctx: ctx.inspector.has_elements, rank=12),
    Action("inspect-copy-numpy", ("Y",), "as NumPy", "copy what is in the slice as a NumPy expression",
           "copy_part", HelpSection.ELEMENTS, lambda ctx: ctx.inspector.is_tensor, rank=15),
    Action("inspect-take", ("enter",), "take", "take what was typed", "", HelpSection.ELEMENTS,
           lambda ctx: ctx.typing, rank=1, while_typing=True),
)  # fmt: skip

_GRAPH = (
    Action("graph-step", ("s",), "step", "one iteration, as on the main screen",
           _command_action(SessionCommand.STEP), HelpSection.GRAPH, lambda ctx: ctx.can_advance and ctx.model_has_loops,
           rank=1),
    Action("graph-node", ("n",), "node", "one node of the body",
           _command_action(SessionCommand.NEXT_NODE), HelpSection.GRAPH,
           lambda ctx: ctx.can_advance and not ctx.is_recording, rank=2),
    Action("graph-into", ("i",), "into", "one node, but into it where it is a loop",
           _command_action(SessionCommand.INTO), HelpSection.GRAPH,
           lambda ctx: ctx.can_advance and not ctx.is_recording, rank=7),
    Action("graph-continue", ("c",), "continue", "on to the next breakpoint, the end, or a limit",
           _command_action(SessionCommand.CONTINUE), HelpSection.GRAPH, lambda ctx: ctx.can_advance, rank=3),
    Action("graph-back", ("S", "backspace"), "back", "back by an iteration",
           _command_action(SessionCommand.BACK), HelpSection.GRAPH, lambda ctx: ctx.can_go_back, rank=4),
    Action("graph-back-node", ("N",), "", "back by a node",
           _command_action(SessionCommand.BACK_NODE), HelpSection.GRAPH,
           lambda ctx: ctx.can_go_back and not ctx.is_recording),
    Action("graph-restart", ("r",), "restart", "back to the beginning",
           _command_action(SessionCommand.RESTART), HelpSection.GRAPH, lambda ctx: ctx.can_go_back, rank=8),
    Action("graph-up", ("up", "k"), "", "the box above", "move(0, -1)", HelpSection.GRAPH),
    Action("graph-down", ("down", "j"), "", "the box below", "move(0, 1)", HelpSection.GRAPH),
    Action("graph-left", ("left", "h"), "", "the box to the left", "move(-1, 0)", HelpSection.GRAPH),
    Action("graph-right", ("right", "l"), "", "the box to the right", "move(1, 0)", HelpSection.GRAPH),
    Action("graph-next", ("home",), "next node", "to the node that runs next", "next", HelpSection.GRAPH, rank=9),
    Action("graph-open", ("enter",), "open", "open a loop or an If, or close it; open a value in the inspector",
           "open", HelpSection.GRAPH, rank=5),
    Action("graph-more", ("plus",), "", "more of each box: its sign, name, value, type, line of pseudo-code",
           "zoom(1)", HelpSection.GRAPH),
    Action("graph-less", ("minus",), "less", "less of each box, so that more boxes are seen",
           "zoom(-1)", HelpSection.GRAPH, rank=6),
    Action("graph-pan-up", ("pageup", "shift+up"), "", "half a window up", "pan(0, -1)", HelpSection.GRAPH),
    Action("graph-pan-down", ("pagedown", "shift+down"), "", "half a window down", "pan(0, 1)", HelpSection.GRAPH),
    Action("graph-pan-left", ("shift+left",), "", "half a window to the left", "pan(-1, 0)", HelpSection.GRAPH),
    Action("graph-pan-right", ("shift+right",), "", "half a window to the right", "pan(1, 0)", HelpSection.GRAPH),
    Action("graph-help", ("question_mark", "f1"), "help", "these keys", "help", HelpSection.GRAPH, rank=91),
    Action("graph-leave", ("escape", "q", "G"), "back", "back to the panes", "leave", HelpSection.GRAPH, rank=92),
)  # fmt: skip

_FIELDS = (
    Action("fields-take", ("enter", "ctrl+s"), "take", "take what the fields say; among the commands ^s alone",
           "take", HelpSection.FIELDS, rank=1, while_typing=True),
    Action("fields-next", ("tab",), "next field", "the next field", "field(1)", HelpSection.FIELDS, rank=2,
           while_typing=True),
    Action("fields-previous", ("shift+tab",), "", "the field before", "field(-1)", HelpSection.FIELDS,
           while_typing=True),
    Action("fields-help", ("f1",), "help", "these keys", "help", HelpSection.FIELDS, rank=91, while_typing=True),
    Action("fields-leave", ("escape",), "leave", "leave it as it was", "leave", HelpSection.FIELDS, rank=92,
           while_typing=True),
)  # fmt: skip

_INPUTS = (
    Action("inputs-start", ("s",), "start", "open the model with these inputs", "start", HelpSection.INPUTS, rank=1),
    Action("inputs-edit", ("enter",), "edit", "type a value: a number, a list, a file, an expression of other inputs",
           "ask('edit')", HelpSection.INPUTS, rank=2),
    Action("inputs-random", ("r",), "random", "random numbers, others each time",
           "make('random')", HelpSection.INPUTS, rank=3),
    Action("inputs-zeros", ("z",), "zeros", "zeros", "make('zeros')", HelpSection.INPUTS, rank=6),
    Action("inputs-ones", ("o",), "ones", "ones", "make('ones')", HelpSection.INPUTS, rank=7),
    Action("inputs-arange", ("a",), "0, 1, 2 …", "the numbers from 0 on", "make('arange')", HelpSection.INPUTS, rank=8),
    Action("inputs-load", ("l",), "load", "a file: x.npy for this input, x.npz for all",
           "ask('load')", HelpSection.INPUTS, rank=4),
    Action("inputs-dim", ("d",), "dimension", "the size of an unknown dimension: N=16",
           "ask('dim')", HelpSection.INPUTS, rank=5),
    Action("inputs-up", ("up", "k"), "", "the input before", "move(-1)", HelpSection.INPUTS),
    Action("inputs-down", ("down", "j"), "", "the next input", "move(1)", HelpSection.INPUTS),
    Action("inputs-take", ("enter",), "take", "take what was typed", "", HelpSection.INPUTS,
           lambda ctx: ctx.typing, rank=1, while_typing=True),
    Action("inputs-help", ("question_mark", "f1"), "help", "these keys", "help", HelpSection.INPUTS, rank=91),
    Action("inputs-leave", ("escape", "q"), "quit", "close the line that is typed into, or leave",
           "leave", HelpSection.INPUTS, rank=92, while_typing=True),
    Action("inputs-quit", ("ctrl+c", "ctrl+q"), "", "leave at once",
           "quit_now", HelpSection.INPUTS, priority=True, while_typing=True),
)  # fmt: skip

_CHOICE = (
    Action("choice-up", ("up",), "before", "the row above", "choice('up')", HelpSection.CHOICE, rank=3,
           while_typing=True),
    Action("choice-down", ("down",), "next", "the row below", "choice('down')", HelpSection.CHOICE, rank=1,
           while_typing=True),
    Action("choice-page-up", ("pageup",), "", "a page up", "choice('page_up')", HelpSection.CHOICE, while_typing=True),
    Action("choice-page-down", ("pagedown",), "", "a page down", "choice('page_down')", HelpSection.CHOICE,
           while_typing=True),
    Action("choice-open", ("enter",), "open", "open the row, or the file whose path is typed",
           "choose", HelpSection.CHOICE, rank=2, while_typing=True),
    Action("choice-leave", ("escape", "ctrl+q"), "leave", "leave the list",
           "leave", HelpSection.CHOICE, rank=92, while_typing=True),
)  # fmt: skip

_TEXT = (
    Action("text-up", ("up", "k"), "", "a line up", "scroll('up')", HelpSection.TEXT),
    Action("text-down", ("down", "j"), "down", "a line down", "scroll('down')", HelpSection.TEXT, rank=1),
    Action("text-page-up", ("pageup",), "", "a page up", "scroll('page_up')", HelpSection.TEXT),
    Action("text-page-down", ("pagedown",), "page down", "a page down", "scroll('page_down')", HelpSection.TEXT,
           rank=2),
    Action("text-first", ("home",), "", "to its beginning", "scroll('home')", HelpSection.TEXT),
    Action("text-last", ("end",), "", "to its end", "scroll('end')", HelpSection.TEXT),
    Action("text-close", ("escape", "q", "enter"), "close", "close it", "leave", HelpSection.TEXT, rank=92),
)  # fmt: skip

_QUIT_CONFIRMATION = (
    Action("leave", ("q", "y", "enter"), "leave", "leave, and forget what was set by hand", "leave", HelpSection.LEAVE),
    Action("stay", ("escape", "n", "left"), "stay", "stay", "stay", HelpSection.LEAVE),
)  # fmt: skip

SCREEN_ACTIONS: tuple[Action, ...] = (
    *_INSPECTOR,
    *_ELEMENTS,
    *_GRAPH,
    *_FIELDS,
    *_INPUTS,
    *_CHOICE,
    *_TEXT,
    *_QUIT_CONFIRMATION,
)
