"""The state of a stopped session: one immutable value, of which all front ends are functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...runtime.graph import Loop, Node
from ..breakpoints.breakpoint import Breakpoint, Trigger
from ..breakpoints.symbol_table import SymbolTable
from ..frame_state import FrameState, read_frame
from .stop import Stop
from .timeline import Branch

if TYPE_CHECKING:
    from .session import Session


@dataclass(frozen=True, eq=False)
class BreakpointState:
    """A breakpoint; ``nodes``: it stops before them; ``loops``: it is tested at their boundaries.

    ``boundary_loops``: loops at each of whose boundaries it stops; ``iterations``: the only ones at which it stops,
    empty for any. ``condition_text``: its condition, "" for none; ``ignore``: number of hits to pass; ``commands``:
    console commands that a stop runs.
    """

    number: int
    kind_name: str
    title: str
    enabled: bool
    hits: int
    nodes: frozenset[Node]
    loops: tuple[int, ...]
    boundary_loops: frozenset[Loop] = frozenset()
    iterations: tuple[int, ...] = ()
    condition_text: str = ""
    ignore: int = 0
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class BranchState:
    """A branch; ``parent``: the number of the branch that it left at ``fork``; ``tip``: its last position."""

    number: int
    parent: int | None
    fork: tuple[int, ...] | None
    edits: tuple[str, ...]
    current: bool
    tip: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class StopState:
    """A complete stop. ``frames``: outermost first, the main graph before all loops; ``position``: in the execution;
    it orders the stops of one branch. ``is_recording``: of a recording; ``at_beginning``: there is no earlier position;
    ``restart_inputs``: the inputs set by a restart."""

    model: str
    stop: Stop
    position: tuple[int, ...]
    frames: tuple[FrameState, ...]
    #: The frame to display: the innermost, or after the end the loop that ended last.
    frame: FrameState
    outputs: tuple[tuple[str, Any], ...] | None
    breakpoints: tuple[BreakpointState, ...]
    #: Empty if there is only one branch.
    branches: tuple[BranchState, ...]
    #: Signs next to the lines of nodes (``Controller.line_signs``).
    line_signs: Mapping[Node, str]
    is_recording: bool
    at_beginning: bool
    restart_inputs: frozenset[str]

    @property
    def done(self) -> bool:
        """The model ran to its end."""
        return self.stop.done


def read_stop(session: Session) -> StopState:
    """The state of a stopped session."""
    controller = session.controller
    branches: Sequence[Branch] = controller.branches if controller.has_branches else ()
    branch = controller.branch if branches else None
    frames = [read_frame(reader) for reader in controller.frames_by_reference()]
    outputs, ended = controller.outputs, controller.frame if controller.stop.done else None
    return StopState(
        controller.model_name,
        controller.stop,
        controller.position,
        tuple(frames),
        frames[-1] if ended is None or ended.loop is None else read_frame(ended.with_references(), is_running=False),
        None if outputs is None else tuple(outputs.items()),
        tuple([_read_breakpoint(b, controller.symbols) for b in controller.breakpoints.in_order]),
        tuple([_read_branch(b, b is branch) for b in branches]),
        controller.line_signs,
        not controller.has_nodes,
        controller.is_at_beginning,
        controller.restart_inputs,
    )


def _read_breakpoint(breakpoint_: Breakpoint, symbols: SymbolTable) -> BreakpointState:
    loops = breakpoint_.loops if breakpoint_.kind is Trigger.BOUNDARY else ()
    boundary_loops = frozenset(symbols.loops[k].loop for k in loops)
    return BreakpointState(
        breakpoint_.number,
        breakpoint_.kind_name,
        breakpoint_.title,
        breakpoint_.enabled,
        breakpoint_.hits,
        breakpoint_.nodes,
        breakpoint_.loops,
        boundary_loops,
        tuple(breakpoint_.iterations),
        breakpoint_.condition_text,
        breakpoint_.ignore,
        tuple(breakpoint_.commands),
    )


def _read_branch(branch: Branch, current: bool) -> BranchState:
    parent = None if branch.parent is None else branch.parent.number
    return BranchState(branch.number, parent, branch.fork, tuple(branch.edits), current, branch.tip)
