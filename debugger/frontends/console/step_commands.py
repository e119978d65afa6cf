"""Commands that move the session forward and backward."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....runtime.errors import InputError, UsageError
from ...scope.frame_scope import FrameScope
from .arguments import parse_integer, reject_arguments
from .command_registry import command
from .restart_inputs import map_inputs

if TYPE_CHECKING:
    from .console import Console


@command("step [N]", "run to the next boundary of this loop, N times", "s")
def _step(console: Console, rest: str) -> None:
    console.report_stop(console.session.step(parse_integer(rest, 1)))


@command("next [N]", "run one node of the body, N times; an inner loop is one node", "n")
def _next(console: Console, rest: str) -> None:
    console.report_stop(console.session.next_node(parse_integer(rest, 1)))


@command("into", "run one node, or go into it where it is a loop", "i", "si")
def _into(console: Console, rest: str) -> None:
    reject_arguments(rest, "into")
    console.report_stop(console.session.into())


@command("finish [N]", "run to the end of this loop (of N loops, from the inside out)", "f", "fin")
def _finish(console: Console, rest: str) -> None:
    console.report_stop(console.session.finish(parse_integer(rest, 1)))


@command("until N|PLACE", "run to this loop's boundary before iteration N, or to a place", "u", takes="place")
def _until(console: Console, rest: str) -> None:
    iteration = re.fullmatch("[+-]?[0-9]+", rest) is not None
    console.report_stop(
        console.session.until(parse_integer(rest) if iteration else _require_place(rest, "an iteration or a place"))
    )


@command("advance PLACE", "run to a place in the words of break, or to what stops before it", takes="place")
def _advance(console: Console, rest: str) -> None:
    console.report_stop(console.session.until(_require_place(rest, "a place")))


def _require_place(rest: str, label: str) -> str:
    if not rest:
        raise UsageError(f"{label} is needed: help break lists the places")
    return rest


@command("continue [N]", "run to the next breakpoint, or the end (N: pass this breakpoint N - 1 times)", "c")
def _continue(console: Console, rest: str) -> None:
    session, times = console.session, parse_integer(rest, 1)
    if times < 1:
        raise UsageError(f"{times} times makes no sense; give 1 or more", expected="1 or more", got=str(times))
    stopping = [b for b in session.breakpoints if b.number in session.stop.breakpoints]
    if times > 1 and not stopping:
        raise UsageError(f"no breakpoint stopped here that continue {times} could pass")
    if times > 1:
        for b in stopping:
            b.ignore = times - 1
    console.report_stop(session.continue_())


@command(
    "restart [NAME=EXPR ...]",
    "back to before iteration 0 of the first loop, on the first branch; with other inputs: a new run",
    "r",
    "run",
    takes="inputs",
)
def _restart(console: Console, rest: str) -> None:
    session = console.session
    try:
        inputs = map_inputs(rest, session.model, FrameScope(session.controller.frames[0])) if rest else None
        console.report_stop(session.restart(inputs))
    except InputError as error:
        # Omit the hint about command-line options.
        raise UsageError(error.what, **error.fields) from None


@command("back [N]", "back to the boundary before, N times", "rs", "reverse-step")
def _back(console: Console, rest: str) -> None:
    console.report_stop(console.session.back(parse_integer(rest, 1)))


@command("back-node [N]", "back by one node, N times", "rn", "reverse-next")
def _back_node(console: Console, rest: str) -> None:
    console.report_stop(console.session.back_node(parse_integer(rest, 1)))


@command("reverse-continue", "back to the last stop that a breakpoint would have made", "rc")
def _reverse_continue(console: Console, rest: str) -> None:
    reject_arguments(rest, "reverse-continue")
    console.report_stop(console.session.reverse_continue())


@command("goto N", "to this loop's boundary before iteration N, back or ahead", "g")
def _goto(console: Console, rest: str) -> None:
    console.report_stop(console.session.goto(parse_integer(rest, label="an iteration")))
