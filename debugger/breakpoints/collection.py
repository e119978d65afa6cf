"""The breakpoints of a session, or of a recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...runtime.api_boundary import public_class
from ...runtime.errors import UsageError
from ...runtime.graph import Node
from ..describe.lookup import find_by_number
from ..expression.language import Expression, parse
from ..expression.template import LogTemplate
from ..scope.iteration_values import FrameWithHistory
from .breakpoint import Breakpoint, Trigger, WatchMode
from .context import BreakpointContext
from .location_parser import LocationParser, strip_if


@public_class
class Breakpoints(Sequence[Breakpoint]):
    """The breakpoints of a session, by number of creation."""

    def __init__(self, host: BreakpointContext) -> None:
        self._context = host
        self._breakpoints: list[Breakpoint] = []
        self._next_number = 1

    def __repr__(self) -> str:
        return repr(self._breakpoints)

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter(list(self._breakpoints))

    def __len__(self) -> int:
        return len(self._breakpoints)

    def __getitem__(self, position: Any) -> Any:
        return self._breakpoints[position]

    def by_number(self, number: int) -> Breakpoint:
        """The breakpoint of a number.

        Raises:
            UsageError: there is none.
        """
        return find_by_number("breakpoint", self._breakpoints, number)

    def add(self, text: str, *, temporary: bool = False, log: str | None = None) -> Breakpoint:
        """Set a breakpoint at a place in the words of the ``break`` command: ``iter 40``, ``line 3``, ``h_new``,
        ``op MatMul``, ``model.py:87``, ``if max(abs(h)) > 1e3``, ``end``, ``nan``; ``in LOOP`` and ``if CONDITION`` may
        follow.

        Raises:
            UsageError: there is no such place, or the expression is wrong.
        """
        return self._append(LocationParser(self._context, text).parse_location(), temporary, log)

    def watch(self, text: str, *, temporary: bool = False, log: str | None = None) -> Breakpoint:
        """Stop where a value differs from that of the boundary before: ``h``, ``err crosses 1e-3``, ``x settles 1e-6``,
        ``v shape``, ``h nan``, ``delta(x) sign``; ``in LOOP`` and ``if CONDITION`` may follow.

        Raises:
            UsageError: the expression is wrong.
        """
        return self._append(LocationParser(self._context, text).parse_watch(), temporary, log)

    def delete(self, number: int) -> None:
        """Forget a breakpoint.

        Raises:
            UsageError: there is none of that number.
        """
        breakpoint_ = self.by_number(number)
        self._breakpoints.remove(breakpoint_)
        self._context.uninstall_breakpoint(breakpoint_)

    def set_condition(self, breakpoint_: Breakpoint, text: str) -> None:
        """Let a breakpoint stop only where an expression is true, in place of the condition that it had; an empty one:
        always.

        Raises:
            UsageError: the expression is wrong, or the breakpoint is nothing but its condition.
        """
        bare = strip_if(text)
        if text and not bare:
            parse(bare)  # says that it is none
        words = _text_with_condition(breakpoint_, bare)
        if words is not None:
            self._replace(breakpoint_, LocationParser(self._context, words).parse_location())
            return
        condition = parse(bare) if bare else None
        if condition is not None:
            for index in self._loops_of(breakpoint_):
                self._context.check_condition(condition, index)
        breakpoint_.condition = condition
        breakpoint_.failure = ""

    def edit(self, number: int, *, condition: str, ignore: int, commands: Sequence[str]) -> Breakpoint:
        """Give a breakpoint another condition ("": none), another number of hits to pass, and other commands for the
        console; where something is wrong all stays as it was.

        Raises:
            UsageError: there is none of that number, the condition is wrong, or ``ignore`` is below 0.
        """
        breakpoint_ = self.by_number(number)
        if ignore < 0:
            raise UsageError("a count is 0 or more")
        if condition.strip() != breakpoint_.condition_text:
            self.set_condition(breakpoint_, condition.strip())
        breakpoint_.ignore = ignore
        breakpoint_.commands = [line.strip() for line in commands if line.strip()]
        return breakpoint_

    def never_evaluated(self) -> list[tuple[Breakpoint, str]]:
        """Those whose expression had no value wherever they could be tested, and why, for when the model has ended."""
        entered = {total.path for total in self._context.totals if total.entries}
        told = []
        for one in self._breakpoints:
            if one.kind is not Trigger.CONDITION or one.evaluated or not one.enabled or one.expression is None:
                continue
            places = self._context.symbols
            never = [places.loop_label(p.index) for p in places.loops if p.index in one.loops and p.path not in entered]
            why = places.scopes_text(one.expression)
            told.append((one, f"{why}; loop '{never[0]}' was never entered" if never else why))
        return told

    def clear(self) -> None:
        """Forget all."""
        for breakpoint_ in list(self._breakpoints):
            self.delete(breakpoint_.number)

    def marked_nodes(self) -> set[Node]:
        """The nodes that are stopped before, and the loops that are stopped in at every boundary."""
        loops = self._context.symbols.loops
        marked = {node for one in self._breakpoints for node in one.nodes}
        marked.update(loops[k].loop for one in self._breakpoints if one.kind is Trigger.BOUNDARY for k in one.loops)
        return marked

    def find_hits(
        self, frame: FrameWithHistory, node: Node | None = None, *, silently: bool = False
    ) -> list[Breakpoint]:
        """Those that stop at the boundary of a frame, or before a node in it; counts hits and prints what logpoints
        say, unless ``silently``."""
        found = []
        for one in list(self._breakpoints):
            if not (one.enabled and one.hit(frame, node)):
                continue
            if silently:
                if one.log is None or one.failure:
                    found.append(one)
                continue
            one.hits += 1
            if one.ignore > 0:
                one.ignore -= 1
            elif one.log is not None and not one.failure:
                self._context.emit_log(one.format_log(frame))
            else:
                found.append(one)
        return found

    def _check_expression(self, expression: Expression, of: Breakpoint) -> None:
        for index in self._loops_of(of):
            self._context.check_expression(expression, index)

    def _loops_of(self, one: Breakpoint) -> Sequence[int]:
        """The loops in whose bodies its expressions are evaluated."""
        return one.loops or sorted({self._context.symbols.loop_of(node) for node in one.nodes})

    def _replace(self, breakpoint_: Breakpoint, made: Breakpoint) -> None:
        """Let a breakpoint wait for what another one would."""
        for expression in () if breakpoint_.log is None else breakpoint_.log.expressions:
            self._check_expression(expression, made)
        self._context.uninstall_breakpoint(breakpoint_)
        breakpoint_.replace_with(made)
        self._context.install_breakpoint(breakpoint_)
        self._context.prime_breakpoints(breakpoint_)

    def _append(self, made: Breakpoint, temporary: bool, log: str | None) -> Breakpoint:
        template = None if log is None else LogTemplate(log)
        for expression in () if template is None else template.expressions:
            self._check_expression(expression, made)
        made.number, made.temporary, made.log = self._next_number, temporary, template
        self._next_number += 1
        self._breakpoints.append(made)
        self._context.install_breakpoint(made)
        self._context.prime_breakpoints(made)
        return made


def _text_with_condition(of: Breakpoint, text: str) -> str | None:
    """The words of a breakpoint with another condition, where those say at which boundaries it is tested; None where it
    is looked at once the breakpoint hits."""
    if of.kind is Trigger.BOUNDARY and text:
        return f"{of.text} if {text}"
    if of.kind is not Trigger.CONDITION:
        return None
    before, after = of.around
    if not text and before == "if ":
        raise UsageError(f"breakpoint {of.number} is nothing but its condition; delete {of.number} forgets it")
    return f"{before}{text}{after}" if text else before.removesuffix(" if ")


__all__ = ["Breakpoint", "Breakpoints", "Trigger", "WatchMode"]
