"""``loopdbg run`` with commands: a session instead of a headless run, driven by scripts, options and a prompt."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from ....runtime.errors import InterruptError, LimitError, LoopdbgError, UsageError
from ....runtime.model import Run as Result
from .. import terminal, value_json
from ..remedies import error_text
from .ci_checks import CheckReport
from .time_limit import TimeLimit

if TYPE_CHECKING:
    from ....debugger.session.session_base import SessionBase
    from ....debugger.session.snapshot import Snapshot
    from ....debugger.session.stop import Stop

#: Exit statuses beside those of errors.
STOPPED_STATUS, ASSERTION_FAILED_STATUS = 3, 7


def needs_session(options: argparse.Namespace) -> bool:
    """True where the options ask for a session."""
    asked = options.breaks or options.asserts or options.commands or options.batch or options.asking
    return bool(asked or getattr(options, "at", None))


def _start_commands(options: argparse.Namespace) -> list[str]:
    """The commands that lead to the place at which a session is to begin."""
    at = getattr(options, "at", None)
    if at is None:
        return []
    loop, iteration = at
    if iteration is not None:
        from ....debugger.describe.value_names import quote

        return [f"tbreak iter {iteration} in {quote(loop)}", "continue"] if loop else [f"goto {iteration}"]
    return ["continue"] if options.breaks or options.asserts else ["break nan", "continue"]


def is_interactive(options: argparse.Namespace) -> bool:
    """True where commands are asked for after those given; from a pipe as well, where that was wanted."""
    enough = options.batch or options.json or options.breaks or options.asserts
    return bool(options.asking or (not enough and sys.stdin.isatty()))


def run_session(
    session: SessionBase, options: argparse.Namespace, checks: CheckReport, limit: TimeLimit
) -> tuple[int, Result | None, dict[str, Any], float]:
    """Drive a session, or a recording, as the options say.

    Returns: the exit status, the run where it came to its end, what ``--json`` says of a stop, and seconds.

    Raises:
        UsageError: a command or an expression makes no sense.
        InterruptError: the time limit interrupted it.
    """
    from ....debugger.frontends.console.text_output import frame_lines
    from ....debugger.session.snapshot import take_snapshot

    quiet = options.json
    given = _OptionBreakpoints(session, options)
    asking = is_interactive(options)
    started = time.perf_counter()
    status = _run_commands(session, options, given, limit)
    seconds = time.perf_counter() - started
    # Read before anything is told: where a recording cannot be read on, that is the one error.
    shown = [] if quiet or asking or session.done else list(frame_lines(session.frame))
    status = _report_outcome(session, given, checks, status, asking)
    if status in (ASSERTION_FAILED_STATUS, STOPPED_STATUS):
        for line in shown:
            terminal.out(line)
    result = None
    if session.done and session.outputs is not None:
        result = Result(session.outputs, session.totals, notes=tuple(session.model.graph.notes))
    stopped = stop_json(take_snapshot(session)) if quiet and not session.done else {}
    if given.asserts.failed_text and stopped:
        stopped["assertion"] = given.asserts.failed_text
    return status, result, stopped, seconds


class _OptionBreakpoints:
    """The breakpoints that ``--assert`` and ``--break`` made."""

    def __init__(self, session: SessionBase, options: argparse.Namespace) -> None:
        self.asserts = _AssertionChecks(session, options.asserts or ())
        self.breaks: dict[int, str] = {}
        #: The values that each of those is about.
        self.value_names: dict[int, frozenset[str]] = {}
        for text in options.breaks or ():
            with _option_errors("--break", text):
                made = session.breakpoints.add(text if text == "nan" else f"if {text}")
            self.breaks[made.number] = text
            self.value_names[made.number] = frozenset() if made.expression is None else made.expression.names
        #: Expressions by number.
        self.texts = {**self.asserts.texts, **self.breaks}

    def option_flag(self, number: int) -> str:
        """What made one."""
        return "--assert" if number in self.asserts.texts else "--break"

    def case_name(self, number: int) -> str:
        """What a report calls one."""
        return f"{self.option_flag(number)} {self.texts[number]}"


def _run_commands(
    session: SessionBase, options: argparse.Namespace, given: _OptionBreakpoints, limit: TimeLimit
) -> int:
    """Run the commands that the options give, and those that are typed; the exit status that they ask for."""
    from ....debugger.frontends.console.console import Console, QuitRequest
    from ....debugger.session.stop import Reason

    asking = is_interactive(options)

    def say(line: str) -> None:
        # What ends a run into which nobody types is said once, by the caller.
        if not options.json and (asking or options.commands or line != f"error: {session.stop.text}"):
            terminal.out(line)

    console = Console(session, say)
    console.untested_reported_elsewhere = frozenset(given.texts)
    console.on_stop = partial(_handle_stop, given.asserts)
    status = 0
    try:
        try:
            # What is so before iteration 0 already is met there.
            if session._internals.check_breakpoints().breakpoints:
                console.report_stop(session.stop)
            elif not (options.commands or getattr(options, "at", None)) and (options.breaks or options.asserts):
                console.execute("continue")
            console.run_lines([*_start_commands(options), *options.commands])
        except AssertionFailed:
            status = ASSERTION_FAILED_STATUS
        except InterruptError:
            # The commands that were to come are not what whoever pressed Ctrl-C wants.
            if not asking:
                raise
        if asking and sys.stdin.isatty():
            console.on_stop = given.asserts.check_stop
        if asking:
            run_prompt(console)
    except QuitRequest as quit_:
        status = status or quit_.status
    except InterruptError as interrupted:
        if limit.expired:
            raise
        # The console has said it already, where it says anything.
        if options.json or session.stop.reason is not Reason.INTERRUPT:
            terminal.err(f"loopdbg: {interrupted}")
        status = interrupted.exit_status
    return status


def _report_outcome(
    session: SessionBase, given: _OptionBreakpoints, checks: CheckReport, status: int, asking: bool
) -> int:
    """Say what is wrong where the session ended; the exit status."""
    from ....debugger.expression.language import parse
    from ....debugger.session.stop import Reason

    asserts, stop, loop = given.asserts, session.stop, session.frame.loop
    if asserts.failed_text:
        text = f"{asserts.failed_text} is false {asserts.failed_location}"
        terminal.err(f"loopdbg: assertion failed: {text}")
        checks.record_failure(f"--assert {asserts.failed_text}", text, "assert", parse(asserts.failed_text).names, loop)
        status = ASSERTION_FAILED_STATUS
    elif stop.reason in (Reason.BREAKPOINT, Reason.WATCHPOINT) and given.breaks:
        for number in set(stop.breakpoints) & given.breaks.keys():
            checks.record_failure(given.case_name(number), stop.text, "break", given.value_names[number], loop)
        status = status or STOPPED_STATUS
    elif stop.reason is Reason.LIMIT:
        checks.record_error(stop.text, stop.reason.value)
        status = status or LimitError.exit_status
    elif stop.reason is Reason.ERROR:
        failed = _report_error(stop, given, checks)
        status = status or failed
    if session.done and not asking:
        for one, why in session.breakpoints.never_evaluated():
            if one.number in given.texts:
                word = "assertion" if one.number in asserts.texts else "--break"
                text = f"{word} '{given.texts[one.number]}' was never tested: {why}"
                terminal.err(f"loopdbg: {text}")
                checks.record_error(text, "untested", given.case_name(one.number))
                status = status or UsageError.exit_status
    checks.record_remaining_passes([given.case_name(number) for number in given.texts])
    return status


def _report_error(stop: Stop, given: _OptionBreakpoints, checks: CheckReport) -> int:
    """Say what failed; the exit status. A breakpoint whose expression makes no sense here is the user's, a node that
    fails the model's."""
    text = stop.text
    numbers = set(stop.breakpoints) & given.texts.keys()
    for number in numbers:
        option, expression = given.option_flag(number), given.texts[number]
        text = _reword_assertion_error(
            text.replace(f"breakpoint {number} ", f"{option} '{expression}' ", 1), expression
        )
        checks.record_error(text, stop.reason.value, given.case_name(number))
    if not numbers:
        checks.record_error(text, stop.reason.value)
    terminal.err(f"loopdbg: {text}")
    return UsageError.exit_status if stop.breakpoints else 1


@contextmanager
def _option_errors(option: str, text: str) -> Iterator[None]:
    """An error about an expression says which option it came from."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{option} '{text}': {_reword_assertion_error(str(error), text)}") from None


def _reword_assertion_error(error: str, text: str) -> str:
    """An error about what stops where an assertion fails, in the words of the assertion."""
    tested = f"not ({text})"

    def place(found: re.Match[str]) -> str:
        return f"column {int(found[1]) - len('not (')} of '{text}'"

    return re.sub(rf"column (\d+) of '{re.escape(tested)}'", place, error).replace(tested, text)


def _handle_stop(asserts: _AssertionChecks, stop: Stop) -> None:
    """Handle a stop while nobody types.

    Raises:
        AssertionFailed: something that should hold does not.
        InterruptError: Ctrl-C ended the command.
    """
    from ....debugger.session.stop import Reason

    asserts.check_stop(stop)
    if stop.reason is Reason.INTERRUPT:
        raise InterruptError(stop.text)


class AssertionFailed(Exception):
    """What should hold at every boundary does not; ends the commands."""


class _AssertionChecks:
    """What has to hold at every boundary: breakpoints that stop where it does not."""

    def __init__(self, session: SessionBase, texts: Iterable[str]) -> None:
        from ....debugger.expression.language import parse

        self._session = session
        #: What must hold, by the number of the breakpoint that stops where it does not.
        self.texts: dict[int, str] = {}
        for text in texts:
            with _option_errors("--assert", text):
                parse(text)  # says what is wrong in the user's own words
                self.texts[session.breakpoints.add(f"if not ({text})").number] = text
        #: The first that was false, and where.
        self.failed_text = ""
        self.failed_location = ""

    def check_stop(self, stop: Stop) -> None:
        """Handle a stop.

        Raises:
            AssertionFailed: one is false here, and none was before.
        """
        failed = [self.texts[number] for number in stop.breakpoints if number in self.texts]
        if failed and not self.failed_text and stop.reason != "error":
            self.failed_text, self.failed_location = failed[0], _location_text(self._session)
            raise AssertionFailed


def run_prompt(console: Any, ask: str = "(loopdbg) ", empty: str | None = None) -> None:
    """Ask for commands on the terminal until there are no more. ``ask``: how; ``empty``: what an empty line means, by
    default the last command again.

    Raises:
        Quit: the user asked to leave.
    """
    asked = sys.stdin.isatty()
    if asked:
        _enable_completion(console)
        terminal.out(console.session.stop.text)
    last = ""
    while True:
        try:
            line = input(("> " if console.in_commands_block else ask) if asked else "")
        except EOFError:
            if asked:
                terminal.out("")
            return
        except KeyboardInterrupt:
            terminal.out("")
            continue
        # An empty line does the last command again, as gdb does: for stepping.
        line = line if line.strip() or console.in_commands_block else last if empty is None else empty
        try:
            console.execute(line)
        except InterruptError as interrupted:
            if not asked:
                raise
            terminal.out(str(interrupted))
        except LoopdbgError as error:
            terminal.out(f"error: {error_text(error)}")
        except AssertionFailed:
            terminal.out("an assertion failed")
        except KeyboardInterrupt:
            terminal.out("interrupted")
        last = line if line.split()[:1] not in ([], ["commands"]) else ""


def _enable_completion(console: Any) -> None:
    try:
        import readline
    except ImportError:
        return
    readline.set_completer_delims(" \t\n")
    found: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            line, begin = readline.get_line_buffer(), readline.get_begidx()
            start, words = console.completions(line, readline.get_endidx())
            # readline replaces from where it thinks that the word begins: expressions know better.
            found[:] = [line[begin:start] + word[max(begin - start, 0) :] for word in words]
        return found[state] if state < len(found) else None

    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")


def _location_text(session: Any) -> str:
    frame = session.frame
    return f"at {frame.path}, iteration {frame.iteration}" if frame.loop is not None else "in the main graph"


def stop_json(snapshot: Snapshot) -> dict[str, Any]:
    """``{"reason", "loop", "iteration", "breakpoint", "carried"}`` of a stop.

    ``breakpoint`` is the number of the first that hit, null without one; ``carried`` holds small values as JSON numbers
    and lists, of others type and statistics.
    """
    frame, stop = snapshot.frame, snapshot.stop
    return {
        "reason": stop.reason.value,
        "text": stop.text,
        "loop": frame.path,
        "iteration": frame.iteration if frame.loop is not None else None,
        "breakpoint": stop.breakpoints[0] if stop.breakpoints else None,
        "carried": {name: value_json.compact_json(value) for name, value in frame.carried.items()},
    }
