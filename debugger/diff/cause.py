"""Where a difference comes from: from a value that differs back to the first thing that does.

A node is to blame only where all that it is fed is the same. Where what comes in differs, that is followed: through
nodes that correspond, captures and initial values, up to a constant, a sliced input, an input of the model, or the
iteration in which a carried value began to differ. It ends where two nodes do not correspond, where one reads another
value than the other, and where a value is not known.

Between two runs of ours bits tell: what is the same to the bit has no share in a difference. A peer rounds otherwise,
and so does another float type: there the tolerance tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...runtime.graph import If, Loop, Node, Value, bodies
from .correspondence import Correspondence, read_by
from .findings import Cause, Difference, NodeDifference
from .halves import Half, begun
from .iteration_values import Moment
from .normal import Operand
from .ports import same_parts
from .values import SAME, Delta, Tolerance, compare

#: A pair of values, as their readers take them.
_Pair = tuple[Operand, Operand]
#: Both sides at another iteration of a carried value (its parameters): the first of those in which it differs without
#: a gap up to the given one; None: it is what the loop began with.
Earlier = Callable[[Value, Value, int], tuple[int | None, Moment, Moment] | None]


@dataclass
class Tracer:
    """Follows one difference. ``symptom`` says where it was found: its place is that of all that is found.

    ``exact``: bits tell, not the tolerance. ``earlier`` finds where a carried value began to differ.
    """

    alignment: Correspondence
    left: Moment
    right: Moment
    tolerance: Tolerance
    symptom: Difference
    exact: bool = False
    earlier: Earlier | None = None

    def cause(self, left: Value, right: Value) -> Cause | None:
        """What makes these two differ; None where they do not, or nothing is known of them."""
        pair = Operand(left), Operand(right)
        delta = self._delta(pair)
        if delta is None or not delta.kind:
            return None
        seen: set[tuple[_Pair, int | None]] = set()
        reader: tuple[Node, Node] | None = None
        while (pair, self.symptom.iteration) not in seen and len(seen) < 10_000:
            seen.add((pair, self.symptom.iteration))
            found = self._step(pair, reader)
            if isinstance(found, Cause):
                return found
            pair, reader = found
        return None

    def of_operators(self, one: Node, other: Node, left: Value, right: Value) -> Cause | None:
        """What makes these two differ, which two operators compute that were opened as loops, each in its own way: an
        LSTM, and the same in 8 bits, say."""
        fed = [
            (Operand(a), Operand(b))
            for a, b in zip(one.inputs, other.inputs, strict=False)
            if a is not None and b is not None and self._differ((Operand(a), Operand(b)))
        ]
        floats = [(a, b) for a, b in fed if not (self._is_constant(a, 0) or self._is_constant(b, 1))]
        if floats:
            return self.cause(floats[0][0].value, floats[0][1].value)
        return self._blamed(one, other, left, right, [Operand(value) for value in one.inputs[:1] if value is not None])

    def _is_constant(self, operand: Operand, side: int) -> bool:
        return (self.alignment.left, self.alignment.right)[side].is_constant(operand.value)

    # -- one value back

    def _step(self, pair: _Pair, reader: tuple[Node, Node] | None) -> Cause | tuple[_Pair, tuple[Node, Node] | None]:
        """The pair of values that makes these two differ, with who reads it, or the end of the search."""
        left, right = pair[0].value, pair[1].value
        a, b = self.alignment.left.origin(left), self.alignment.right.origin(right)
        if (a, b) != (left, right):
            origins = replace(pair[0], value=a), replace(pair[1], value=b)
            delta = self._delta(origins)
            if delta is not None and self._counts(delta):
                left, right, pair = a, b, origins
            elif delta is not None:
                converted = self._conversion(left, right)
                if converted is not None:
                    return converted
        if self.alignment.rewired(a, b):
            return self._other_value(pair, reader)
        one, other = self.alignment.makers(a, b)
        if one is None or other is None:
            return self._source(pair) if one is other else self._apart(left, right)
        if not self.alignment.paired(one, other) or one.outputs.index(a) != other.outputs.index(b):
            return self._apart(left, right)
        if not self.alignment.corresponds(one, other):
            return self._operators(one, other, a, b)
        if isinstance(one, If) and isinstance(other, If):
            inside = self._branch(one, other, a, b)
            if inside is not None:
                return inside, None
        return self._node(one, other, a, b)

    def _node(self, one: Node, other: Node, left: Value, right: Value) -> Cause | tuple[_Pair, tuple[Node, Node]]:
        unknown: Value | None = None
        differing: list[tuple[tuple[bool, float], _Pair]] = []
        pairs = list(self.alignment.inputs(one, other))
        for pair in pairs:
            delta = self._delta(pair)
            if delta is None:
                unknown = unknown or pair[0].value
            elif self._counts(delta):
                # First what differs beyond the tolerance, then what differs most.
                differing.append(((not delta.kind, -min(delta.relative, 1e300)), pair))
        # Another value that is equal makes no difference.
        rewired = [
            pair for pair in pairs if self.alignment.rewired(pair[0].value, pair[1].value) and not self._equal(pair)
        ]
        if rewired:
            return self._other_value(rewired[0], (one, other))
        if differing:
            return min(differing, key=lambda found: found[0])[1], (one, other)
        if isinstance(one, Loop):
            # What happens inside is compared by itself; not all that two loops are fed can be paired.
            return Cause(self._difference("result", left, right), remark=f"the loop '{one.name}' computes it")
        if len(read_by(one)) != len(read_by(other)) and len(pairs) != len(self.alignment.left.form(one).operands):
            return self._apart(left, right)
        told = f"{one.op_type} '{one.name}'"
        if unknown is not None:
            return Cause(
                self._difference("result", left, right),
                remark=f"{told} computes it; '{unknown.name}', which it is fed, is not known on both sides",
            )
        return self._blamed(one, other, left, right, [pair[0] for pair in pairs])

    def _blamed(self, one: Node, other: Node, left: Value, right: Value, fed: list[Operand], remark: str = "") -> Cause:
        inputs = [(operand.value.name, self._read(0, operand)[1]) for operand in fed]
        one, other = self.alignment.left.at_work(one), self.alignment.right.at_work(other)
        difference = self._difference("node", left, right)
        return Cause(
            None,
            NodeDifference(one.name, left.name, one.op_type, inputs, difference, other.name, other.op_type),
            remark,
        )

    def _conversion(self, left: Value, right: Value) -> Cause | None:
        """The conversion to blame where two values differ, and what they were converted from does not."""
        halves = (self.alignment.left, left), (self.alignment.right, right)
        for side, (half, value) in enumerate(halves):
            for node in half.conversions(value):
                made, fed = (next(one for one in ports if one is not None) for ports in (node.outputs, node.inputs))
                source = half.origin(fed)
                (here, a), (there, b) = self._read(side, Operand(source)), self._read(side, Operand(made))
                if not (here and there and self._counts(compare(a, b, self.tolerance))):
                    continue
                told = half.at_work(node)
                inputs = [(one.name, self._read(side, Operand(one))[1]) for one in told.inputs if one is not None]
                difference = self._difference("node", left, right)
                blamed = NodeDifference(told.name, made.name, told.op_type, inputs, difference, told.name, told.op_type)
                return Cause(None, blamed, f"the {('left', 'right')[side]} side alone has it")
        return None

    def _operators(self, one: Node, other: Node, left: Value, right: Value) -> Cause:
        """Two operators in one place: to blame where both are fed the same; else nothing before them corresponds."""
        fed = [node_form.operands for node_form in (self.alignment.left.form(one), self.alignment.right.form(other))]
        pairs = [(a, b) for a, b in zip(*fed, strict=False) if a is not None and b is not None]
        if len(fed[0]) == len(fed[1]) and all(self.alignment.same(a, b) or not self._differ((a, b)) for a, b in pairs):
            return self._blamed(one, other, left, right, [a for a, _ in pairs])
        return Cause(
            self._difference("result", left, right),
            remark=f"{one.op_type} '{one.name}' here, {other.op_type} '{other.name}' there: what they are fed does not "
            "correspond",
        )

    def _other_value(self, pair: _Pair, reader: tuple[Node, Node] | None) -> Cause:
        """A reader takes another value on one side than on the other."""
        names = f"'{pair[0].value.name}' here, '{pair[1].value.name}' there{self.alignment.stands_for(pair[1].value)}"
        if reader is None:
            return Cause(self._difference("result", pair[0].value, pair[1].value), remark=f"it is {names}")
        one, other = reader
        results = [next(value for value in node.outputs if value is not None) for node in reader]
        return self._blamed(one, other, results[0], results[1], [pair[0]], f"it reads {names}")

    def _branch(self, one: If, other: If, left: Value, right: Value) -> _Pair | None:
        """The results of the branch that both took."""
        taken = []
        for side, node in enumerate((one, other)):
            value = node.inputs[0]
            there, data = (False, None) if value is None else self._read(side, Operand(value))
            if not there:
                return None
            taken.append(bool(np.asarray(data).reshape(-1)[:1].all()))
        if taken[0] is not taken[1]:
            return None
        k = 0 if taken[0] else 1
        pair = (
            Operand(bodies(one)[k][1].outputs[one.outputs.index(left)]),
            Operand(bodies(other)[k][1].outputs[other.outputs.index(right)]),
        )
        return pair if self._differ(pair) else None

    # -- ends of the search

    def _source(self, pair: _Pair) -> Cause | tuple[_Pair, None]:
        """What no node computes: it comes in so, or an iteration before computed it."""
        left, right = pair[0].value, pair[1].value
        roles = [self._role(half, v) for half, v in ((self.alignment.left, left), (self.alignment.right, right))]
        if roles[0] != roles[1]:
            return self._apart(left, right)
        before = {"carried": self._before, "sliced input": self._cut}.get(roles[0])
        origins = self.alignment.left.origin(left), self.alignment.right.origin(right)
        back = None if before is None else before(*origins)
        if back is not None:
            return back
        return Cause(self._difference(roles[0], *pair))

    def _before(self, left: Value, right: Value) -> tuple[_Pair, None] | None:
        """What a carried value came from: a result of an iteration before, or what the loop began with."""
        at = self.symptom
        (loop, _), (other, _) = self.alignment.left.params[left], self.alignment.right.params[right]
        edges = [next(edge for edge in one.back_edges if edge.param is v) for one, v in ((loop, left), (other, right))]
        found = None
        if at.iteration is not None and at.iteration > 0 and self.earlier is not None:
            found = self.earlier(left, right, at.iteration)
        if found is not None:
            iteration, self.left, self.right = found
            self.symptom = replace(at, iteration=iteration)
            if iteration is not None:
                return (Operand(edges[0].result), Operand(edges[1].result)), None
        elif at.iteration:
            return None
        pair = Operand(begun(edges[0].initial)), Operand(begun(edges[1].initial))
        return (pair, None) if self._differ(pair) else None

    def _cut(self, left: Value, right: Value) -> tuple[_Pair, None] | None:
        """What a part was cut from, or the trip count that it is counted back from; None where both are the same, or
        where it is cut otherwise."""
        loops = self.alignment.left.params[left][0], self.alignment.right.params[right][0]
        a, b = (next((p for p in loop.sliced_inputs if p.inner in (left, right)), None) for loop in loops)
        if a is None or b is None or not same_parts(a, b):
            return None
        pairs = [(Operand(a.outer), Operand(b.outer))]
        counts = loops[0].trip_count, loops[1].trip_count
        if a.from_trip_count and counts[0] is not None and counts[1] is not None:
            pairs.append((Operand(counts[0]), Operand(counts[1])))
        return next(((pair, None) for pair in pairs if self._differ(pair)), None)

    def _role(self, half: Half, value: Value) -> str:
        if half.is_constant(value):
            return "constant"
        loop, role = half.params.get(half.origin(value), (None, "input"))
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

    def _differ(self, pair: _Pair) -> bool:
        delta = self._delta(pair)
        return delta is not None and self._counts(delta)

    def _equal(self, pair: _Pair) -> bool:
        delta = self._delta(pair)
        return delta is not None and not self._counts(delta)

    def _counts(self, delta: Delta) -> bool:
        """Whether a difference is one that can be the cause of another."""
        return bool(delta.kind) or (self.exact and delta.absolute > 0)

    def _delta(self, pair: _Pair) -> Delta | None:
        """How two values differ; None where one is not known."""
        (here, a), (there, b) = self._read(0, pair[0]), self._read(1, pair[1])
        if not (here and there):
            return None
        if self.alignment.holds_weights(*pair):
            return SAME
        return compare(a, b, self.tolerance, loose_shape=not self.alignment.one_system)

    def _read(self, side: int, operand: Operand) -> tuple[bool, Any]:
        half = (self.alignment.left, self.alignment.right)[side]
        data = half.constant(operand.value)
        there, data = (True, data) if data is not None else self._known(side, half.outer(operand.value))
        return there, operand.of(data)

    def _known(self, side: int, value: Value) -> tuple[bool, Any]:
        return (self.left, self.right)[side].read(value)

    def _difference(self, role: str, left: Operand | Value, right: Operand | Value) -> Difference:
        one, other = (operand if isinstance(operand, Operand) else Operand(operand) for operand in (left, right))
        a, b = self._read(0, one)[1], self._read(1, other)[1]
        delta = self._delta((one, other)) or Delta()
        at = self.symptom
        return Difference(role, one.value.name, other.value.name, delta, at.loop, at.entry, at.iteration, a, b)
