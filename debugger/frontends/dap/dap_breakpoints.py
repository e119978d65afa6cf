"""Breakpoints of an editor as breakpoints of a session."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....runtime.errors import LoopdbgError, UsageError
from ...breakpoints.breakpoint import Breakpoint
from ...describe.value_names import quote
from ...session.session_base import SessionBase

#: What exceptions are here, for the filters of an editor: name, label, what it is.
EXCEPTION_FILTERS = (
    ("nan", "NaN or infinity", "Stop where a node first gives one, in the iteration that did."),
    ("end", "End of a loop", "Stop where a loop ends, and say what ended it."),
)
_HIT_CONDITION = re.compile(r"\s*(>=|>|==|=)?\s*([0-9]{1,9})\s*")


class DapBreakpoints:
    """Which of the session's breakpoints came from which request: each request sets all of its kind anew."""

    def __init__(self, session: SessionBase) -> None:
        self.session = session
        self._by_kind: dict[str, list[Breakpoint]] = {}

    def set_line_breakpoints(self, wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Those on lines of the source."""
        return self._replace_all("line", wanted, lambda one: f"line {int(one['line'])}")

    def set_function_breakpoints(self, wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Those on what has a name: a place of the ``break`` command, a loop, a node, a value or an operator type."""
        return self._replace_all("function", wanted, lambda one: self._resolve_place(str(one["name"]).strip()))

    def set_data_breakpoints(self, wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Watchpoints."""
        return self._replace_all("data", wanted, lambda one: str(one["dataId"]), watch=True)

    def set_exception_breakpoints(self, filters: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Those on what goes wrong."""
        return self._replace_all("exception", filters, lambda one: str(one["filterId"]))

    def request_kind(self, number: int) -> str:
        """Which request set a breakpoint; empty: the console did."""
        return next((kind for kind, all in self._by_kind.items() if any(one.number == number for one in all)), "")

    def _resolve_place(self, name: str) -> str:
        try:
            probe = self.session.breakpoints.add(name)
        except UsageError as error:
            try:
                probe = self.session.breakpoints.add(f"op {name}")
            except UsageError:
                raise error from None
            name = f"op {name}"
        self.session.breakpoints.delete(probe.number)
        return name

    def _replace_all(
        self,
        kind: str,
        wanted: Sequence[Mapping[str, Any]],
        place: Callable[[Mapping[str, Any]], str],
        watch: bool = False,
    ) -> list[dict[str, Any]]:
        there = list(self.session.breakpoints)
        for old in self._by_kind.pop(kind, ()):
            if old in there:
                self.session.breakpoints.delete(old.number)
        kept = self._by_kind.setdefault(kind, [])
        told = []
        for one in wanted:
            try:
                made = self._create_breakpoint(place(one), one, watch)
            except (LoopdbgError, KeyError, ValueError, TypeError) as error:
                told.append({"verified": False, "message": str(error) or type(error).__name__, **_requested_line(one)})
                continue
            line = self._stop_line(made) if kind == "line" else None
            if reason := self.session._internals.symbols.unreachable_reason_of_all(made.nodes):
                self.session.breakpoints.delete(made.number)
                told.append({"verified": False, "message": f"never hit: {reason}", **_requested_line(one)})
                continue
            kept.append(made)
            told.append(
                {"id": made.number, "verified": True, **(_requested_line(one) if line is None else {"line": line})}
            )
        return told

    def _stop_line(self, made: Breakpoint) -> int | None:
        """The line that a breakpoint stops on: that of the node which its own line led to."""
        places = self.session._internals.symbols
        nodes = [*made.nodes, *(places.loops[index].loop for index in made.loops if index >= 0)]
        lines = [line.number for node in nodes if (line := places.pseudo_code.line_of(node)) is not None]
        return min(lines, default=None)

    def _create_breakpoint(self, place: str, one: Mapping[str, Any], watch: bool) -> Breakpoint:
        condition, log = (str(one.get(key) or "").strip() for key in ("condition", "logMessage"))
        ignore, once = _parse_hit_condition(str(one.get("hitCondition") or ""))
        text = f"{place} if {condition}" if condition else place
        points = self.session.breakpoints
        add = points.watch if watch else points.add
        made = add(text, temporary=once, log=log or None)
        made.ignore = ignore
        return made


def watchpoint_id(name: str, loop: str) -> str:
    """What a watchpoint on a value is called: the value in its loop."""
    return f"{quote(name)} in {quote(loop)}" if loop else quote(name)


def _parse_hit_condition(text: str) -> tuple[int, bool]:
    """How many hits are passed by, and whether the next one is the last.

    Raises:
        UsageError: it is no number of hits.
    """
    if not text.strip():
        return 0, False
    found = _HIT_CONDITION.fullmatch(text)
    if found is None:
        raise UsageError(f"a hit count is a number, >= N, > N or == N, not '{text}'")
    number = int(found[2])
    return (number if found[1] == ">" else max(number - 1, 0)), found[1] in ("==", "=")


def _requested_line(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"line": one["line"]} if type(one.get("line")) is int else {}
