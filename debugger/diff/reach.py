"""How far what a body computes in a narrow type reaches into it: node by node, while two runs are compared.

What loops carry does not tell all: an infinity between two nodes is gone behind a Tanh, and a value that comes near to
the largest of its type may never be carried. So on the side of the narrower floats the results of all nodes are looked
at in every iteration, in the order in which they were computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...runtime.graph import Array, Graph, If, Loop, Node, Value, bodies
from .correspondence import Correspondence
from .findings import OutOfRange, Reach
from .iteration_values import Moment
from .ports import LoopPair
from .ranges import largest_of, not_finite_alone, type_named
from .values import kind_of

#: Results that are tested: reading one takes some microseconds.
_MOST_READ = 2_000_000


@dataclass(frozen=True)
class _Result:
    """A node's result on the narrow side, and what it is on the other one."""

    node: Node
    value: Value
    twin: Value | None


class Watch:
    """The results of one loop's body that are of the type ``dtype``, on the side that has it."""

    def __init__(self, alignment: Correspondence, ports: LoopPair, side: int, dtype: str) -> None:
        loop = (ports.left, ports.right)[side]
        # What a condition that is asked before an iteration needs is the next one's by then.
        early = set(loop.body.nodes[: loop.tested or 0])
        self._results = [one for one in _results(alignment, loop.body, side) if one.node not in early]
        main = (alignment.left, alignment.right)[side].graph
        #: What an infinity can come in with; only what runs before the loop has a value by then.
        self._before = list(_results(alignment, main, side)) if loop in main.nodes else []
        self._read = 0
        self._dtype = type_named(dtype)
        self.reach = Reach(side, dtype, largest_of(dtype))

    def see(self, entry: tuple[int, ...], iteration: int, left: Moment, right: Moment) -> None:
        """Test what both sides computed in an iteration."""
        reach = self.reach
        if self._read >= _MOST_READ:
            reach.until = iteration if reach.until is None else reach.until
            return
        narrow, wide = (left, right) if reach.side == 0 else (right, left)
        for result in self._before:
            self._look(result, entry, None, narrow, wide)
        self._before = []
        for result in self._results:
            self._look(result, entry, iteration, narrow, wide)

    def _look(
        self, result: _Result, entry: tuple[int, ...], iteration: int | None, narrow: Moment, wide: Moment
    ) -> None:
        there, data = narrow.read(result.value)
        if not there or not isinstance(data, np.ndarray) or data.dtype != self._dtype or not data.size:
            return
        self._read += 1
        if not self._measure(iteration, result.node, data) and self.reach.infinite is None:
            self.reach.infinite = _alone(entry, iteration, result, data, narrow, wide)

    def _measure(self, iteration: int | None, node: Node, data: Array) -> bool:
        """Take note of the largest magnitude; whether all elements are finite."""
        magnitudes = np.abs(data)
        top = float(magnitudes.max())
        whole = math.isfinite(top)
        if not whole:
            finite = magnitudes[np.isfinite(magnitudes.astype(np.float64))]
            top = float(finite.max()) if finite.size else 0.0
        reach = self.reach
        if top > reach.largest:
            reach.largest, reach.at, reach.op_type, reach.node = top, iteration, node.op_type, node.name
        return whole


def _alone(
    entry: tuple[int, ...], iteration: int | None, result: _Result, data: Array, narrow: Moment, wide: Moment
) -> OutOfRange | None:
    """What of a result is not finite on this side alone. Where the other side has no such result, it is what a node
    makes of finite numbers."""
    there, other = (False, None) if result.twin is None else wide.read(result.twin)
    if there and isinstance(other, np.ndarray) and other.size == data.size:
        count = int(np.count_nonzero(not_finite_alone(data, other)))
    elif _all_finite(result.node, narrow):
        count = int(np.count_nonzero(~np.isfinite(data.astype(np.float64))))
    else:
        count = 0
    if not count:
        return None
    node = result.node
    return OutOfRange(node.name, result.value.name, node.op_type, entry, iteration, count, data.size)


def _results(alignment: Correspondence, graph: Graph, side: int) -> Iterator[_Result]:
    """Of the nodes of a body, those in branches included; a loop inside is a pair of its own."""
    for node in graph.nodes:
        if isinstance(node, If):
            for _, branch in bodies(node):
                yield from _results(alignment, branch, side)
        elif not isinstance(node, Loop):
            yield from (_Result(node, v, alignment.twin(side, v)) for v in node.outputs if v is not None)


def _all_finite(node: Node, moment: Moment) -> bool:
    """Whether all numbers that a node is fed are known and finite."""
    for value in (value for value in node.inputs if value is not None):
        there, data = (True, value.constant) if value.constant is not None else moment.read(value)
        if not there or not isinstance(data, np.ndarray):
            return False
        if kind_of(data.dtype) == "f" and not np.isfinite(data.astype(np.float64)).all():
            return False
    return True
