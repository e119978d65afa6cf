"""The editor's view of a stop: the stack, scopes, and the text of the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...describe.pseudo_code import PseudoCode
from ...describe.termination import loop_end_cause
from ...expression.tokens import quote
from ...frame_state import FrameState
from ...session.session import Session
from ...session.stop_state import StopState, read_stop
from .variables import DapVariable, VariableReferences

#: The text of the model, which is no file.
SOURCE_REFERENCE = 1


class DapStopView:
    """One stop; valid until the session moves."""

    def __init__(self, session: Session, variables: VariableReferences) -> None:
        self.session = session
        self.variables = variables
        self.pseudo_code: PseudoCode = session.controller.symbols.pseudo_code
        self.stop_state: StopState = read_stop(session)
        #: Innermost first, as editors list them.
        shown = self.stop_state.frames if self.stop_state.frame.is_running else (self.stop_state.frame,)
        self.frames = list(reversed(shown))

    def frame(self, number: Any) -> FrameState | None:
        """A frame by its number in the editor: 1 is the innermost, also the default."""
        if number is None:
            return self.frames[0]
        return self.frames[number - 1] if type(number) is int and 1 <= number <= len(self.frames) else None

    # -- the stack

    def stack_frames(self, start: int, count: int | None) -> list[dict[str, Any]]:
        """A range of frames; the line of an enclosing frame is the head of its running inner loop."""
        source, stop = self.source(), len(self.frames) if not count else start + count
        frames = []
        for k, frame in enumerate(self.frames[max(0, start) : stop], max(0, start)):
            line = frame.next_line(self.pseudo_code)
            number = 0 if line is None else line.number
            frames.append({"id": k + 1, "name": _frame_title(frame), "source": source, "line": number, "column": 1})
        return frames

    def inline_values(self, frame: FrameState) -> list[dict[str, Any]]:
        """The values of the lines of a frame, as in the console's listing."""
        listing = frame.listing(self.pseudo_code, running=not self.stop_state.done)
        rows = (listing.row(k) for k in range(len(listing)))
        return [{"line": row.line.number, "text": row.value()} for row in rows if row.values]

    def source(self) -> dict[str, Any]:
        """The text of the model as a source of the protocol."""
        return {"name": f"{self.stop_state.model} (loops)", "sourceReference": SOURCE_REFERENCE, "origin": "loopdbg"}

    # -- the scopes of a frame

    def scopes(self, frame: FrameState) -> list[dict[str, Any]]:
        """The scopes of a frame."""
        values, loop = frame.values, frame.loop
        settable = not self.stop_state.is_recording
        sliced = [] if loop is None else [port.inner.name for port in loop.sliced_inputs]
        numbers = [] if loop is None or loop.iteration is None else [loop.iteration.name]
        inputs = [DapVariable(name, values[name], quote(name)) for name in (*sliced, *numbers) if name in values]
        if frame.index < 0:
            inputs = [DapVariable(name, value) for name, value in self.session.inputs.items()]
        body = dict.fromkeys(
            [v.name for entry in frame.nodes for v in entry.node.outputs if v is not None and v in frame.results]
        )
        outputs = self.stop_state.outputs if self.stop_state.stop.done else None
        groups = [
            ("Carried", "locals", _make_variables(frame.carried.items(), settable)),
            ("Condition", "", _condition_variables(frame)),
            ("Inputs", "arguments", inputs),
            ("Body", "locals", _make_variables([(name, values[name]) for name in body], settable)),
            ("Scan outputs", "returnValue", _scan_variables(frame)),
            ("Captures", "globals", [DapVariable(name, value) for name, value in frame.captures]),
            ("Outputs", "returnValue", [DapVariable(name, value) for name, value in outputs or ()]),
        ]
        scopes = []
        for name, hint, items in groups:
            if not items:
                continue
            scope = {"name": name, "variablesReference": self.variables.add(items), "expensive": False}
            scopes.append({**scope, "namedVariables": len(items), **({"presentationHint": hint} if hint else {})})
        return scopes


def _make_variables(values: Iterable[tuple[str, Any]], settable: bool) -> list[DapVariable]:
    return [DapVariable(name, value, quote(name) if settable else "") for name, value in values]


def _condition_variables(frame: FrameState) -> list[DapVariable]:
    if frame.loop is None:
        return []
    items = [DapVariable("iteration", frame.iteration, type="iteration number")]
    if frame.trip_count is not None:
        items.append(DapVariable("trip count", frame.trip_count))
    if frame.condition is not None:
        items.append(DapVariable("condition", frame.condition))
    if frame.stopped_by is not None:
        items.append(DapVariable("ended by", loop_end_cause(frame.stopped_by)))
    return items


def _scan_variables(frame: FrameState) -> list[DapVariable]:
    items = []
    for scan in frame.scans:
        value = scan.full_value if scan.full_value is not None else list(scan.tail)
        items.append(DapVariable(scan.name, value, type=f"{scan.dtype}, {scan.count} collected"))
    return items


def _frame_title(frame: FrameState) -> str:
    if frame.loop is None:
        return "main graph"
    state = "ended after" if frame.stopped_by is not None else "before iteration" if frame.at_boundary else "iteration"
    return f"{frame.name}: {state} {frame.iteration}"
