"""The kinds of things that rows of panes stand for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ...debugger.session.snapshot import FrameSnapshot
from ...debugger.words.names import quote
from ...runtime.graph import TensorType, Value
from .cells import shape_of
from .target import Target
from .text import dtype_name, printable, value_text
from .view import FrameView, Shown, View

__all__ = [
    "BreakpointTarget",
    "DisplayTarget",
    "FrameTarget",
    "LineTarget",
    "MomentTarget",
    "Of",
    "Target",
    "ValueTarget",
    "declared_text",
    "value_of",
]

#: What ``y`` copies of a value at most, in characters; the inspector copies whole slices.
_COPIED = 4096


class Of(StrEnum):
    """Which values a name means."""

    #: Those of the frame's graph: parameters, results of nodes, captures.
    BODY = "body"
    #: What the back edge of a parameter carries on.
    CARRIED = "carried"
    #: A scan output, by the name that ``words.names.scan_names`` gives it.
    SCAN = "scan output"
    #: An output of the model.
    OUTPUT = "output"


def received(frame: FrameSnapshot) -> bool:
    """Whether a carried value means what this iteration got: inside of one, what it gives is not there yet."""
    return frame.loop is not None and not frame.at_boundary and frame.stopped_by is None


@dataclass(frozen=True)
class ValueTarget(Target):
    """A value of a frame. ``frame``: its depth in the stack, 0 the main graph; None: the loop that ended last, where
    the model is at its end. ``declared``: the value in the graph, where it is one."""

    name: str
    frame: int | None = 0
    of: Of = Of.BODY
    declared: Value | None = None

    def view(self, view: View) -> FrameView | None:
        """Its frame at a stop; None where there is no such frame now."""
        if self.frame is None:
            return view.top
        return view.frames[self.frame] if self.frame < len(view.frames) else None

    def find(self, view: View) -> tuple[bool, Any]:
        """Whether a stop shows it, and what it is there; of a scan output its newest element."""
        found = self.view(view)
        if self.of is Of.OUTPUT:
            outputs = dict(view.snapshot.outputs or ())
            return self.name in outputs, outputs.get(self.name)
        if found is None:
            return False, None
        frame = found.frame
        if self.of is Of.CARRIED:
            edge = next((edge for edge in frame.back_edges if edge.param == self.name), None)
            if edge is not None and received(frame):
                return True, edge.previous
            return (edge is not None and edge.ready), (None if edge is None else edge.value)
        if self.of is Of.SCAN:
            scan = next((scan for scan in frame.scans if scan.name == self.name), None)
            return (scan is not None and bool(scan.tail)), (scan.tail[-1] if scan is not None and scan.tail else None)
        return self.name in frame.values, frame.values.get(self.name)

    def absent(self, view: View) -> str:
        """What is said of it where a stop does not show it."""
        found = self.view(view)
        # A recording has all that it ever will.
        ran = found is not None and (found.frame.iteration > 0 or view.snapshot.done)
        return "not recorded" if view.recorded and ran else "not computed yet"

    def text(self, shown: Shown) -> str:
        there, value = self.find(shown.view)
        kind = _kind(value) if there else declared_text(self.declared)
        short = self.declared.short if self.declared is not None else ""
        called = f"{quote(short)} = {printable(self.name)}" if short else quote(self.name)
        found = self.view(shown.view)
        if self.of is Of.SCAN and found is not None:
            scan = next((scan for scan in found.frame.scans if scan.name == self.name), None)
            kind = f"{scan.dtype} [{','.join(map(str, scan.shape))}], {scan.count} so far" if scan else kind
        parts = [] if self.of is Of.BODY else [str(self.of)]
        if found is not None and found.frame.loop is not None and self.of is not Of.OUTPUT:
            parts.append(f"of loop '{printable(found.frame.name)}'")
            if self.of is Of.CARRIED and received(found.frame):
                parts.append(f"as iteration {found.frame.iteration} got it")
        told = value_text(value, 60) if there else self.absent(shown.view)
        return "   ".join(part for part in (called, kind, ", ".join(parts), told) if part)

    def copied(self, shown: Shown) -> str:
        there, value = self.find(shown.view)
        return value_text(value, _COPIED) if there else quote(self.name)


def _kind(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return f"sequence of {len(value)}" if isinstance(value, list | tuple) else ""
    return f"{dtype_name(dtype)} {shape_of(value)}"


def declared_text(value: Value | None) -> str:
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
    head: bool = False

    def text(self, shown: Shown) -> str:
        told = f"   {self.value.text(shown)}" if self.value is not None else ""
        return f"line {self.number}   {self.node or self.code}{told}"

    def copied(self, shown: Shown) -> str:
        return self.code


@dataclass(frozen=True)
class FrameTarget(Target):
    """A frame of the stack; ``depth``: 0 the main graph, None the loop that ended last."""

    depth: int | None

    def text(self, shown: Shown) -> str:
        frames = shown.view.frames
        if self.depth is not None and self.depth >= len(frames):
            return ""
        frame = (shown.view.top if self.depth is None else frames[self.depth]).frame
        return printable(frame.path) + (f"   {frame.loop.op_type}" if frame.loop is not None else "   the main graph")


@dataclass(frozen=True)
class BreakpointTarget(Target):
    """A breakpoint or watchpoint."""

    number: int

    def text(self, shown: Shown) -> str:
        one = next((b for b in shown.view.snapshot.breakpoints if b.number == self.number), None)
        if one is None:
            return ""
        return f"{one.word} {one.number}: {one.title}" + ("" if one.enabled else ", disabled")


@dataclass(frozen=True)
class DisplayTarget(Target):
    """An expression that is displayed."""

    number: int
    expression: str

    def text(self, shown: Shown) -> str:
        return f"display {self.number}: {self.expression} = {self.copied(shown)}"

    def copied(self, shown: Shown) -> str:
        return next((one.told for one in shown.view.displays if one.number == self.number), "")


@dataclass(frozen=True)
class MomentTarget(Target):
    """An iteration of a loop on a branch (None: the current one)."""

    iteration: int
    branch: int | None = None
    told: str = ""

    def text(self, shown: Shown) -> str:
        branch = "" if self.branch is None else f" on branch {self.branch}"
        return f"iteration {self.iteration}{branch}" + (f"   {self.told}" if self.told else "")


def value_of(target: Target | None) -> ValueTarget | None:
    """The value that a target is, or that its line makes."""
    if isinstance(target, LineTarget):
        return target.value
    return target if isinstance(target, ValueTarget) else None
