"""The kinds of things that rows of panes stand for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ...debugger.describe.value_names import quote
from ...debugger.session.snapshot import FrameSnapshot
from ...runtime.graph import TensorType, Value
from .formatting import dtype_name, escape_unprintable, value_text
from .stop_view import FrameView, ScreenState, StopView
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

#: What ``y`` copies of a value at most, in characters; the inspector copies whole slices.
_COPY_MAX_CHARS = 4096


class ValueKind(StrEnum):
    """Which values a name means."""

    #: Those of the frame's graph: parameters, results of nodes, captures.
    BODY = "body"
    #: What the back edge of a parameter carries on.
    CARRIED = "carried"
    #: A scan output, by the name that ``words.names.scan_names`` gives it.
    SCAN = "scan output"
    #: An output of the model.
    OUTPUT = "output"


def holds_iteration_input(frame: FrameSnapshot) -> bool:
    """Whether a carried value means what this iteration got: inside of one, what it gives is not there yet."""
    return frame.loop is not None and not frame.at_boundary and frame.stopped_by is None


@dataclass(frozen=True)
class ValueTarget(Target):
    """A value of a frame. ``frame``: its depth in the stack, 0 the main graph; None: the loop that ended last, where
    the model is at its end. ``declared``: the value in the graph, where it is one."""

    name: str
    frame_depth: int | None = 0
    kind: ValueKind = ValueKind.BODY
    graph_value: Value | None = None

    def frame_view(self, view: StopView) -> FrameView | None:
        """Its frame at a stop; None where there is no such frame now."""
        if self.frame_depth is None:
            return view.innermost
        return view.frames[self.frame_depth] if self.frame_depth < len(view.frames) else None

    def find_value(self, view: StopView) -> tuple[bool, Any]:
        """Whether a stop shows it, and what it is there; of a scan output its newest element."""
        found = self.frame_view(view)
        if self.kind is ValueKind.OUTPUT:
            outputs = dict(view.snapshot.outputs or ())
            return self.name in outputs, outputs.get(self.name)
        if found is None:
            return False, None
        frame = found.frame
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
        """What is said of it where a stop does not show it."""
        found = self.frame_view(view)
        # A recording has all that it ever will.
        ran = found is not None and (found.frame.iteration > 0 or view.snapshot.done)
        return "not recorded" if view.is_recording and ran else "not computed yet"

    def text(self, shown: ScreenState) -> str:
        there, value = self.find_value(shown.view)
        kind = _value_type_text(value) if there else declared_type_text(self.graph_value)
        short = self.graph_value.short_name if self.graph_value is not None else ""
        called = f"{quote(short)} = {escape_unprintable(self.name)}" if short else quote(self.name)
        found = self.frame_view(shown.view)
        if self.kind is ValueKind.SCAN and found is not None:
            scan = next((scan for scan in found.frame.scans if scan.name == self.name), None)
            kind = f"{scan.dtype} [{','.join(map(str, scan.shape))}], {scan.count} so far" if scan else kind
        parts = [] if self.kind is ValueKind.BODY else [str(self.kind)]
        if found is not None and found.frame.loop is not None and self.kind is not ValueKind.OUTPUT:
            parts.append(f"of loop '{escape_unprintable(found.frame.name)}'")
            if self.kind is ValueKind.CARRIED and holds_iteration_input(found.frame):
                parts.append(f"as iteration {found.frame.iteration} got it")
        told = value_text(value, 60) if there else self.absence_text(shown.view)
        return "   ".join(part for part in (called, kind, ", ".join(parts), told) if part)

    def copy_text(self, shown: ScreenState) -> str:
        there, value = self.find_value(shown.view)
        return value_text(value, _COPY_MAX_CHARS) if there else quote(self.name)


def _value_type_text(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return f"sequence of {len(value)}" if isinstance(value, list | tuple) else ""
    return f"{dtype_name(dtype)} {shape_text(value)}"


def declared_type_text(value: Value | None) -> str:
    """What a graph says of a value's type; nothing where it says nothing."""
    kind = None if value is None else value.type
    if isinstance(kind, TensorType):
        if kind.dtype is None and kind.shape is None:
            return ""
        dims = "..." if kind.shape is None else ",".join("?" if d is None else str(d) for d in kind.shape)
        return f"{dtype_name(kind.dtype)} [{dims}]"
    return "" if kind is None else str(kind)


@dataclass(frozen=True)
class LineTarget(Target):
    """A line of the pseudo-code; ``value``: what it makes, where it makes one; ``head``: it heads others."""

    number: int
    code: str
    node: str = ""
    value: ValueTarget | None = None
    is_head: bool = False

    def text(self, shown: ScreenState) -> str:
        told = f"   {self.value.text(shown)}" if self.value is not None else ""
        return f"line {self.number}   {self.node or self.code}{told}"

    def copy_text(self, shown: ScreenState) -> str:
        return self.code


@dataclass(frozen=True)
class FrameTarget(Target):
    """A frame of the stack; ``depth``: 0 the main graph, None the loop that ended last."""

    depth: int | None

    def text(self, shown: ScreenState) -> str:
        frames = shown.view.frames
        if self.depth is not None and self.depth >= len(frames):
            return ""
        frame = (shown.view.innermost if self.depth is None else frames[self.depth]).frame
        return escape_unprintable(frame.path) + (
            f"   {frame.loop.op_type}" if frame.loop is not None else "   the main graph"
        )


@dataclass(frozen=True)
class BreakpointTarget(Target):
    """A breakpoint or watchpoint."""

    number: int

    def text(self, shown: ScreenState) -> str:
        one = next((b for b in shown.view.snapshot.breakpoints if b.number == self.number), None)
        if one is None:
            return ""
        return f"{one.kind_name} {one.number}: {one.title}" + ("" if one.enabled else ", disabled")


@dataclass(frozen=True)
class DisplayTarget(Target):
    """An expression that is displayed."""

    number: int
    expression: str

    def text(self, shown: ScreenState) -> str:
        return f"display {self.number}: {self.expression} = {self.copy_text(shown)}"

    def copy_text(self, shown: ScreenState) -> str:
        return next((one.value_text for one in shown.view.displays if one.number == self.number), "")


@dataclass(frozen=True)
class IterationTarget(Target):
    """An iteration of a loop on a branch (None: the current one)."""

    iteration: int
    branch: int | None = None
    note: str = ""

    def text(self, shown: ScreenState) -> str:
        branch = "" if self.branch is None else f" on branch {self.branch}"
        return f"iteration {self.iteration}{branch}" + (f"   {self.note}" if self.note else "")


def value_target(target: Target | None) -> ValueTarget | None:
    """The value that a target is, or that its line makes."""
    if isinstance(target, LineTarget):
        return target.value
    return target if isinstance(target, ValueTarget) else None
