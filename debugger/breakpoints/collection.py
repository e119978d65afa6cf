"""The breakpoints of a session, or of a recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...runtime.api_boundary import public_class
from ...runtime.errors import UsageError
from ...runtime.graph import Node
from ..describe.numbered_items import find_by_number
from ..expression.expression import Expression, parse
from ..expression.template import LogTemplate
from ..frame_protocol import FrameReader
from .breakpoint import Breakpoint, Trigger, WatchMode
from .breakpoint_host import BreakpointContext
from .location_parser import LocationParser, strip_if


@public_class
class Breakpoints(Sequence[Breakpoint]):
    """The breakpoints of a session, by number of creation."""

    def __init__(self, context: BreakpointContext) -> None:
        self._context = context
        #: By number. Only methods change it.
        self.in_order: list[Breakpoint] = []
        self._next_number = 1

    def __repr__(self) -> str:
        return repr(self.in_order)

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter(list(self.in_order))

    def __len__(self) -> int:
        return len(self.in_order)

    def __getitem__(self, position: Any) -> Any:
        return self.in_order[position]

    def by_number(self, number: int) -> Breakpoint:
        """The breakpoint with a number.

        Raises:
            UsageError: there is none.
        """
        return find_by_number("breakpoint", self.in_order, number)

    def add(self, text: str, *, temporary: bool = False, log: str | None = None) -> Breakpoint:
        """Set a breakpoint at a location in the syntax of the ``break`` command: ``iter 40``, ``line 3``, ``h_new``,
        ``op MatMul``, ``model.py:87``, ``if max(abs(h)) > 1e3``, ``end``, ``nan``; ``in LOOP`` and ``if CONDITION`` may
        follow.

        Raises:
            UsageError: there is no such location, or the expression is invalid.
        """
        return self._append(LocationParser(self._context, text).parse_location(), temporary, log)

    def watch(self, text: str, *, temporary: bool = False, log: str | None = None) -> Breakpoint:
        """Stop where a value differs from the previous boundary: ``h``, ``err crosses 1e-3``, ``x settles 1e-6``,
        ``v shape``, ``h nan``, ``delta(x) sign``; ``in LOOP`` and ``if CONDITION`` may follow.

        Raises:
            UsageError: the expression is wrong.
        """
        return self._append(LocationParser(self._context, text).parse_watch(), temporary, log)

    def delete(self, number: int) -> None:
        """Delete a breakpoint.

        Raises:
            UsageError: there is none with that number.
        """
        breakpoint_ = self.by_number(number)
        self.in_order.remove(breakpoint_)
        self._context.uninstall_breakpoint(breakpoint_)

    def set_condition(self, breakpoint_: Breakpoint, text: str) -> None:
        """Replace the condition of a breakpoint; an empty one removes it.

        Raises:
            UsageError: the expression is invalid, or the breakpoint consists only of its condition.
        """
        condition_text = strip_if(text)
        if text and not condition_text:
            parse(condition_text)  # raises
        location = _location_with_condition(breakpoint_, condition_text)
        if location is not None:
            self._replace_trigger(breakpoint_, LocationParser(self._context, location).parse_location())
            return
        condition = parse(condition_text) if condition_text else None
        if condition is not None:
            for index in self._loops_of(breakpoint_):
                self._context.check_condition(condition, index)
        breakpoint_.condition = condition
        breakpoint_.failure = ""

    def edit(self, number: int, *, condition: str, ignore: int, commands: Sequence[str]) -> Breakpoint:
        """Replace the condition ("": none), ignore count and console commands of a breakpoint; on an error nothing
        changes.

        Raises:
            UsageError: there is none with that number, the condition is invalid, or ``ignore`` is below 0.
        """
        breakpoint_ = self.by_number(number)
        if ignore < 0:
            raise UsageError("a count is 0 or more", name="count", expected="0 or more")
        if condition.strip() != breakpoint_.condition_text:
            self.set_condition(breakpoint_, condition.strip())
        breakpoint_.ignore = ignore
        breakpoint_.commands = [line.strip() for line in commands if line.strip()]
        return breakpoint_

    def never_evaluated_breakpoints(self) -> list[tuple[Breakpoint, str]]:
        """At the model's end: the breakpoints whose expression never had a value, with the reason."""
        entered = {total.path for total in self._context.totals if total.entries}
        reports = []
        for entry in self.in_order:
            if entry.kind is not Trigger.CONDITION or entry.evaluated or not entry.enabled or entry.expression is None:
                continue
            symbols = self._context.symbols
            skipped = [
                symbols.loop_label(p.index) for p in symbols.loops if p.index in entry.loops and p.path not in entered
            ]
            reason = symbols.expression_scopes_text(entry.expression)
            reports.append((entry, f"{reason}; loop '{skipped[0]}' was never entered" if skipped else reason))
        return reports

    def clear(self) -> None:
        """Delete all."""
        for breakpoint_ in list(self.in_order):
            self.delete(breakpoint_.number)

    def nodes_with_breakpoints(self) -> set[Node]:
        """The nodes with a breakpoint, and the loops with a breakpoint at every boundary."""
        loops = self._context.symbols.loops
        marked = {node for entry in self.in_order for node in entry.nodes}
        marked.update(loops[k].loop for entry in self.in_order if entry.kind is Trigger.BOUNDARY for k in entry.loops)
        return marked

    def find_hits(self, frame: FrameReader, node: Node | None = None, *, silently: bool = False) -> list[Breakpoint]:
        """The breakpoints that hit at the boundary of a frame, or before a node in it; counts hits and prints
        logpoints, unless ``silently``."""
        hits = []
        for breakpoint_ in list(self.in_order):
            if not (breakpoint_.enabled and breakpoint_.hit(frame, node)):
                continue
            if silently:
                if breakpoint_.log is None or breakpoint_.failure:
                    hits.append(breakpoint_)
                continue
            breakpoint_.hits += 1
            if breakpoint_.ignore > 0:
                breakpoint_.ignore -= 1
            elif breakpoint_.log is not None and not breakpoint_.failure:
                self._context.emit_log(breakpoint_.format_log(frame))
            else:
                hits.append(breakpoint_)
        return hits

    def _check_expression(self, expression: Expression, breakpoint_: Breakpoint) -> None:
        for index in self._loops_of(breakpoint_):
            self._context.check_expression(expression, index)

    def _loops_of(self, breakpoint_: Breakpoint) -> Sequence[int]:
        """The loops whose bodies evaluate its expressions."""
        return breakpoint_.loops or sorted({self._context.symbols.loop_of(node) for node in breakpoint_.nodes})

    def _replace_trigger(self, breakpoint_: Breakpoint, replacement: Breakpoint) -> None:
        """Give a breakpoint the trigger of another one."""
        for expression in () if breakpoint_.log is None else breakpoint_.log.expressions:
            self._check_expression(expression, replacement)
        self._context.uninstall_breakpoint(breakpoint_)
        breakpoint_.replace_with(replacement)
        self._context.install_breakpoint(breakpoint_)
        self._context.prime_breakpoints(breakpoint_)

    def _append(self, breakpoint_: Breakpoint, temporary: bool, log: str | None) -> Breakpoint:
        template = None if log is None else LogTemplate(log)
        for expression in () if template is None else template.expressions:
            self._check_expression(expression, breakpoint_)
        breakpoint_.number, breakpoint_.temporary, breakpoint_.log = self._next_number, temporary, template
        self._next_number += 1
        self.in_order.append(breakpoint_)
        self._context.install_breakpoint(breakpoint_)
        self._context.prime_breakpoints(breakpoint_)
        return breakpoint_


def _location_with_condition(entry: Breakpoint, text: str) -> str | None:
    """The command text of a breakpoint with another condition, if the condition is its trigger; None if it is only
    tested on a hit."""
    if entry.kind is Trigger.BOUNDARY and text:
        return f"{entry.text} if {text}"
    if entry.kind is not Trigger.CONDITION:
        return None
    before, after = entry.around
    if not text and before == "if ":
        raise UsageError(
            f"breakpoint {entry.number} is nothing but its condition; delete {entry.number} forgets it",
            name=f"breakpoint {entry.number}",
        )
    return f"{before}{text}{after}" if text else before.removesuffix(" if ")


__all__ = ["Breakpoint", "Breakpoints", "Trigger", "WatchMode"]
