"""``loopdbg run`` with commands: a session driven by scripts, options and a prompt."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from ....debugger.value_json import compact_json
from ....runtime.errors import InterruptError, LimitError, LoopdbgError, UsageError
from ....runtime.model import Run as Result
from .. import terminal
from ..remedies import error_text
from .ci_checks import CheckReport
from .time_limit import TimeLimit

if TYPE_CHECKING:
    from ....debugger.session.session import Session
    from ....debugger.session.stop import Stop
    from ....debugger.session.stop_state import StopState

#: Values of --break that are no conditions.
RESULT_TRIGGERS = ("nan", "overflow", "beyond float16")
#: Exit statuses in addition to those of errors.
STOPPED_STATUS, ASSERTION_FAILED_STATUS = 3, 7


def needs_session(options: argparse.Namespace) -> bool:
    """Whether the options require a session."""
    is_requested = options.breaks or options.asserts or options.commands or options.batch or options.asking
    return bool(is_requested or getattr(options, "at", None))


def _start_position_commands(options: argparse.Namespace) -> list[str]:
    """The commands that move a session to its start position."""
    start = getattr(options, "at", None)
    if start is None:
        return []
    loop, iteration = start
    if iteration is not None:
        from ....debugger.describe.value_names import quote

        return [f"tbreak iter {iteration} in {quote(loop)}", "continue"] if loop else [f"goto {iteration}"]
    return ["continue"] if options.breaks or options.asserts else ["break nan", "continue"]


def is_interactive(options: argparse.Namespace) -> bool:
    """Whether to read commands from stdin after the given ones; with ``-i`` also from a pipe."""
    is_scripted = options.batch or options.json or options.breaks or options.asserts
    return bool(options.asking or (not is_scripted and sys.stdin.isatty()))


def run_session(
    session: Session, options: argparse.Namespace, checks: CheckReport, limit: TimeLimit
) -> tuple[int, Result | None, dict[str, Any], float]:
    """Run the commands of the options in a session.

    Returns: the exit status, the run if it ended, the JSON object of a stop, and the seconds.

    Raises:
        UsageError: A command or an expression is invalid.
        InterruptError: The time limit expired.
    """
    from ....debugger.frontends.console.text_output import frame_lines
    from ....debugger.session.stop_state import read_stop

    quiet = options.json
    flags = _OptionBreakpoints(session, options)
    interactive = is_interactive(options)
    start = time.perf_counter()
    status = _run_commands(session, options, flags, limit)
    seconds = time.perf_counter() - start
    # Read before anything is printed: a recording that cannot be read is the only error.
    stop_lines = [] if quiet or interactive or session.done else list(frame_lines(session.controller.frame))
    status = _report_outcome(session, flags, checks, status, interactive)
    if status in (ASSERTION_FAILED_STATUS, STOPPED_STATUS):
        for line in stop_lines:
            terminal.out(line)
    result = None
    if session.done and session.outputs is not None:
        result = Result(session.outputs, session.totals, notes=tuple(session.model.graph.notes))
    stop = stop_json(read_stop(session)) if quiet and not session.done else {}
    if flags.asserts.failed_text and stop:
        stop["assertion"] = flags.asserts.failed_text
    return status, result, stop, seconds


class _OptionBreakpoints:
    """The breakpoints of ``--assert`` and ``--break``."""

    def __init__(self, session: Session, options: argparse.Namespace) -> None:
        self.asserts = _AssertionChecks(session, options.asserts or ())
        self.breaks: dict[int, str] = {}
        #: The values in the expression of each breakpoint.
        self.value_names: dict[int, frozenset[str]] = {}
        for text in options.breaks or ():
            with _with_option_in_errors("--break", text):
                bp = session.breakpoints.add(text if text in RESULT_TRIGGERS else f"if {text}")
            self.breaks[bp.number] = text
            self.value_names[bp.number] = frozenset() if bp.expression is None else bp.expression.names
        #: Expressions by number.
        self.texts = {**self.asserts.texts, **self.breaks}

    def option_flag(self, number: int) -> str:
        """The option that set a breakpoint."""
        return "--assert" if number in self.asserts.texts else "--break"

    def case_name(self, number: int) -> str:
        """The name of a breakpoint's check in reports."""
        return f"{self.option_flag(number)} {self.texts[number]}"


def _run_commands(session: Session, options: argparse.Namespace, flags: _OptionBreakpoints, limit: TimeLimit) -> int:
    """Run the commands of the options and of the prompt; returns their exit status."""
    from ....debugger.frontends.console.console import Console, QuitRequest
    from ....debugger.session.stop import Reason

    interactive = is_interactive(options)

    def say(line: str) -> None:
        # The caller reports the error that ends a non-interactive run.
        if not options.json and (interactive or options.commands or line != f"error: {session.stop.text}"):
            terminal.out(line)

    console = Console(session, say)
    console.untested_reported_elsewhere = frozenset(flags.texts)
    console.on_stop = partial(_handle_stop, flags.asserts)
    status = 0
    try:
        try:
            # A condition may be true before iteration 0.
            if session.controller.check_breakpoints().breakpoints:
                console.report_stop(session.stop)
            elif not (options.commands or getattr(options, "at", None)) and (options.breaks or options.asserts):
                console.execute("continue")
            console.run_lines([*_start_position_commands(options), *options.commands])
        except AssertionFailed:
            status = ASSERTION_FAILED_STATUS
        except InterruptError:
            # Ctrl-C skips the remaining commands.
            if not interactive:
                raise
        if interactive and sys.stdin.isatty():
            console.on_stop = flags.asserts.check_stop
        if interactive:
            run_prompt(console)
    except QuitRequest as request:
        status = status or request.status
    except InterruptError as error:
        if limit.expired:
            raise
        # The console has reported it, if it prints.
        if options.json or session.stop.reason is not Reason.INTERRUPT:
            terminal.err(f"loopdbg: {error}")
        status = error.exit_status
    return status


def _report_outcome(
    session: Session, flags: _OptionBreakpoints, checks: CheckReport, status: int, interactive: bool
) -> int:
    """Report errors at the end of a session; returns the exit status."""
    from ....debugger.breakpoints.assertion import parse_assertion
    from ....debugger.session.stop import Reason

    asserts, stop, loop = flags.asserts, session.stop, session.frame.loop
    if asserts.failed_text:
        text = f"{asserts.failed_text} is false {asserts.failed_location}"
        terminal.err(f"loopdbg: assertion failed: {text}")
        names = parse_assertion(asserts.failed_text).names
        checks.record_failure(f"--assert {asserts.failed_text}", text, "assert", names, loop)
        status = ASSERTION_FAILED_STATUS
    elif stop.reason in (Reason.BREAKPOINT, Reason.WATCHPOINT) and flags.breaks:
        for number in set(stop.breakpoints) & flags.breaks.keys():
            checks.record_failure(flags.case_name(number), stop.text, "break", flags.value_names[number], loop)
        status = status or STOPPED_STATUS
    elif stop.reason is Reason.LIMIT:
        checks.record_error(stop.text, stop.reason.value)
        status = status or LimitError.exit_status
    elif stop.reason is Reason.ERROR:
        error_status = _report_error(stop, flags, checks)
        status = status or error_status
    if session.done and not interactive:
        for breakpoint_, reason in session.breakpoints.never_evaluated_breakpoints():
            if breakpoint_.number in flags.texts:
                word = "assertion" if breakpoint_.number in asserts.texts else "--break"
                text = f"{word} '{flags.texts[breakpoint_.number]}' was never tested: {reason}"
                terminal.err(f"loopdbg: {text}")
                checks.record_error(text, "untested", flags.case_name(breakpoint_.number))
                status = status or UsageError.exit_status
    checks.record_remaining_passes([flags.case_name(number) for number in flags.texts])
    return status


def _report_error(stop: Stop, flags: _OptionBreakpoints, checks: CheckReport) -> int:
    """Report an error stop; returns the exit status: a usage error for an invalid breakpoint expression, a model error
    for a failed node."""
    text = stop.text
    numbers = set(stop.breakpoints) & flags.texts.keys()
    for number in numbers:
        option, expression = flags.option_flag(number), flags.texts[number]
        text = _reword_assertion_error(
            text.replace(f"breakpoint {number} ", f"{option} '{expression}' ", 1), expression
        )
        checks.record_error(text, stop.reason.value, flags.case_name(number))
    if not numbers:
        checks.record_error(text, stop.reason.value)
    terminal.err(f"loopdbg: {text}")
    return UsageError.exit_status if stop.breakpoints else 1


@contextmanager
def _with_option_in_errors(option: str, text: str) -> Iterator[None]:
    """Add the option to errors about its expression."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{option} '{text}': {_reword_assertion_error(str(error), text)}") from None


def _reword_assertion_error(error: str, text: str) -> str:
    """Reword an error about a negated condition for the assertion itself."""
    condition = f"not ({text})"

    def reword_column(match: re.Match[str]) -> str:
        return f"column {int(match[1]) - len('not (')} of '{text}'"

    return re.sub(rf"column (\d+) of '{re.escape(condition)}'", reword_column, error).replace(condition, text)


def _handle_stop(asserts: _AssertionChecks, stop: Stop) -> None:
    """Handle a stop without a prompt.

    Raises:
        AssertionFailed: An assertion is false.
        InterruptError: Ctrl-C ended the command.
    """
    from ....debugger.session.stop import Reason

    asserts.check_stop(stop)
    if stop.reason is Reason.INTERRUPT:
        raise InterruptError(stop.text)


class AssertionFailed(Exception):
    """An assertion is false; ends the commands."""


class _AssertionChecks:
    """Assertions, implemented as breakpoints on the negated conditions."""

    def __init__(self, session: Session, texts: Iterable[str]) -> None:
        from ....debugger.breakpoints.assertion import expand_assertion_files, parse_assertion, violation_location

        self._session = session
        #: Assertions by breakpoint number.
        self.texts: dict[int, str] = {}
        for text in expand_assertion_files(texts):
            with _with_option_in_errors("--assert", text):
                parse_assertion(text)  # errors refer to the user's text
                self.texts[session.breakpoints.add(violation_location(text)).number] = text
        #: The first false assertion and its location.
        self.failed_text = ""
        self.failed_location = ""

    def check_stop(self, stop: Stop) -> None:
        """Handle a stop.

        Raises:
            AssertionFailed: An assertion is false for the first time.
        """
        failed = [self.texts[number] for number in stop.breakpoints if number in self.texts]
        if failed and not self.failed_text and stop.reason != "error":
            self.failed_text, self.failed_location = failed[0], _location_text(self._session)
            raise AssertionFailed


def run_prompt(console: Any, prompt: str = "(loopdbg) ", default: str | None = None) -> None:
    """Read and run commands until the end of the input. ``default``: the command of an empty line, by default the
    previous one.

    Raises:
        QuitRequest: The user quit.
    """
    interactive = sys.stdin.isatty()
    if interactive:
        _enable_completion(console)
        terminal.out(console.session.stop.text)
    previous = ""
    while True:
        try:
            line = input(("> " if console.in_commands_block else prompt) if interactive else "")
        except EOFError:
            if interactive:
                terminal.out("")
            return
        except KeyboardInterrupt:
            terminal.out("")
            continue
        # An empty line repeats the previous command, as in gdb.
        line = line if line.strip() or console.in_commands_block else previous if default is None else default
        try:
            console.execute(line)
        except InterruptError as interrupt:
            if not interactive:
                raise
            terminal.out(str(interrupt))
        except LoopdbgError as error:
            terminal.out(f"error: {error_text(error)}")
        except AssertionFailed:
            terminal.out("an assertion failed")
        except KeyboardInterrupt:
            terminal.out("interrupted")
        previous = line if line.split()[:1] not in ([], ["commands"]) else ""


def _enable_completion(console: Any) -> None:
    try:
        import readline
    except ImportError:
        return
    readline.set_completer_delims(" \t\n")
    matches: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            line, begin = readline.get_line_buffer(), readline.get_begidx()
            start, words = console.completions(line, readline.get_endidx())
            # readline replaces from its own word start, which may be before that of the completion.
            matches[:] = [line[begin:start] + word[max(begin - start, 0) :] for word in words]
        return matches[state] if state < len(matches) else None

    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")


def _location_text(session: Any) -> str:
    frame = session.frame
    return f"at {frame.path}, iteration {frame.iteration}" if frame.loop is not None else "in the main graph"


def stop_json(stop_state: StopState) -> dict[str, Any]:
    """``{"reason", "loop", "iteration", "breakpoint", "carried"}`` of a stop.

    ``breakpoint`` is the number of the first hit breakpoint or null; ``carried`` has small values as JSON numbers and
    lists, other values as type and statistics.
    """
    frame, stop = stop_state.frame, stop_state.stop
    return {
        "reason": stop.reason.value,
        "text": stop.text,
        "loop": frame.path,
        "iteration": frame.iteration if frame.loop is not None else None,
        "breakpoint": stop.breakpoints[0] if stop.breakpoints else None,
        "carried": {name: compact_json(value) for name, value in frame.carried.items()},
    }
