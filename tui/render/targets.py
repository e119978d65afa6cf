"""The kinds of targets of pane rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ...debugger.describe.value_names import quote
from ...debugger.frame_state import FrameState
from ...runtime.graph import TensorType, Value
from .formatting import dtype_name, escape_unprintable, value_text
from .stop_view import ScreenState, StopView
from .target_base import Target
from .value_cells import shape_text

__all__ = [
    "BreakpointTarget",
    "DisplayTarget",
    "FrameTarget",
    "IterationTarget",
    "LineTarget",
    "Target",
    "ValueKind",
    "ValueTarget",
    "declared_type_text",
    "value_target",
]

#: Longest text of a value that ``y`` copies; the inspector copies complete slices.
_COPY_MAX_CHARS = 4096


class ValueKind(StrEnum):
    """The namespace of a value's name."""

    #: Values of the frame's graph: parameters, results of nodes, captures.
    BODY = "body"
    #: The value carried by the back edge of a parameter.
    CARRIED = "carried"
    #: A scan output, by its display name.
    SCAN = "scan output"
    #: An output of the model.
    OUTPUT = "output"


def holds_iteration_input(frame: FrameState) -> bool:
    """Whether a carried value means the input of the iteration: inside it the output is not computed yet."""
    return frame.loop is not None and not frame.at_boundary and frame.stopped_by is None


@dataclass(frozen=True)
class ValueTarget(Target):
    """A value of a frame. ``frame_depth``: index in the stack, 0 the main graph; None: the loop that ended last, once
    the model has finished. ``graph_value``: the value in the graph, if it is one."""

    name: str
    frame_depth: int | None = 0
    kind: ValueKind = ValueKind.BODY
    graph_value: Value | None = None

    def find_frame(self, view: StopView) -> FrameState | None:
        """Its frame at a stop; None if there is no such frame."""
        if self.frame_depth is None:
            return view.stop_state.frame
        return view.frames[self.frame_depth] if self.frame_depth < len(view.frames) else None

    def find_value(self, view: StopView) -> tuple[bool, Any]:
        """Whether a stop has it, and its value; for a scan output the newest element."""
        frame = self.find_frame(view)
        if self.kind is ValueKind.OUTPUT:
            outputs = dict(view.stop_state.outputs or ())
            return self.name in outputs, outputs.get(self.name)
        if frame is None:
            return False, None
        if self.kind is ValueKind.CARRIED:
            edge = next((edge for edge in frame.back_edges if edge.param == self.name), None)
            if edge is not None and holds_iteration_input(frame):
                return True, edge.previous
            return (edge is not None and edge.ready), (None if edge is None else edge.value)
        if self.kind is ValueKind.SCAN:
            scan = next((scan for scan in frame.scans if scan.name == self.name), None)
            return (scan is not None and bool(scan.tail)), (scan.tail[-1] if scan is not None and scan.tail else None)
        return self.name in frame.values, frame.values.get(self.name)

    def absence_text(self, view: StopView) -> str:
        """The text for a value that a stop does not have."""
        frame = self.find_frame(view)
        # A recording gets no more values.
        has_run = frame is not None and (frame.iteration > 0 or view.stop_state.done)
        return "not recorded" if view.stop_state.is_recording and has_run else "not computed yet"

    def text(self, state: ScreenState) -> str:
        known, value = self.find_value(state.view)
        kind = _value_type_text(value) if known else declared_type_text(self.graph_value)
        short_name = self.graph_value.short_name if self.graph_value is not None else ""
        label = f"{quote(short_name)} = {escape_unprintable(self.name)}" if short_name else quote(self.name)
        frame = self.find_frame(state.view)
        if self.kind is ValueKind.SCAN and frame is not None:
            scan = next((scan for scan in frame.scans if scan.name == self.name), None)
            kind = f"{scan.dtype} [{','.join(map(str, scan.shape))}], {scan.count} so far" if scan else kind
        parts = [] if self.kind is ValueKind.BODY else [str(self.kind)]
        if frame is not None and frame.loop is not None and self.kind is not ValueKind.OUTPUT:
            parts.append(f"of loop '{escape_unprintable(frame.name)}'")
            if self.kind is ValueKind.CARRIED and holds_iteration_input(frame):
                parts.append(f"as iteration {frame.iteration} got it")
        content = value_text(value, 60) if known else self.absence_text(state.view)
        return "   ".join(part for part in (label, kind, ", ".join(parts), content) if part)

    def copy_text(self, state: ScreenState) -> str:
        known, value = self.find_value(state.view)
        return value_text(value, _COPY_MAX_CHARS) if known else quote(self.name)


def _value_type_text(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return f"sequence of {len(value)}" if isinstance(value, list | tuple) else ""
    return f"{dtype_name(dtype)} {shape_text(value)}"


def declared_type_text(value: Value | None) -> str:
    """The type that a graph declares for a value; empty if none."""
    kind = None if value is None else value.type
    if isinstance(kind, TensorType):
        if kind.dtype is None and kind.shape is None:
            return ""
        dims = "..." if kind.shape is None else ",".join("?" if d is None else str(d) for d in kind.shape)
        return f"{dtype_name(kind.dtype)} [{dims}]"
    return "" if kind is None else str(kind)


@dataclass(frozen=True)
class LineTarget(Target):
    """A line of the pseudo-code; ``value``: the value that it defines, if any; ``is_head``: it has nested lines."""

    number: int
    code: str
    node: str = ""
    value: ValueTarget | None = None
    is_head: bool = False

    def text(self, state: ScreenState) -> str:
        value_text = f"   {self.value.text(state)}" if self.value is not None else ""
        return f"line {self.number}   {self.node or self.code}{value_text}"

    def copy_text(self, state: ScreenState) -> str:
        return self.code


@dataclass(frozen=True)
class FrameTarget(Target):
    """A frame of the stack; ``depth``: 0 the main graph, None the loop that ended last."""

    depth: int | None

    def text(self, state: ScreenState) -> str:
        frames = state.view.frames
        if self.depth is not None and self.depth >= len(frames):
            return ""
        frame = state.view.stop_state.frame if self.depth is None else frames[self.depth]
        return escape_unprintable(frame.path) + (
            f"   {frame.loop.op_type}" if frame.loop is not None else "   the main graph"
        )


@dataclass(frozen=True)
class BreakpointTarget(Target):
    """A breakpoint or watchpoint."""

    number: int

    def text(self, state: ScreenState) -> str:
        bp = next((bp for bp in state.view.stop_state.breakpoints if bp.number == self.number), None)
        if bp is None:
            return ""
        return f"{bp.kind_name} {bp.number}: {bp.title}" + ("" if bp.enabled else ", disabled")


@dataclass(frozen=True)
class DisplayTarget(Target):
    """An expression that is displayed."""

    number: int
    expression: str

    def text(self, state: ScreenState) -> str:
        return f"display {self.number}: {self.expression} = {self.copy_text(state)}"

    def copy_text(self, state: ScreenState) -> str:
        return next((display.value_text for display in state.view.displays if display.number == self.number), "")


@dataclass(frozen=True)
class IterationTarget(Target):
    """An iteration of a loop on a branch (None: the current one)."""

    iteration: int
    branch: int | None = None
    note: str = ""

    def text(self, state: ScreenState) -> str:
        branch = "" if self.branch is None else f" on branch {self.branch}"
        return f"iteration {self.iteration}{branch}" + (f"   {self.note}" if self.note else "")


def value_target(target: Target | None) -> ValueTarget | None:
    """The value of a target, or the one that its line defines."""
    if isinstance(target, LineTarget):
        return target.value
    return target if isinstance(target, ValueTarget) else None
