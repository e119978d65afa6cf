"""Console commands for breakpoints, inspection and edits; :mod:`.console` runs them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....runtime.errors import UsageError
from ...breakpoints.line_table import CODE_LINE_PATTERN
from ...describe.value_names import mask_quoted
from ...expression.expression import Expression, parse
from ...expression.template import LogTemplate
from .arguments import parse_integer, reject_arguments
from .command_registry import COMMANDS, QuitRequest, command
from .text_output import (
    branch_lines,
    breakpoint_lines,
    checkpoint_lines,
    frame_lines,
    help_lines,
    loop_lines,
    short_name_lines,
    stack_lines,
    value_lines,
    values_lines,
)

if TYPE_CHECKING:
    from ...breakpoints.breakpoint import Breakpoint
    from .console import Console

_BREAKPOINT_NUMBER = "a breakpoint's number"
#: Help text on lines that are no command.
EXPRESSION_HELP = (
    "any other line is an expression, whose value is printed; of a name that is a command too, the command is meant:"
    " print h, not h"
)
_BYTES_PER_SUFFIX = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


# -- stopping


def _print_breakpoint(console: Console, breakpoint_: Breakpoint) -> None:
    console.write_line(breakpoint_lines([breakpoint_], console.session)[0])


@command(
    "break PLACE",
    "stop at: iter N, line N, a node or value, op TYPE, FILE.py:N, if EXPR, end, nan, overflow, beyond float16",
    "b",
    takes="place",
)
def _break(console: Console, rest: str) -> None:
    _print_breakpoint(console, console.session.breakpoints.add(rest))


@command("tbreak PLACE", "the same, once", takes="place")
def _tbreak(console: Console, rest: str) -> None:
    _print_breakpoint(console, console.session.breakpoints.add(rest, temporary=True))


@command(
    "watch VALUE [MODE]",
    "stop where it changes, crosses C, settles EPS, changes shape, becomes nan, changes sign",
    "w",
    takes="watch",
)
def _watch(console: Console, rest: str) -> None:
    _print_breakpoint(console, console.session.breakpoints.watch(rest))


@command("log PLACE: TEXT", "print at a place and go on; {EXPR} in the text is evaluated", takes="log")
def _log(console: Console, rest: str) -> None:
    # Search outside of quotes and brackets: names, slices and source lines may contain colons.
    masked = mask_quoted(rest)
    code_line = CODE_LINE_PATTERN.match(masked)
    colon = re.compile(r":(?![^\[]*\])").search(masked, code_line.end() if code_line else 0)
    location, text = (rest[: colon.start()].strip(), rest[colon.end() :].strip()) if colon else ("", "")
    if not location or not text:
        raise UsageError("log needs a place and a text: log x_new: x = {x}")
    LogTemplate(text)
    _print_breakpoint(console, console.session.breakpoints.add(location, log=text))


@command("ignore N COUNT", "pass breakpoint N the next COUNT times", takes="breakpoint")
def _ignore(console: Console, rest: str) -> None:
    number, _, count = rest.partition(" ")
    breakpoint_ = console.session.breakpoints.by_number(parse_integer(number, label=_BREAKPOINT_NUMBER))
    times = parse_integer(count.strip(), label="a count")
    if times < 0:
        raise UsageError("a count is 0 or more")
    breakpoint_.ignore = times
    _print_breakpoint(console, breakpoint_)


@command(
    "condition N [EXPR]",
    "breakpoint N stops only where EXPR is true, in place of its condition; without EXPR always",
    takes="condition",
)
def _condition(console: Console, rest: str) -> None:
    number, _, text = rest.partition(" ")
    breakpoint_ = console.session.breakpoints.by_number(parse_integer(number, label=_BREAKPOINT_NUMBER))
    console.session.breakpoints.set_condition(breakpoint_, text.strip())
    _print_breakpoint(console, breakpoint_)


@command("commands [N]", "lines up to 'end' are run where breakpoint N (the newest) stops", takes="breakpoint")
def _commands(console: Console, rest: str) -> None:
    if not rest and not len(console.session.breakpoints):
        raise UsageError("there is no breakpoint yet")
    newest = console.session.breakpoints[-1].number if len(console.session.breakpoints) else 0
    breakpoint_ = console.session.breakpoints.by_number(parse_integer(rest, newest, label=_BREAKPOINT_NUMBER))
    breakpoint_.commands = []
    console.begin_commands_block(breakpoint_.commands)


def _parse_breakpoints(console: Console, rest: str) -> list[Breakpoint]:
    breakpoints = console.session.breakpoints
    if not rest:
        return list(breakpoints)
    words = rest.replace(",", " ").split()
    return [breakpoints.by_number(parse_integer(word, label=_BREAKPOINT_NUMBER)) for word in dict.fromkeys(words)]


@command("enable [N ...]", "let breakpoints stop again; without numbers all", takes="breakpoint")
def _enable(console: Console, rest: str) -> None:
    for breakpoint_ in _parse_breakpoints(console, rest):
        breakpoint_.enabled = True


@command("disable [N ...]", "keep breakpoints, but let them not stop; without numbers all", takes="breakpoint")
def _disable(console: Console, rest: str) -> None:
    for breakpoint_ in _parse_breakpoints(console, rest):
        breakpoint_.enabled = False


@command("delete [N ...]", "forget breakpoints; without numbers all", "d", takes="breakpoint")
def _delete(console: Console, rest: str) -> None:
    for breakpoint_ in _parse_breakpoints(console, rest):
        console.session.breakpoints.delete(breakpoint_.number)


# -- reading


@command("print EXPR", "a value: x, prev(x), x@40, max(abs(h)), h[0, :4]", "p", takes="expression")
def _print(console: Console, rest: str) -> None:
    if not rest:
        raise UsageError("print needs an expression; info values lists the names")
    expression, scope = parse(rest), console.scope
    first, *more = value_lines(expression.evaluate(scope))
    for line in (first + scope.iteration_remark(expression.current_names), *more):
        console.write_line(line)
    sequence = scope.sequence_text_of(rest.strip().strip("`"))
    if sequence:
        console.write_line(f"sequence {sequence}")


@command(
    "display [[N:] EXPR]",
    "show an expression at every stop; N: instead of display N; without one: show them now",
    takes="expression",
)
def _display(console: Console, rest: str) -> None:
    displays = console.displays
    if rest:
        number, expression = _parse_display(console, rest)
        displays[number] = expression
    elif not displays:
        raise UsageError("nothing is displayed yet; display needs an expression")
    selected = {number: expression} if rest else displays
    for number, expression in selected.items():
        console.write_line(f"{number}: {expression.text} = {console.display_text(expression)}")


def _parse_display(console: Console, rest: str) -> tuple[int, Expression]:
    """The number of a display and its expression: a new display, or a replacement of an existing one."""
    replaced = re.match(r"(\d+)\s*:\s*", rest)
    if replaced is None:
        expression = parse(rest)
        console.next_display += 1
        return console.next_display - 1, expression
    return _parse_display_number(console, replaced[1]), parse(rest[replaced.end() :])


def _parse_display_number(console: Console, text: str) -> int:
    number = parse_integer(text, label="a display's number")
    if number not in console.displays:
        available = ", ".join(map(str, console.displays))
        raise UsageError(f"there is no display {text}; there are {available or 'none'}")
    return number


@command("undisplay [N]", "show it no more; without a number: none", takes="display")
def _undisplay(console: Console, rest: str) -> None:
    if not rest:
        console.displays.clear()
    else:
        del console.displays[_parse_display_number(console, rest)]


@command("frame [N]", "select a frame of the stack (0 is the innermost) and show it", "fr")
def _frame(console: Console, rest: str) -> None:
    if rest:
        console.select_frame(parse_integer(rest))
    for line in frame_lines(console.selected_frame()):
        console.write_line(line)


@command("up", "select the loop around the selected one")
def _up(console: Console, rest: str) -> None:
    reject_arguments(rest, "up")
    console.selected_frame()
    if console.selected_index + 1 >= len(console.session.controller.frames):
        raise UsageError("this is the outermost frame")
    console.select_frame(console.selected_index + 1)
    _frame(console, "")


@command("down", "select the loop inside the selected one")
def _down(console: Console, rest: str) -> None:
    reject_arguments(rest, "down")
    console.selected_frame()
    if console.selected_index == 0:
        raise UsageError("this is the innermost frame")
    console.select_frame(console.selected_index - 1)
    _frame(console, "")


@command("backtrace", "the stack: running loops and the Ifs taken", "bt", "where")
def _backtrace(console: Console, rest: str) -> None:
    reject_arguments(rest, "backtrace")
    console.selected_frame()
    for line in stack_lines(console.session, console.selected_index):
        console.write_line(line)


@command(
    "list [N|all] [code|plain]",
    "the pseudo-code around here, around line N or all of it, with its values and the lines of code it comes from",
    "l",
)
def _list(console: Console, rest: str) -> None:
    for line in console.session.listing(rest, console.selected_frame()).lines():
        console.write_line(line)


@command("why", "why the loop ended, or why it goes on")
def _why(console: Console, rest: str) -> None:
    reject_arguments(rest, "why")
    for line in console.session.why(console.selected_frame()).lines():
        console.write_line(line)


#: Aliases of ``info`` topics in other debuggers.
_INFO_ALIASES = {"b": "breakpoints", "watchpoints": "breakpoints", "locals": "values", "stack": "frame"}


@command("info WHAT", "breakpoints, frame, values, names, loops, branches, displays or history", takes="info")
def _info(console: Console, rest: str) -> None:
    session = console.session
    topics = {
        "breakpoints": lambda: breakpoint_lines(session.breakpoints, session) or ["no breakpoints"],
        "frame": lambda: frame_lines(console.selected_frame()),
        "values": lambda: values_lines(console.selected_frame()),
        "names": lambda: short_name_lines(console.selected_frame()),
        "loops": lambda: loop_lines(session),
        "branches": lambda: branch_lines(session),
        "displays": lambda: [f"{k}: {e.text}" for k, e in console.displays.items()] or ["no displays"],
        "history": lambda: checkpoint_lines(session),
    }
    word = _INFO_ALIASES.get(rest, rest)
    matches = [topic for topic in topics if word and topic.startswith(word)]
    if len(matches) != 1:
        raise UsageError(f"info takes one of {', '.join(topics)}" + (f", not '{rest}'" if rest else ""))
    for line in topics[matches[0]]():
        console.write_line(line)


# -- edits and branches


@command(
    "set NAME = EXPR",
    "change a value, name[indices], cond or trip_count: a branch begins (set history 512M bounds checkpoints)",
    takes="set",
)
def _set(console: Console, rest: str) -> None:
    if rest == "history" or re.match(r"history\s+[^=\[\s]", rest):
        size_match = re.fullmatch(r"history\s+(\d{1,15})\s*([kKmMgG]?)i?[bB]?", rest)
        if size_match is None:
            raise UsageError("set history needs a size, as in set history 512M")
        console.session.controller.timeline.set_limit(int(size_match[1]) * _BYTES_PER_SUFFIX[size_match[2].lower()])
        console.write_line(checkpoint_lines(console.session)[0])
        return
    frame = console.selected_frame()
    selected = console.selected_index
    branch = console.session.assign(rest, frame)
    console.select_frame(selected)
    console.write_line(f"branch {branch.number}: {branch.edits[-1]}")


@command("undo", "take back the last set of this branch: back to where it was made, with the values of before")
def _undo(console: Console, rest: str) -> None:
    reject_arguments(rest, "undo")
    session = console.session
    edits = session.branch.edits if session.controller.has_branches else []
    stop = session.undo()
    console.write_line(f"undone: {edits[-1]}")
    console.report_stop(stop)


@command("branch [N]", "go to branch N where it was left; without a number: list them", takes="branch")
def _branch(console: Console, rest: str) -> None:
    if rest:
        console.report_stop(console.session.switch(parse_integer(rest, label="a branch's number")))
    else:
        for line in branch_lines(console.session):
            console.write_line(line)


@command("compare [N]", "the first iteration and value in which branch N and this one differ", takes="branch")
def _compare(console: Console, rest: str) -> None:
    for line in console.session.compare(parse_integer(rest, 0, label="a branch's number")).lines():
        console.write_line(line)


# -- other commands


@command("echo TEXT", "print a text")
def _echo(console: Console, rest: str) -> None:
    console.write_line(rest)


@command("source FILE", "run the commands in a file")
def _source(console: Console, rest: str) -> None:
    if not rest:
        raise UsageError("source needs a file")
    # Messages show a user's path as typed.
    console.run_file(
        rest if console.file_access.unrestricted else str(console.file_access.resolve_path(rest, "source"))
    )


@command(
    "help [WORD]",
    "all commands, or one; a word of the field, as in help back edge; help words lists those",
    "h",
    takes="help",
)
def _help(console: Console, rest: str) -> None:
    if rest:
        for line in help_lines(rest, console.extra_commands):
            console.write_line(line)
        return
    commands = (*console.extra_commands.values(), *COMMANDS.values())
    width = max(len(entry.usage) for entry in commands)
    for entry in commands:
        aliases = f" ({', '.join(entry.aliases)})" if entry.aliases else ""
        console.write_line(f"{entry.usage:<{width}}  {entry.summary}{aliases}")
    console.write_line(EXPRESSION_HELP)


@command("quit [STATUS]", "leave", "q", "exit")
def _quit(console: Console, rest: str) -> None:
    status = parse_integer(rest, 0, label="an exit status")
    if not 0 <= status <= 255:
        raise UsageError("an exit status is 0 to 255")
    raise QuitRequest(status)
