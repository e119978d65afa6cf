"""Maps breakpoints of an editor to breakpoints of a session."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....runtime.errors import LoopdbgError, UsageError
from ...breakpoints.breakpoint import Breakpoint
from ...describe.value_names import quote
from ...session.session import Session

#: Exception filters of an editor: name, label, description.
EXCEPTION_FILTERS = (
    ("nan", "NaN or infinity", "Stop where a node first gives one, in the iteration that did."),
    ("overflow", "Integer overflow", "Stop where a node gives an integer that its type cannot hold."),
    ("beyond float16", "Beyond float16", "Stop where a node first gives a number that float16 cannot hold."),
    ("end", "End of a loop", "Stop where a loop ends, and say what ended it."),
)
_HIT_CONDITION = re.compile(r"\s*(>=|>|==|=)?\s*([0-9]{1,9})\s*")


class DapBreakpoints:
    """The session's breakpoints by request kind: each request replaces all breakpoints of its kind."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._by_kind: dict[str, list[Breakpoint]] = {}

    def set_line_breakpoints(self, specs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Replace the breakpoints on lines of the source."""
        return self._replace_all("line", specs, lambda spec: f"line {int(spec['line'])}")

    def set_function_breakpoints(self, specs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Replace the breakpoints on names: a location of ``break``, a loop, a node, a value or an operator type."""
        return self._replace_all("function", specs, lambda spec: self._resolve_place(str(spec["name"]).strip()))

    def set_data_breakpoints(self, specs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Replace the watchpoints."""
        return self._replace_all("data", specs, lambda spec: str(spec["dataId"]), watch=True)

    def set_exception_breakpoints(self, filters: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Replace the breakpoints on exceptions."""
        return self._replace_all("exception", filters, lambda spec: str(spec["filterId"]))

    def request_kind(self, number: int) -> str:
        """The kind of the request that set a breakpoint; empty: it was set in the console."""
        return next((kind for kind, items in self._by_kind.items() if any(b.number == number for b in items)), "")

    def _resolve_place(self, name: str) -> str:
        try:
            trial = self.session.breakpoints.add(name)
        except UsageError as error:
            try:
                trial = self.session.breakpoints.add(f"op {name}")
            except UsageError:
                raise error from None
            name = f"op {name}"
        self.session.breakpoints.delete(trial.number)
        return name

    def _replace_all(
        self,
        kind: str,
        specs: Sequence[Mapping[str, Any]],
        location_of: Callable[[Mapping[str, Any]], str],
        watch: bool = False,
    ) -> list[dict[str, Any]]:
        existing = list(self.session.breakpoints)
        for old in self._by_kind.pop(kind, ()):
            if old in existing:
                self.session.breakpoints.delete(old.number)
        installed = self._by_kind.setdefault(kind, [])
        replies = []
        for spec in specs:
            try:
                added = self._create_breakpoint(location_of(spec), spec, watch)
            except (LoopdbgError, KeyError, ValueError, TypeError) as error:
                replies.append(
                    {"verified": False, "message": str(error) or type(error).__name__, **_requested_line(spec)}
                )
                continue
            line = self._stop_line(added) if kind == "line" else None
            if reason := self.session.controller.symbols.unreachable_reason_of_all(added.nodes):
                self.session.breakpoints.delete(added.number)
                replies.append({"verified": False, "message": f"never hit: {reason}", **_requested_line(spec)})
                continue
            installed.append(added)
            replies.append(
                {"id": added.number, "verified": True, **(_requested_line(spec) if line is None else {"line": line})}
            )
        return replies

    def _stop_line(self, breakpoint_: Breakpoint) -> int | None:
        """The line where a breakpoint stops: that of its first node."""
        symbols = self.session.controller.symbols
        nodes = [*breakpoint_.nodes, *(symbols.loops[index].loop for index in breakpoint_.loops if index >= 0)]
        lines = [line.number for node in nodes if (line := symbols.pseudo_code.line_of(node)) is not None]
        return min(lines, default=None)

    def _create_breakpoint(self, location: str, spec: Mapping[str, Any], watch: bool) -> Breakpoint:
        condition, log = (str(spec.get(key) or "").strip() for key in ("condition", "logMessage"))
        ignore, temporary = _parse_hit_condition(str(spec.get("hitCondition") or ""))
        text = f"{location} if {condition}" if condition else location
        breakpoints = self.session.breakpoints
        add = breakpoints.watch if watch else breakpoints.add
        breakpoint_ = add(text, temporary=temporary, log=log or None)
        breakpoint_.ignore = ignore
        return breakpoint_


def watchpoint_id(name: str, loop: str) -> str:
    """The identifier of a watchpoint: the value in its loop."""
    return f"{quote(name)} in {quote(loop)}" if loop else quote(name)


def _parse_hit_condition(text: str) -> tuple[int, bool]:
    """The number of hits to pass, and whether the breakpoint is temporary.

    Raises:
        UsageError: it is no hit condition.
    """
    if not text.strip():
        return 0, False
    match = _HIT_CONDITION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"a hit count is a number, >= N, > N or == N, not '{text}'",
            expected="a number, >= N, > N or == N",
            got=text,
        )
    number = int(match[2])
    return (number if match[1] == ">" else max(number - 1, 0)), match[1] in ("==", "=")


def _requested_line(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"line": spec["line"]} if type(spec.get("line")) is int else {}
