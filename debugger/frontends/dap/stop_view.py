"""The editor's view of a stop: the stack, scopes, and the text of the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....runtime.graph import Loop
from ...describe.pseudo_code import PseudoCode, PseudoCodeLine
from ...describe.termination import stop_cause
from ...expression.tokens import quote
from ...frame_state import FrameState
from ...session.session import Session
from ...session.stop_state import StopState, read_stop
from .variables import ChildrenReader, DapVariable, VariableReferences

#: The text of the model, which is no file.
SOURCE_REFERENCE = 1


class DapStopView:
    """One stop; valid until the session moves."""

    def __init__(self, session: Session, variables: VariableReferences) -> None:
        self.session = session
        self.variables = variables
        self.stop_state: StopState = read_stop(session)
        #: Innermost first, as editors list them.
        self.frames = list(reversed(self.stop_state.frames)) if not self.stop_state.done else [self.stop_state.frame]

    @property
    def pseudo_code(self) -> PseudoCode:
        """The pseudo-code of the model."""
        return self.session.controller.symbols.pseudo_code

    def frame(self, number: Any) -> FrameState | None:
        """A frame by its number in the editor: 1 is the innermost, also the default."""
        if number is None:
            return self.frames[0]
        return self.frames[number - 1] if type(number) is int and 1 <= number <= len(self.frames) else None

    # -- the stack

    def stack_frames(self, start: int, count: int | None) -> list[dict[str, Any]]:
        """A range of frames."""
        stop = len(self.frames) if not count else min(len(self.frames), start + count)
        return [self._stack_frame(k) for k in range(max(0, start), stop)]

    def _stack_frame(self, k: int) -> dict[str, Any]:
        frame = self.frames[k]
        line = self.next_line(frame)
        return {
            "id": k + 1,
            "name": _frame_title(frame),
            "source": self.source(),
            "line": 0 if line is None else line.number,
            "column": 1,
        }

    def next_line(self, frame: FrameState) -> PseudoCodeLine | None:
        """The next line of a frame; for an enclosing frame the head of its running inner loop."""
        listing = frame.listing(self.pseudo_code, running=True)
        return None if listing.next_index is None else listing.source.lines[listing.next_index]

    def inline_values(self, frame: FrameState) -> list[dict[str, Any]]:
        """The values of the lines of a frame, as in the console's listing."""
        listing = frame.listing(self.pseudo_code, running=not self.stop_state.done)
        rows = (listing.row(k) for k in range(len(listing)))
        return [{"line": row.line.number, "text": row.value()} for row in rows if row.values]

    def source(self) -> dict[str, Any]:
        """The text of the model as a source of the protocol."""
        return {"name": f"{self.session.model.name} (loops)", "sourceReference": SOURCE_REFERENCE, "origin": "loopdbg"}

    # -- the scopes of a frame

    def scopes(self, frame: FrameState) -> list[dict[str, Any]]:
        """The scopes of a frame."""
        groups = [
            ("Carried", "locals", self._carried(frame)),
            ("Condition", "", self._condition(frame)),
            ("Inputs", "arguments", self._inputs(frame)),
            ("Body", "locals", self._body(frame)),
            ("Scan outputs", "returnValue", self._scans(frame)),
            ("Captures", "globals", self._captures(frame)),
        ]
        if self.stop_state.outputs is not None and self.stop_state.done:
            groups.append(
                ("Outputs", "returnValue", [DapVariable(name, value) for name, value in self.stop_state.outputs])
            )
        scopes = []
        for name, hint, items in groups:
            if not items:
                continue
            scope = {"name": name, "variablesReference": self.variables.add(_item_children(items)), "expensive": False}
            scopes.append({**scope, "namedVariables": len(items), **({"presentationHint": hint} if hint else {})})
        return scopes

    def _carried(self, frame: FrameState) -> list[DapVariable]:
        settable = self.session.controller.has_branches
        return [DapVariable(name, value, quote(name) if settable else "") for name, value in frame.carried.items()]

    def _condition(self, frame: FrameState) -> list[DapVariable]:
        if frame.loop is None:
            return []
        items = [DapVariable("iteration", frame.iteration, type="iteration number")]
        if frame.trip_count is not None:
            items.append(DapVariable("trip count", frame.trip_count))
        if frame.condition is not None:
            items.append(DapVariable("condition", frame.condition))
        if frame.stopped_by is not None:
            items.append(DapVariable("ended by", stop_cause(frame.stopped_by)))
        return items

    def _inputs(self, frame: FrameState) -> list[DapVariable]:
        if frame.loop is None:
            inputs = self.session.inputs if frame.index < 0 else {}
            return [DapVariable(name, value) for name, value in inputs.items()]
        names = [port.inner.name for port in frame.loop.sliced_inputs]
        if frame.loop.iteration is not None:
            names.append(frame.loop.iteration.name)
        return [DapVariable(name, frame.values[name], quote(name)) for name in names if name in frame.values]

    def _body(self, frame: FrameState) -> list[DapVariable]:
        settable = self.session.controller.has_branches
        names = dict.fromkeys(
            [v.name for entry in frame.nodes for v in entry.node.outputs if v is not None and v in frame.results]
        )
        return [DapVariable(name, frame.values[name], quote(name) if settable else "") for name in names]

    def _captures(self, frame: FrameState) -> list[DapVariable]:
        return [DapVariable(name, value) for name, value in frame.captures]

    def _scans(self, frame: FrameState) -> list[DapVariable]:
        items = []
        for scan in frame.scans:
            value = scan.full_value if scan.full_value is not None else list(scan.tail)
            items.append(DapVariable(scan.name, value, type=f"{scan.dtype}, {scan.count} collected"))
        return items


def _item_children(items: list[DapVariable]) -> ChildrenReader:
    def children(start: int, count: int | None) -> Iterator[DapVariable]:
        return iter(items[max(0, start) : None if count is None else max(0, start) + count])

    return children


def _frame_title(frame: FrameState) -> str:
    loop: Loop | None = frame.loop
    if loop is None:
        return "main graph"
    state = "ended after" if frame.stopped_by is not None else "before iteration" if frame.at_boundary else "iteration"
    return f"{frame.name}: {state} {frame.iteration}"
