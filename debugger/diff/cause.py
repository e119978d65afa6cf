"""Where a difference comes from: from a value that differs back to the first thing that does.

A node is to blame only where all that it is fed is the same, to the bit. Where what comes in differs, that is followed:
through nodes that were aligned, up to a constant, a sliced input, a carried or an outer value; or up to where the two
models compute in other ways, or where a value is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.graph import If, Loop, Node, Value, bodies
from .align import Alignment, Half, read_by
from .findings import Cause, Difference, NodeDifference
from .iteration_values import Moment
from .values import Delta, Tolerance, compare


@dataclass
class Tracer:
    """Follows one difference. ``symptom`` says where it was seen: its place is that of all that is found."""

    alignment: Alignment
    left: Moment
    right: Moment
    tolerance: Tolerance
    symptom: Difference

    def cause(self, left: Value, right: Value) -> Cause | None:
        """What makes these two differ; None where they do not, or nothing is known of them."""
        delta = self._delta(left, right)
        if delta is None or not delta.kind:
            return None
        seen: set[tuple[Value, Value]] = set()
        while (left, right) not in seen:
            seen.add((left, right))
            found = self._step(left, right)
            if isinstance(found, Cause):
                return found
            left, right = found
        return None

    # -- one value back

    def _step(self, left: Value, right: Value) -> Cause | tuple[Value, Value]:
        """The pair of values that makes these two differ, or the end of the search."""
        a, b = self.alignment.left.origin(left), self.alignment.right.origin(right)
        if (a, b) != (left, right):
            delta = self._delta(a, b)
            if delta is not None and delta.kind:
                left, right = a, b
        one, other = self.alignment.left.maker(a), self.alignment.right.maker(b)
        if one is None or other is None:
            return self._source(left, right) if one is other else self._apart(left, right)
        if not self.alignment.paired(one, other):
            return self._apart(left, right)
        if isinstance(one, If) and isinstance(other, If):
            inside = self._branch(one, other, a, b)
            if inside is not None:
                return inside
        return self._node(one, other, a, b)

    def _node(self, one: Node, other: Node, left: Value, right: Value) -> Cause | tuple[Value, Value]:
        near: tuple[Value, float] | None = None
        unknown: Value | None = None
        pairs = list(self.alignment.inputs(one, other))
        for a, b in pairs:
            delta = self._delta(a, b)
            if delta is None:
                unknown = unknown or a
            elif delta.kind:
                return a, b
            elif delta.absolute > 0 and (near is None or delta.absolute > near[1]):
                near = a, delta.absolute
        if isinstance(one, Loop):
            # What happens inside is compared by itself; not all that two loops are fed can be paired.
            return Cause(self._difference("result", left, right), remark=f"the loop '{one.name}' computes it")
        if len(read_by(one)) != len(read_by(other)):
            return self._apart(left, right)
        told = f"{one.op_type} '{one.name}'"
        if unknown is not None:
            return Cause(
                self._difference("result", left, right),
                remark=f"{told} computes it; '{unknown.name}', which it is fed, is not known on both sides",
            )
        if near is not None and self._same_operator(one, other):
            return Cause(
                self._difference("result", left, right),
                remark=f"{told} computes it, and what it is fed differs already, within the tolerance: "
                f"'{near[0].name}' by {near[1]:.3g}",
            )
        inputs = [(a.name, self._read(0, a)[1]) for a, _ in pairs]
        difference = self._difference("node", left, right)
        return Cause(
            None, NodeDifference(one.name, left.name, one.op_type, inputs, difference, other.name, other.op_type)
        )

    def _same_operator(self, one: Node, other: Node) -> bool:
        return one.op_type == other.op_type or not self.alignment.one_system

    def _branch(self, one: If, other: If, left: Value, right: Value) -> tuple[Value, Value] | None:
        """The results of the branch that both took."""
        taken = []
        for side, node in enumerate((one, other)):
            value = node.inputs[0]
            there, data = (False, None) if value is None else self._read(side, value)
            if not there:
                return None
            taken.append(bool(np.asarray(data).reshape(-1)[:1].all()))
        if taken[0] is not taken[1]:
            return None
        k = 0 if taken[0] else 1
        pair = (
            bodies(one)[k][1].outputs[one.outputs.index(left)],
            bodies(other)[k][1].outputs[other.outputs.index(right)],
        )
        delta = self._delta(*pair)
        return pair if delta is not None and delta.kind else None

    # -- ends of the search

    def _source(self, left: Value, right: Value) -> Cause:
        """What no node computes: it comes in so."""
        roles = [self._role(half, v) for half, v in ((self.alignment.left, left), (self.alignment.right, right))]
        if roles[0] != roles[1]:
            return self._apart(left, right)
        return Cause(self._difference(roles[0], left, right))

    def _role(self, half: Half, value: Value) -> str:
        if half.is_constant(value):
            return "constant"
        loop, role = half.params.get(value, (None, "input"))
        return {"sliced": "sliced input", "iteration": "iteration number"}.get(role, role) if loop else role

    def _apart(self, left: Value, right: Value) -> Cause:
        told = []
        for half, value in ((self.alignment.left, left), (self.alignment.right, right)):
            node = half.maker(half.origin(value))
            if node is not None:
                told.append(f"'{value.name}' is computed by {node.op_type} '{node.name}'")
            else:
                told.append(f"'{value.name}' is a {self._role(half, half.origin(value))}")
        return Cause(
            self._difference("result", left, right),
            remark=f"the two are computed in other ways from here on: {told[0]}, {told[1]}",
        )

    # -- values

    def _delta(self, left: Value, right: Value) -> Delta | None:
        """How two values differ; None where one is not known."""
        (here, a), (there, b) = self._read(0, left), self._read(1, right)
        if not (here and there):
            return None
        return compare(a, b, self.tolerance, loose_shape=not self.alignment.one_system)

    def _read(self, side: int, value: Value) -> tuple[bool, Any]:
        half = (self.alignment.left, self.alignment.right)[side]
        data = half.constant(value)
        return (True, data) if data is not None else (self.left, self.right)[side].read(half.outer(value))

    def _difference(self, role: str, left: Value, right: Value) -> Difference:
        a, b = self._read(0, left)[1], self._read(1, right)[1]
        delta = self._delta(left, right) or Delta()
        at = self.symptom
        return Difference(role, left.name, right.name, delta, at.loop, at.entry, at.iteration, a, b)
