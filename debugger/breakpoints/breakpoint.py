"""A breakpoint, watchpoint or logpoint: what it waits for, and whether it hits at a stop.

One that waits for an iteration, a node or a loop's end is tested by the engine itself. One with an expression
is tested at every boundary of its loops: by the engine where the expression can be lowered to native kernels, else in
Python, which is slower and said so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from ...runtime.graph import Node
from ...runtime.text import counted
from ..expression.language import Expression, ExpressionError, NoValueError, Scope, show
from ..expression.template import Template
from ..expression.values import describe
from ..frame import AnyFrame
from ..values.iterations import TimedFrame
from ..values.scope import FrameScope, History

#: A boundary: the loop, the iterations of the loops around it, its own iteration.
_Key = tuple[int, tuple[int, ...], int]


class Trigger(StrEnum):
    """What a breakpoint waits for."""

    ITERATION = "iteration"
    NODE = "node"
    CONDITION = "condition"
    END = "end"
    NAN = "nan"
    WATCH = "watch"
    #: Every boundary of a loop.
    BOUNDARY = "boundary"


#: Stands for the main graph where loops are named by their indices.
MAIN_GRAPH = -1


class Mode(StrEnum):
    """What a watchpoint waits for: the value differs from that of the boundary before in this way."""

    CHANGES = "changes"
    CROSSES = "crosses"
    SETTLES = "settles"
    SHAPE = "shape"
    NAN = "nan"
    SIGN = "sign"


@dataclass
class Memory:
    """The last boundary at which something was tested, what it was there, and whether that was a hit."""

    key: _Key | None = None
    value: Any = None
    hit: bool = False
    settled: bool = False


@dataclass(eq=False, repr=False)
class Breakpoint:
    """One breakpoint, watchpoint or logpoint.

    ``loops``: indices of the loops at whose boundaries it is tested, or :data:`MAIN_GRAPH` alone: it is tested once, as
    soon as that has all its values, which is tested before the nodes in ``traps``. ``nodes``: those that it stops
    before. ``iterations``: that of the loop itself last, those of the loops around it before.
    ``log``: what to print instead of stopping. ``commands``: console commands that a stop runs. ``around``: of one that
    is tested at boundaries for its condition, the words before and after that.
    """

    number: int
    kind: Trigger
    text: str
    loops: tuple[int, ...] = ()
    nodes: frozenset[Node] = frozenset()
    traps: frozenset[Node] = frozenset()
    iterations: tuple[int, ...] = ()
    expression: Expression | None = None
    condition: Expression | None = None
    mode: Mode | None = None
    level: float | None = None
    temporary: bool = False
    enabled: bool = True
    ignore: int = 0
    hits: int = 0
    #: Whether its expression ever had a value where it was tested.
    evaluated: bool = False
    #: One in the main graph was tested already before where this stands.
    passed: bool = False
    log: Template | None = None
    commands: list[str] = field(default_factory=list)
    around: tuple[str, str] = ("", "")
    #: The engine's predicates for it, by loop.
    predicates: dict[int, tuple[int, ...]] = field(default_factory=dict, repr=False)
    #: By loop: whether the engine has just found, where it stands, that the condition holds.
    proofs: dict[int, Callable[[], bool]] = field(default_factory=dict, repr=False)
    #: What is known of the last test, by loop.
    memory: dict[int, Memory] = field(default_factory=dict, repr=False)
    #: What a watchpoint saw at its hit, and why the last test could not be done.
    change: str = ""
    failure: str = ""

    def __repr__(self) -> str:
        hits = f", hit {counted(self.hits, 'time')}" if self.hits else ""
        return f"<{self.word} {self.number}: {self.title}{'' if self.enabled else ', disabled'}{hits}>"

    @property
    def title(self) -> str:
        """What it waits for, in the words of the commands."""
        if self.condition is None:
            return self.text
        return f"{self.text} if {self.condition.text}"

    @property
    def stops_if(self) -> str:
        """Its condition, "" where it has none."""
        condition = self.expression if self.kind is Trigger.CONDITION else self.condition
        return "" if condition is None else condition.text

    def become(self, other: Breakpoint) -> None:
        """Wait for what another one does, which is not kept; number, hits and all that is asked for beside stay."""
        for name in ("kind", "text", "loops", "nodes", "traps", "expression", "condition", "around"):
            setattr(self, name, getattr(other, name))
        self.evaluated = self.passed = False
        self.change = self.failure = ""
        self.memory.clear()

    @property
    def word(self) -> str:
        """``breakpoint``, ``watchpoint`` or ``logpoint``."""
        return "logpoint" if self.log is not None else "watchpoint" if self.kind is Trigger.WATCH else "breakpoint"

    @property
    def tested(self) -> bool:
        """True where somebody has to test it at every boundary of its loops."""
        return self.kind in (Trigger.CONDITION, Trigger.NAN, Trigger.WATCH)

    @property
    def in_main(self) -> bool:
        """True where it is about values of the main graph, which no boundary has."""
        return self.loops == (MAIN_GRAPH,)

    def holds(self, frame: TimedFrame) -> bool:
        """Whether it hits at the boundary that a frame stands at, its extra condition aside.

        A test that cannot be done is a hit, and ``failure`` says why.
        """
        self.failure = ""
        if frame.index not in self.loops:
            return False
        if self.kind is Trigger.ITERATION:
            around = self.iterations[:-1]
            entry = frame.entry[len(frame.entry) - len(around) :] if around else ()
            return frame.iteration == self.iterations[-1] and entry == around and frame.stopped_by is None
        if self.kind is Trigger.END:
            return frame.stopped_by is not None
        if self.kind is Trigger.BOUNDARY:
            return True
        if self.passed:
            return False
        proof = self.proofs.get(frame.index)
        if proof is not None and proof():
            return True
        try:
            return self.tested and self._test(frame)
        except ExpressionError as error:
            self.passed = self.in_main
            self.failure = str(error)
            return True

    def met(self, frame: TimedFrame, node: Node | None) -> bool:
        """Whether it stops at the boundary that a frame stands at, or before a node in it."""
        here = self.holds(frame) if node is None or self.in_main else self.kind is Trigger.NODE and node in self.nodes
        return here and self.allows(frame)

    def prime(self, frame: TimedFrame) -> None:
        """Note what is so at a boundary, or in the main graph, where that was reached by other means than running up to
        it."""
        if self.in_main:
            self.passed = False
            self.memory.clear()
            self.holds(frame)
        elif frame.index in self.loops and self.tested and (self.mode is Mode.SETTLES or not self._stateless(frame)):
            self.memory.pop(frame.index, None)
            self.holds(frame)

    def allows(self, frame: TimedFrame) -> bool:
        """Whether its extra condition is true; a value that is not there yet makes it false. One that cannot be
        computed is a hit, and ``failure`` says why."""
        if self.condition is None:
            return True
        if self.kind is Trigger.NODE:
            self.failure = ""
        try:
            return self.condition.truth(FrameScope(frame, frame.history))
        except NoValueError:
            return False
        except ExpressionError as error:
            self.failure = str(error)
            return True

    def seen(self, memory: Memory) -> None:
        """The hit at a boundary was told; running up to that boundary again is no other."""
        if memory.key is not None:
            self.memory[memory.key[0]] = replace(memory, hit=False)

    def said(self, frame: TimedFrame) -> str:
        """What a logpoint prints: its text with each ``{expression}`` evaluated."""
        assert self.log is not None
        return self.log.format(FrameScope(frame, frame.history))

    def made_nan(self, frame: TimedFrame, node: Node) -> bool:
        """Whether a node that has just run gave a NaN or Inf, in a value that this is about."""
        names = {name for v in node.outputs if v is not None for name in v.names}
        if self.expression is not None:
            names &= self.expression.names
        values = frame.values
        return any(_nan_in(values[name]) for name in names if isinstance(values.get(name), np.ndarray))

    def _stateless(self, frame: TimedFrame) -> bool:
        """True if the test reads nothing but the boundary itself."""
        if self.kind is Trigger.CONDITION:
            return True
        assert frame.loop is not None
        carried = {edge.param.name for edge in frame.loop.back_edges}
        return self.kind is Trigger.WATCH and self.expression is not None and self.expression.names <= carried

    def _test(self, frame: TimedFrame) -> bool:
        key = (frame.index, frame.entry, frame.iteration)
        last = self.memory.get(frame.index, Memory())
        if last.key == key:
            return last.hit
        scope = FrameScope(frame, frame.history)
        try:
            if self.kind is Trigger.CONDITION:
                assert self.expression is not None
                hit = self.expression.truth(scope)
                self.evaluated, self.passed = True, self.in_main
                return hit
            now = self._seen(frame, scope)
        except NoValueError:
            return False
        self.evaluated, self.passed = True, self.in_main
        settled = False
        if self.kind is Trigger.NAN:
            hit = bool(now) and self._before(key, last, frame, scope) is not True
        else:
            before = self._before(key, last, frame, scope)
            hit = before is not _UNKNOWN and self._differs(before, now)
            if self.mode is Mode.SETTLES:
                # Only the first boundary at which it has: it is so at all that follow.
                settled = hit
                hit = hit and not self._was_settled(key, last, frame)
            assert self.expression is not None
            if hit:
                self.change = f"{self.expression.text}: {show(before, 40)} → {show(now, 40)}"
        self.memory[frame.index] = Memory(key, now, hit, settled)
        return hit

    def _value(self, scope: Scope) -> Any:
        assert self.expression is not None
        return self.expression.evaluate(scope)

    def _seen(self, frame: AnyFrame, scope: FrameScope) -> Any:
        """What is compared from boundary to boundary: the watched value, or whether there is a NaN."""
        return _has_nan(frame, self.expression, scope) if self.kind is Trigger.NAN else self._value(scope)

    def _before(self, key: _Key, last: Memory, frame: TimedFrame, scope: FrameScope) -> Any:
        """What there was at the boundary before."""
        index, entry, iteration = key
        earlier = frame._inside.before()
        if earlier is not None:
            known = last.key == (index, entry, earlier.iteration)
            return last.value if known else self._seen_at(earlier, earlier.history)
        if self._stateless(frame):
            try:
                return self._value(_Earlier(scope)) if iteration else _UNKNOWN
            except NoValueError:
                return _UNKNOWN
        if last.key == (index, entry, iteration - 1):
            return last.value
        # Not tested before: it came here by other means, or the engine asked only for what may be a hit.
        if iteration:
            there = frame.history.boundary(iteration - 1)
            return _UNKNOWN if there is None else self._seen_at(there)
        # What came in from the loop around was tested there.
        around = frame.around if self.kind is Trigger.NAN and self.expression is None else None
        return _UNKNOWN if around is None or around.loop is None else self._seen_at(around)

    def _seen_at(self, frame: AnyFrame, history: History | None = None) -> Any:
        try:
            return self._seen(frame, FrameScope(frame, history))
        except NoValueError:
            return _UNKNOWN

    def _was_settled(self, key: _Key, last: Memory, frame: TimedFrame) -> bool:
        """Whether the value was settled at the boundary before already."""
        index, entry, iteration = key
        earlier = frame._inside.before()
        before = iteration - 1 if earlier is None else earlier.iteration
        if earlier is None or last.key == (index, entry, before):
            return last.settled and last.key == (index, entry, before)
        first = earlier._inside.before()
        if first is None:
            return False
        old, new = self._seen_at(first, first.history), self._seen_at(earlier, earlier.history)
        return old is not _UNKNOWN and new is not _UNKNOWN and self._differs(old, new)

    def _differs(self, before: Any, now: Any) -> bool:
        if self.mode is Mode.CHANGES:
            return not _same(before, now)
        if self.mode is Mode.NAN:
            return _nan_in(now) and not _nan_in(before)
        try:
            with np.errstate(all="ignore"):
                return self._moves(_numbers(before), _numbers(now))
        except (TypeError, ValueError):
            assert self.expression is not None
            problem = f"'{self.mode}' is not defined on {describe(now)}"
            raise ExpressionError(self.expression.text, 0, problem) from None

    def _moves(self, old: Any, new: Any) -> bool:
        """Whether numbers have moved in the way that is waited for."""
        if self.mode is Mode.SHAPE or old.shape != new.shape:
            return self.mode is Mode.SHAPE and old.shape != new.shape
        if self.mode is Mode.CROSSES:
            level = self.level
            return bool(np.any((old < level) & (new >= level) | (old > level) & (new <= level)))
        if self.mode is Mode.SETTLES:
            return bool(np.all(np.abs(new - old) < self.level))
        return bool(np.any(np.sign(old) != np.sign(new)))


_UNKNOWN = object()


class _Earlier:
    """A scope as it was one iteration before."""

    def __init__(self, scope: FrameScope) -> None:
        self._scope = scope
        self.iteration = scope.iteration - 1
        self.trip_count = scope.trip_count
        self.condition = scope.condition

    def names(self) -> Any:
        return self._scope.names()

    def value(self, name: str) -> Any:
        return self._scope.previous(name)

    def previous(self, name: str) -> Any:
        return self._scope.at(name, self.iteration - 1)

    def initial(self, name: str) -> Any:
        return self._scope.initial(name)

    def at(self, name: str, iteration: int) -> Any:
        return self._scope.at(name, iteration)

    def history(self, name: str) -> Any:
        return self._scope.history(name)[:-1]


def _numbers(value: Any) -> Any:
    """A value as an array; truth values count as 0 and 1."""
    array = np.asarray(value)
    return array.astype(np.int8) if array.dtype == np.bool_ else array


def _same(before: Any, now: Any) -> bool:
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(_same, before, now))
    old, new = np.asarray(before), np.asarray(now)
    if old.dtype.kind in "fc" and new.dtype.kind in "fc":
        return bool(np.array_equal(old, new, equal_nan=True))
    return bool(np.array_equal(old, new))


def _nan_in(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_nan_in, value))
    array = np.asarray(value)
    if array.dtype.kind in "fc":
        return not bool(np.isfinite(array).all())
    if array.dtype.kind == "V" or array.dtype.name.startswith(("bfloat", "float")):
        return not bool(np.isfinite(array.astype(np.float32)).all())
    return False


def _has_nan(frame: AnyFrame, expression: Expression | None, scope: FrameScope) -> bool:
    if expression is not None:
        return _nan_in(expression.evaluate(scope))
    values = frame.values
    names = [*frame.carried, *(v.name for n in frame.nodes for v in n.node.outputs if v is not None)]
    return any(_nan_in(value) for name in names if isinstance(value := values.get(name), np.ndarray))
