"""What breakpoints are set on: something that runs through a model and tests them on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...runtime.graph import Node
from ...runtime.model import LoopTotals
from ..expression.language import Expression
from ..values.iterations import TimedFrame
from .breakpoint import Breakpoint
from .places import Places


class Host(Protocol):
    """A run under the debugger, or a recording; :class:`~..session.debuggee.Debuggee` says what each name means."""

    #: False where nothing but boundaries can be stopped at.
    has_nodes: bool

    @property
    def places(self) -> Places: ...
    @property
    def frame(self) -> TimedFrame: ...
    @property
    def totals(self) -> Sequence[LoopTotals]: ...
    def here(self) -> int: ...
    def node_here(self) -> Node: ...
    def check_expression(self, expression: Expression, index: int) -> None: ...
    def prime(self, *breakpoints: Breakpoint) -> None: ...
    def add(self, breakpoint_: Breakpoint) -> None: ...
    def remove(self, breakpoint_: Breakpoint) -> None: ...
    def log(self, text: str) -> None: ...
